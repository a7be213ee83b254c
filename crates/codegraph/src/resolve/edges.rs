//! References of a whole tree, gathered as they are found and put in order at the end.

use super::graph::{Confidence, Edge, EdgeKind, Node, NodeKind, Resolved, Unresolved};
use super::world::{Item, World, count};
use crate::{Name, Position, SymbolKind};

/// A reference that was found, at one site.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Site {
    pub(super) source: Item,
    pub(super) kind: EdgeKind,
    pub(super) target: Item,
    pub(super) at: Position,
    pub(super) confidence: Confidence,
}

/// A reference to something that isn't known, at one site.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Loose {
    pub(super) source: Item,
    pub(super) kind: EdgeKind,
    pub(super) name: LooseName,
    pub(super) at: Position,
}

/// What was written there: in one file one name is one number, which saves comparing texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum LooseName {
    Path(Name),
    /// A module, and what of it.
    Import(Name, Option<Name>),
}

#[derive(Debug, Default)]
pub(super) struct Edges {
    pub(super) sites: Vec<Site>,
    pub(super) loose: Vec<Loose>,
}

impl Edges {
    pub(super) fn scoped(&mut self, source: Item, kind: EdgeKind, target: Item, at: Position) {
        self.sites.push(Site { source, kind, target, at, confidence: Confidence::Scoped });
    }

    /// The graph, with numbers of nodes for those of items.
    pub(super) fn finish(mut self, world: &World<'_>) -> Resolved {
        let (nodes, numbers) = nodes(world);
        self.sites.sort_unstable();
        self.loose.sort_unstable();
        let number =
            |item: Item| usize::try_from(item).ok().and_then(|at| numbers.get(at)).copied();
        let mut edges: Vec<Edge> = Vec::new();
        for same in
            self.sites.chunk_by(|a, b| (a.source, a.kind, a.target) == (b.source, b.kind, b.target))
        {
            let Some(first) = same.first() else { continue };
            let ends = number(first.source).zip(number(first.target));
            let Some((source, target)) = ends else { continue };
            let confidence = same.iter().map(|site| site.confidence).min();
            let mut sites: Vec<Position> = same.iter().map(|site| site.at).collect();
            sites.dedup();
            let confidence = confidence.unwrap_or(Confidence::ByName);
            edges.push(Edge { source, kind: first.kind, target, confidence, sites });
        }
        let files = world.files.iter().map(|file| file.path.to_owned()).collect();
        let unresolved = unresolved(world, &self.loose, number);
        Resolved { files, nodes, edges, unresolved }
    }
}

fn unresolved(
    world: &World<'_>,
    loose: &[Loose],
    number: impl Fn(Item) -> Option<u32>,
) -> Vec<Unresolved> {
    let mut unresolved = Vec::new();
    for same in loose.chunk_by(|a, b| (a.source, a.kind, a.name) == (b.source, b.kind, b.name)) {
        let Some(first) = same.first() else { continue };
        let (Some(source), Some(file)) = (number(first.source), world.file_of(first.source)) else {
            continue;
        };
        let name = match first.name {
            LooseName::Path(name) | LooseName::Import(name, None) => {
                file.facts.text(name).to_owned()
            }
            LooseName::Import(module, Some(name)) => {
                format!("{}.{}", file.facts.text(module), file.facts.text(name))
            }
        };
        let mut sites: Vec<Position> = same.iter().map(|loose| loose.at).collect();
        sites.dedup();
        unresolved.push(Unresolved { source, kind: first.kind, name, sites });
    }
    unresolved
}

/// The nodes, and for each item the number of the node that stands for it: extensions have that of
/// their type, or of their file where the type isn't of this tree.
fn nodes(world: &World<'_>) -> (Vec<Node>, Vec<u32>) {
    let mut nodes = Vec::with_capacity(world.places.len());
    let mut numbers = Vec::with_capacity(world.places.len());
    for (number, file) in world.files.iter().enumerate() {
        let file_number = count(number);
        numbers.push(count(nodes.len()));
        let (key, kind) = (file.path.to_owned(), NodeKind::File);
        nodes.push(Node { key, kind, file: file_number, symbol: None });
        let mut seen = hashbrown::HashMap::with_capacity(file.facts.symbols.len());
        for (index, symbol) in file.facts.symbols.iter().enumerate() {
            numbers.push(count(nodes.len()));
            if symbol.kind == SymbolKind::Extension {
                continue;
            }
            let ordinal = seen.entry(symbol.qualified).or_insert(0_u32);
            *ordinal += 1;
            let name = file.facts.text(symbol.qualified);
            let key = match *ordinal {
                1 if !looks_numbered(name) => format!("{}::{name}", file.path),
                nth => format!("{}::{name}#{nth}", file.path),
            };
            let (kind, symbol) = (NodeKind::Symbol(symbol.kind), Some(count(index)));
            nodes.push(Node { key, kind, file: file_number, symbol });
        }
    }
    (nodes, numbers)
}

/// Whether a name could pass for another's with an ordinal; strings can name methods.
fn looks_numbered(name: &str) -> bool {
    name.split('#').skip(1).any(|rest| rest.starts_with(|first: char| first.is_ascii_digit()))
}
