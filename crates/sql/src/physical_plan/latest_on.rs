//! The newest row of each key: the input comes newest first, and the first row of a key is given.
//!
//! What it remembers are the keys that it has seen, so it needs memory for those only, gives its
//! first rows at once, and stops where a limit is met. Directly above a scan it asks, before a piece
//! of the stream is read, whether the piece may have a key that it hasn't seen.

use std::fmt;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, BooleanArray, RecordBatch, new_null_array};
use datafusion::arrow::compute::{SortOptions, cast, filter_record_batch};
use datafusion::arrow::datatypes::{DataType, Schema};
use datafusion::arrow::row::{RowConverter, SortField};
use datafusion::common::Result;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{Distribution, LexOrdering, PhysicalExpr, PhysicalSortExpr};
use datafusion::physical_expr_common::sort_expr::OrderingRequirements;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::execution_plan::ReplaceChildrenOptions;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, InputDistributionRequirements, PlanProperties,
};
use futures::StreamExt;
use hashbrown::HashSet;
use parking_lot::Mutex;
use timestrata_engine::Values;

use super::StreamScan;

/// Memory of one key besides its bytes.
const KEY_OVERHEAD_BYTES: usize = 32;

/// The order of one column, nulls behind everything.
pub(super) fn order_by(
    schema: &Schema,
    columns: &[usize],
    descending: bool,
) -> Option<LexOrdering> {
    let options = SortOptions { descending, nulls_first: false };
    LexOrdering::new(columns.iter().map(|column| PhysicalSortExpr {
        expr: Arc::new(Column::new(schema.field(*column).name(), *column)),
        options,
    }))
}

/// A converter of some columns to keys that can be compared as bytes.
pub(super) fn keys_of(schema: &Schema, columns: &[usize]) -> Result<RowConverter> {
    let types = columns.iter().map(|column| schema.field(*column).data_type().clone());
    Ok(RowConverter::new(types.map(SortField::new).collect())?)
}

#[derive(Debug)]
pub(crate) struct LatestOnExec {
    input: Arc<dyn ExecutionPlan>,
    time: usize,
    by: Vec<usize>,
    properties: Arc<PlanProperties>,
}

impl LatestOnExec {
    pub(crate) fn new(input: Arc<dyn ExecutionPlan>, time: usize, by: Vec<usize>) -> Result<Self> {
        keys_of(&input.schema(), &by)?;
        let properties = Arc::clone(input.properties());
        Ok(Self { input, time, by, properties })
    }
}

impl DisplayAs for LatestOnExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let schema = self.schema();
        write!(
            f,
            "LatestOnExec: time={}, by=[{}]",
            names_of(&schema, &[self.time]),
            names_of(&schema, &self.by)
        )
    }
}

impl ExecutionPlan for LatestOnExec {
    fn name(&self) -> &'static str {
        "LatestOnExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn input_distribution_requirements(&self) -> InputDistributionRequirements {
        InputDistributionRequirements::new(vec![Distribution::SinglePartition])
    }

    fn required_input_ordering(&self) -> Vec<Option<OrderingRequirements>> {
        vec![order_by(&self.schema(), &[self.time], true).map(Into::into)]
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let input = children.pop().unwrap_or_else(|| Arc::clone(&self.input));
        Ok(Arc::new(Self::new(input, self.time, self.by.clone())?))
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, recompute())
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let schema = self.schema();
        let seen = Arc::new(Mutex::new(Seen {
            converter: keys_of(&schema, &self.by)?,
            by: self.by.clone(),
            keys: HashSet::new(),
            bytes: 0,
            memory: MemoryConsumer::new("LatestOn").register(context.memory_pool()),
        }));
        let input = match (scan_of(&self.input), self.by.as_slice()) {
            (Some(scan), [by]) if schema.field(*by).data_type() == &DataType::Utf8View => {
                let seen = Arc::clone(&seen);
                scan.pieces_wanted(*by, &context, move |values| seen.lock().lacks(values))?
            }
            _ => self.input.execute(partition, context)?,
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

/// Names of columns, as plans show them.
pub(super) fn names_of(schema: &Schema, columns: &[usize]) -> String {
    let names: Vec<_> =
        columns.iter().map(|column| schema.field(*column).name().as_str()).collect();
    names.join(", ")
}

/// Properties of children may be others: ours are worked out anew.
pub(super) fn recompute() -> ReplaceChildrenOptions {
    use datafusion::physical_plan::execution_plan::ChildrenPropertiesMode;
    ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute)
}

/// The keys of all rows so far.
struct Seen {
    converter: RowConverter,
    by: Vec<usize>,
    keys: HashSet<Box<[u8]>>,
    bytes: usize,
    memory: MemoryReservation,
}

impl Seen {
    /// Whether some of these values of the one column were not seen yet.
    fn lacks(&self, values: &Values) -> Result<bool> {
        if self.keys.is_empty() {
            return Ok(true);
        }
        let null = values.may_be_null.then(|| new_null_array(&DataType::Utf8View, 1));
        for column in values.columns.iter().chain(&null) {
            let column = cast(column, &DataType::Utf8View)?;
            let rows = self.converter.convert_columns(&[column])?;
            if rows.iter().any(|row| !self.keys.contains(row.as_ref())) {
                return Ok(true);
            }
        }
        Ok(false)
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
