//! JavaScript and TypeScript: modules are files by relative paths, with endings left to guess.

use super::super::folders::Folder;
use super::super::lookup::Found;
use super::super::world::{File, World};
use super::folder_at;
use crate::Import;
use crate::language::Family;

/// Endings that a path may name though the file has another, as TypeScript has it.
const ENDINGS: [&str; 4] = [".js", ".jsx", ".mjs", ".cjs"];
/// Beginnings by which many trees name the folder of their sources.
const SOURCE_PREFIXES: [&str; 2] = ["@/", "~/"];

pub(super) fn module(world: &World<'_>, file: &File<'_>, import: &Import) -> Found {
    let path = file.facts.text(import.module);
    let found = if path.starts_with('.') {
        relative(world, file.place.folder, path)
    } else {
        below_sources(world, file.place.folder, path)
    };
    found.unwrap_or(Found::Outside)
}

/// `@/x` and `src/x` are searched in the folders above, from the nearest. All else is a package.
fn below_sources(world: &World<'_>, folder: Folder, path: &str) -> Option<Found> {
    let short = SOURCE_PREFIXES.iter().find_map(|prefix| path.strip_prefix(prefix));
    if short.is_none() && !path.starts_with("src/") {
        return None;
    }
    let rest = short.unwrap_or(path);
    world.folders.upward(folder).find_map(|above| {
        let source = world.words.known("src").and_then(|name| world.folders.folder(above, name));
        let source = source.filter(|_| short.is_some());
        source
            .and_then(|source| relative(world, source, rest))
            .or_else(|| relative(world, above, rest))
    })
}

fn relative(world: &World<'_>, folder: Folder, path: &str) -> Option<Found> {
    let path = path.trim_end_matches('/');
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
    let folder = folder_at(world, folder, folders)?;
    if matches!(name, "" | "." | "..") {
        return index(world, folder_at(world, folder, name)?);
    }
    let stem = ENDINGS.iter().find_map(|ending| name.strip_suffix(ending));
    let exact = world.words.known(name).and_then(|name| world.folders.file(folder, name));
    let script = exact.and_then(|file| world.file(file)).filter(|f| f.family == Family::Script);
    let file = script.map(|file| Found::Item(file.item));
    file.or_else(|| by_stem(world, folder, name))
        .or_else(|| by_stem(world, folder, stem?))
        .or_else(|| index(world, folder_at(world, folder, name)?))
}

fn index(world: &World<'_>, folder: Folder) -> Option<Found> {
    by_stem(world, folder, "index")
}

/// A file by its name without ending; one that only declares types will do if there is no other.
fn by_stem(world: &World<'_>, folder: Folder, stem: &str) -> Option<Found> {
    let find = |stem: &str| {
        let stem = world.words.known(stem)?;
        world.folders.stem(folder, stem, Family::Script)
    };
    let file = find(stem).or_else(|| find(&format!("{stem}.d")))?;
    world.file(file).map(|file| Found::Item(file.item))
}
