//! Table functions in `FROM`, as SQL has them.
//!
//! - `asof_join(left, right, on [, by, tolerance, direction, right_on =>, right_by =>, exact =>,
//!   suffix =>])`
//! - `gap_fill(input, time, every [, fill, by, start =>, end =>, zone =>])`
//! - `latest_on(input, time, by)`
//!
//! An input is a table or a query: `trades`, `'trades'`, `(SELECT ...)` or `'SELECT ...'`.

use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::LogicalPlan;
use datafusion::logical_expr::planner::{
    PlannedRelation, RelationPlanner, RelationPlannerContext, RelationPlanning,
};
use sqlparser::ast::{FunctionArg, TableFactor};

use super::arguments::{CallArguments, column, columns, interval, literal, text};
use super::asof_join::{AsofOptions, Tolerance, asof_join};
use super::gap_fill::{GapFillOptions, gap_fill};
use super::latest_on::latest_on;
use crate::error::refused;

#[derive(Debug)]
pub(crate) struct TableFunctions;

/// Makes a plan of what a function is called with.
pub(crate) type CallPlanner =
    fn(CallArguments, &mut dyn RelationPlannerContext) -> Result<LogicalPlan>;

fn planner_of(name: &str) -> Option<(&'static str, CallPlanner)> {
    match name {
        "asof_join" => Some(("asof_join", plan_asof_join)),
        "gap_fill" => Some(("gap_fill", plan_gap_fill)),
        "latest_on" => Some(("latest_on", plan_latest_on)),
        _ => None,
    }
}

impl RelationPlanner for TableFunctions {
    fn plan_relation(
        &self,
        relation: TableFactor,
        context: &mut dyn RelationPlannerContext,
    ) -> Result<RelationPlanning> {
        plan_call(planner_of, relation, context)
    }
}

/// Plans a relation, if it is a call of a function that `planner_of` knows by its name in lower case.
pub(crate) fn plan_call(
    planner_of: fn(&str) -> Option<(&'static str, CallPlanner)>,
    relation: TableFactor,
    context: &mut dyn RelationPlannerContext,
) -> Result<RelationPlanning> {
    let (name, given, alias): (_, Vec<FunctionArg>, _) = match &relation {
        TableFactor::Table { name, args: Some(args), alias, .. } => {
            (name, args.args.clone(), alias.clone())
        }
        TableFactor::Function { name, args, alias, .. } => (name, args.clone(), alias.clone()),
        _ => return Ok(RelationPlanning::Original(Box::new(relation))),
    };
    let Some((name, planner)) = planner_of(&name.to_string().to_lowercase()) else {
        return Ok(RelationPlanning::Original(Box::new(relation)));
    };
    let plan = planner(CallArguments::new(name, given)?, context)?;
    Ok(RelationPlanning::Planned(Box::new(PlannedRelation::new(plan, alias))))
}

fn plan_asof_join(
    mut given: CallArguments,
    context: &mut dyn RelationPlannerContext,
) -> Result<LogicalPlan> {
    let left = given.input("left", context)?;
    let right = given.input("right", context)?;
    let mut options = AsofOptions::on(column(&given.need("on")?, context)?);
    options.by = given.take("by").map_or(Ok(Vec::new()), |by| columns(&by, context))?;
    if let Some(tolerance) = given.take("tolerance") {
        options.tolerance = match literal(tolerance, context)? {
            ScalarValue::Int64(Some(units)) => Some(Tolerance::Units(units)),
            ScalarValue::Null => None,
            value => Some(Tolerance::Interval(super::step::interval_of(&value)?)),
        };
    }
    if let Some(direction) = given.take("direction") {
        options.direction = text(&direction)
            .ok_or_else(|| refused("direction is 'backward', 'forward' or 'nearest'"))?
            .parse()?;
    }
    options.right_on = given.named("right_on").map(|on| column(&on, context)).transpose()?;
    options.right_by = given.named("right_by").map(|by| columns(&by, context)).transpose()?;
    if let Some(suffix) = given.named("suffix") {
        options.suffix = text(&suffix).ok_or_else(|| refused("suffix is a text"))?;
    }
    if let Some(exact) = given.named("exact") {
        options.allow_exact = match literal(exact, context)? {
            ScalarValue::Boolean(Some(exact)) => exact,
            _ => return Err(refused("exact is true or false")),
        };
    }
    given.finish()?;
    asof_join(left, right, &options)
}

fn plan_gap_fill(
    mut given: CallArguments,
    context: &mut dyn RelationPlannerContext,
) -> Result<LogicalPlan> {
    let input = given.input("input", context)?;
    let time = column(&given.need("time")?, context)?;
    let every = interval(given.need("every")?, context)?;
    let mut options = GapFillOptions::new(time, every);
    if let Some(fill) = given.take("fill") {
        options.fill = text(&fill)
            .ok_or_else(|| refused("fill is 'null', 'previous' or 'linear'"))?
            .parse()?;
    }
    options.by = given.take("by").map_or(Ok(Vec::new()), |by| columns(&by, context))?;
    options.start = given.named("start").map(|start| literal(start, context)).transpose()?;
    options.end = given.named("end").map(|end| literal(end, context)).transpose()?;
    if let Some(zone) = given.named("zone") {
        let wrong = || refused("zone is the name of a time zone, as 'Europe/Berlin'");
        options.zone = Some(text(&zone).ok_or_else(wrong)?);
    }
    given.finish()?;
    gap_fill(input, &options)
}

fn plan_latest_on(
    mut given: CallArguments,
    context: &mut dyn RelationPlannerContext,
) -> Result<LogicalPlan> {
    let input = given.input("input", context)?;
    let time = column(&given.need("time")?, context)?;
    let by = columns(&given.need("by")?, context)?;
    given.finish()?;
    latest_on(input, time, by)
}
