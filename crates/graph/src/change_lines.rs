//! Changes of a graph as lines of JSON, one object a line: what is put and linked is written as an export has it, and
//! beside that blocks are deleted and edges unlinked.

use std::collections::BTreeMap;
use std::io::BufRead;
use std::sync::Arc;

use timestrata_engine::{Durability, Result};

use super::adjacency::BlockId;
use super::changes::{Changed, GraphChanges, Unlinked};
use super::edge::{Edge, EdgeKey};
use super::edge_list::EdgeList;
use super::handle::Graph;
use super::lines::{
    LineParts, ReadBlock, edge_of, expect_known, for_each_line, id, needed, part, text, wrong,
};

type LineResult<T> = std::result::Result<T, String>;

/// What one line asks for.
#[derive(Debug)]
enum LineChange {
    Put(ReadBlock),
    Delete(BlockId),
    Link(Edge),
    Unlink(EdgeKey),
    UnlinkAll(Unlinked),
}

/// The version that a block is expected to have, if a line says so.
fn expected_version(parts: &mut LineParts<'_>) -> LineResult<Option<u32>> {
    let Some(version) = parts.remove("expected_version") else { return Ok(None) };
    let number = version.get().parse();
    number.map(Some).map_err(|_| wrong("expected_version", "a number from 0 on", version))
}

fn id_in(parts: &LineParts<'_>, name: &str) -> LineResult<BlockId> {
    id(&needed(text(parts, name)?, name)?, name)
}

/// The object that a part is.
fn nested<'l>(parts: &LineParts<'l>, name: &str) -> LineResult<LineParts<'l>> {
    let object = needed(part(parts, name), name)?;
    serde_json::from_str(object.get()).map_err(|_| wrong(name, "an object", object))
}

fn unlinked(parts: &LineParts<'_>) -> LineResult<Unlinked> {
    expect_known("'unlink_all'", parts, &["source", "target", "kind"])?;
    match (text(parts, "source")?, text(parts, "target")?, text(parts, "kind")?) {
        (Some(source), None, None) => Ok(Unlinked::Source(id(&source, "source")?)),
        (None, Some(target), None) => Ok(Unlinked::Target(id(&target, "target")?)),
        (None, None, Some(kind)) => Ok(Unlinked::Kind(kind)),
        _ => Err("'unlink_all' has one of source, target and kind".to_owned()),
    }
}

impl LineChange {
    fn of(parts: &LineParts<'_>) -> LineResult<Self> {
        if parts.contains_key("content") {
            return ReadBlock::of(parts).map(Self::Put);
        }
        if parts.contains_key("delete") {
            expect_known("deletes", parts, &["delete"])?;
            return id_in(parts, "delete").map(Self::Delete);
        }
        if parts.contains_key("unlink") {
            expect_known("lines that unlink", parts, &["unlink"])?;
            let key = nested(parts, "unlink")?;
            expect_known("edges to unlink", &key, &["source", "kind", "target"])?;
            let kind: Arc<str> = needed(text(&key, "kind")?, "kind")?.into();
            let (source, target) = (id_in(&key, "source")?, id_in(&key, "target")?);
            return Ok(Self::Unlink(EdgeKey { source, kind, target }));
        }
        if parts.contains_key("unlink_all") {
            expect_known("lines that unlink", parts, &["unlink_all"])?;
            return unlinked(&nested(parts, "unlink_all")?).map(Self::UnlinkAll);
        }
        if parts.contains_key("source") {
            return edge_of(&EdgeList::default(), parts, &mut BTreeMap::new()).map(Self::Link);
        }
        Err("it is no change: one has 'content', 'delete', 'source', 'unlink' or 'unlink_all'"
            .to_owned())
    }

    /// The block that it changes.
    fn block(&self) -> Option<BlockId> {
        match self {
            Self::Put(block) => Some(block.as_new().id()),
            Self::Delete(id) => Some(*id),
            _ => None,
        }
    }

