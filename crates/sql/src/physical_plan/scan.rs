//! The scan of one stream: ranges of keys, columns, a limit, forward or in reverse, cut into
//! partitions that follow each other.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::task::Poll;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::compute::SortOptions;
use datafusion::arrow::datatypes::{Field, FieldRef, Schema, SchemaRef};
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, Statistics};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{LexOrdering, PhysicalExpr, PhysicalSortExpr};
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::statistics::StatisticsArgs;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, SortOrderPushdownResult,
    replace_children_if_necessary,
};
use futures::stream::poll_fn;
use timestrata_engine::{
    AggregatedBlocks, Aggregates, KeyRange, Merge, PruneFilter, Scan, ScanEstimate, ScanFilter,
    ScanSpec, Share, Snapshot,
};

use super::filtered_scan::ScanCondition;
use super::measure;
use super::operator::streamed;
use super::pieces::piece;
use crate::error::carried;
use crate::ranges::Ranges;
use crate::schema::SqlTable;

/// Rows below which a scan isn't shared among threads: to start them costs more.
const PARTITION_ROWS_MIN: u64 = 64 << 10;

/// Reads some columns of one stream, at one snapshot.
#[derive(Debug, Clone)]
pub(crate) struct StreamScan {
    pub(super) table: Arc<SqlTable>,
    pub(super) snapshot: Snapshot,
    /// Columns of the stream, as given.
    pub(super) columns: Vec<usize>,
    pub(super) ranges: Ranges,
    pub(super) limit: Option<usize>,
    /// What rows have to pass to be given.
    condition: Option<Arc<ScanCondition>>,
    /// What blocks are asked unread: those that can't have it are left out.
    prune: Option<Arc<PruneFilter>>,
    reverse: bool,
    /// Nobody counts on an order of the rows.
    is_unordered: bool,
    pub(super) estimate: ScanEstimate,
    /// For each partition the ranges that it reads, in the order of reading.
    partitions: Vec<Vec<KeyRange>>,
    properties: Arc<PlanProperties>,
    /// Somebody wants counts and ends exactly.
    pub(super) is_measured: bool,
    pub(super) statistics: Arc<OnceLock<Arc<Statistics>>>,
    metrics: ExecutionPlanMetricsSet,
}

impl StreamScan {
    /// A scan of the columns `shown` of a table, in key order, in up to `parts` partitions.
    pub(crate) fn new(
        table: &Arc<SqlTable>,
        snapshot: &Snapshot,
        shown: &[usize],
        ranges: Ranges,
        limit: Option<usize>,
        parts: usize,
    ) -> Result<Self> {
        let schema = Arc::new(table.schema.project(shown)?);
        let columns = shown.iter().map(|column| table.columns[*column]).collect::<Vec<_>>();
        let stream = table.stream.id();
        let estimate = snapshot.estimate(stream, ranges.as_slice()).map_err(carried)?;
        let most = (estimate.rows_max.min(limit.unwrap_or(usize::MAX) as u64)) / PARTITION_ROWS_MIN;
        let parts = parts.min(usize::try_from(most).unwrap_or(usize::MAX)).max(1);
        let cuts = match parts {
            1 => vec![KeyRange::ALL],
            _ => snapshot.split(stream, &ranges.hull(), parts).map_err(carried)?,
        };
        let partitions = cuts.iter().map(|cut| within(&ranges, cut)).collect::<Vec<_>>();
        let properties = properties(table, &columns, schema, partitions.len(), false);
        Ok(Self {
            table: Arc::clone(table),
            snapshot: snapshot.clone(),
            columns,
            ranges,
            limit,
            condition: None,
            prune: None,
            reverse: false,
            is_unordered: false,
            estimate,
            partitions,
            properties,
            is_measured: false,
            statistics: Arc::default(),
            metrics: ExecutionPlanMetricsSet::new(),
        })
    }

    /// The same scan, with exact figures where metadata has them; `None` where it doesn't give all rows.
    pub(super) fn measured(&self) -> Option<Self> {
        let is_measured = !(self.is_measured || self.has_filter() || self.prune.is_some());
        is_measured.then(|| Self { is_measured, statistics: Arc::default(), ..self.clone() })
    }

