//! The documents of an index as blocks and edges.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use scip::types::SymbolRole;
use serde_json::{Value, json};
use timestrata_codegraph::{EdgeKind, Language, Position};
use timestrata_engine::Result;
use timestrata_graph::{BlockId, Edge, EdgeKey};

use super::kinds::can_refer;
use super::positions::{At, Lines, Range};
use super::symbols::{Symbol, Symbols, has_role};
use super::wire::{Decoded, Document};
use crate::diff::Diff;
use crate::files::Skipped;
use crate::ids::{EXTERNAL, node_id};
use crate::nodes::{self, FILE, Put, set, set_names};

/// The kind of edge for what is named and not called.
const REFERENCES: &str = "references";
/// How many times its own length the text of a document may be written: definitions stand in each
/// other, but not that deep.
const TEXT_TIMES_MAX: usize = 64;

/// What all documents together say.
pub(super) struct Told<'s> {
    symbols: &'s Symbols,
    /// The symbols that each document defines.
    homes: Vec<Vec<usize>>,
    sites: BTreeMap<(BlockId, &'static str, BlockId), Vec<Position>>,
    /// Symbols that are referred to and not defined.
    externals: BTreeSet<usize>,
    /// How many blocks of symbols there are.
    pub(super) defined: usize,
}

/// An occurrence of a symbol that isn't its definition.
struct Reference {
    at: At,
    symbol: usize,
    is_import: bool,
}

/// What the occurrences of a document say.
#[derive(Default)]
struct Occurrences {
    references: Vec<Reference>,
    /// Of the symbols whose home the document is: how far their name goes, and all of them.
    definitions: HashMap<usize, (Range, Option<Range>)>,
    /// Definitions of symbols that have their home elsewhere.
    others: Vec<(At, usize)>,
    /// Occurrences without a place.
    misplaced: usize,
}

impl<'s> Told<'s> {
    pub(super) fn new(symbols: &'s Symbols, documents: usize) -> Self {
        let mut homes = vec![Vec::new(); documents];
        for (number, symbol) in symbols.all.iter().enumerate() {
            let home = symbol.home.and_then(|home| homes.get_mut(home.document));
            home.into_iter().for_each(|home| home.push(number));
        }
        let (sites, externals) = (BTreeMap::new(), BTreeSet::new());
        let defined = homes.iter().map(Vec::len).sum();
        Self { symbols, homes, sites, externals, defined }
    }

