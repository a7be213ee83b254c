//! A stream of metadata: rows are a key and a commit, files are counted in bytes, and plans
//! are carried out as a worker would. For tests of the strategies.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema, TimeUnit};
use timestrata_format::manifest::Merge;
use timestrata_format::{LeadKey, RunFormat, RunId, RunMeta, SeqNo, StreamId, Tombstone};

use super::{CompactionPlan, Rewrite, choose_around};
use crate::tombstones::Tombstones;
use crate::{LeadKind, Settings, Stream, StreamSpec};

pub(super) const ROW_BYTES: u64 = 1024;
const PLANS_MAX: usize = 10_000;

/// A stream with one key column.
pub(super) fn stream_of(kind: LeadKind, merge: Merge, format: RunFormat) -> Stream {
    let key_type = match kind {
        LeadKind::Time => DataType::Timestamp(TimeUnit::Nanosecond, None),
        LeadKind::Offset => DataType::UInt64,
        LeadKind::Id16 => DataType::FixedSizeBinary(16),
        LeadKind::Id32 => DataType::FixedSizeBinary(32),
    };
    let schema = Arc::new(Schema::new(vec![Field::new("key", key_type, false)]));
    let mut spec = StreamSpec::new("simulated", schema);
    spec.merge = merge;
    spec.run_format = format;
    Stream::new(StreamId(1), spec).unwrap()
}

/// Settings of a store a thousand times smaller than the default one.
pub(super) fn small_settings() -> Settings {
    Settings {
        memtable_bytes_max: 64 * ROW_BYTES,
        run_bytes_max: 256 * ROW_BYTES,
        ..Settings::default()
    }
}

/// One run.
pub(super) fn run(id: u64, level: u8, keys: (i64, i64), seqs: (u64, u64), bytes: u64) -> RunMeta {
    RunMeta {
        id: RunId(id),
        stream: StreamId(1),
        format: RunFormat::Hot,
        level,
        key_min: LeadKey::Time(keys.0),
        key_max: LeadKey::Time(keys.1),
        seq_min: SeqNo(seqs.0),
        seq_max: SeqNo(seqs.1),
        tombstones_applied_through: SeqNo(0),
        rows: bytes / ROW_BYTES,
        delete_markers: 0,
        file_bytes: bytes,
        file_crc: 0,
        tail_offset: 0,
        tail_crc: 0,
        created_wall_ns: 0,
    }
}

/// Whether a tombstone hides rows of a run that its file still holds.
fn touches(tombstone: &Tombstone, run: &RunMeta) -> bool {
    tombstone.seq > run.seq_max
        && tombstone.seq > run.tombstones_applied_through
        && tombstone.range.overlaps(run.key_min, run.key_max)
}

type Row = (LeadKey, u64);

#[derive(Debug)]
pub(super) struct Simulation {
    pub(super) stream: Stream,
    pub(super) settings: Settings,
    pub(super) runs: Vec<RunMeta>,
    /// Runs that can't be read.
    pub(super) set_aside: Vec<RunId>,
    pub(super) tombstones: Vec<Tombstone>,
    pub(super) flushed_bytes: u64,
    pub(super) rewritten_bytes: u64,
    pub(super) largest_plan_bytes: u64,
    rows: Vec<Vec<Row>>,
    memtable: Vec<Row>,
    next_id: u64,
    next_seq: u64,
}

impl Simulation {
    pub(super) fn new(stream: Stream, settings: Settings) -> Self {
        Self {
            stream,
            settings,
            runs: Vec::new(),
            set_aside: Vec::new(),
            tombstones: Vec::new(),
            flushed_bytes: 0,
            rewritten_bytes: 0,
            largest_plan_bytes: 0,
            rows: Vec::new(),
            memtable: Vec::new(),
            next_id: 1,
            next_seq: 1,
        }
    }

    /// Commits one row; a full memtable is flushed, and compaction settles.
    pub(super) fn insert(&mut self, key: LeadKey) {
        self.memtable.push((key, self.next_seq));
        self.next_seq += 1;
        if self.memtable.len() as u64 * ROW_BYTES >= self.settings.memtable_bytes_max {
            self.flush();
            self.settle(false);
        }
    }

    pub(super) fn flush(&mut self) {
        let rows = std::mem::take(&mut self.memtable);
        if rows.is_empty() {
            return;
        }
        let seqs = (SeqNo(rows[0].1), SeqNo(rows[rows.len() - 1].1));
        self.add(rows, seqs, 0, RunFormat::Hot);
        self.flushed_bytes += self.runs.last().unwrap().file_bytes;
    }

    /// Deletes a range of what has been flushed.
    pub(super) fn delete(&mut self, range: timestrata_format::KeyRange) {
        self.flush();
        self.tombstones.push(Tombstone { range, seq: SeqNo(self.next_seq) });
        self.next_seq += 1;
    }

