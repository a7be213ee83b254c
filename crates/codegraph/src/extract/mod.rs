//! From the bytes of a file to its facts.
//!
//! A file is parsed whole and its tree walked once, by a cursor and not by recursion: how deep a
//! source nests is up to strangers. Each language has a module here that knows its nodes.

mod build;
mod c;
mod go;
mod path;
mod python;
mod rust;
mod script;
mod walk;
mod zig;

use std::borrow::Cow;
use std::ops::ControlFlow;

use tree_sitter::{ParseOptions, ParseState, Parser, Tree};

use crate::unparsed::{Reason, Unparsed};
use crate::{Facts, Language, Position};

/// Steps of the parser that each byte may cost, as the parser counts them; sources that people
/// write need less than one, and what is made to be hard would take hours.
const STEPS_PER_BYTE: usize = 8;
/// What a file may cost whatever its length.
const STEPS_FREE: usize = 500_000;
/// After how many steps the parser asks whether to go on.
const STEPS_BETWEEN_CHECKS: usize = 100;

/// How a file is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExtractOptions {
    /// Larger files are left out; 8 MiB if not said. What is larger was rarely written by a person.
    /// Nothing above 1 GiB is ever read.
    pub bytes_max: u64,
}

impl Default for ExtractOptions {
    fn default() -> Self {
        Self { bytes_max: 8 << 20 }
    }
}

/// The facts of a file, which depend on nothing else.
///
/// # Errors
/// For a file that is too large, isn't UTF-8 text, or isn't as its language has it. Of such a file
/// nothing is told, as what its parts mean isn't certain.
pub fn extract(language: Language, bytes: &[u8]) -> Result<Facts, Unparsed> {
    extract_with(language, bytes, &ExtractOptions::default())
}

/// [`extract`], with options.
///
/// # Errors
/// As [`extract`].
pub fn extract_with(
    language: Language,
    bytes: &[u8],
    options: &ExtractOptions,
) -> Result<Facts, Unparsed> {
    check_bytes(bytes, options)?;
    let readable = match language {
        Language::Zig => zig::readable(bytes),
        _ => Cow::Borrowed(bytes),
    };
    let tree = parse(language, &readable)?;
    check_tree(&tree)?;
    Ok(walk::walk(language, &tree, bytes))
}

fn check_bytes(bytes: &[u8], options: &ExtractOptions) -> Result<(), Unparsed> {
    let (length, bytes_max) = (bytes.len() as u64, options.bytes_max.min(1 << 30));
    if length > bytes_max {
        return Err(Unparsed::whole(Reason::TooLarge { bytes: length, bytes_max }));
    }
    if let Some(at) = bytes.iter().position(|byte| *byte == 0) {
        return Err(Unparsed { reason: Reason::Binary, at: position_of_byte(bytes, at) });
    }
    std::str::from_utf8(bytes).map(drop).map_err(|error| {
        let at = position_of_byte(bytes, error.valid_up_to());
        Unparsed { reason: Reason::Encoding, at }
    })
}

fn position_of_byte(bytes: &[u8], at: usize) -> Position {
    let before = bytes.get(..at).unwrap_or(bytes);
    let lines = before.split(|byte| *byte == b'\n');
    let column = lines.clone().next_back().map_or(0, <[u8]>::len);
    Position { line: number(lines.count()), column: number(column) }
}

/// A length within a file, which is checked to be far below the largest number.
fn number(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

pub(crate) fn parse(language: Language, bytes: &[u8]) -> Result<Tree, Unparsed> {
    let mut parser = Parser::new();
    if parser.set_language(&walk::grammar_of(language)).is_err() {
        return Err(Unparsed::whole(Reason::Grammar));
    }
    let steps_max = STEPS_FREE.saturating_add(bytes.len().saturating_mul(STEPS_PER_BYTE));
    let mut checks_left = steps_max / STEPS_BETWEEN_CHECKS;
    let mut go_on = |_: &ParseState| match checks_left.checked_sub(1) {
        Some(left) => {
            checks_left = left;
            ControlFlow::Continue(())
        }
        None => ControlFlow::Break(()),
    };
    let options = ParseOptions::new().progress_callback(&mut go_on);
    let tree = parser.parse_with_options(
        &mut |at, _| bytes.get(at..).unwrap_or_default(),
        None,
        Some(options),
    );
    tree.ok_or(Unparsed::whole(Reason::TooHard))
}

/// Whether the parser had to guess. It says so of the whole tree at once; only then the place is
/// looked for.
fn check_tree(tree: &Tree) -> Result<(), Unparsed> {
    if !tree.root_node().has_error() {
        return Ok(());
    }
    let mut cursor = tree.walk();
    let mut deepest = Position { line: 1, column: 0 };
    loop {
        let node = cursor.node();
        // Where hardly anything is right, the whole file is wrong; what is within tells more.
        let is_whole = node.is_error() && node.parent().is_none();
        if (node.is_error() && !is_whole) || node.is_missing() {
            let reason = if node.is_missing() { Reason::Missing } else { Reason::Unexpected };
            return Err(Unparsed { reason, at: build::place(node) });
        }
        if node.has_error() {
            deepest = build::place(node);
            if cursor.goto_first_child() {
                continue;
            }
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                // What is missing can be a token that has no name.
                return Err(Unparsed { reason: Reason::Unexpected, at: deepest });
            }
        }
    }
}
