//! Sources made of vectors, and streams and rows to fill them with.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{
    ArrayRef, BooleanArray, FixedSizeBinaryArray, Int64Array, RecordBatch, StringArray,
    TimestampNanosecondArray, UInt64Array,
};
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use timestrata_format::manifest::Merge;
use timestrata_format::{LeadKey, SeqNo, StreamId, Tombstone, Zone};
use timestrata_io::sync::Mutex;

use crate::key::KeyView;
use crate::scan::{RowFilter, Source, SourceSummary, StreamView};
use crate::tombstones::Tombstones;
use crate::{Error, ErrorKind, LeadKind, Result, Stream, StreamSpec};

/// One row of a test stream: a leading key, a second key where the key has one, and a
/// payload that no other row has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TestRow {
    pub(super) lead: LeadKey,
    pub(super) second: String,
    pub(super) payload: i64,
    pub(super) deleted: bool,
}

impl TestRow {
    pub(super) fn key(&self) -> (LeadKey, &str) {
        (self.lead, &self.second)
    }
}

/// Column of the payload in [`stream`]'s schema.
pub(super) const PAYLOAD: usize = 0;
/// Column of the leading key.
pub(super) const LEAD: usize = 2;

/// Columns: payload, second key, leading key, note. The key is (lead) or (lead, second).
pub(super) fn stream(kind: LeadKind, composite: bool, merge: Merge) -> Arc<Stream> {
    let lead = match kind {
        LeadKind::Time => DataType::Timestamp(TimeUnit::Nanosecond, None),
        LeadKind::Offset => DataType::UInt64,
        LeadKind::Id16 => DataType::FixedSizeBinary(16),
        LeadKind::Id32 => DataType::FixedSizeBinary(32),
    };
    let schema = Schema::new(vec![
        Field::new("payload", DataType::Int64, true),
        Field::new("second", DataType::Utf8, false),
        Field::new("lead", lead, false),
        Field::new("note", DataType::Utf8, true),
    ]);
    let key = if composite { vec!["lead", "second"] } else { vec!["lead"] };
    let key = key.into_iter().map(str::to_owned).collect();
    let spec = StreamSpec { key, merge, ..StreamSpec::new("test", Arc::new(schema)) };
    Arc::new(Stream::new(StreamId(1), spec).unwrap())
}

/// A leading key for a small number, in the same order.
pub(super) fn lead(kind: LeadKind, number: i64) -> LeadKey {
    let unsigned = number.cast_unsigned() ^ (1 << 63);
    match kind {
        LeadKind::Time => LeadKey::Time(number),
        LeadKind::Offset => LeadKey::Offset(unsigned),
        LeadKind::Id16 => {
            let mut id = [0x33; 16];
            id[4..12].copy_from_slice(&unsigned.to_be_bytes());
            LeadKey::Id16(id)
        }
        LeadKind::Id32 => {
            let mut id = [0xcc; 32];
            id[12..20].copy_from_slice(&unsigned.to_be_bytes());
            LeadKey::Id32(id)
        }
    }
}

fn lead_column(kind: LeadKind, rows: &[TestRow]) -> ArrayRef {
    let keys = rows.iter().map(|row| row.lead);
    let bytes = |size| -> ArrayRef {
        let ids = keys.clone().map(|key| match key {
            LeadKey::Id16(id) => Some(id.to_vec()),
            LeadKey::Id32(id) => Some(id.to_vec()),
            _ => unreachable!(),
        });
        Arc::new(FixedSizeBinaryArray::try_from_sparse_iter_with_size(ids, size).unwrap())
    };
    match kind {
        LeadKind::Time => Arc::new(TimestampNanosecondArray::from_iter_values(keys.map(|key| {
            let LeadKey::Time(time) = key else { unreachable!() };
            time
        }))),
        LeadKind::Offset => Arc::new(UInt64Array::from_iter_values(keys.map(|key| {
            let LeadKey::Offset(offset) = key else { unreachable!() };
            offset
        }))),
        LeadKind::Id16 => bytes(16),
        LeadKind::Id32 => bytes(32),
    }
}

fn batch(stream: &Stream, rows: &[TestRow]) -> RecordBatch {
    let payloads = rows.iter().map(|row| (!row.deleted).then_some(row.payload));
    let notes = rows.iter().map(|row| (row.payload % 3 != 0).then(|| format!("n{}", row.payload)));
    let mut columns: Vec<ArrayRef> = vec![
        Arc::new(payloads.collect::<Int64Array>()),
        Arc::new(StringArray::from_iter_values(rows.iter().map(|row| &row.second))),
        lead_column(stream.lead_kind(), rows),
        Arc::new(notes.collect::<StringArray>()),
    ];
    if stream.is_latest() {
        let deleted: Vec<bool> = rows.iter().map(|row| row.deleted).collect();
        columns.push(Arc::new(BooleanArray::from(deleted)));
    }
    RecordBatch::try_new(Arc::clone(stream.stored_schema()), columns).unwrap()
}