    /// The rows of those blocks only that may have what a filter asks for.
    pub(crate) fn pruned(self, filter: PruneFilter) -> Self {
        let prune = (!filter.is_empty()).then(|| Arc::new(filter));
        Self { prune, ..self }
    }

    /// Only the rows that pass a predicate over its columns, which doesn't fail on any value.
    pub(crate) fn searched(self, predicate: Arc<dyn PhysicalExpr>) -> Result<Self> {
        let condition = ScanCondition::new(&self, predicate)?;
        Ok(self.filtered(condition))
    }

    /// Whether a scan may be made of it that filters: not where somebody counts on how many rows it has, or where a row
    /// that doesn't pass still takes the place of an older one.
    pub(super) fn takes_filter(&self) -> bool {
        !(self.has_filter()
            || self.limit.is_some()
            || self.is_measured
            || self.table.stream.spec().merge == Merge::Latest)
    }

    /// Only the rows that pass.
    pub(super) fn filtered(&self, condition: ScanCondition) -> Self {
        let condition = Some(Arc::new(condition));
        Self { condition, statistics: Arc::default(), ..self.clone() }
    }

    /// Only the rows that pass an expression, too, which says more of them the longer the query runs; `None` where rows that
    /// don't pass have to be read.
    pub(super) fn watching(&self, threshold: &Arc<dyn PhysicalExpr>) -> Result<Option<Self>> {
        if self.table.stream.spec().merge == Merge::Latest
            || self.limit.is_some()
            || self.is_measured
        {
            return Ok(None);
        }
        let condition = match &self.condition {
            Some(condition) => condition.and(self, threshold)?,
            None => ScanCondition::new(self, Arc::clone(threshold))?,
        };
        Ok(Some(self.filtered(condition)))
    }

    /// Whether it gives only some rows of its table.
    pub(super) fn is_narrow(&self) -> bool {
        self.has_filter() || self.prune.is_some() || self.limit.is_some() || !self.ranges.is_all()
    }

    pub(super) fn has_filter(&self) -> bool {
        self.condition.is_some()
    }

    /// The same rows, only some of the columns.
    pub(super) fn projected(&self, shown: &[usize]) -> Result<Self> {
        let schema = Arc::new(self.schema().project(shown)?);
        let columns: Vec<usize> = shown.iter().map(|index| self.columns[*index]).collect();
        let parts = self.partitions.len();
        let properties = match self.properties.eq_properties.oeq_class().is_empty() {
            true => streamed(schema, None::<LexOrdering>, parts),
            false => properties(&self.table, &columns, schema, parts, self.reverse),
        };
        Ok(Self { columns, properties, statistics: Arc::default(), ..self.clone() })
    }

    /// The same rows, said to be in no order. Where no row takes the place of another they are dealt out to partitions
    /// by blocks, and not by keys.
    pub(super) fn unordered(&self) -> Self {
        let no_order = None::<LexOrdering>;
        let properties = streamed(self.schema(), no_order, self.partitions.len());
        let is_unordered = self.table.stream.spec().merge == Merge::Keep && !self.reverse;
        Self { properties, is_unordered, ..self.clone() }
    }

    /// The same rows, the greatest key first.
    pub(super) fn reversed(&self) -> Self {
        let mut scan = self.clone();
        scan.reverse = !self.reverse;
        scan.is_unordered = false;
        scan.partitions.iter_mut().for_each(|ranges| ranges.reverse());
        let parts = self.partitions.len();
        scan.properties =
            properties(&self.table, &self.columns, self.schema(), parts, scan.reverse);
        scan
    }
}

/// The plan with another scan, where it has one and only operators that `may_pass` are above it.
pub(super) fn replace_scan(
    plan: &Arc<dyn ExecutionPlan>,
    may_pass: fn(&Arc<dyn ExecutionPlan>) -> bool,
    replace: fn(&StreamScan) -> Option<StreamScan>,
) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    if let Some(scan) = plan.downcast_ref::<StreamScan>() {
        return Ok(replace(scan).map(|scan| Arc::new(scan) as _));
    }
    match plan.children().as_slice() {
        [child] if may_pass(plan) => match replace_scan(child, may_pass, replace)? {
            Some(child) => replace_children_if_necessary(Arc::clone(plan), vec![child]).map(Some),
            None => Ok(None),
        },
        _ => Ok(None),
    }
}

