//! Rust: modules are files by `mod`, and blocks in them.

use super::super::lookup::{Found, Trail};
use super::super::words::Word;
use super::super::world::{File, Item, World};
use crate::Import;

pub(super) fn module(_: &World<'_>, _: &File<'_>, _: &Import, _: &mut Trail) -> Found {
    Found::Outside
}

pub(in super::super) fn keyword(
    _: &World<'_>,
    _: Item,
    _: Word,
    _: &[Word],
) -> Option<(Found, usize)> {
    None
}

pub(super) fn child(_: &World<'_>, _: &File<'_>, _: Word) -> Option<Found> {
    None
}

pub(super) fn beyond(_: &World<'_>, _: &File<'_>, _: Item, _: Word) -> Found {
    Found::Nothing
}
