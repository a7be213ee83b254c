//! Reading the streams of a graph at one snapshot.

use arrow_array::cast::AsArray;
use arrow_array::types::UInt32Type;
use timestrata_engine::{
    Cell, Error, ErrorKind, KeyRange, LeadKey, Result, ScanSpec, Snapshot, StreamId,
};

use super::adjacency::BlockId;
use super::block::{Block, column};
use super::edge::{Edge, EdgeKey, EdgeRows, EdgeSide};
use super::handle::SharedGraph;

/// The block with a key: of an id, or of an id and a version.
pub(super) fn block(
    snapshot: &Snapshot,
    stream: StreamId,
    key: &[Cell<'_>],
) -> Result<Option<Block>> {
    let Some(row) = snapshot.get(stream, key)? else { return Ok(None) };
    Block::of_row(&row.batch, row.index).map(Some)
}

/// All that has one id as its leading key.
pub(super) fn range_of(id: BlockId) -> KeyRange {
    let next = u128::from_be_bytes(*id.bytes()).checked_add(1).map(u128::to_be_bytes);
    KeyRange::new(Some(LeadKey::Id16(*id.bytes())), next.map(LeadKey::Id16))
}

/// Numbers of a block's earlier versions, oldest first.
pub(super) fn version_numbers(
    snapshot: &Snapshot,
    versions: StreamId,
    id: BlockId,
) -> Result<Vec<u32>> {
    let columns = Some(vec![column::VERSION]);
    let spec = ScanSpec { range: range_of(id), columns, ..ScanSpec::default() };
    let rows = snapshot.collect(versions, &spec)?;
    let numbers = rows.columns().first().and_then(|column| column.as_primitive_opt::<UInt32Type>());
    let numbers = numbers.ok_or_else(|| {
        Error::new(ErrorKind::Corruption, "a graph's earlier versions have no numbers")
    })?;
    Ok(numbers.values().to_vec())
}

impl SharedGraph {
    pub(super) fn edges(&self, side: EdgeSide) -> StreamId {
        match side {
            EdgeSide::Out => self.edges_out,
            EdgeSide::In => self.edges_in,
        }
    }

    /// The latest block of an id.
    pub(super) fn latest_block(&self, snapshot: &Snapshot, id: BlockId) -> Result<Option<Block>> {
        block(snapshot, self.blocks, &[Cell::Bytes(id.bytes())])
    }

    /// The edges of a block in one direction, in key order.
    pub(super) fn edges_of(&self, at: &Snapshot, side: EdgeSide, id: BlockId) -> Result<Vec<Edge>> {
        let spec = ScanSpec { range: range_of(id), ..ScanSpec::default() };
        let rows = at.collect(self.edges(side), &spec)?;
        Ok(EdgeRows::of(side, &rows)?.edges().collect())
    }

    /// Keys of all edges of a kind.
    pub(super) fn keys_of_kind(&self, snapshot: &Snapshot, kind: &str) -> Result<Vec<EdgeKey>> {
        let mut keys = Vec::new();
        for rows in snapshot.scan(self.edges_out, &ScanSpec::default())? {
            let rows = rows?;
            let all = EdgeRows::of(EdgeSide::Out, &rows)?;
            let found = all.keys().filter(|(_, is, _)| *is == kind);
            keys.extend(found.map(|(source, kind, target)| EdgeKey {
                source,
                kind: kind.into(),
                target,
            }));
        }
        Ok(keys)
    }
}