/// The ranges in `cut`.
fn within(ranges: &Ranges, cut: &KeyRange) -> Vec<KeyRange> {
    ranges.intersect(&Ranges::of(*cut)).as_slice().to_vec()
}

fn properties(
    table: &SqlTable,
    columns: &[usize],
    schema: SchemaRef,
    partitions: usize,
    reverse: bool,
) -> Arc<PlanProperties> {
    let options = SortOptions { descending: reverse, nulls_first: reverse };
    let shown = table.stream.key_columns().iter().map_while(|key| {
        let index = columns.iter().position(|column| column == key)?;
        let column = Column::new(schema.field(index).name(), index);
        Some(PhysicalSortExpr { expr: Arc::new(column), options })
    });
    let order: Vec<PhysicalSortExpr> = shown.collect();
    let orders = (!order.is_empty()).then_some(order);
    streamed(schema, orders, partitions)
}

impl DisplayAs for StreamScan {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StreamScan: table={}", self.table.name)?;
        if !self.ranges.is_all() {
            f.write_str(", range=")?;
            let shown = self.ranges.as_slice();
            for (index, range) in shown.iter().take(4).enumerate() {
                write!(f, "{}{range}", if index > 0 { " or " } else { "" })?;
            }
            match shown.len() {
                0 => f.write_str("none")?,
                len if len > 4 => write!(f, " or {} more", len - 4)?,
                _ => {}
            }
        }
        let schema = self.schema();
        let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
        write!(f, ", columns=[{}]", names.join(", "))?;
        if let Some(condition) = &self.condition {
            write!(f, ", filter={}", condition.text())?;
        }
        if self.prune.is_some() {
            f.write_str(", words")?;
        }
        if let Some(limit) = self.limit {
            write!(f, ", limit={limit}")?;
        }
        if self.reverse {
            f.write_str(", reverse")?;
        }
        let ScanEstimate { runs_read, runs_skipped, chunks_read, .. } = self.estimate;
        write!(
            f,
            ", partitions={}, runs_read={runs_read}, runs_skipped={runs_skipped}, \
             memory_read={chunks_read}",
            self.partitions.len()
        )
    }
}

impl ExecutionPlan for StreamScan {
    fn name(&self) -> &'static str {
        "StreamScan"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }

    /// A join asks whether anybody looks at the keys that it has found.
    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        let watched = self.condition.as_ref().filter(|condition| condition.is_watching());
        watched.map_or(Ok(TreeNodeRecursion::Continue), |condition| f(condition.given()))
    }

    fn with_new_children(
        self: Arc<Self>,
        _: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        self.execute_coded(&[], &AggregatedBlocks::default(), partition, &context)
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn statistics_from_inputs(
        &self,
        _: &[Arc<Statistics>],
        args: &StatisticsArgs,
    ) -> Result<Arc<Statistics>> {
        match args.partition() {
            Some(_) if self.partitions.len() > 1 => {
                Ok(Arc::new(measure::share(self, self.partitions.len())))
            }
            _ => measure::whole(self),
        }
    }

    fn with_fetch(&self, limit: Option<usize>) -> Option<Arc<dyn ExecutionPlan>> {
        Some(Arc::new(Self { limit, statistics: Arc::default(), ..self.clone() }))
    }

    fn fetch(&self) -> Option<usize> {
        self.limit
    }

    fn try_pushdown_sort(
        &self,
        order: &[PhysicalSortExpr],
    ) -> Result<SortOrderPushdownResult<Arc<dyn ExecutionPlan>>> {
        // A limit picks rows by the order that it was given in.
        if self.limit.is_some() {
            return Ok(SortOrderPushdownResult::Unsupported);
        }
        let reversed = self.reversed();
        let is_satisfied =
            reversed.properties.eq_properties.ordering_satisfy(order.iter().cloned())?;
        Ok(match is_satisfied {
            true => SortOrderPushdownResult::Exact { inner: Arc::new(reversed) },
            false => SortOrderPushdownResult::Unsupported,
        })
    }
}

