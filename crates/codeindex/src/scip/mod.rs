//! Indexes that other programs made, in the SCIP format, as graphs.
//!
//! What an indexer knows of a tree is taken as it says, so that languages which aren't read here have
//! their graphs too. An index is decoded twice, once for the symbols and once for what refers to them;
//! the graph is written when all of it was found to be right.

mod documents;
mod kinds;
mod positions;
mod symbol;
mod symbols;
mod wire;

use std::path::Path;

use documents::Told;
use symbols::Symbols;
use timestrata_engine::{Io, Result};
use timestrata_graph::Graph;
use wire::Index;

use crate::diff::{Diff, Written};
use crate::files::{Progress, Skipped, read_file, unread};
use crate::index::IndexOptions;
use crate::stored::{Stored, check_tree};

/// No message of the format can be larger.
const INDEX_BYTES_MAX: u64 = (1 << 31) - 1;
/// The text of larger sources isn't looked up.
const SOURCE_BYTES_MAX: u64 = 64 << 20;

/// What importing did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Imported {
    /// Files in the graph now.
    pub files: usize,
    /// Symbols in the graph now that one of these files defines.
    pub symbols: usize,
    /// Symbols in the graph now that are only referred to.
    pub externals: usize,
    /// What was left out, in the order of the paths.
    pub skipped: Vec<Skipped>,
    /// What of the graph had to change.
    pub written: Written,
}

/// Takes an index in the SCIP format into a graph, which then holds what it says and nothing else.
///
/// The text of a document comes from the index, or else from its file below `sources`: an index says where
/// its tree was, but what is read of this machine is up to the caller. It is needed to count columns in
/// bytes, and is what the blocks hold. Documents and symbols that aren't as the format has them are left
/// out, and told.
///
/// # Errors
/// `NotFound` if there is no such file; `InvalidData` if it is no index, or not all of one; `TooLarge`;
/// `AlreadyExists` if the graph holds another tree; what reading and writing the graph may fail with.
/// Nothing is written then.
pub fn import_scip(
    graph: &Graph,
    io: &Io,
    file: &Path,
    sources: Option<&Path>,
    options: IndexOptions,
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<Imported> {
    let mut imported = Imported::default();
    let bytes = read_file(io, "the index", file, INDEX_BYTES_MAX)?;
    let index = Index::of(&bytes, file, &mut imported.skipped)?;
    let view = graph.view()?;
    check_tree(graph, &view, &index.root, options.replace)?;
    let symbols = Symbols::of(&index, file, &mut imported.skipped)?;
    let stored = Stored::of(&view)?;
    let mut diff = Diff::new(&view, &index.root)?;
    let mut told = Told::new(&symbols, index.documents.len());
    if let Some(root) = sources {
        io.disk.list(root).map_err(|cause| unread("the folder", root, cause))?;
    }
    for (number, document) in index.documents.iter().enumerate() {
        let found = match (document.text, sources) {
            (None, Some(root)) => source(io, &root.join(document.path)),
            _ => None,
        };
        let text = document.text.or(found.as_deref());
        told.add(&mut diff, number, document, text, &mut imported.skipped)?;
        progress(Progress { files: number + 1, files_all: index.documents.len() });
    }
    (imported.files, imported.symbols) = (index.documents.len(), told.defined);
    let (externals, edges) = told.finish(&mut diff)?;
    imported.externals = externals;
    imported.skipped.sort_by(|a, b| a.path.cmp(&b.path));
    diff.finish(&stored, edges)?;
    imported.written = diff.write(graph, options.durability)?;
    Ok(imported)
}

/// The text of a source that is here; the index may be of another machine, or of another day.
fn source(io: &Io, path: &Path) -> Option<String> {
    let bytes = read_file(io, "a source", path, SOURCE_BYTES_MAX).ok()?;
    String::from_utf8(bytes).ok()
}
