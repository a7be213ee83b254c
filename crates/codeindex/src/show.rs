//! What people ask of a code graph: where a name is, who calls it, what it calls.

use serde_json::Value;
use timestrata_engine::Result;
use timestrata_graph::{Block, BlockId, Direction, Find, GraphView};

use crate::nodes::{FACTS, TREE};

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

impl Shown {
    fn of(block: &Block) -> Option<Self> {
        let said: Value = serde_json::from_str(block.metadata()?).ok()?;
        let text = |name: &str| said.get(name)?.as_str().map(str::to_owned);
        let kind = text("kind")?;
        if kind == FACTS || kind == TREE {
            return None;
        }
        Some(Self {
            id: block.id(),
            kind,
            qualified: text("qualified")?,
            path: block.source_uri().map(str::to_owned),
            start: said.get("start").and_then(site),
            sites: Vec::new(),
            is_by_name: false,
        })
    }
}

fn site(value: &Value) -> Option<Site> {
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
    for block in view.find(&Find::default())? {
        let Some(shown) = Shown::of(&block) else { continue };
        let ends_so = || shown.qualified.strip_suffix(name).is_some_and(|rest| rest.ends_with('.'));
        if shown.qualified == name || ends_so() {
            found.push(shown);
        }
    }
    found.sort_by(|a, b| (&a.path, a.start, &a.qualified).cmp(&(&b.path, b.start, &b.qualified)));
    Ok(found)
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