/// A source of vectors, which remembers what was read of it.
#[derive(Debug)]
pub(super) struct VecSource {
    batches: Vec<RecordBatch>,
    blocks: Vec<Zone>,
    markers: u64,
    seqs: (u64, u64),
    applied_through: u64,
    pub(super) fails_at: Option<usize>,
    pub(super) opened: AtomicUsize,
    pub(super) reads: Mutex<Vec<(usize, Vec<usize>)>>,
}

impl VecSource {
    /// `rows` must be in key order, and not none.
    pub(super) fn new(
        stream: &Stream,
        rows: &[TestRow],
        block_rows: usize,
        seqs: (u64, u64),
        applied_through: u64,
    ) -> Self {
        let batches: Vec<_> = rows.chunks(block_rows).map(|rows| batch(stream, rows)).collect();
        let blocks = batches.iter().map(|batch| {
            let keys = KeyView::of(stream, batch).unwrap();
            Zone {
                rows: batch.num_rows() as u32,
                key_min: keys.first().unwrap(),
                key_max: keys.last().unwrap(),
            }
        });
        Self {
            blocks: blocks.collect(),
            batches,
            markers: rows.iter().filter(|row| row.deleted).count() as u64,
            seqs,
            applied_through,
            fails_at: None,
            opened: AtomicUsize::new(0),
            reads: Mutex::new(Vec::new()),
        }
    }

    /// The blocks that were read since the last call.
    pub(super) fn blocks_read(&self) -> Vec<usize> {
        std::mem::take(&mut *self.reads.lock()).into_iter().map(|(block, _)| block).collect()
    }

    pub(super) fn batch(&self, block: usize) -> &RecordBatch {
        &self.batches[block]
    }
}

impl Source for VecSource {
    fn summary(&self) -> SourceSummary {
        SourceSummary {
            key_min: self.blocks[0].key_min,
            key_max: self.blocks[self.blocks.len() - 1].key_max,
            rows: self.blocks.iter().map(|block| u64::from(block.rows)).sum(),
            delete_markers: self.markers,
            seq_max: SeqNo(self.seqs.1),
            tombstones_applied_through: SeqNo(self.applied_through),
        }
    }
    fn blocks(&self) -> Result<&[Zone]> {
        self.opened.fetch_add(1, Ordering::Relaxed);
        Ok(&self.blocks)
    }
    fn read(&self, block: usize, columns: &[usize]) -> Result<RecordBatch> {
        self.reads.lock().push((block, columns.to_vec()));
        if self.fails_at == Some(block) {
            return Err(Error::new(ErrorKind::Corruption, format!("block {block} is broken")));
        }
        Ok(self.batches[block].project(columns).unwrap())
    }
}

/// Lets rows through whose payload is no multiple of a number. Looks at the leading key too, to no end.
#[derive(Debug)]
pub(super) struct NoMultiple(pub(super) i64);

impl NoMultiple {
    pub(super) fn lets(&self, payload: i64) -> bool {
        payload % self.0 != 0
    }
}

impl RowFilter for NoMultiple {
    fn columns(&self) -> &[usize] {
        &[LEAD, PAYLOAD]
    }
    fn passes(&self, rows: &RecordBatch) -> Result<BooleanArray> {
        let payloads = rows.column(1).as_primitive::<Int64Type>();
        // Of a multiple it says nothing: that is a no.
        Ok(payloads
            .iter()
            .map(|payload| payload.is_some_and(|n| self.lets(n)).then_some(true))
            .collect())
    }
}

/// A view of sources, oldest first.
pub(super) fn view(
    stream: &Arc<Stream>,
    sources: &[Arc<VecSource>],
    tombstones: &[Tombstone],
) -> Arc<StreamView> {
    Arc::new(StreamView {
        stream: Arc::clone(stream),
        sources: sources.iter().map(|source| Arc::clone(source) as Arc<dyn Source>).collect(),
        tombstones: Tombstones::of(tombstones.iter().copied()),
        threads: Arc::default(),
    })
}

/// Random numbers that a seed repeats.
#[derive(Debug)]
pub(super) struct Dice(pub(super) u64);

impl Dice {
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound.max(1)
    }
}
