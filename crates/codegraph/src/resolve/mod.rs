//! From the facts of all files to the graph of the tree.
//!
//! It is made anew each time, from nothing but the facts; so changing a file and changing it back
//! gives what was there before, and a callee that moves keeps its callers. First all names get
//! numbers and all files and symbols a place, then types get their members and bases, and last each
//! reference is looked up.

mod builtins;
mod edges;
mod folders;
mod graph;
mod lookup;
mod modules;
mod unique;
mod words;
mod world;

use hashbrown::HashMap;

use crate::language::Family;
use crate::{Facts, Name, Reference, ReferenceKind, SymbolKind};
use edges::{Edges, Loose, LooseName, Site};
pub use graph::{Confidence, Edge, EdgeKind, Node, NodeKind, Resolved, Unresolved};
use lookup::{Found, Trail};
use unique::Unique;
use world::{File, ImportLink, Item, World, count};

/// The graph of the files of a tree, each with its path (with `/` between its parts) and facts. Of
/// several with one path, one is taken.
#[must_use]
pub fn resolve(files: &[(&str, &Facts)]) -> Resolved {
    let mut sorted = files.to_vec();
    sorted.sort_unstable();
    sorted.dedup_by(|later, earlier| later.0 == earlier.0);
    let mut world = World::new(&sorted);
    let mut edges = Edges::default();
    add_owners(&mut world);
    add_bases(&mut world, &mut edges);
    add_containment(&world, &mut edges);
    let unique = Unique::new(&world);
    for (number, file) in world.files.iter().enumerate() {
        add_imports(&world, count(number), file, &mut edges);
        add_calls(&world, &unique, file, &mut edges);
    }
    edges.finish(&world)
}

/// Gives types the members that are written elsewhere.
fn add_owners(world: &mut World<'_>) {
    let mut owners = Vec::new();
    for file in &world.files {
        for (index, symbol) in file.facts.symbols.iter().enumerate() {
            let item = World::item_in(file, Some(count(index)));
            let (Some(owner), Some(place)) = (symbol.owner, world.place(item)) else { continue };
            if let Found::Item(class) =
                world.look_up_name(place.parent, owner, &mut Trail::default())
                && world.is_type(class)
            {
                owners.push((item, class, file.words.only(symbol.name)));
            }
        }
    }
    for (item, class, word) in &owners {
        world.owners.insert(*item, *class);
        if world.kind(*item) != Some(SymbolKind::Extension) {
            world.members.entry((*class, *word)).or_insert(*item);
        }
    }
    add_members_of_extensions(world);
}

fn add_members_of_extensions(world: &mut World<'_>) {
    for number in 0..world.places.len() {
        let item = count(number);
        let Some(place) = world.place(item) else { continue };
        let Some(class) = world.owners.get(&place.parent).copied() else { continue };
        let is_extension = world.kind(place.parent) == Some(SymbolKind::Extension);
        let name = world.symbol(item).zip(world.file_of(item));
        let word = name.map(|(symbol, file)| file.words.only(symbol.name));
        if let Some(word) = word.filter(|_| is_extension && item != place.parent) {
            world.members.entry((class, word)).or_insert(item);
        }
    }
}

/// Gives types their bases; lookups through bases have to wait until all are there.
fn add_bases(world: &mut World<'_>, edges: &mut Edges) {
    let mut bases: Vec<(Item, Option<Item>)> = Vec::new();
    for file in &world.files {
        let inherits = |reference: &&Reference| reference.kind == ReferenceKind::Inherit;
        for reference in file.facts.references.iter().filter(inherits) {
            let written = World::item_in(file, reference.inside);
            let Some(place) = world.place(written) else { continue };
            let path = file.words.of(reference.callee);
            let found = world.look_up(place.parent, path, &mut Trail::default());
            let class = match world.kind(written) {
                Some(SymbolKind::Extension) => world.owners.get(&written).copied(),
                _ => Some(written),
            };
            let class = class.unwrap_or_else(|| source_of(world, written));
            let (kind, at) = (EdgeKind::Inherits, reference.at);
            match found {
                Found::Item(base) if world.is_type(base) => {
                    bases.push((class, Some(base)));
                    edges.scoped(class, kind, base, at);
                }
                _ => {
                    bases.push((class, None));
                    let source = source_of(world, written);
                    let name = LooseName::Path(reference.callee);
                    edges.loose.push(Loose { source, kind, name, at });
                }
            }
        }
    }
    for (class, base) in bases {
        match base {
            Some(base) => world.bases.entry(class).or_default().push(base),
            None => {
                world.has_foreign_base.insert(class);
            }
        }
    }
}

