//! Only the rules of the optimizer that can find something to do.
//!
//! DataFusion takes each plan through all rules, pass by pass until one changes nothing. To find nothing, a
//! rule goes through all of the plan, and many put it together anew: for what dashboards ask, one table
//! grouped and filtered, that was longer than to read its rows. Of a plan like that it is plain which rules
//! find nothing, for they are about joins, subqueries, unions or functions that it has none of; and where no
//! query is nested in another, what the rules find they find in the first pass.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use datafusion::common::Result;
use datafusion::common::alias::AliasGenerator;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::execution::{FunctionRegistry, SessionState};
use datafusion::logical_expr::{Explain, Expr, LogicalPlan, Operator};
use datafusion::optimizer::{Optimizer, OptimizerConfig};

use crate::functions::Marker;

/// Rules about joins, subqueries and unions.
const OF_SEVERAL_TABLES: [&str; 12] = [
    "rewrite_set_comparison",
    "optimize_unions",
    "unions_to_filter",
    "eliminate_join",
    "decorrelate_predicate_subquery",
    "scalar_subquery_to_join",
    "decorrelate_lateral_join",
    "extract_equijoin_predicate",
    "eliminate_cross_join",
    "filter_null_join_keys",
    "eliminate_outer_join",
    "push_below_asof_join",
];

/// Optimizes a plan, and says of one that is only to be explained how it would run.
///
/// `once` are the session's settings, with one pass.
pub(crate) fn optimize(
    plan: &LogicalPlan,
    state: &SessionState,
    once: &Arc<ConfigOptions>,
) -> Result<LogicalPlan> {
    if let LogicalPlan::Explain(explain) = plan {
        // Who asks for the steps gets those of all rules; so does who explains what is refused, with the error among them.
        let inner = if explain.verbose { None } else { optimize(&explain.plan, state, once).ok() };
        let Some(inner) = inner.map(Arc::new) else { return state.optimize(plan) };
        let told = Explain { plan: inner, logical_optimization_succeeded: true, ..explain.clone() };
        return Ok(LogicalPlan::Explain(told));
    }
    let options = state.config_options();
    let plan = state.analyzer().execute_and_check(plan.clone(), options, |_, _| {})?;
    let Some(parts) = Parts::of(&plan)? else {
        return state.optimizer().optimize(plan, state, |_, _| {});
    };
    let rules = state.optimizers().iter().filter(|rule| parts.need(rule.name()));
    let optimizer = Optimizer::with_rules(rules.map(Arc::clone).collect());
    if !parts.settle_at_once() {
        return optimizer.optimize(plan, state, |_, _| {});
    }
    let settings = Settings { state, options: once };
    let plan = optimizer.optimize(plan, &settings, |_, _| {})?;
    match !parts.has_empty_relation && plan.exists(is_empty)? {
        // What is known to have no rows has none further up either.
        true => optimizer.optimize(plan, state, |_, _| {}),
        false => Ok(plan),
    }
}

fn is_empty(plan: &LogicalPlan) -> Result<bool> {
    Ok(matches!(plan, LogicalPlan::EmptyRelation(_)))
}

/// A session with other settings.
struct Settings<'a> {
    state: &'a SessionState,
    options: &'a Arc<ConfigOptions>,
}

impl OptimizerConfig for Settings<'_> {
    fn query_execution_start_time(&self) -> Option<DateTime<Utc>> {
        self.state.query_execution_start_time()
    }

    fn alias_generator(&self) -> &Arc<AliasGenerator> {
        self.state.alias_generator()
    }

    fn options(&self) -> Arc<ConfigOptions> {
        Arc::clone(self.options)
    }

    fn function_registry(&self) -> Option<&dyn FunctionRegistry> {
        self.state.function_registry()
    }
}

/// What a plan over one table is made of.
#[derive(Debug, Default)]
struct Parts {
    projections: usize,
    filters: usize,
    aggregates: usize,
    sorts: usize,
    limits: usize,
    distincts: usize,
    /// Tables and subqueries with names.
    aliases: usize,
    /// Of one grouping or sort, at most.
    keys: usize,
    has_empty_relation: bool,
    /// Aggregates of values that are told apart.
    has_distinct_aggregate: bool,
    /// What may be worth more below other operators, such as members of structures.
    has_function: bool,
    /// Lists of constants, and what becomes or was one.
    has_list: bool,
    /// Ranges, whose ends are conditions by themselves after one pass.
    has_between: bool,
}

