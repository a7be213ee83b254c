//! The rules that plans go through: DataFusion's, and between them ours.

mod needed;

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::logical_expr::LogicalPlan;
use datafusion::optimizer::{ApplyOrder, Optimizer, OptimizerConfig, OptimizerRule};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::optimizer::PhysicalOptimizer;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::unnest::UnnestExec;

use crate::functions;
use crate::physical_plan::{self, NumberGroups, RuntimeFilters};
use crate::rules;

pub(crate) use self::needed::optimize;

/// A rule that is one function from a node of the logical plan to another.
#[derive(Debug)]
struct LogicalRule {
    name: &'static str,
    order: ApplyOrder,
    rewrite: fn(LogicalPlan) -> Result<Transformed<LogicalPlan>>,
}

impl OptimizerRule for LogicalRule {
    fn name(&self) -> &str {
        self.name
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(self.order)
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        _: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        (self.rewrite)(plan)
    }
}

type Plan = Arc<dyn ExecutionPlan>;

/// A rule that is one function from a physical plan to another of the same columns.
#[derive(Debug)]
struct PhysicalRule {
    name: &'static str,
    rewrite: fn(Plan) -> Result<Plan>,
}

impl PhysicalOptimizerRule for PhysicalRule {
    fn optimize(&self, plan: Plan, _: &ConfigOptions) -> Result<Plan> {
        (self.rewrite)(plan)
    }

    fn name(&self) -> &str {
        self.name
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// DataFusion's rule that shares rows out among threads, which takes few rows for little work: but not where operators
/// make many rows of few.
#[derive(Debug)]
struct ShareOut(Arc<dyn PhysicalOptimizerRule + Send + Sync>);

impl PhysicalOptimizerRule for ShareOut {
    fn optimize(&self, plan: Plan, options: &ConfigOptions) -> Result<Plan> {
        let joins_or_unnests =
            |plan: &Plan| Ok(plan.children().len() > 1 || plan.is::<UnnestExec>());
        if !plan.exists(joins_or_unnests)? {
            return self.0.optimize(plan, options);
        }
        let mut options = options.clone();
        options.execution.use_row_number_estimates_to_optimize_partitioning = false;
        self.0.optimize(plan, &options)
    }

    fn name(&self) -> &str {
        self.0.name()
    }

    fn schema_check(&self) -> bool {
        self.0.schema_check()
    }
}

/// DataFusion's rules, and ours: before filters are pushed down, and around all.
pub(crate) fn logical_rules() -> Vec<Arc<dyn OptimizerRule + Send + Sync>> {
    use ApplyOrder::{BottomUp, TopDown};
    let rule = |name, order, rewrite| Arc::new(LogicalRule { name, order, rewrite });
    let mut rules = Optimizer::new().rules;
    let filters = rules.iter().position(|rule| rule.name() == "push_down_filter").unwrap_or(0);
    rules.insert(filters, rule("push_below_asof_join", TopDown, functions::push_below_asof_join));
    rules.insert(0, rule("guard_lists", BottomUp, rules::guard_lists));
    rules.push(rule("release_lists", BottomUp, rules::release_lists));
    rules
}

/// DataFusion's rules, and ours: before anything else, before limits are pushed down, before scans
/// are wrapped, before its check, and last.
///
/// Without those that push filters through operators: they know a column by its name alone, and take the
/// first of two that are called the same (as in a projection over a join). Nothing is lost by it: a scan takes
/// its conditions from the logical plan, where columns have their tables' names.
pub(crate) fn physical_rules() -> Vec<Arc<dyn PhysicalOptimizerRule + Send + Sync>> {
    use physical_plan as rewrite;
    let rule = |name, rewrite| Arc::new(PhysicalRule { name, rewrite });
    let mut rules = PhysicalOptimizer::new().rules;
    rules.retain(|rule| !rule.name().starts_with("FilterPushdown"));
    if let Some(shares) = rules.iter_mut().find(|rule| rule.name() == "EnsureRequirements") {
        *shares = Arc::new(ShareOut(Arc::clone(shares)));
    }
    // Behind the first time that projections are pushed down.
    if let Some(last) = rules.iter().rposition(|rule| rule.name() == "ProjectionPushdown") {
        rules.insert(last, rule("split_filter_projections", rewrite::split_filter_projections));
    }
    let limits = rules.iter().position(|rule| rule.name() == "LimitPushdown");
    rules.insert(limits.unwrap_or(rules.len()), rule("read_backwards", rewrite::read_backwards));
    let hidden = rules.iter().position(|rule| rule.name() == "EnsureCooperative");
    rules.insert(hidden.unwrap_or(rules.len()), Arc::new(RuntimeFilters));
    rules.insert(hidden.unwrap_or(rules.len()), rule("filter_scans", rewrite::filter_scans));
    let check = rules.iter().position(|rule| rule.name() == "SanityCheckPlan");
    rules.insert(check.unwrap_or(rules.len()), rule("restore_order", rewrite::restore_order));
    rules.push(rule("compare_numbers", rewrite::compare_numbers));
    rules.push(Arc::new(NumberGroups));
    rules.insert(0, rule("forget_order", rewrite::forget_order));
    rules.insert(0, rule("read_log_fields", rewrite::read_log_fields));
    rules.insert(0, rule("measure_scans", rewrite::measure_scans));
    rules.insert(0, rule("hide_rounding_casts", rewrite::hide_rounding_casts));
    rules
}

/// The same for plans that read a few rows by one thread: without what takes longer to think of than it spares.
pub(crate) fn physical_rules_of_few_rows() -> Vec<Arc<dyn PhysicalOptimizerRule + Send + Sync>> {
    const LEFT_OUT: [&str; 4] =
        ["JoinSelection", "ProjectionPushdown", "split_filter_projections", "EnsureCooperative"];
    let mut rules = physical_rules();
    rules.retain(|rule| !LEFT_OUT.contains(&rule.name()));
    rules
}
