//! What people ask of a code graph: where a name is, who calls it, what it calls.

use std::collections::BTreeMap;

use serde_json::Value;
use timestrata_engine::{Error, ErrorKind, Result};
use timestrata_graph::{Along, Block, BlockId, Direction, Find, GraphView};

use crate::ids::{FACTS, TREE, tree_id};

/// Kinds of edges that a chain from one name to another goes along.
const CHAINED: [&str; 3] = ["calls", "imports", "inherits"];

/// A place in a source file: the line from 1, the column in bytes from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Site {
    /// The line, from 1.
    pub line: u64,
    /// The column in bytes, from 0.
    pub column: u64,
}

/// A file, or something in one, or a name that nothing in the tree has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// Its block.
    pub id: BlockId,
    /// `file`, `class`, `function` and so on; `external` for a name that nothing in the tree has.
    pub kind: String,
    /// Its name with those of what it stands in: `Outer.inner`.
    pub qualified: String,
    /// The file it is in; `None` for a name that nothing in the tree has.
    pub path: Option<String>,
    /// Where it begins.
    pub start: Option<Site>,
    /// Where the reference stands in the file of who refers, if it is one end of an edge.
    pub sites: Vec<Site>,
    /// Whether the reference was found only because nothing else has that name.
    pub is_by_name: bool,
}

/// What a name can be linked to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relation {
    /// Who calls it.
    Callers,
    /// What it calls.
    Callees,
    /// What it imports.
    Imports,
    /// Who imports it.
    Importers,
    /// What it inherits from.
    Bases,
    /// What inherits from it.
    Derived,
    /// What stands in it.
    Members,
}

impl Relation {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Callers,
        Self::Callees,
        Self::Imports,
        Self::Importers,
        Self::Bases,
        Self::Derived,
        Self::Members,
    ];

    /// Its name, as users write it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Callers => "callers",
            Self::Callees => "callees",
            Self::Imports => "imports",
            Self::Importers => "importers",
            Self::Bases => "bases",
            Self::Derived => "derived",
            Self::Members => "members",
        }
    }

    /// What it is, in a few words.
    #[must_use]
    pub fn about(self) -> &'static str {
        match self {
            Self::Callers => "Who calls it",
            Self::Callees => "What it calls",
            Self::Imports => "What it imports",
            Self::Importers => "Who imports it",
            Self::Bases => "What it inherits from",
            Self::Derived => "What inherits from it",
            Self::Members => "What stands in it",
        }
    }

    /// The edges that say so.
    #[must_use]
    pub fn edges(self) -> (Direction, &'static str) {
        match self {
            Self::Callers => (Direction::In, "calls"),
            Self::Callees => (Direction::Out, "calls"),
            Self::Imports => (Direction::Out, "imports"),
            Self::Importers => (Direction::In, "imports"),
            Self::Bases => (Direction::Out, "inherits"),
            Self::Derived => (Direction::In, "inherits"),
            Self::Members => (Direction::Out, "contains"),
        }
    }

    /// What there is to say where there is nothing to show.
    #[must_use]
    pub fn none(self, name: &str) -> String {
        match self {
            Self::Callers => format!("nothing calls '{name}'"),
            Self::Callees => format!("'{name}' calls nothing"),
            Self::Imports => format!("'{name}' imports nothing"),
            Self::Importers => format!("nothing imports '{name}'"),
            Self::Bases => format!("'{name}' inherits from nothing"),
            Self::Derived => format!("nothing inherits from '{name}'"),
            Self::Members => format!("nothing stands in '{name}'"),
        }
    }
}

impl Shown {
    fn of(block: &Block) -> Option<Self> {
        let said: Value = serde_json::from_str(block.metadata()?).ok()?;
        Self::said(block.id(), block.source_uri(), &said)
    }

    /// What the metadata of a block say that it stands for.
    pub(crate) fn said(id: BlockId, source_uri: Option<&str>, said: &Value) -> Option<Self> {
        let text = |name: &str| said.get(name)?.as_str().map(str::to_owned);
        let kind = text("kind")?;
        if kind == FACTS || kind == TREE {
            return None;
        }
        Some(Self {
            id,
            kind,
            qualified: text("qualified")?,
            path: source_uri.map(str::to_owned),
            start: said.get("start").and_then(site),
            sites: Vec::new(),
            is_by_name: false,
        })
    }
}

pub(crate) fn site(value: &Value) -> Option<Site> {
    let [line, column] = value.as_array()?.as_slice() else { return None };
    Some(Site { line: line.as_u64()?, column: column.as_u64()? })
}

/// What a block stands for; `None` if it isn't there, or stands for nothing in the sources.
///
/// # Errors
/// What reading may fail with.
pub fn node_of(view: &GraphView, id: BlockId) -> Result<Option<Shown>> {
    Ok(view.get(id)?.as_ref().and_then(Shown::of))
}

/// What has a name: its own (`inner`), the whole (`Outer.inner`), or a file's path; in the order of files
/// and lines.
///
/// # Errors
/// What reading may fail with.
pub fn find(view: &GraphView, name: &str) -> Result<Vec<Shown>> {
    let mut found = Vec::new();
    // Most blocks needn't be taken apart to see that they have another name: text that JSON writes as it is.
    let is_plain =
        !name.contains(|letter: char| letter.is_control() || matches!(letter, '"' | '\\'));
    let may_be =
        |block: &Block| !is_plain || block.metadata().is_some_and(|said| said.contains(name));
    for block in view.find(&Find::default())? {
        let Some(shown) = Some(&block).filter(|block| may_be(block)).and_then(Shown::of) else {
            continue;
        };
        let ends_so = || shown.qualified.strip_suffix(name).is_some_and(|rest| rest.ends_with('.'));
        if shown.qualified == name || ends_so() {
            found.push(shown);
        }
    }
    found.sort_by(|a, b| (&a.path, a.start, &a.qualified).cmp(&(&b.path, b.start, &b.qualified)));
    Ok(found)
}

