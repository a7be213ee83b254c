//! The newest row of each key: the input comes newest first, and the first row of a key is given.
//!
//! What it remembers are the keys that it has seen, so it needs memory for those only, gives its
//! first rows at once, and stops where a limit is met. Directly above a scan it asks, before a piece
//! of the stream is read, whether the piece may have a key that it hasn't seen; and of a large one it reads the keys
//! alone first, and then only the rows that it wants ([`newest`]).

mod newest;

use std::fmt;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, BooleanArray, RecordBatch, new_null_array};
use datafusion::arrow::compute::{cast, filter_record_batch};
use datafusion::arrow::datatypes::{DataType, SchemaRef};
use datafusion::arrow::row::RowConverter;
use datafusion::common::Result;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::LexOrdering;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{ExecutionPlan, PlanProperties};
use futures::StreamExt;
use hashbrown::HashSet;
use timestrata_engine::Values;
use timestrata_engine::locks::Mutex;

use self::newest::NewestOfPieces;
use super::StreamScan;
use super::operator::{Inputs, Operator, keys_of, names_of, order_by};

/// Memory of one key besides its bytes.
const KEY_OVERHEAD_BYTES: usize = 32;
/// Values of runs that are known again: as many as there may be runs side by side.
const SHARED_VALUES_MAX: usize = 16;

/// The columns that matter, by their places.
#[derive(Debug, Clone)]
pub(crate) struct LatestOnSpec {
    pub(crate) time: usize,
    pub(crate) by: Vec<usize>,
}

impl Operator<1> for LatestOnSpec {
    const NAME: &'static str = "LatestOnExec";
    const KEEPS_ORDER: [bool; 1] = [true];

    fn properties(&self, [input]: &Inputs<1>) -> Result<Arc<PlanProperties>> {
        keys_of(&input.schema(), &self.by)?;
        Ok(Arc::clone(input.properties()))
    }

    fn required_order(&self, [input]: &Inputs<1>) -> [Option<LexOrdering>; 1] {
        [order_by(&input.schema(), &[self.time], true)]
    }

    fn describe(&self, [input]: &Inputs<1>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let schema = input.schema();
        let (time, by) = (names_of(&schema, &[self.time]), names_of(&schema, &self.by));
        write!(f, ": time={time}, by=[{by}]")
    }

    fn execute(
        &self,
        [input]: &Inputs<1>,
        schema: SchemaRef,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let seen = Arc::new(Mutex::new(SeenKeys {
            converter: keys_of(&schema, &self.by)?,
            by: self.by.clone(),
            keys: HashSet::new(),
            all_seen: Vec::new(),
            bytes: 0,
            memory: MemoryConsumer::new("LatestOn").register(context.memory_pool()),
        }));
        let input = match (scan_of(input), self.by.as_slice()) {
            (Some(scan), [by]) if schema.field(*by).data_type() == &DataType::Utf8View => {
                let seen = Arc::clone(&seen);
                let pieces = NewestOfPieces::new(scan, self.time, *by)?;
                scan.pieces_wanted(&context, move |piece| pieces.wanted(piece, &mut seen.lock()))?
            }
            _ => input.execute(partition, context)?,
        };
        let rows = input.map(move |batch| seen.lock().first_of(&batch?));
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, rows)))
    }
}

/// The scan in reverse whose rows, and all of them, are what a plan gives.
fn scan_of(plan: &Arc<dyn ExecutionPlan>) -> Option<&StreamScan> {
    if let Some(scan) = plan.downcast_ref::<StreamScan>() {
        return scan.is_whole_and_reverse().then_some(scan);
    }
    let hands_on = plan.is::<CooperativeExec>() || plan.is::<SortPreservingMergeExec>();
    match plan.children().as_slice() {
        [child] if hands_on && plan.fetch().is_none() => scan_of(child),
        _ => None,
    }
}

/// The keys of all rows so far.
struct SeenKeys {
    converter: RowConverter,
    by: Vec<usize>,
    keys: HashSet<Box<[u8]>>,
    /// Values that were asked about and of which all had been seen: blocks of one run may share them.
    all_seen: Vec<ArrayRef>,
    bytes: usize,
    memory: MemoryReservation,
}

impl SeenKeys {
    /// Those of these values of the one column that were not seen yet.
    fn lacking(&mut self, values: &Values) -> Result<HashSet<Box<[u8]>>> {
        let mut lacking = HashSet::new();
        let null = values.may_be_null.then(|| new_null_array(&DataType::Utf8View, 1));
        for column in values.columns.iter().chain(&null) {
            if self.all_seen.iter().any(|seen| Arc::ptr_eq(seen, column)) {
                continue;
            }
            let rows = self.converter.convert_columns(&[cast(column, &DataType::Utf8View)?])?;
            let mut all_seen = true;
            for key in rows.iter().filter(|row| !self.keys.contains(row.as_ref())) {
                lacking.insert(Box::from(key.as_ref()));
                all_seen = false;
            }
            // What nobody else holds won't come again.
            if all_seen && Arc::strong_count(column) > 1 {
                self.all_seen.truncate(SHARED_VALUES_MAX - 1);
                self.all_seen.insert(0, Arc::clone(column));
            }
        }
        Ok(lacking)
    }

    fn has(&self, key: &[u8]) -> bool {
        self.keys.contains(key)
    }

    /// The rows with keys that weren't there before.
    fn first_of(&mut self, batch: &RecordBatch) -> Result<RecordBatch> {
        let columns: Vec<ArrayRef> =
            self.by.iter().map(|column| Arc::clone(batch.column(*column))).collect();
        let rows = self.converter.convert_columns(&columns)?;
        let mut is_first = Vec::with_capacity(batch.num_rows());
        for row in &rows {
            let key = row.as_ref();
            let is_new = !self.keys.contains(key);
            if is_new {
                self.bytes += key.len() + KEY_OVERHEAD_BYTES;
                self.keys.insert(key.into());
            }
            is_first.push(is_new);
        }
        self.memory.try_resize(self.bytes)?;
        Ok(filter_record_batch(batch, &BooleanArray::from(is_first))?)
    }
}