impl Parts {
    /// `None` for plans of which nothing is left out: those of several tables, with subqueries, and with
    /// operators that are not counted here.
    fn of(plan: &LogicalPlan) -> Result<Option<Self>> {
        let mut parts = Self::default();
        let looked = plan.apply(|node| {
            if !parts.add(node) {
                return Ok(TreeNodeRecursion::Stop);
            }
            node.apply_expressions(|expr| expr.apply(|expr| Ok(parts.add_expression(expr))))
        })?;
        Ok((looked != TreeNodeRecursion::Stop).then_some(parts))
    }

    /// Whether the operator is one of those that are counted.
    fn add(&mut self, node: &LogicalPlan) -> bool {
        match node {
            LogicalPlan::Projection(_) => self.projections += 1,
            LogicalPlan::Filter(_) => self.filters += 1,
            LogicalPlan::Aggregate(aggregate) => {
                self.aggregates += 1;
                self.keys = self.keys.max(aggregate.group_expr.len());
            }
            LogicalPlan::Sort(sort) => {
                self.sorts += 1;
                self.keys = self.keys.max(sort.expr.len());
            }
            LogicalPlan::Limit(_) => self.limits += 1,
            LogicalPlan::Distinct(_) => self.distincts += 1,
            LogicalPlan::SubqueryAlias(_) => self.aliases += 1,
            LogicalPlan::EmptyRelation(_) => self.has_empty_relation = true,
            LogicalPlan::TableScan(_) | LogicalPlan::Analyze(_) => {}
            _ => return false,
        }
        true
    }

    fn add_expression(&mut self, expr: &Expr) -> TreeNodeRecursion {
        match expr {
            Expr::Exists(_)
            | Expr::InSubquery(_)
            | Expr::ScalarSubquery(_)
            | Expr::SetComparison(_)
            | Expr::OuterReferenceColumn(..)
            | Expr::GroupingSet(_)
            | Expr::Unnest(_) => return TreeNodeRecursion::Stop,
            Expr::AggregateFunction(call) => self.has_distinct_aggregate |= call.params.distinct,
            Expr::ScalarFunction(_) => {
                self.has_function = true;
                self.has_list |= Marker::Guard.inner(expr).is_some();
            }
            // Of `NOT (a <> 1 AND a <> 2)` one becomes.
            Expr::InList(_) | Expr::Not(_) => self.has_list = true,
            Expr::Between(_) => self.has_between = true,
            Expr::BinaryExpr(binary) => self.has_list |= binary.op == Operator::Or,
            _ => {}
        }
        TreeNodeRecursion::Continue
    }

    /// Whether the rule of that name can find something. Of one that is not known here, it can.
    fn need(&self, rule: &str) -> bool {
        match rule {
            _ if OF_SEVERAL_TABLES.contains(&rule) => false,
            "guard_lists" | "release_lists" => self.has_list,
            "replace_distinct_aggregate" => self.distincts > 0,
            "eliminate_duplicated_expr" => self.keys > 1 || self.distincts > 0,
            "eliminate_filter" | "push_down_filter" => self.filters > 0,
            "eliminate_limit" | "push_down_limit" => self.limits > 0,
            "propagate_empty_relation" => self.filters + self.limits > 0 || self.has_empty_relation,
            "single_distinct_aggregation_to_group_by" => self.has_distinct_aggregate,
            "eliminate_group_by_constant" => self.aggregates + self.distincts > 0,
            "extract_leaf_expressions" | "push_down_leaf_projections" => self.has_function,
            _ => true,
        }
    }

    /// Whether rules find nothing more in what others have made: as they would of a query in another, or of a limit above
    /// a filter that became part of a scan.
    fn settle_at_once(&self) -> bool {
        let most = self.projections.max(self.aggregates).max(self.sorts).max(self.aliases);
        most <= 1 && self.filters <= 1 && self.limits + self.distincts == 0 && !self.has_between
    }
}

#[cfg(test)]
mod tests;