impl StreamScan {
    /// The rows of one partition, where they come in any order but for those of the blocks `without`. Of those of its columns
    /// that are `coded`, batches have codes of a dictionary where their text is stored so, and views elsewhere: types of batches
    /// are not those of the plan then.
    pub(super) fn execute_coded(
        &self,
        coded: &[usize],
        without: &AggregatedBlocks,
        partition: usize,
        context: &TaskContext,
    ) -> Result<SendableRecordBatchStream> {
        let mut rows = self.partition_rows(partition, context);
        if !self.is_unordered {
            rows.ranges = self.partitions.get(partition).cloned().unwrap_or_default().into_iter();
            return Ok(self.streamed(rows, partition));
        }
        let coded = coded.iter().filter_map(|column| self.columns.get(*column).copied());
        rows.scan.text_dictionaries = coded.collect();
        rows.scan.without = without.clone();
        rows.ranges = self.ranges.as_slice().to_vec().into_iter();
        Ok(self.streamed(rows, partition))
    }

    /// The columns of the stream that tell its series apart, where what whole blocks of compacted runs come to may take the
    /// place of their rows.
    pub(super) fn series_columns_of_whole_blocks(&self) -> Option<&[usize]> {
        let gives_all = !self.has_filter() && self.prune.is_none() && self.limit.is_none();
        let is_whole = self.is_unordered && gives_all;
        let series = self.table.stream.series_columns();
        (is_whole && !series.is_empty()).then_some(series)
    }

    /// What such blocks come to.
    pub(super) fn aggregates(&self, by: &[usize], of: &[usize]) -> Result<Aggregates> {
        let stream = self.table.stream.id();
        self.snapshot.aggregates(stream, self.ranges.as_slice(), by, of).map_err(carried)
    }

    /// The column of the leading key.
    pub(super) fn lead_column(&self) -> usize {
        self.table.stream.lead_column()
    }

    /// A column of the stream.
    pub(super) fn stream_field(&self, column: usize) -> Option<&FieldRef> {
        self.table.stream.schema().fields().get(column)
    }

    /// What one partition reads, of no range yet.
    fn partition_rows(&self, partition: usize, context: &TaskContext) -> PartitionRows {
        let share = Share { part: partition, parts: self.partitions.len() };
        PartitionRows {
            schema: self.schema(),
            snapshot: self.snapshot.clone(),
            scan: ScanSpec {
                columns: Some(self.columns.clone()),
                reverse: self.reverse,
                text_views: true,
                any_order: self.is_unordered.then_some(share),
                filter: self.condition.as_ref().map(ScanCondition::for_scan),
                ..ScanSpec::default()
            },
            stream: self.table.stream.id(),
            ranges: Vec::new().into_iter(),
            prune: self.prune.clone(),
            parts: VecDeque::new(),
            wants: None,
            rows_left: self.limit.unwrap_or(usize::MAX),
            batch_rows: context.session_config().batch_size().max(1),
            current: None,
            batch: None,
        }
    }

    fn streamed(&self, mut rows: PartitionRows, partition: usize) -> SendableRecordBatchStream {
        let metrics = BaselineMetrics::new(&self.metrics, partition);
        let pieces = poll_fn(move |_| {
            let _timer = metrics.elapsed_compute().timer();
            let next = rows.next_piece();
            if next.is_err() {
                rows.rows_left = 0;
            }
            metrics.record_poll(Poll::Ready(next.transpose()))
        });
        Box::pin(RecordBatchStreamAdapter::new(self.schema(), pieces))
    }

    /// All rows of a scan in reverse, of all partitions, piece by piece: of a piece those are read that `wants` says.
    pub(super) fn pieces_wanted(
        &self,
        context: &TaskContext,
        wants: impl Fn(&KeyRange) -> Result<Wanted> + Send + 'static,
    ) -> Result<SendableRecordBatchStream> {
        let mut pieces = Vec::new();
        for range in self.ranges.as_slice() {
            let stream = self.table.stream.id();
            pieces.extend(self.snapshot.pieces(stream, range).map_err(carried)?);
        }
        pieces.reverse();
        let mut rows = self.partition_rows(0, context);
        rows.ranges = pieces.into_iter();
        rows.wants = Some(Box::new(wants));
        Ok(self.streamed(rows, 0))
    }

