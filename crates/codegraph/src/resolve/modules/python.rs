//! Python: modules are files, packages are folders.
//!
//! Where the interpreter would search isn't known. A module is searched for first in the folders
//! above the importing file, from the nearest, as if each that is no package itself were on the
//! path; then in any other folder that holds a package of that name.

use hashbrown::HashMap;

use super::super::folders::Folder;
use super::super::lookup::Found;
use super::super::words::{NO_WORD, Word};
use super::super::world::{File, World};
use crate::Import;
use crate::language::Family;

/// Folders that are on the path by habit, and so may hold modules that are no packages.
const SOURCE_FOLDERS: [&str; 3] = ["src", "lib", "python"];

pub(super) fn module(world: &World<'_>, file: &File<'_>, import: &Import) -> Found {
    let words = file.words.of(import.module);
    let from = usize::from(import.level == 0);
    let mut rest = words.get(from..).unwrap_or_default().iter().filter(|word| **word != NO_WORD);
    let first = start(world, file, import.level, words.first().copied());
    let found =
        first.and_then(|first| rest.try_fold(first, |found, word| submodule(world, found, *word)));
    found.unwrap_or(Found::Outside)
}

pub(super) fn first_module(world: &World<'_>, file: &File<'_>, import: &Import) -> Found {
    let first = file.words.of(import.module).first().copied();
    start(world, file, 0, first).unwrap_or(Found::Outside)
}

/// The package that a relative module is relative to, or the first module of an absolute one.
fn start(world: &World<'_>, file: &File<'_>, level: u32, first: Option<Word>) -> Option<Found> {
    if level > 0 {
        let above = usize::try_from(level).ok()?.checked_sub(1)?;
        let folder = world.folders.upward(file.place.folder).nth(above)?;
        return Some(package(world, folder));
    }
    let first = first.filter(|first| *first != NO_WORD)?;
    let mut near =
        world.folders.upward(file.place.folder).filter(|folder| !is_package(world, *folder));
    let found = near.find_map(|folder| in_folder(world, folder, first));
    found.or_else(|| elsewhere(world, file, first))
}

/// A package of that name anywhere in the tree; of several, that which stands nearest.
fn elsewhere(world: &World<'_>, file: &File<'_>, first: Word) -> Option<Found> {
    let roots = world.python_roots.get(&first)?;
    let distance = |folder: Folder| world.folders.distance(file.place.folder, folder);
    let nearest = roots.iter().min_by_key(|folder| (distance(**folder), **folder))?;
    in_folder(world, *nearest, first)
}

/// The folders from which modules and packages can be imported everywhere, by the names of these.
pub(in super::super) fn roots(world: &World<'_>) -> HashMap<Word, Vec<Folder>> {
    let mut roots: HashMap<Word, Vec<Folder>> = HashMap::new();
    for file in world.files.iter().filter(|file| file.family == Family::Python) {
        let (mut folder, mut name) = (file.place.folder, file.place.stem);
        let is_init = Some(name) == world.init;
        if is_init {
            let Some(above) = world.folders.above(folder) else { continue };
            (folder, name) = above;
        }
        if !is_package(world, folder) && (is_init || is_source(world, folder)) {
            roots.entry(name).or_default().push(folder);
        }
    }
    roots
}

/// Whether modules that stand alone in a folder can be imported from everywhere.
fn is_source(world: &World<'_>, folder: Folder) -> bool {
    let above = world.folders.above(folder);
    above.is_none_or(|(_, name)| SOURCE_FOLDERS.contains(&world.words.text(name)))
}

fn is_package(world: &World<'_>, folder: Folder) -> bool {
    world.init.is_some_and(|init| world.folders.stem(folder, init, Family::Python).is_some())
}

/// A folder as a package: its `__init__.py`, or the folder itself where it has none.
fn package(world: &World<'_>, folder: Folder) -> Found {
    let init = world.init.and_then(|init| world.folders.stem(folder, init, Family::Python));
    let file = init.and_then(|init| world.file(init));
    file.map_or(Found::Folder(folder), |file| Found::Item(file.item))
}

fn submodule(world: &World<'_>, found: Found, word: Word) -> Option<Found> {
    match found {
        Found::Folder(folder) => in_folder(world, folder, word),
        Found::Item(item) => in_package(world, world.file_of(item)?, word),
        _ => None,
    }
}

/// A module of the package whose `__init__.py` the file is.
pub(super) fn in_package(world: &World<'_>, file: &File<'_>, word: Word) -> Option<Found> {
    let is_init = Some(file.place.stem) == world.init;
    if is_init { in_folder(world, file.place.folder, word) } else { None }
}

/// A package or a module in a folder.
pub(super) fn in_folder(world: &World<'_>, folder: Folder, word: Word) -> Option<Found> {
    let below = world.folders.folder(folder, word);
    if let Some(below) = below.filter(|below| is_package(world, *below)) {
        return Some(package(world, below));
    }
    if let Some(file) = world.folders.stem(folder, word, Family::Python) {
        return world.file(file).map(|file| Found::Item(file.item));
    }
    below.filter(|below| world.folders.has(*below, Family::Python)).map(Found::Folder)
}
