//! Go: packages are folders, named by paths that begin with a module's name, which isn't read.
//!
//! So a path means the folder that its end names, the longest end that there is. What may be of the
//! language's own library must be there whole.

use super::super::folders::{Folder, TOP};
use super::super::lookup::Found;
use super::super::world::{File, World};
use crate::Import;
use crate::language::Family;

/// First parts of paths in Go's own library.
const LIBRARY: &str = "archive bufio bytes cmp compress container context crypto database debug \
    embed encoding errors expvar flag fmt go hash html image index io iter log maps math mime \
    net os path plugin reflect regexp runtime slices sort strconv strings structs sync syscall \
    testing text time unicode unique unsafe weak";

pub(super) fn module(world: &World<'_>, file: &File<'_>, import: &Import) -> Found {
    let path = file.facts.text(import.module);
    let first = path.split('/').next().unwrap_or_default();
    let is_library = LIBRARY.split_ascii_whitespace().any(|known| known == first);
    let mut rest = path;
    loop {
        if let Some(folder) = folder(world, rest) {
            return Found::Folder(folder);
        }
        match rest.split_once('/').filter(|_| !is_library) {
            Some((_, shorter)) => rest = shorter,
            None => return Found::Outside,
        }
    }
}

fn folder(world: &World<'_>, path: &str) -> Option<Folder> {
    let mut parts = path.split('/');
    let folder = parts
        .try_fold(TOP, |folder, part| world.folders.folder(folder, world.words.known(part)?))?;
    (!world.folders.files(folder, Family::Go).is_empty()).then_some(folder)
}
