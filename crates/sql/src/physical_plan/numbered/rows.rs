//! The work of one partition: rows in, the state of each group out.

use std::sync::Arc;

use datafusion::arrow::array::cast::AsArray;
use datafusion::arrow::array::{Array, ArrayRef, BooleanArray, RecordBatch};
use datafusion::arrow::compute::{cast, prep_null_mask_filter};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::Result;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::execution::TaskContext;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::logical_expr::{EmitTo, GroupsAccumulator};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Literal;
use datafusion::physical_plan::aggregates::{AggregateExec, aggregate_expressions};
use datafusion::physical_plan::metrics::BaselineMetrics;
use futures::StreamExt;

use super::keys::Groups;
use super::runs::{Fold, Runs};

/// Groups at most: their numbers are used in pairs of 32 bits. Memory ends before.
const GROUPS_MAX: usize = 1 << 30;

/// One function of an aggregate, and what it is of.
struct Function {
    arguments: Vec<Arc<dyn PhysicalExpr>>,
    /// Those of them that are the same in each row, of a batch's rows: made once.
    constants: Vec<Option<ArrayRef>>,
    filter: Option<Arc<dyn PhysicalExpr>>,
    states: Box<dyn GroupsAccumulator>,
    /// How runs of rows are put together.
    fold: Option<Fold>,
}

impl Function {
    fn evaluate(&self, batch: &RecordBatch) -> Result<(Vec<ArrayRef>, Option<BooleanArray>)> {
        let rows = batch.num_rows();
        let each = self.arguments.iter().zip(&self.constants);
        let arguments = each.map(|(expr, constant)| match constant {
            Some(constant) if rows <= constant.len() => Ok(constant.slice(0, rows)),
            _ => expr.evaluate(batch)?.into_array(rows),
        });
        let arguments = arguments.collect::<Result<_>>()?;
        let Some(filter) = &self.filter else { return Ok((arguments, None)) };
        let filter = filter.evaluate(batch)?.into_array(rows)?;
        let filter = filter.as_boolean();
        // Arrow takes it for granted that there are nulls.
        Ok((
            arguments,
            Some(match filter.null_count() {
                0 => filter.clone(),
                _ => prep_null_mask_filter(filter),
            }),
        ))
    }

    /// Puts the rows of a batch to their groups, of which there are so many: by `runs` where these are long.
    fn add(
        &mut self,
        batch: &RecordBatch,
        numbers: &[usize],
        runs: Option<&Runs>,
        groups: usize,
    ) -> Result<()> {
        let (arguments, filter) = self.evaluate(batch)?;
        if let (Some(runs), Some(fold), None) = (runs, self.fold, &filter)
            && let Some(states) = fold.states(&arguments, runs)
        {
            return self.states.merge_batch(&states, runs.groups(), groups);
        }
        self.states.update_batch(&arguments, numbers, filter.as_ref(), groups)
    }
}

fn evaluate(each: &[Arc<dyn PhysicalExpr>], batch: &RecordBatch) -> Result<Vec<ArrayRef>> {
    let arrays = each.iter().map(|expr| expr.evaluate(batch)?.into_array(batch.num_rows()));
    arrays.collect()
}

/// So many times the value that an expression is; `None` for one that isn't the same in each row.
fn constant(expr: &Arc<dyn PhysicalExpr>, rows: usize) -> Result<Option<ArrayRef>> {
    let literal = expr.downcast_ref::<Literal>();
    literal.map(|literal| literal.value().to_array_of_size(rows)).transpose()
}

/// What is grouped so far.
pub(super) struct Grouping {
    input: SendableRecordBatchStream,
    schema: SchemaRef,
    by: Vec<Arc<dyn PhysicalExpr>>,
    groups: Groups,
    /// The group of each row of a batch.
    numbers: Vec<usize>,
    runs: Runs,
    functions: Vec<Function>,
    memory: MemoryReservation,
    batch_rows: usize,
    /// Rows read, and of them those since groups were given last.
    rows_read: usize,
    /// Rows after which it is asked whether grouping is worth it, and how many groups a row it may be.
    probe: (usize, f64),
    /// Rows are given as they are, each as a group of its own.
    passes_on: bool,
    /// States that were not given yet, and from which row on.
    given: Option<(RecordBatch, usize)>,
    is_done: bool,
    metrics: BaselineMetrics,
}