/// The same; an error if nothing has the name. `graph` is what the graph is called.
///
/// # Errors
/// `NotFound`; what reading may fail with.
pub fn named(view: &GraphView, graph: &str, name: &str) -> Result<Vec<Shown>> {
    let found = find(view, name)?;
    if found.is_empty() {
        let message = format!("graph '{graph}': nothing is called '{name}'");
        let hint = "names are as the sources have them: 'parse', 'Parser.parse', 'src/parser.py'";
        return Err(Error::new(ErrorKind::NotFound, message).hinting(hint));
    }
    Ok(found)
}

/// Something that has a name, and what it is linked to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Linked {
    /// What has the name.
    pub of: Shown,
    /// What is at the other ends, in the order of files and lines.
    pub links: Vec<Shown>,
}

/// What everything that has a name is linked to; an error if nothing has the name.
///
/// # Errors
/// As [`named`].
pub fn links_of(
    view: &GraphView,
    graph: &str,
    name: &str,
    relation: Relation,
) -> Result<Vec<Linked>> {
    let (direction, kind) = relation.edges();
    let found = named(view, graph, name)?.into_iter().map(|of| {
        let links = shown_edges(view, of.id, direction, kind)?;
        Ok(Linked { of, links })
    });
    found.collect()
}

/// How many there are of each kind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Kinds {
    /// Blocks, by what they stand for; `other` where they don't say.
    pub blocks: BTreeMap<String, u64>,
    /// Edges.
    pub edges: BTreeMap<String, u64>,
}

/// How many blocks and edges of each kind a graph has.
///
/// # Errors
/// What reading may fail with.
pub fn kinds_of(view: &GraphView) -> Result<Kinds> {
    let mut kinds = Kinds::default();
    for block in view.all_blocks()? {
        let block = block?;
        let said: Option<Value> = block.metadata().and_then(|text| serde_json::from_str(text).ok());
        let kind = said.as_ref().and_then(|said| said.get("kind")?.as_str());
        *kinds.blocks.entry(kind.unwrap_or("other").to_owned()).or_default() += 1;
    }
    for edge in view.all_edges()? {
        *kinds.edges.entry(edge?.key.kind.to_string()).or_default() += 1;
    }
    Ok(kinds)
}

/// Names that hold a text in any case, shortest first, `most` of them at most: for who has asked for one that
/// nothing has.
///
/// # Errors
/// What reading may fail with.
pub fn names_like(view: &GraphView, part: &str, most: usize) -> Result<Vec<String>> {
    let part = part.to_lowercase();
    let blocks = view.find(&Find::default())?;
    let all = blocks.iter().filter_map(Shown::of).map(|shown| shown.qualified);
    let mut names: Vec<String> = all.filter(|name| name.to_lowercase().contains(&part)).collect();
    names.sort_by(|a, b| (a.len(), a).cmp(&(b.len(), b)));
    names.dedup();
    names.truncate(most);
    Ok(names)
}

/// A shortest chain of calls, imports and inheritance from one of some blocks to one of others; `None` if there
/// is none. `go_on` is asked before each search.
///
/// # Errors
/// That of `go_on`; what reading may fail with.
pub fn chain(
    view: &GraphView,
    from: &[Shown],
    to: &[Shown],
    go_on: impl Fn() -> Result<()>,
) -> Result<Option<Vec<Shown>>> {
    let along = Along { kinds: &CHAINED, ..Along::default() };
    let mut shortest: Option<Vec<BlockId>> = None;
    for source in from {
        for target in to {
            go_on()?;
            let Some(route) = view.shortest_path(source.id, target.id, &along, false)?.route else {
                continue;
            };
            if shortest.as_ref().is_none_or(|known| route.ids.len() < known.len()) {
                shortest = Some(route.ids);
            }
        }
    }
    let Some(ids) = shortest else { return Ok(None) };
    let nodes = ids.into_iter().map(|id| node_of(view, id));
    Ok(Some(nodes.filter_map(Result::transpose).collect::<Result<_>>()?))
}

/// The folder of sources that a graph was made of; `None` if it is no code graph.
///
/// # Errors
/// What reading may fail with.
pub fn tree_of(view: &GraphView) -> Result<Option<String>> {
    let block = view.get(tree_id())?;
    Ok(block.and_then(|block| block.source_uri().map(str::to_owned)))
}

/// What is at the other ends of a block's edges of a kind, in the order of files and lines.
///
/// # Errors
/// What reading may fail with.
pub fn shown_edges(
    view: &GraphView,
    of: BlockId,
    direction: Direction,
    kind: &str,
) -> Result<Vec<Shown>> {
    let mut found = Vec::new();
    for edge in view.edges(of, direction, &[kind])? {
        let other = if edge.key.source == of { edge.key.target } else { edge.key.source };
        let Some(mut shown) = view.get(other)?.as_ref().and_then(Shown::of) else { continue };
        let said: Option<Value> =
            edge.properties.as_deref().and_then(|text| serde_json::from_str(text).ok());
        let said = said.unwrap_or_default();
        let sites = said.get("sites").and_then(Value::as_array);
        shown.sites = sites.into_iter().flatten().filter_map(site).collect();
        shown.is_by_name = said.get("by").is_some();
        found.push(shown);
    }
    found.sort_by(|a, b| (&a.path, a.start, &a.qualified).cmp(&(&b.path, b.start, &b.qualified)));
    Ok(found)
}
