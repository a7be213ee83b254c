//! C: files include each other by path, and functions are linked by name.

use hashbrown::HashMap;

use super::super::folders::{FileNumber, Folder};
use super::super::lookup::Found;
use super::super::words::Word;
use super::super::world::{File, Item, World, count};
use super::relative;
use crate::language::Family;
use crate::{Import, SymbolKind};

/// Functions that can be called from other files, by name.
pub(in super::super) fn linked(world: &World<'_>) -> HashMap<Word, Vec<Item>> {
    let mut linked: HashMap<Word, Vec<Item>> = HashMap::new();
    for file in world.files.iter().filter(|file| file.family == Family::C) {
        for (index, symbol) in file.facts.symbols.iter().enumerate() {
            if symbol.kind == SymbolKind::Function && !symbol.is_hidden && symbol.parent.is_none() {
                let item = World::item_in(file, Some(count(index)));
                linked.entry(file.words.only(symbol.name)).or_default().push(item);
            }
        }
    }
    linked
}

/// All files by the last part of their path.
pub(in super::super) fn headers<'a>(world: &mut World<'a>) -> HashMap<Word, Vec<FileNumber>> {
    let mut headers: HashMap<Word, Vec<FileNumber>> = HashMap::new();
    for (number, file) in world.files.iter().enumerate() {
        let path: &'a str = file.path;
        if file.family == Family::C
            && let Some(word) = path.rsplit('/').next().and_then(|name| world.words.known(name))
        {
            headers.entry(word).or_default().push(count(number));
        }
    }
    headers
}

/// A quoted path is from the folder of the file first; any is the end of a path in the tree else.
/// Of several the nearest counts.
pub(super) fn module(world: &World<'_>, file: &File<'_>, import: &Import) -> Found {
    let path = file.facts.text(import.module);
    let is_quoted = import.level > 0;
    if is_quoted && let Some(found) = relative(world, file.place.folder, path) {
        return found;
    }
    let path = path.trim_start_matches("./").trim_start_matches("../");
    let name = path.rsplit('/').next().and_then(|name| world.words.known(name));
    let found = name.and_then(|name| world.headers.get(&name)).into_iter().flatten();
    let ends_so = found.filter_map(|number| world.file(*number)).filter(|found| {
        let before = found.path.strip_suffix(path);
        before.is_some_and(|before| before.is_empty() || before.ends_with('/'))
            && (is_quoted || path.contains('/') || is_include(world, found.place.folder))
    });
    let here = file.place.folder;
    let nearest = ends_so.min_by_key(|found| world.folders.distance(here, found.place.folder));
    nearest.map_or(Found::Outside, |file| Found::Item(file.item))
}

/// The system's headers go by names that many a tree has too; those meant for all stand apart.
fn is_include(world: &World<'_>, folder: Folder) -> bool {
    world.folders.above(folder).is_some_and(|(_, name)| world.words.text(name) == "include")
}

/// A function that another file defines; of several, that which stands alone in being nearest.
pub(super) fn beyond(world: &World<'_>, file: &File<'_>, word: Word) -> Found {
    let Some(linked) = world.linked.get(&word) else { return Found::Nothing };
    if let [only] = linked.as_slice() {
        return Found::Item(*only);
    }
    let here = file.place.folder;
    let far = |item: &Item| {
        let found = world.file_of(*item);
        found.map_or(usize::MAX, |found| world.folders.distance(here, found.place.folder))
    };
    let Some(nearest) = linked.iter().map(far).min() else { return Found::Nothing };
    let mut near = linked.iter().filter(|item| far(item) == nearest);
    match (near.next(), near.next()) {
        (Some(only), None) => Found::Item(*only),
        _ => Found::Opaque,
    }
}