impl Grouping {
    /// The grouping that `plan` does of the rows of `input`, by `groups` without a group.
    ///
    /// # Errors
    /// Those of the functions' making.
    pub(super) fn new(
        plan: &AggregateExec,
        groups: Groups,
        input: SendableRecordBatchStream,
        context: &TaskContext,
        metrics: BaselineMetrics,
    ) -> Result<Self> {
        let arguments = aggregate_expressions(plan.aggr_expr(), plan.mode(), 0)?;
        let batch_rows = context.session_config().batch_size().max(1);
        let each = plan.aggr_expr().iter().zip(arguments).zip(plan.filter_expr());
        let functions = each.map(|((function, arguments), filter)| {
            let states = function.create_groups_accumulator()?;
            let fold = Fold::of(function);
            let constants = arguments.iter().map(|argument| constant(argument, batch_rows));
            let constants = constants.collect::<Result<_>>()?;
            Ok(Function { arguments, constants, filter: filter.clone(), states, fold })
        });
        let options = &context.session_config().options().execution;
        Ok(Self {
            input,
            schema: datafusion::physical_plan::ExecutionPlan::schema(plan),
            by: plan.group_expr().input_exprs(),
            groups,
            numbers: Vec::new(),
            runs: Runs::default(),
            functions: functions.collect::<Result<_>>()?,
            memory: MemoryConsumer::new("NumberedGroups").register(context.memory_pool()),
            batch_rows,
            rows_read: 0,
            probe: (
                options.skip_partial_aggregation_probe_rows_threshold,
                options.skip_partial_aggregation_probe_ratio_threshold,
            ),
            passes_on: false,
            given: None,
            is_done: false,
            metrics,
        })
    }

    /// The next states; `None` once there are no more.
    ///
    /// # Errors
    /// Those of the input, of the functions, and of memory that isn't there.
    pub(super) async fn next(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            if let Some(piece) = self.next_given() {
                return Ok(Some(piece));
            }
            if self.is_done {
                return Ok(None);
            }
            let batch = self.input.next().await.transpose()?;
            let time = self.metrics.elapsed_compute().clone();
            let _time = time.timer();
            match batch {
                Some(batch) if self.passes_on => {
                    return Ok(Some(self.as_states(&batch)?));
                }
                Some(batch) => self.add(&batch)?,
                None => {
                    self.is_done = true;
                    self.give()?;
                }
            }
        }
    }

    /// A batch's worth of the states that are to be given.
    fn next_given(&mut self) -> Option<RecordBatch> {
        let (batch, start) = self.given.take()?;
        let rows = (batch.num_rows() - start).min(self.batch_rows);
        if start + rows < batch.num_rows() {
            self.given = Some((batch.clone(), start + rows));
        }
        self.metrics.output_rows().add(rows);
        Some(batch.slice(start, rows))
    }

    /// Adds what other rows come to: the groups that they are in, and the states of each function.
    ///
    /// # Errors
    /// Those of the functions, and of memory that isn't there.
    pub(super) fn add_states(&mut self, by: &[ArrayRef], states: &[Vec<ArrayRef>]) -> Result<()> {
        let fields = self.schema.fields().iter();
        let by = by.iter().zip(fields).map(|(column, field)| cast(column, field.data_type()));
        let by = by.collect::<std::result::Result<Vec<_>, _>>()?;
        let rows = states.iter().flatten().next().map_or(0, |states| states.len());
        self.groups.number_rows(&by, rows, &mut self.numbers)?;
        let groups = self.groups.len();
        for (function, states) in self.functions.iter_mut().zip(states) {
            function.states.merge_batch(states, &self.numbers, groups)?;
        }
        self.memory.try_resize(self.size())
    }

    fn add(&mut self, batch: &RecordBatch) -> Result<()> {
        let by = evaluate(&self.by, batch)?;
        self.groups.number_rows(&by, batch.num_rows(), &mut self.numbers)?;
        let groups = self.groups.len();
        let has_runs = self.functions.iter().any(|function| function.fold.is_some());
        let runs = (has_runs && self.runs.find(&self.numbers)).then_some(&self.runs);
        for function in &mut self.functions {
            function.add(batch, &self.numbers, runs, groups)?;
        }
        self.rows_read += batch.num_rows();
        let (rows, ratio) = self.probe;
        self.passes_on = self.rows_read >= rows && groups as f64 > self.rows_read as f64 * ratio;
        let has_memory = self.memory.try_resize(self.size()).is_ok();
        if self.passes_on || !has_memory || groups > GROUPS_MAX {
            self.give()?;
            self.memory.try_resize(self.size())?;
        }
        Ok(())
    }

    fn size(&self) -> usize {
        self.groups.size()
            + self.numbers.capacity() * size_of::<usize>()
            + self.runs.size()
            + self.functions.iter().map(|function| function.states.size()).sum::<usize>()
    }

    /// Hands on what there is of all groups, and begins anew: whoever gets states of one group several
    /// times puts them together.
    fn give(&mut self) -> Result<()> {
        self.rows_read = 0;
        if self.groups.len() == 0 {
            return Ok(());
        }
        let mut columns = self.groups.take()?;
        for function in &mut self.functions {
            columns.extend(function.states.state(EmitTo::All)?);
        }
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), columns)?;
        self.given = Some((batch, 0));
        Ok(())
    }

    /// The rows as states of groups of one row.
    fn as_states(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let mut columns = evaluate(&self.by, batch)?;
        for (column, field) in columns.iter_mut().zip(self.schema.fields()) {
            if column.data_type() != field.data_type() {
                *column = cast(column, field.data_type())?;
            }
        }
        for function in &self.functions {
            let (arguments, filter) = function.evaluate(batch)?;
            columns.extend(function.states.convert_to_state(&arguments, filter.as_ref())?);
        }
        self.metrics.output_rows().add(batch.num_rows());
        Ok(RecordBatch::try_new(Arc::clone(&self.schema), columns)?)
    }
}
