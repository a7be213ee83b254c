//! Which file or folder the module of an import is, by the rules of each language.

pub(super) mod c;
mod go;
mod python;
pub(super) mod rust;
mod script;
mod zig;

pub(super) use python::roots as python_roots;
pub(super) use rust::crates as rust_crates;

use super::folders::Folder;
use super::lookup::{Found, Trail};
use super::words::Word;
use super::world::{File, Item, World};
use crate::Import;
use crate::language::Family;

/// The module that an import names.
pub(super) fn module(
    world: &World<'_>,
    file: &File<'_>,
    import: &Import,
    trail: &mut Trail,
) -> Found {
    match file.family {
        Family::Python => python::module(world, file, import),
        Family::Rust => rust::module(world, file, import, trail),
        Family::C => c::module(world, file, import),
        Family::Script => script::module(world, file, import),
        Family::Go => go::module(world, file, import),
        Family::Zig => zig::module(world, file, import),
    }
}

/// What an import of a whole module binds its name to. In Python that is the first of `a.b.c`.
pub(super) fn bound_module(
    world: &World<'_>,
    file: &File<'_>,
    import: &Import,
    trail: &mut Trail,
) -> Found {
    match file.family {
        Family::Python if import.alias.is_none() => python::first_module(world, file, import),
        _ => module(world, file, import, trail),
    }
}

/// The folder that a path leads to from another.
fn folder_at(world: &World<'_>, folder: Folder, path: &str) -> Option<Folder> {
    path.split('/').try_fold(folder, |folder, part| match part {
        "" | "." => Some(folder),
        ".." => world.folders.above(folder).map(|(above, _)| above),
        part => world.folders.folder(folder, world.words.known(part)?),
    })
}

/// The file that a path leads to from a folder, by its whole name.
fn relative(world: &World<'_>, folder: Folder, path: &str) -> Option<Found> {
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
    let folder = folder_at(world, folder, folders)?;
    let file = world.folders.file(folder, world.words.known(name)?)?;
    world.file(file).map(|file| Found::Item(file.item))
}

/// The nodes that stand for a module: a folder has none of its own, so its files do.
pub(super) fn files_of(world: &World<'_>, module: Found) -> Vec<Item> {
    match module {
        Found::Item(item) => vec![item],
        Found::Folder(folder) => {
            let files = world.folders.files(folder, Family::Go).iter();
            files.filter_map(|file| world.file(*file)).map(|file| file.item).collect()
        }
        _ => Vec::new(),
    }
}

/// What a file has by a name, seen from another.
pub(super) fn in_file(world: &World<'_>, item: Item, word: Word, trail: &mut Trail) -> Found {
    let Some(file) = world.file_of(item) else { return Found::Nothing };
    let found = world.own(item, word, trail);
    let below = match file.family {
        // A package's own names go before its modules, unless nothing is known of them.
        Family::Python if matches!(found, Found::Nothing | Found::Opaque | Found::Outside) => {
            python::in_package(world, file, word)
        }
        Family::Rust if !found.is_something() => rust::child(world, file, word),
        Family::Script if !found.is_something() => in_default(world, item, word, trail),
        _ => None,
    };
    match (below, found) {
        (Some(below), _) => below,
        // The module is known and doesn't have it: so it is made in a way that isn't followed.
        (None, Found::Nothing) => Found::Outside,
        (None, found) => found,
    }
}

/// What a module exports by default, where that is asked for without its name.
pub(super) fn default_of(world: &World<'_>, item: Item, trail: &mut Trail) -> Option<Found> {
    let default = world.own(item, world.words.known("default")?, trail);
    default.is_something().then_some(default)
}

fn in_default(world: &World<'_>, item: Item, word: Word, trail: &mut Trail) -> Option<Found> {
    let default = default_of(world, item, trail)?;
    let is_file = matches!(default, Found::Item(item) if world.is_file(item));
    if is_file { None } else { Some(world.step(default, word, trail)) }
}

/// What a package that is a folder has by a name.
pub(super) fn in_folder(world: &World<'_>, folder: Folder, word: Word) -> Found {
    match world.packages.get(&(folder, word)) {
        Some(item) => Found::Item(*item),
        None => python::in_folder(world, folder, word).unwrap_or(Found::Outside),
    }
}

/// What a name means that nothing around it defines.
pub(super) fn beyond(world: &World<'_>, file: &File<'_>, word: Word) -> Found {
    match file.family {
        Family::Go => {
            let found = world.packages.get(&(file.place.folder, word));
            found.map_or(Found::Nothing, |item| Found::Item(*item))
        }
        Family::Rust => rust::beyond(world, word),
        Family::C => c::beyond(world, file, word),
        Family::Python | Family::Script | Family::Zig => Found::Nothing,
    }
}