    /// Whether rows may be left out by a filter besides those that the scan has.
    pub(super) fn takes_other_filter(&self) -> bool {
        self.condition.is_none() && self.table.stream.spec().merge == Merge::Keep
    }

    /// Whether rows come in the reverse of key order, and all of them.
    pub(super) fn is_whole_and_reverse(&self) -> bool {
        self.reverse && self.limit.is_none()
    }
}

/// What is to be read of a piece of a scan.
pub(super) enum Wanted {
    Nothing,
    /// What the scan gives anyway.
    All,
    Rows(ScanFilter),
}

type Wants = dyn Fn(&KeyRange) -> Result<Wanted> + Send;

/// The rows of one partition: one range after the other, in pieces of a batch.
struct PartitionRows {
    schema: SchemaRef,
    snapshot: Snapshot,
    scan: ScanSpec,
    stream: timestrata_engine::StreamId,
    ranges: std::vec::IntoIter<KeyRange>,
    prune: Option<Arc<PruneFilter>>,
    /// What blocks don't leave out of a range, in the order of reading.
    parts: VecDeque<KeyRange>,
    /// What has to be read of a range.
    wants: Option<Box<Wants>>,
    rows_left: usize,
    batch_rows: usize,
    current: Option<Scan>,
    /// What was read and not yet given, and from which row on.
    batch: Option<(RecordBatch, usize)>,
}

impl PartitionRows {
    /// The range that is read next.
    fn next_range(&mut self) -> Result<Option<KeyRange>> {
        let Some(prune) = &self.prune else { return Ok(self.ranges.next()) };
        while self.parts.is_empty() {
            let Some(range) = self.ranges.next() else { return Ok(None) };
            let parts = self.snapshot.prune(self.stream, &range, prune).map_err(carried)?;
            self.parts = parts.into();
        }
        Ok(if self.scan.reverse { self.parts.pop_back() } else { self.parts.pop_front() })
    }

    /// The same columns, as the table calls them.
    fn named(&self, batch: RecordBatch) -> Result<RecordBatch> {
        if !self.scan.text_dictionaries.is_empty() {
            let each = self.schema.fields().iter().zip(batch.columns());
            let fields = each.map(|(field, column)| {
                Field::clone(field).with_data_type(column.data_type().clone())
            });
            let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
            return Ok(batch.with_schema(schema)?);
        }
        Ok(batch.with_schema(Arc::clone(&self.schema))?)
    }

    fn next_piece(&mut self) -> Result<Option<RecordBatch>> {
        while self.rows_left > 0 {
            if let Some((batch, start)) = self.batch.take() {
                let rows = (batch.num_rows() - start).min(self.batch_rows).min(self.rows_left);
                let given = piece(&batch, start, rows)?;
                if start + rows < batch.num_rows() {
                    self.batch = Some((batch, start + rows));
                }
                self.rows_left -= rows;
                return Ok(Some(self.named(given)?));
            }
            if let Some(batch) = self.current.as_mut().and_then(Iterator::next) {
                let batch = batch.map_err(carried)?;
                self.batch = (batch.num_rows() > 0).then_some((batch, 0));
                continue;
            }
            let Some(range) = self.next_range()? else { break };
            let wanted = self.wants.as_ref().map_or(Ok(Wanted::All), |wants| wants(&range))?;
            let filter = match wanted {
                Wanted::Nothing => continue,
                Wanted::All => self.scan.filter.clone(),
                Wanted::Rows(filter) => Some(filter),
            };
            let limit = (self.rows_left < usize::MAX).then_some(self.rows_left);
            let spec = ScanSpec { range, limit, filter, ..self.scan.clone() };
            self.current = Some(self.snapshot.scan(self.stream, &spec).map_err(carried)?);
        }
        Ok(None)
    }
}