/// The item whose node refers: an extension has none of its own.
fn source_of(world: &World<'_>, item: Item) -> Item {
    let mut item = item;
    while let Some(place) = world.place(item) {
        if place.kind != Some(SymbolKind::Extension) {
            break;
        }
        // References are found by their file, so a type of another file can't be their source.
        let owner = world.owners.get(&item).copied();
        let owner_is_near =
            owner.filter(|owner| world.place(*owner).is_some_and(|owner| owner.file == place.file));
        item = owner_is_near.unwrap_or(place.parent);
    }
    item
}

fn add_containment(world: &World<'_>, edges: &mut Edges) {
    for number in 0..world.places.len() {
        let item = count(number);
        let (Some(place), Some(symbol)) = (world.place(item), world.symbol(item)) else { continue };
        if symbol.kind == SymbolKind::Extension {
            continue;
        }
        let owner = world.owners.get(&item).or_else(|| world.owners.get(&place.parent)).copied();
        let is_apart =
            symbol.owner.is_some() || world.kind(place.parent) == Some(SymbolKind::Extension);
        let container = match owner.filter(|_| is_apart) {
            Some(owner) => owner,
            None => source_of(world, place.parent),
        };
        edges.scoped(container, EdgeKind::Contains, item, symbol.span.start);
    }
}

/// A file imports modules, and what it takes from them.
fn add_imports(world: &World<'_>, number: u32, file: &File<'_>, edges: &mut Edges) {
    for (index, import) in file.facts.imports.iter().enumerate() {
        let (source, kind, at) = (file.item, EdgeKind::Imports, import.at);
        let mut is_found = false;
        let module = modules::module(world, file, import, &mut Trail::default());
        for target in modules::files_of(world, module) {
            is_found = true;
            edges.scoped(source, kind, target, at);
        }
        if import.imported.is_some() {
            let link = ImportLink { file: number, import: count(index), before: None };
            if let Found::Item(target) = world.import_target(link, &mut Trail::default()) {
                is_found = true;
                edges.scoped(source, kind, target, at);
            }
        }
        if !is_found {
            let name = LooseName::Import(import.module, import.imported);
            edges.loose.push(Loose { source, kind, name, at });
        }
    }
}

/// What a call leads to, if that is known.
type Target = Option<(Item, Confidence)>;

fn add_calls(world: &World<'_>, unique: &Unique, file: &File<'_>, edges: &mut Edges) {
    // One name means the same at all places of one scope.
    let mut known: HashMap<(Option<u32>, Name), Target> = HashMap::new();
    for reference in &file.facts.references {
        if reference.kind != ReferenceKind::Call {
            continue;
        }
        let scope = World::item_in(file, reference.inside);
        let (callee, at) = (reference.callee, reference.at);
        let target = *known
            .entry((reference.inside, callee))
            .or_insert_with(|| target_of_call(world, unique, file, scope, callee));
        let (source, kind) = (source_of(world, scope), EdgeKind::Calls);
        match target {
            Some((target, confidence)) => {
                edges.sites.push(Site { source, kind, target, at, confidence });
            }
            None => {
                let name = LooseName::Path(callee);
                edges.loose.push(Loose { source, kind, name, at });
            }
        }
    }
}

/// A module that is called is what it exports by default, and `super()` is the base class.
fn called_module(world: &World<'_>, found: Found, is_alone: bool) -> Found {
    match found {
        Found::Item(item) if world.is_file(item) => {
            let default = modules::default_of(world, item, &mut Trail::default());
            default.unwrap_or(Found::Outside)
        }
        Found::Base(class) if is_alone => {
            let base = world.bases.get(&class).and_then(|bases| bases.first());
            base.map_or(Found::Outside, |base| Found::Item(*base))
        }
        found => found,
    }
}

fn target_of_call(
    world: &World<'_>,
    unique: &Unique,
    file: &File<'_>,
    scope: Item,
    callee: Name,
) -> Target {
    let path = file.words.of(callee);
    let mut found = world.look_up(scope, path, &mut Trail::default());
    if file.family == Family::Script {
        found = called_module(world, found, path.len() == 1);
    }
    match found {
        Found::Item(item) => {
            let is_callable = match world.kind(item) {
                Some(kind) => kind != SymbolKind::Module,
                None => world.has_values(item),
            };
            is_callable.then_some((item, Confidence::Scoped))
        }
        // A variable of this name hides what else has it, but says nothing of its methods.
        Found::Opaque if path.len() < 2 => None,
        Found::Opaque | Found::Nothing => {
            unique.find(world, file, path).map(|item| (item, Confidence::ByName))
        }
        Found::Folder(_) | Found::Value(_) | Found::Base(_) | Found::Outside => None,
    }
}