    fn add_to<'a>(&'a self, changes: GraphChanges<'a>) -> GraphChanges<'a> {
        match self {
            Self::Put(block) => changes.put(block.as_new()),
            Self::Delete(id) => changes.delete(*id),
            Self::Link(edge) => changes.link(edge.clone()),
            Self::Unlink(key) => changes.unlink(key.clone()),
            Self::UnlinkAll(which) => changes.unlink_all(which.clone()),
        }
    }
}

/// Changes as lines of JSON ask for them, read and checked as far as that can be done without the graph.
///
/// A line is a block as [`block_line`](super::block_line) writes it (without `block` it has the id of its content), an edge as
/// [`edge_line`](super::edge_line) does, or `{"delete": ID}`, `{"unlink": {"source": ID, "kind": KIND, "target": ID}}` or
/// `{"unlink_all": {"source": ID}}`, with `target` or `kind` in its place. What puts or deletes a block may have
/// `expected_version`, which the block must have before all changes, 0 if it is not there.
///
/// ```
/// use timestrata_graph::ChangeLines;
///
/// # fn main() -> timestrata_engine::Result<()> {
/// let mut lines = ChangeLines::default();
/// lines.read(&br#"{"content": "a note"}"#[..])?;
/// lines.read(&br#"{"content": "another"}"#[..])?;
/// assert_eq!(lines.put_count(), 2);
/// assert!(lines.read(&br#"{"note": "a note"}"#[..]).is_err());
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Default)]
pub struct ChangeLines {
    list: Vec<LineChange>,
    expected: Vec<(BlockId, u32)>,
}

impl ChangeLines {
    /// Reads lines, whose changes are made behind those before.
    ///
    /// # Errors
    /// `InvalidData` that names the line, for what is no change.
    pub fn read(&mut self, lines: impl BufRead) -> Result<()> {
        for_each_line(lines, |mut parts| {
            let version = expected_version(&mut parts)?;
            let change = LineChange::of(&parts)?;
            match (version, change.block()) {
                (Some(version), Some(id)) => self.expected.push((id, version)),
                (Some(_), None) => return Err("'expected_version' is of a block".to_owned()),
                (None, _) => {}
            }
            self.list.push(change);
            Ok(())
        })
    }

    /// How many blocks they put.
    #[must_use]
    pub fn put_count(&self) -> usize {
        self.list.iter().filter(|change| matches!(change, LineChange::Put(_))).count()
    }

    /// The changes, in the order of the lines.
    #[must_use]
    pub fn changes(&self) -> GraphChanges<'_> {
        let expected = self.expected.iter();
        let changes = expected
            .fold(GraphChanges::new(), |all, (id, version)| all.expect_version(*id, *version));
        self.list.iter().fold(changes, |all, change| change.add_to(all))
    }
}

impl Graph {
    /// Makes the changes that [lines of JSON](ChangeLines) ask for, in their order and in one commit.
    ///
    /// ```
    /// use timestrata_engine::{Durability, Settings, Store};
    /// use timestrata_graph::{Graph, GraphOptions};
    ///
    /// # fn main() -> timestrata_engine::Result<()> {
    /// # let store = Store::memory(Settings::default())?;
    /// let notes = Graph::create(&store, "notes", &GraphOptions::default())?;
    /// let changed = notes.change_lines(&br#"{"content": "a note"}"#[..], Durability::Written)?;
    /// let delete = format!("{{\"delete\": \"{}\", \"expected_version\": 1}}", changed.put[0].0);
    /// notes.change_lines(delete.as_bytes(), Durability::Written)?;
    /// assert_eq!(notes.view()?.block_count()?, 0);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// `InvalidData` that names the line, for what is no change; `Conflict` for a block in another version than is
    /// expected, or in a later one than is put; what a commit may fail with. Nothing is changed then.
    pub fn change_lines(&self, lines: impl BufRead, durability: Durability) -> Result<Changed> {
        let mut read = ChangeLines::default();
        read.read(lines)?;
        self.change(&read.changes(), durability)
    }
}
