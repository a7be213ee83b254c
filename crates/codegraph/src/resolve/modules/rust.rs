//! Rust: modules are files by where they stand, and blocks in them.
//!
//! Manifests aren't read. A crate's root is the file above which none is, and a crate is known to
//! others by the name of its folder, or by a name that ends with it (`shop_types` in `types`).

use hashbrown::HashMap;

use super::super::folders::FileNumber;
use super::super::lookup::{Found, Trail};
use super::super::words::Word;
use super::super::world::{File, Item, World};
use crate::language::Family;
use crate::{Import, SymbolKind};

/// How deep modules may nest.
const DEPTH_MAX: usize = 64;

pub(super) fn module(
    world: &World<'_>,
    file: &File<'_>,
    import: &Import,
    trail: &mut Trail,
) -> Found {
    let scope = World::item_in(file, import.inside);
    match world.look_up(scope, file.words.of(import.module), trail) {
        Found::Nothing | Found::Opaque => Found::Outside,
        found => found,
    }
}

/// What `self`, `Self`, `super` and `crate` mean, and how many more words go with them.
pub(in super::super) fn keyword(
    world: &World<'_>,
    scope: Item,
    head: Word,
    rest: &[Word],
    trail: &mut Trail,
) -> Option<(Found, usize)> {
    let is_super = |word: &&Word| world.words.text(**word) == "super";
    match world.words.text(head) {
        "Self" => Some((world.type_around(scope).map_or(Found::Opaque, Found::Item), 0)),
        "self" => {
            let class = world.type_around(scope).map(Found::Value);
            let module = module_around(world, scope);
            // `self::f` and `self.f` look alike here.
            let is_member = class.is_some_and(|class| {
                rest.first().is_some_and(|first| world.step(class, *first, trail).is_something())
            });
            let supers = rest.iter().take_while(is_super).count();
            if supers > 0 {
                return Some((above(world, module, supers), supers));
            }
            let is_path = !is_member
                && rest.first().is_some_and(|first| world.members.contains_key(&(module, *first)));
            let found = class.filter(|_| !is_path);
            Some((found.unwrap_or(Found::Item(module)), 0))
        }
        "super" => {
            let supers = rest.iter().take_while(is_super).count();
            Some((above(world, module_around(world, scope), supers + 1), supers))
        }
        "crate" => {
            let file = world.file_of(scope)?;
            Some((Found::Item(root(world, file).item), 0))
        }
        _ => None,
    }
}

/// The module that an item stands in: a block, or the file.
fn module_around(world: &World<'_>, item: Item) -> Item {
    let mut item = item;
    while let Some(place) = world.place(item) {
        if place.symbol.is_none() || place.kind == Some(SymbolKind::Module) {
            break;
        }
        item = place.parent;
    }
    item
}

fn above(world: &World<'_>, module: Item, levels: usize) -> Found {
    let mut module = module;
    for _ in 0..levels.min(DEPTH_MAX) {
        let Some(place) = world.place(module) else { return Found::Outside };
        if place.symbol.is_some() {
            module = module_around(world, place.parent);
            continue;
        }
        match world.file(place.file).and_then(|file| parent(world, file)) {
            Some(file) => module = file.item,
            None => return Found::Outside,
        }
    }
    Found::Item(module)
}

fn stem<'w, 'a>(world: &'w World<'a>, folder: u32, name: &str) -> Option<&'w File<'a>> {
    let name = world.words.known(name)?;
    world.folders.stem(folder, name, Family::Rust).and_then(|file| world.file(file))
}

fn is_root_or_mod(world: &World<'_>, file: &File<'_>) -> bool {
    matches!(world.words.text(file.place.stem), "mod" | "lib" | "main")
}

/// The file that declares this one as its module.
fn parent<'w, 'a>(world: &'w World<'a>, file: &File<'_>) -> Option<&'w File<'a>> {
    let mut folder = file.place.folder;
    match world.words.text(file.place.stem) {
        "lib" | "main" => return None,
        "mod" => folder = world.folders.above(folder)?.0,
        _ => {}
    }
    let near = ["mod", "lib", "main"].iter().find_map(|name| stem(world, folder, name));
    near.or_else(|| {
        let (above, name) = world.folders.above(folder)?;
        world.folders.stem(above, name, Family::Rust).and_then(|file| world.file(file))
    })
}

fn root<'w, 'a>(world: &'w World<'a>, file: &'w File<'a>) -> &'w File<'a> {
    let mut root = file;
    for _ in 0..DEPTH_MAX {
        match parent(world, root) {
            Some(above) => root = above,
            None => break,
        }
    }
    root
}

/// The file of a module that is declared in this one.
pub(super) fn child(world: &World<'_>, file: &File<'_>, word: Word) -> Option<Found> {
    let folder = file.place.folder;
    let own = world.folders.folder(folder, file.place.stem);
    let is_root = is_root_or_mod(world, file) || parent(world, file).is_none();
    let below = own.filter(|_| !is_root_or_mod(world, file));
    let folders = below.into_iter().chain(Some(folder).filter(|_| is_root));
    let mut files = folders.filter_map(|folder| {
        let direct = world.folders.stem(folder, word, Family::Rust);
        let file = direct.and_then(|file| world.file(file));
        file.or_else(|| stem(world, world.folders.folder(folder, word)?, "mod"))
    });
    files.find(|found| found.item != file.item).map(|found| Found::Item(found.item))
}

/// The roots of libraries, by the names that others can know them by.
pub(in super::super) fn crates(world: &World<'_>) -> HashMap<String, FileNumber> {
    let mut crates = HashMap::new();
    for (number, file) in world.files.iter().enumerate() {
        let is_root = file.family == Family::Rust && world.words.text(file.place.stem) == "lib";
        let above = world.folders.above(file.place.folder).filter(|_| is_root);
        let Some((package, source)) = above else { continue };
        let name = match (world.words.text(source), world.folders.above(package)) {
            ("src", Some((_, name))) => world.words.text(name),
            ("src", None) => continue,
            (name, _) => name,
        };
        crates.entry(name.replace('-', "_")).or_insert(super::super::world::count(number));
    }
    crates
}

/// The crate that a name means which nothing in the file defines.
pub(super) fn beyond(world: &World<'_>, word: Word) -> Found {
    let text = world.words.text(word);
    let endings = text.match_indices('_').map(|(at, _)| text.get(at + 1..).unwrap_or_default());
    let found = std::iter::once(text).chain(endings).find_map(|name| world.crates.get(name));
    let file = found.and_then(|file| world.file(*file));
    file.map_or(Found::Nothing, |file| Found::Item(file.item))
}
