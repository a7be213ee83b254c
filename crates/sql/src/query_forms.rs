//! Forms of a query that the planner takes otherwise: `FETCH FIRST n ROWS ONLY` is the standard's `LIMIT n`, and all
//! that it knows; `SELECT ... INTO` would make a table, though it begins as what only asks; and an as-of join
//! is a part of `FROM` by itself, which is planned by our rules.

use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, Fetch, Join, JoinOperator, LimitClause, Query, Select, TableFactor, TableWithJoins,
    Value, VisitMut,
};
use timestrata_engine::Result;

use crate::error::invalid;
use crate::joined_columns::tell_tables;
use crate::rewrite::{Rewriter, rewrite};

/// Makes every `FETCH` of a statement, or of a part of one, the limit that it is.
///
/// # Errors
/// `InvalidArgument` for what is no limit (so many percent, and rows that are as good as the last one), and for `INTO`.
pub(crate) fn normalize(part: &mut impl VisitMut) -> Result<()> {
    let mut queries = Queries { outcome: Ok(()) };
    rewrite(part, &mut queries);
    queries.outcome
}

struct Queries {
    outcome: Result<()>,
}

impl Rewriter for Queries {
    fn enter_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        self.outcome = as_limit(query);
        match self.outcome {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    }

    fn enter_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        tell_tables(select);
        select.from.iter_mut().for_each(nest_asof_joins);
        let Some(into) = &select.into else { return ControlFlow::Continue(()) };
        let name = &into.name;
        self.outcome = Err(invalid(format!(
            "SELECT ... INTO {name} is not supported: write CREATE TABLE {name} AS SELECT ..."
        )));
        ControlFlow::Break(())
    }
}

/// Makes each as-of join, with all that is joined before it, one part.
fn nest_asof_joins(from: &mut TableWithJoins) {
    let is_asof = |join: &Join| matches!(join.join_operator, JoinOperator::AsOf { .. });
    // One that stands alone in parentheses is such a part.
    while let Some(place) = from.joins.iter().position(is_asof) {
        let rest = from.joins.split_off(place + 1);
        let join = from.joins.pop();
        let before = std::mem::take(&mut from.joins);
        let first = from.relation.clone();
        let left = match before.is_empty() {
            true => first,
            false => nested(first, before),
        };
        from.relation = nested(left, join.into_iter().collect());
        from.joins = rest;
    }
}

fn nested(relation: TableFactor, joins: Vec<Join>) -> TableFactor {
    let table_with_joins = Box::new(TableWithJoins { relation, joins });
    TableFactor::NestedJoin { table_with_joins, alias: None }
}

fn as_limit(query: &mut Query) -> Result<()> {
    let Some(Fetch { with_ties, percent, quantity }) = query.fetch.take() else { return Ok(()) };
    if with_ties || percent {
        let what = if with_ties { "WITH TIES" } else { "PERCENT" };
        return Err(invalid(format!(
            "FETCH ... {what} is not supported: FETCH FIRST n ROWS ONLY is"
        )));
    }
    let rows = quantity.unwrap_or_else(|| Expr::value(Value::Number("1".to_owned(), false)));
    let (offset, limit_by) = match query.limit_clause.take() {
        None => (None, Vec::new()),
        Some(LimitClause::LimitOffset { limit: None, offset, limit_by }) => (offset, limit_by),
        Some(_) => return Err(invalid("a query has LIMIT or FETCH, not both")),
    };
    query.limit_clause = Some(LimitClause::LimitOffset { limit: Some(rows), offset, limit_by });
    Ok(())
}