    /// Puts the blocks of a document, and takes in its edges.
    pub(super) fn add<'a>(
        &mut self,
        diff: &mut Diff<'a>,
        number: usize,
        document: &Document<'a>,
        text: Option<&str>,
        skipped: &mut Vec<Skipped>,
    ) -> Result<()> {
        let file = node_id(document.path);
        let occurrences = self.occurrences(number, document).unwrap_or_default();
        if occurrences.misplaced > 0 {
            let why = format!("{} occurrences without a usable range", occurrences.misplaced);
            skipped.push(Skipped { path: document.path.to_owned(), why });
        }
        let mut said = said_of(document);
        set_names(&mut said, FILE, nodes::file_name(document.path), document.path);
        diff.put(nodes::put(file, document.path, said, owned(text.unwrap_or_default())))?;
        let mut lines = Lines::new(text, document.encoding);
        let mut bytes_left = text.map_or(0, str::len).saturating_mul(TEXT_TIMES_MAX);
        for number in self.homes.get_mut(number).map(std::mem::take).unwrap_or_default() {
            let Some(symbol) = self.symbols.get(number) else { continue };
            let ranges = occurrences.definitions.get(&number).copied();
            diff.put(block(document, symbol, ranges, &mut lines, &mut bytes_left))?;
            let at = ranges.map(|(name, _)| lines.position(name.start));
            let container = self.symbols.container(symbol).map_or(file, |around| around.id);
            self.link(container, EdgeKind::Contains.name(), number, at);
            for base in &symbol.bases {
                self.link(symbol.id, EdgeKind::Inherits.name(), *base, at);
            }
            for of in &symbol.types {
                self.link(symbol.id, REFERENCES, *of, at);
            }
        }
        for (at, symbol) in &occurrences.others {
            self.link(file, EdgeKind::Contains.name(), *symbol, Some(lines.position(*at)));
        }
        self.add_references(file, occurrences, &mut lines);
        Ok(())
    }

    /// What was decoded once before, so nothing is wrong with it.
    fn occurrences(&self, number: usize, document: &Document<'_>) -> Decoded<Occurrences> {
        let mut found = Occurrences::default();
        for occurrence in document.occurrences() {
            let occurrence = occurrence?;
            let Some(symbol) = self.symbols.known(&occurrence.symbol) else { continue };
            let Some(range) = Range::of_occurrence(&occurrence) else {
                found.misplaced += 1;
                continue;
            };
            let home = self.symbols.get(symbol).and_then(|symbol| symbol.home);
            if has_role(&occurrence, SymbolRole::Definition) {
                if home.is_some_and(|home| home.document == number) {
                    let is_home = home.is_some_and(|home| home.start == Some(range.start));
                    if is_home {
                        let whole = Range::of_definition(&occurrence);
                        let whole = whole.filter(|whole| whole.start <= range.start);
                        found.definitions.entry(symbol).or_insert((range, whole));
                    }
                } else {
                    found.others.push((range.start, symbol));
                }
            } else if !has_role(&occurrence, SymbolRole::ForwardDefinition) {
                let is_import = has_role(&occurrence, SymbolRole::Import);
                found.references.push(Reference { at: range.start, symbol, is_import });
            }
        }
        Ok(found)
    }

    /// Who refers is the innermost definition around the place; the file, if there is none.
    fn add_references(&mut self, file: BlockId, found: Occurrences, lines: &mut Lines<'_>) {
        let Occurrences { mut references, definitions, .. } = found;
        let mut around: Vec<(Range, BlockId)> = definitions
            .iter()
            .filter_map(|(number, (_, whole))| {
                let symbol = self.symbols.get(*number).filter(|symbol| can_refer(symbol.suffix))?;
                Some(((*whole)?, symbol.id))
            })
            .collect();
        around.sort_unstable_by_key(|(range, id)| (range.start, Reverse(range.end), *id));
        references.sort_unstable_by_key(|reference| (reference.at, reference.symbol));
        let mut next = around.into_iter().peekable();
        let mut open: Vec<(Range, BlockId)> = Vec::new();
        for Reference { at, symbol, is_import } in references {
            while let Some(begun) = next.next_if(|(range, _)| range.start <= at) {
                open.push(begun);
            }
            while open.pop_if(|(range, _)| range.end <= at).is_some() {}
            let inside = open.last().map_or(file, |(_, id)| *id);
            let is_function = self.symbols.get(symbol).is_some_and(Symbol::is_function);
            let (source, kind) = match (is_import, is_function) {
                (true, _) => (file, EdgeKind::Imports.name()),
                (false, true) => (inside, EdgeKind::Calls.name()),
                (false, false) => (inside, REFERENCES),
            };
            self.link(source, kind, symbol, Some(lines.position(at)));
        }
    }

    fn link(&mut self, source: BlockId, kind: &'static str, target: usize, at: Option<Position>) {
        let Some(symbol) = self.symbols.get(target) else { return };
        if symbol.home.is_none() {
            self.externals.insert(target);
        }
        self.sites.entry((source, kind, symbol.id)).or_default().extend(at);
    }

    /// Puts the blocks of what isn't defined in the index; how many there are, and all edges.
    pub(super) fn finish(self, diff: &mut Diff<'_>) -> Result<(usize, BTreeMap<EdgeKey, Edge>)> {
        for symbol in self.externals.iter().filter_map(|number| self.symbols.get(*number)) {
            let mut said = json!({ "symbol": *symbol.text });
            set_names(&mut said, EXTERNAL, &symbol.name, &symbol.qualified);
            let (id, metadata) = (symbol.id, said.to_string());
            diff.put(Put { id, path: None, metadata, is_text: true, content: Cow::default() })?;
        }
        let mut edges = BTreeMap::new();
        for ((source, kind, target), mut sites) in self.sites {
            sites.sort_unstable();
            sites.dedup();
            let key = EdgeKey { source, kind: kind.into(), target };
            edges.extend([nodes::edge(key, nodes::sites(&sites, false))]);
        }
        Ok((self.externals.len(), edges))
    }
}

/// What is said of all that stands in a document. Not every indexer tells the language.
fn said_of(document: &Document<'_>) -> Value {
    let language = match document.language {
        "" => Language::of_path(document.path).map_or("", Language::name).to_owned(),
        told => told.to_lowercase(),
    };
    json!({ "path": document.path, "language": language })
}

fn owned<'a>(text: &str) -> Cow<'a, [u8]> {
    Cow::Owned(text.as_bytes().to_vec())
}

/// The block of a symbol: it begins where its name stands, as people look for that, and its text is
/// all of the definition.
fn block<'a>(
    document: &Document<'a>,
    symbol: &Symbol,
    ranges: Option<(Range, Option<Range>)>,
    lines: &mut Lines<'_>,
    bytes_left: &mut usize,
) -> Put<'a> {
    let mut said = said_of(document);
    set(&mut said, "symbol", json!(*symbol.text));
    set_names(&mut said, &symbol.kind(), &symbol.name, &symbol.qualified);
    let mut content = "";
    if let Some((name, whole)) = ranges {
        let whole = whole.unwrap_or(name);
        set(&mut said, "start", nodes::place(lines.position(name.start)));
        set(&mut said, "end", nodes::place(lines.position(whole.end)));
        let text = lines.between(whole);
        if let Some(left) = bytes_left.checked_sub(text.len()) {
            (content, *bytes_left) = (text, left);
        }
    }
    nodes::put(symbol.id, document.path, said, owned(content))
}
