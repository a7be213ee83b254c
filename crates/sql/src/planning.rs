//! From a parsed statement to a plan over the tables of a catalog.

use datafusion::common::{Column, Result as DataFusionResult};
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
use crate::statement;

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
    let options = ParserOptions::new().with_map_string_types_to_utf8view(false);
    let context = PlannerContext { state, tables };
    let plan = with_unique(statement, text, |mut statement| {
        if let Some(parsed) = statement::parsed_in(&mut statement).filter(|_| !params.is_empty()) {
            rewrite(parsed, &mut GivenArguments::of(&params));
        }
        let planner = SqlToRel::new_with_options(&context, options);
        plainly_written(planner.statement_to_plan(statement)?)
    })?;
    let plan = match params.is_empty() {
        true => plan,
        false => plan.with_param_values(params.into_values())?,
    };
    type_constants(keep_nulls(plan)?, &LongNumbers::of(text))
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
