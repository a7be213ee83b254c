//! All symbols of an index by number: what they are, where they are defined, how they relate.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use scip::types::symbol_information::Kind;
use scip::types::{Occurrence, SymbolInformation, SymbolRole};
use timestrata_engine::Result;
use timestrata_graph::BlockId;

use super::kinds;
use super::positions::{At, Range};
use super::symbol::{self, Suffix};
use super::wire::{Decoded, Index, refused};
use crate::files::Skipped;
use crate::ids::symbol_id;

/// A symbol that is seen beyond its own file.
#[derive(Debug)]
pub(super) struct Symbol {
    pub(super) id: BlockId,
    pub(super) text: Arc<str>,
    pub(super) name: String,
    pub(super) qualified: String,
    pub(super) suffix: Suffix,
    is_in_type: bool,
    kind: Kind,
    /// Whether the indexer has said what it is.
    is_described: bool,
    /// Where it is defined; of several places, the first.
    pub(super) home: Option<Home>,
    /// What it stands in, where its name doesn't say so.
    pub(super) enclosing: Option<usize>,
    /// What it implements, and what types it has.
    pub(super) bases: Vec<usize>,
    pub(super) types: Vec<usize>,
}

/// Where a symbol is defined. Those that say a place come before those that don't.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Home {
    is_nowhere: bool,
    /// Its place among the index's documents.
    pub(super) document: usize,
    /// Where its name stands.
    pub(super) start: Option<At>,
}

impl Symbol {
    pub(super) fn is_function(&self) -> bool {
        kinds::is_function(self.kind, self.suffix)
    }

    pub(super) fn kind(&self) -> String {
        kinds::name(self.kind, self.suffix, self.is_in_type)
    }
}

/// The symbols by their numbers, and the numbers by the symbols' names.
#[derive(Debug, Default)]
pub(super) struct Symbols {
    pub(super) all: Vec<Symbol>,
    /// None for names that aren't as the format has them.
    numbers: HashMap<Arc<str>, Option<usize>>,
}

/// Whether an occurrence has a role.
pub(super) fn has_role(occurrence: &Occurrence, role: SymbolRole) -> bool {
    occurrence.symbol_roles & role as i32 != 0
}

impl Symbols {
    /// Those that an index defines, describes or relates to these. Names that can't be read are told.
    pub(super) fn of(index: &Index<'_>, file: &Path, skipped: &mut Vec<Skipped>) -> Result<Self> {
        let mut symbols = Self::default();
        for (number, document) in index.documents.iter().enumerate() {
            let mut skip = |why| skipped.push(Skipped { path: document.path.to_owned(), why });
            let read = symbols.read(number, document.symbols(), document.occurrences(), &mut skip);
            read.map_err(|wrong| refused(file, &format!("{}: {wrong}", document.path)))?;
        }
        for described in index.external_symbols() {
            let described = described.map_err(|wrong| refused(file, &wrong))?;
            let mut skip = |why| skipped.push(Skipped { path: String::new(), why });
            symbols.describe(&described, None, &mut skip);
        }
        Ok(symbols)
    }

    fn read(
        &mut self,
        document: usize,
        described: impl Iterator<Item = Decoded<SymbolInformation>>,
        occurrences: impl Iterator<Item = Decoded<Occurrence>>,
        skip: &mut impl FnMut(String),
    ) -> Decoded<()> {
        for described in described {
            self.describe(&described?, Some(document), skip);
        }
        for occurrence in occurrences {
            let occurrence = occurrence?;
            let number = self.number(&occurrence.symbol, skip);
            if has_role(&occurrence, SymbolRole::Definition)
                && let Some(symbol) = number.and_then(|number| self.all.get_mut(number))
            {
                let start = Range::of_occurrence(&occurrence).map(|range| range.start);
                symbol.settle(document, start);
            }
        }
        Ok(())
    }