    /// Carries plans out until there are none.
    pub(super) fn settle(&mut self, force: bool) {
        for _ in 0..PLANS_MAX {
            let Self { stream, runs, set_aside, tombstones, settings, .. } = &*self;
            let tombstones = Tombstones::of(tombstones.iter().copied());
            let plan = choose_around(stream, runs, set_aside, &tombstones, settings, force);
            match plan {
                None => return,
                Some(CompactionPlan::Drop { runs }) => runs.iter().for_each(|id| {
                    let (_, rows) = self.take(*id);
                    assert!(rows.iter().all(|row| self.is_hidden(row)), "dropped a live row");
                }),
                Some(CompactionPlan::Rewrite(rewrite)) => self.carry_out(&rewrite),
            }
            self.check_order();
            let runs = &self.runs;
            self.tombstones.retain(|tombstone| runs.iter().any(|run| touches(tombstone, run)));
        }
        panic!("compaction does not settle: {} runs", self.runs.len());
    }

    /// Everything written over everything that came in.
    pub(super) fn write_amplification(&self) -> f64 {
        (self.flushed_bytes + self.rewritten_bytes) as f64 / self.flushed_bytes as f64
    }

    /// The most runs that lie over one key.
    pub(super) fn depth(&self) -> usize {
        self.runs
            .iter()
            .map(|run| {
                let at = run.key_min;
                self.runs.iter().filter(|other| other.key_min <= at && at <= other.key_max).count()
            })
            .max()
            .unwrap_or(0)
    }

    pub(super) fn bytes(&self) -> u64 {
        self.runs.iter().map(|run| run.file_bytes).sum()
    }

    pub(super) fn live_rows(&self) -> usize {
        self.rows.iter().flatten().filter(|row| !self.is_hidden(row)).count()
    }

    fn is_hidden(&self, row: &Row) -> bool {
        self.tombstones
            .iter()
            .any(|tombstone| tombstone.seq.0 > row.1 && tombstone.range.contains(row.0))
    }

    fn take(&mut self, id: RunId) -> (RunMeta, Vec<Row>) {
        let index = self.runs.iter().position(|run| run.id == id).expect("an input that exists");
        (self.runs.remove(index), self.rows.remove(index))
    }

    fn add(&mut self, mut rows: Vec<Row>, seqs: (SeqNo, SeqNo), level: u8, format: RunFormat) {
        rows.sort_unstable();
        let mut meta = run(self.next_id, level, (0, 0), (0, 0), rows.len() as u64 * ROW_BYTES);
        meta.format = format;
        meta.key_min = rows[0].0;
        meta.key_max = rows[rows.len() - 1].0;
        (meta.seq_min, meta.seq_max) = seqs;
        meta.tombstones_applied_through = SeqNo(self.next_seq - 1);
        self.next_id += 1;
        self.runs.push(meta);
        self.rows.push(rows);
    }

    fn carry_out(&mut self, plan: &Rewrite) {
        let mut rows = Vec::new();
        let mut seqs = (SeqNo(u64::MAX), SeqNo(0));
        let mut bytes = 0;
        for id in &plan.inputs {
            assert!(!self.set_aside.contains(id), "{id} is read, which is set aside");
            let (meta, more) = self.take(*id);
            seqs = (seqs.0.min(meta.seq_min), seqs.1.max(meta.seq_max));
            bytes += meta.file_bytes;
            rows.extend(more);
        }
        self.largest_plan_bytes = self.largest_plan_bytes.max(bytes);
        rows.retain(|row| !self.is_hidden(row));
        rows.sort_unstable();
        if self.stream.is_latest() {
            rows.reverse();
            rows.dedup_by_key(|row| row.0);
            rows.reverse();
        }
        self.rewritten_bytes += rows.len() as u64 * ROW_BYTES;
        let mut cuts = plan.cuts.keys.iter().peekable();
        let mut output: Vec<Row> = Vec::new();
        for row in rows {
            let is_new_key = output.last().is_none_or(|last| last.0 != row.0);
            let mut is_cut = output.len() as u64 * ROW_BYTES >= plan.cuts.bytes_max && is_new_key;
            while cuts.peek().is_some_and(|cut| **cut <= row.0) {
                cuts.next();
                is_cut = true;
            }
            if is_cut && !output.is_empty() {
                self.add(std::mem::take(&mut output), seqs, plan.output_level, plan.format);
            }
            output.push(row);
        }
        if !output.is_empty() {
            self.add(output, seqs, plan.output_level, plan.format);
        }
    }

    /// Runs that share keys are wholly before or wholly after each other.
    fn check_order(&self) {
        for (index, a) in self.runs.iter().enumerate() {
            for b in &self.runs[..index] {
                let share_keys = a.key_min <= b.key_max && b.key_min <= a.key_max;
                let apart = a.seq_max < b.seq_min || b.seq_max < a.seq_min;
                assert!(!share_keys || apart, "no order of commits between {a:?} and {b:?}");
            }
        }
    }
}
