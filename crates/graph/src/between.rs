//! What has become of a graph between two views of it, as lines of changes: so that it can be done to another copy of it.

use std::collections::{BTreeMap, HashMap};

use timestrata_engine::Result;

use super::adjacency::BlockId;
use super::edge::{Edge, EdgeKey};
use super::lines::{block_line, edge_line};
use super::view::GraphView;

/// The [lines of changes](super::ChangeLines) that make of a graph, as an earlier view of it has it, what a later one has. Blocks that are put or
/// deleted are expected to have the versions of the earlier one.
///
/// ```
/// use timestrata_engine::{Durability, Settings, Store};
/// use timestrata_graph::{Graph, GraphChanges, GraphOptions, NewBlock, lines_between};
///
/// # fn main() -> timestrata_engine::Result<()> {
/// let store = Store::memory(Settings::default())?;
/// let notes = Graph::create(&store, "notes", &GraphOptions::default())?;
/// let before = notes.view()?;
/// let note = NewBlock { is_text: true, content: b"a note", ..NewBlock::default() };
/// notes.change(&GraphChanges::new().put(note), Durability::Written)?;
///
/// let copy = Graph::create(&store, "copy", &GraphOptions::default())?;
/// for line in lines_between(&before, &notes.view()?)? {
///     copy.change_lines(line.as_bytes(), Durability::Written)?;
/// }
/// assert_eq!(copy.view()?.block_count()?, 1);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// What reading may fail with.
pub fn lines_between(before: &GraphView, after: &GraphView) -> Result<Vec<String>> {
    let mut versions = BTreeMap::<BlockId, u32>::new();
    for block in before.all_blocks()? {
        let block = block?;
        versions.insert(block.id(), block.version());
    }
    let mut put = Vec::new();
    for block in after.all_blocks()? {
        let block = block?;
        let was = versions.remove(&block.id());
        if was != Some(block.version()) {
            put.push(expecting(&block_line(&block), was.unwrap_or(0)));
        }
    }
    let deleted = versions.iter();
    let deleted = deleted.map(|(id, was)| expecting(&format!("{{\"delete\":\"{id}\"}}"), *was));

    let mut edges = HashMap::<EdgeKey, Edge>::new();
    for edge in before.all_edges()? {
        let edge = edge?;
        edges.insert(edge.key.clone(), edge);
    }
    let mut linked = Vec::new();
    for edge in after.all_edges()? {
        let edge = edge?;
        if edges.remove(&edge.key).as_ref() != Some(&edge) {
            linked.push(edge_line(&edge));
        }
    }
    let mut unlinked: Vec<&EdgeKey> = edges.keys().collect();
    unlinked.sort_unstable();
    let unlinked = unlinked.into_iter().map(unlinking);
    Ok(unlinked.chain(deleted).chain(put).chain(linked).collect())
}

/// A line of a change that is made only to a block of this version.
fn expecting(line: &str, version: u32) -> String {
    let line = line.strip_suffix('}').unwrap_or(line);
    format!("{line},\"expected_version\":{version}}}")
}

fn unlinking(EdgeKey { source, kind, target }: &EdgeKey) -> String {
    let kind = serde_json::Value::from(&**kind);
    format!("{{\"unlink\":{{\"source\":\"{source}\",\"kind\":{kind},\"target\":\"{target}\"}}}}")
}
