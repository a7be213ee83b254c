//! From a parsed statement to a plan over the tables of a catalog.

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DataFusionError, Result as DataFusionResult, SchemaError};
use datafusion::execution::SessionState;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder};
use datafusion_sql::parser::Statement;
use datafusion_sql::planner::{ParserOptions, SqlToRel};
use timestrata_engine::Result;

use crate::catalog::Catalog;
use crate::error::{carried, invalid};
use crate::functions::plainly_written;
use crate::names::{unique_names, with_unique};
use crate::params::{GivenArguments, Params};
use crate::planner_context::{NamedTables, PlannerContext};
use crate::planning_states::PlanningState;
use crate::rewrite::rewrite;
use crate::rules::{LongNumbers, keep_nulls, type_constants};
use crate::sample_by::Samples;
use crate::spellings::Spellings;
use crate::statement::{self, parse_spelled};

/// What a query is planned with: a session, and the tables of a snapshot.
pub(crate) struct Planning {
    pub(crate) state: PlanningState,
    pub(crate) catalog: Catalog,
}

/// A statement, the parsed `text`, as a plan, with the values of its placeholders.
pub(crate) fn plan(
    planning: &Planning,
    statement: Statement,
    params: Params,
    text: &str,
) -> DataFusionResult<LogicalPlan> {
    plan_over(&planning.state, &planning.catalog, statement, params, text)
}

/// The same over some tables.
pub(crate) fn plan_over(
    state: &SessionState,
    tables: &dyn NamedTables,
    statement: Statement,
    params: Params,
    text: &str,
) -> DataFusionResult<LogicalPlan> {
    let (params, lists) = params.with_elements();
    let context = PlannerContext { state, tables };
    let mut spellings = Spellings::default();
    // Most statements have no such clause, and needn't be looked through.
    let may_sample = text.as_bytes().windows(6).any(|word| word.eq_ignore_ascii_case(b"sample"));
    let mut statement = statement;
    let plan = loop {
        let again = || parse_spelled(text, usize::MAX, &spellings.words).map_err(carried);
        let options = ParserOptions::new()
            .with_map_string_types_to_utf8view(false)
            .with_collect_spans(spellings.is_looking());
        let planned = with_unique(statement, again, |mut statement| {
            if let Some(parsed) =
                statement::parsed_in(&mut statement).filter(|_| !params.is_empty())
            {
                if !lists.is_empty() {
                    rewrite(parsed, &mut &lists);
                }
                rewrite(parsed, &mut GivenArguments::of(&params));
            }
            if let Some(parsed) = statement::parsed_in(&mut statement).filter(|_| may_sample) {
                let mut samples = Samples { state, tables, outcome: Ok(()) };
                rewrite(parsed, &mut samples);
                samples.outcome?;
            }
            let planner = SqlToRel::new_with_options(&context, options);
            let plan = plainly_written(planner.statement_to_plan(statement)?)?;
            check_orders(&plan)?;
            Ok(plan)
        });
        match planned {
            Err(error) if spellings.learn(&error, text, tables)? => {}
            planned => break planned?,
        }
        statement = parse_spelled(text, usize::MAX, &spellings.words).map_err(carried)?;
    };
    let plan = match params.is_empty() {
        true => plan,
        false => plan.with_param_values(params.into_values())?,
    };
    type_constants(keep_nulls(plan)?, &LongNumbers::of(text))
}

/// Refuses an order by a column that isn't there, which the planner leaves to be found out later.
fn check_orders(plan: &LogicalPlan) -> DataFusionResult<()> {
    plan.apply(|plan| {
        let LogicalPlan::Sort(sort) = plan else { return Ok(TreeNodeRecursion::Continue) };
        let schema = sort.input.schema();
        for by in &sort.expr {
            let refs = by.expr.column_refs();
            if let Some(missing) = refs.into_iter().find(|column| !schema.has_column(column)) {
                let (field, valid_fields) = (Box::new(missing.clone()), schema.columns());
                let error = SchemaError::FieldNotFound { field, valid_fields };
                return Err(DataFusionError::SchemaError(Box::new(error), Box::new(None)));
            }
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(())
}

/// Refuses plans that are no queries.
pub(crate) fn check_query(plan: &LogicalPlan) -> Result<()> {
    match plan {
        LogicalPlan::Dml(_)
        | LogicalPlan::Ddl(_)
        | LogicalPlan::Copy(_)
        | LogicalPlan::Statement(_) => Err(invalid("this takes a query, and not a change")),
        LogicalPlan::Explain(explain) => check_query(&explain.plan),
        LogicalPlan::Analyze(analyze) => check_query(&analyze.input),
        _ => Ok(()),
    }
}

/// The query of a view as a plan, each column under a name of its own.
pub(crate) fn planned_view(planning: &Planning, query: &str) -> DataFusionResult<LogicalPlan> {
    let statement = statement::parse(query, usize::MAX).map_err(carried)?;
    statement::check_allowed(&statement).map_err(carried)?;
    let plan = plan(planning, statement, Params::none(), query)?;
    check_query(&plan).map_err(carried)?;
    let names = unique_names(plan.schema().as_arrow());
    let columns = plan.schema().columns();
    if columns.iter().zip(&names).all(|(column, name)| column.name == *name) {
        return Ok(plan);
    }
    let named = |(column, name): (Column, String)| Expr::Column(column).alias(name);
    let named: Vec<Expr> = columns.into_iter().zip(names).map(named).collect();
    LogicalPlanBuilder::from(plan).project(named)?.build()
}
