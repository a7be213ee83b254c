//! Grouping of rows by whole numbers, times and short texts: the first of an aggregate's two stages.
//!
//! DataFusion's own hashes the keys of a whole batch, then looks each up in a hash table. What comes by
//! time repeats its keys, and is mostly found in a table of those seen last ([`Ids`](timestrata_engine::ids::Ids)); and DataFusion's functions
//! are told what rows of one group that follow each other come to ([`runs`]). What is left is DataFusion's second
//! stage. Measured: grouping ten million trades by symbol spent a third of its time on hashing and looking up.

mod keys;
mod rows;
mod runs;
mod stored;
mod texts;

use std::collections::HashSet;
use std::fmt;
use std::sync::{Arc, OnceLock};

use datafusion::arrow::datatypes::DataType;
use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};
use datafusion::physical_plan::execution_plan::ReplaceChildrenOptions;
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, InputOrderMode, PlanProperties,
    replace_children_if_necessary,
};
use futures::stream::try_unfold;
use timestrata_engine::Aggregates;

pub(super) use self::keys::Groups;
use self::rows::Grouping;
use self::stored::Stored;
use super::operator::{names_of, recompute};
use super::scan::StreamScan;

/// A rule of the optimizer, to come last: other rules know DataFusion's aggregates only.
#[derive(Debug)]
pub(crate) struct NumberGroups;

impl PhysicalOptimizerRule for NumberGroups {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_up(|plan| {
            Ok(match plan.downcast_ref::<AggregateExec>().and_then(NumberedGroupsExec::of) {
                Some(numbered) => Transformed::yes(Arc::new(numbered) as _),
                None => Transformed::no(plan),
            })
        })
        .data()
    }

    fn name(&self) -> &str {
        "number_groups"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// The first stage of an aggregate.
#[derive(Debug)]
struct NumberedGroupsExec {
    plain: Arc<AggregateExec>,
    types: Vec<DataType>,
    /// Columns of the input that nothing is done with but to group by them: a scan may give codes of their text.
    coded: Vec<usize>,
    /// What compacted runs may keep of it.
    stored: Option<Stored>,
    /// What they do keep, once one partition has asked.
    told: OnceLock<Arc<Aggregates>>,
    metrics: ExecutionPlanMetricsSet,
}

impl NumberedGroupsExec {
    /// The same stage with numbered groups, if its groups are such as can be numbered.
    fn of(plain: &AggregateExec) -> Option<Self> {
        let by = plain.group_expr();
        let is_plain = *plain.mode() == AggregateMode::Partial
            && *plain.input_order_mode() == InputOrderMode::Linear
            && by.is_single()
            && plain.limit_options().is_none();
        let is_known = |function: &Arc<_>| {
            let function: &datafusion::physical_expr::aggregate::AggregateFunctionExpr = function;
            function.groups_accumulator_supported() && function.order_bys().is_empty()
        };
        if !is_plain || !plain.aggr_expr().iter().all(is_known) {
            return None;
        }
        let schema = plain.input().schema();
        let types = by.input_exprs().into_iter().map(|expr| expr.data_type(&schema).ok());
        let types: Vec<DataType> = types.collect::<Option<_>>()?;
        let stored = Stored::of(plain);
        // Without groups DataFusion's own is as quick.
        if stored.is_none() || !types.is_empty() {
            Groups::by(&types)?;
        }
        Some(Self {
            plain: Arc::new(plain.clone()),
            types,
            coded: only_grouped_by(plain),
            stored,
            told: OnceLock::new(),
            metrics: ExecutionPlanMetricsSet::new(),
        })
    }

    /// What compacted runs keep of it.
    fn told(&self) -> Result<Arc<Aggregates>> {
        if let Some(told) = self.told.get() {
            return Ok(Arc::clone(told));
        }
        let scan = self.plain.input().downcast_ref::<StreamScan>();
        let found = match (&self.stored, scan) {
            (Some(stored), Some(scan)) => stored.find(scan)?,
            _ => Aggregates::default(),
        };
        Ok(Arc::clone(self.told.get_or_init(|| Arc::new(found))))
    }
}

/// Columns of an aggregate's input that are text, and that it groups by as they are; no function is told of them.
fn only_grouped_by(plain: &AggregateExec) -> Vec<usize> {
    let schema = plain.input().schema();
    let filters = plain.filter_expr().iter().flatten().map(Arc::clone);
    let arguments = plain.aggr_expr().iter().flat_map(|function| function.expressions());
    let mut told: HashSet<usize> = HashSet::new();
    let mut computed: Vec<Arc<dyn PhysicalExpr>> = arguments.chain(filters).collect();
    let mut coded = Vec::new();
    for by in plain.group_expr().input_exprs() {
        match by.downcast_ref::<Column>().map(Column::index) {
            Some(column) if schema.field(column).data_type() == &DataType::Utf8View => {
                coded.push(column);
            }
            _ => computed.push(by),
        }
    }
    for expr in &computed {
        told.extend(collect_columns(expr).iter().map(Column::index));
    }
    coded.retain(|column| !told.contains(column));
    coded
}

impl DisplayAs for NumberedGroupsExec {
    fn fmt_as(&self, form: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NumberedGroupsExec: ")?;
        if !self.coded.is_empty() && self.plain.input().is::<StreamScan>() {
            write!(f, "codes=[{}], ", names_of(&self.plain.input().schema(), &self.coded))?;
        }
        if self.stored.is_some() {
            f.write_str("stored aggregates where there are, ")?;
        }
        self.plain.fmt_as(form, f)
    }
}

impl ExecutionPlan for NumberedGroupsExec {
    fn name(&self) -> &'static str {
        "NumberedGroupsExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.plain.properties()
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        self.plain.children()
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        self.plain.apply_expressions(f)
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let plain = Arc::clone(&self.plain) as Arc<dyn ExecutionPlan>;
        let plain = replace_children_if_necessary(plain, children)?;
        let numbered = plain.downcast_ref::<AggregateExec>().and_then(Self::of);
        Ok(numbered.map_or(plain, |numbered| Arc::new(numbered)))
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
        let groups = Groups::by(&self.types).unwrap_or_default();
        let told = self.told()?;
        let input = match self.plain.input().downcast_ref::<StreamScan>() {
            Some(scan) => scan.execute_coded(&self.coded, &told.blocks, partition, &context)?,
            None => self.plain.input().execute(partition, Arc::clone(&context))?,
        };
        let metrics = BaselineMetrics::new(&self.metrics, partition);
        let mut grouping = Grouping::new(&self.plain, groups, input, &context, metrics)?;
        if let Some(stored) = self.stored.as_ref().filter(|_| partition == 0) {
            for piece in &told.pieces {
                grouping.add_states(&piece.series, &stored.states(piece)?)?;
            }
        }
        let states = try_unfold(grouping, |mut grouping| async move {
            Ok(grouping.next().await?.map(|states| (states, grouping)))
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), states)))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }
}

#[cfg(test)]
mod tests;
