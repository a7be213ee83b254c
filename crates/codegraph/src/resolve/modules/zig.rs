//! Zig: files are imported by their paths, and packages by names that the build gives them, which
//! isn't read.

use super::super::lookup::Found;
use super::super::world::{File, World};
use super::relative;
use crate::Import;

pub(super) fn module(world: &World<'_>, file: &File<'_>, import: &Import) -> Found {
    let path = file.facts.text(import.module);
    let is_file = path.ends_with(".zig") && !path.starts_with('/');
    let found = if is_file { relative(world, file.place.folder, path) } else { None };
    found.unwrap_or(Found::Outside)
}