    /// Takes in what is said of a symbol, once.
    fn describe(
        &mut self,
        described: &SymbolInformation,
        document: Option<usize>,
        skip: &mut impl FnMut(String),
    ) {
        if described.symbol.is_empty() {
            skip("a description of a symbol without a name".to_owned());
        }
        let Some(number) = self.number(&described.symbol, skip) else { return };
        let mut bases = Vec::new();
        let mut types = Vec::new();
        for related in &described.relationships {
            let Some(other) = self.number(&related.symbol, skip) else { continue };
            if related.is_implementation {
                bases.push(other);
            }
            if related.is_type_definition {
                types.push(other);
            }
        }
        let enclosing = self.number(&described.enclosing_symbol, skip);
        let Some(symbol) = self.all.get_mut(number) else { return };
        if let Some(document) = document {
            symbol.settle(document, None);
        }
        if !std::mem::replace(&mut symbol.is_described, true) {
            symbol.kind = described.kind.enum_value_or_default();
            (symbol.enclosing, symbol.bases, symbol.types) = (enclosing, bases, types);
        }
    }

    /// The number of a symbol that is seen beyond its own file, if that is what the name says.
    fn number(&mut self, text: &str, skip: &mut impl FnMut(String)) -> Option<usize> {
        if text.is_empty() || symbol::is_local(text) {
            return None;
        }
        if let Some(known) = self.numbers.get(text) {
            return *known;
        }
        let shared: Arc<str> = text.into();
        let new = Symbol::of(&shared);
        if new.is_none() {
            let shown: String = text.chars().take(100).collect();
            skip(format!("'{shown}' is no symbol as SCIP has it"));
        }
        let number = new.map(|new| {
            self.all.push(new);
            self.all.len() - 1
        });
        self.numbers.insert(shared, number);
        number
    }

    /// The number of a symbol that the index was found to have.
    pub(super) fn known(&self, text: &str) -> Option<usize> {
        self.numbers.get(text).copied().flatten()
    }

    pub(super) fn get(&self, number: usize) -> Option<&Symbol> {
        self.all.get(number)
    }

    /// What a symbol stands in: what is said, or else the nearest that its own name begins with. A
    /// namespace contains what stands in its own document only; what stands elsewhere is the file's.
    pub(super) fn container(&self, symbol: &Symbol) -> Option<&Symbol> {
        let home = symbol.home?;
        let is_container = |other: &&Symbol| {
            let there = other.home.map(|there| there.document);
            other.id != symbol.id
                && there.is_some()
                && (other.suffix != Suffix::Namespace || there == Some(home.document))
        };
        let enclosing = symbol.enclosing.and_then(|number| self.get(number)).filter(is_container);
        if enclosing.is_some() {
            return enclosing;
        }
        let descriptors = symbol::descriptors(&symbol.text)?;
        let before = descriptors.iter().rev().skip(1).filter_map(|descriptor| {
            let number = self.known(symbol.text.get(..descriptor.end)?)?;
            self.get(number)
        });
        before.into_iter().find(is_container)
    }
}

impl Symbol {
    fn of(text: &Arc<str>) -> Option<Self> {
        let descriptors = symbol::descriptors(text)?;
        let last = descriptors.last()?;
        let around = descriptors.iter().rev().nth(1);
        Some(Self {
            id: symbol_id(text),
            text: text.clone(),
            name: last.name.clone().into_owned(),
            qualified: symbol::qualified(&descriptors),
            suffix: last.suffix,
            is_in_type: around.is_some_and(|around| around.suffix == Suffix::Type),
            kind: Kind::UnspecifiedKind,
            is_described: false,
            home: None,
            enclosing: None,
            bases: Vec::new(),
            types: Vec::new(),
        })
    }

    fn settle(&mut self, document: usize, start: Option<At>) {
        let new = Home { is_nowhere: start.is_none(), document, start };
        self.home = Some(self.home.map_or(new, |home| home.min(new)));
    }
}
