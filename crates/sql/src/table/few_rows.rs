//! Plans that read a few rows of one table.
//!
//! To hand out partitions wakes threads, and puts operators between that share rows out and bring them together again. For
//! the hour of one host that, and to look for better ways of reading it, takes longer than to read it. So such a plan is known
//! before any operator is made, by what dictionaries tell of a condition.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::datasource::source_as_provider;
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::logical_expr::{Expr, LogicalPlan, Operator, TableScan};
use timestrata_engine::{KeyRange, SERIES_PROPERTY, Stream};

use super::{SnapshotTable, SqlTable, narrow_table};
use crate::error::carried;
use crate::rules::has_subquery;

/// Rows that so many more have to be looked at for are better looked at by all threads.
const LOOKED_AT_MAX: u64 = 1 << 20;
/// So many more in long blocks, which are those whose rows lie by series: of these only pages are looked at.
const IN_LONG_BLOCKS_MAX: u64 = 16 << 20;
/// Rows of a piece of a range, where blocks aren't long.
const PIECE_ROWS: u64 = 256 << 10;
/// Rows of one series in a long block of so many series that no dictionary holds them: tens of thousands.
const ROWS_WITHOUT_DICTIONARY: u64 = 32;
/// Rows that one thread reads alone.
const ALONE_MAX: u64 = 4 << 10;

/// Whether a plan, an optimized one, reads a few rows of one table. What can't be told are many.
pub(crate) fn reads_few_rows(plan: &LogicalPlan) -> Result<bool> {
    let (mut plan, mut condition) = (plan, None);
    loop {
        if asks_subqueries(plan)? {
            return Ok(false);
        }
        let filter = match plan {
            LogicalPlan::Filter(filter) => Some(&filter.predicate),
            _ => None,
        };
        plan = match plan {
            LogicalPlan::TableScan(scan) => return gives_few_rows(scan, condition),
            LogicalPlan::Explain(explain) => &explain.plan,
            LogicalPlan::Analyze(analyze) => &analyze.input,
            LogicalPlan::Filter(_)
            | LogicalPlan::Projection(_)
            | LogicalPlan::Aggregate(_)
            | LogicalPlan::Sort(_)
            | LogicalPlan::Limit(_)
            | LogicalPlan::SubqueryAlias(_) => match plan.inputs().as_slice() {
                [input] => input,
                _ => return Ok(false),
            },
            _ => return Ok(false),
        };
        condition = filter;
    }
}

/// Whether an expression of an operator asks a query of its own.
fn asks_subqueries(plan: &LogicalPlan) -> Result<bool> {
    let mut found = false;
    plan.apply_expressions(|each| {
        found |= has_subquery(each)?;
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(found)
}

/// Whether a scan, with a condition over it, gives a few rows.
fn gives_few_rows(scan: &TableScan, condition: Option<&Expr>) -> Result<bool> {
    let provider = source_as_provider(&scan.source)?;
    let Some(SnapshotTable { source: table, read }) =
        provider.downcast_ref::<SnapshotTable<Arc<SqlTable>>>()
    else {
        return Ok(false);
    };
    let snapshot = &read.snapshot;
    let ranges = narrow_table(table, &scan.filters).ranges;
    let Some(condition) = condition else { return Ok(false) };
    let stream = table.stream.id();
    let rows = snapshot.estimate(stream, ranges.as_slice()).map_err(carried)?.rows_max;
    let mut long_blocks = 0;
    if rows > LOOKED_AT_MAX {
        let pieces = snapshot.pieces(stream, &ranges.hull()).map_err(carried)?.len() as u64;
        if rows > IN_LONG_BLOCKS_MAX || rows / pieces.max(1) <= PIECE_ROWS {
            return Ok(false);
        }
        long_blocks = pieces;
    }
    let hull = ranges.hull();
    let first = match hull.lo {
        Some(first) => Some(first),
        None => snapshot.min_key(stream, &hull).map_err(carried)?,
    };
    let Some(first) = first else { return Ok(false) };
    for condition in split_conjunction(condition) {
        let Some((column, wanted)) = values_wanted(condition) else { continue };
        let Ok(column) = table.schema.index_of(column) else { continue };
        let Some(column) = table.columns.get(column) else { continue };
        let is_tag = tells_series(&table.stream, *column);
        let at_first = KeyRange::point(first);
        let values = snapshot.known_values(stream, &at_first, *column).map_err(carried)?;
        if values.is_none() && is_tag && long_blocks > 0 {
            let rows = long_blocks * ROWS_WITHOUT_DICTIONARY;
            return Ok(rows.saturating_mul(wanted as u64) <= ALONE_MAX);
        }
        let counts = values.iter().flat_map(|values| &values.columns).map(|values| values.len());
        if let Some(count) = counts.max().filter(|count| *count > wanted) {
            return Ok((rows / count as u64).saturating_mul(wanted as u64) <= ALONE_MAX);
        }
    }
    Ok(false)
}

/// Whether rows lie together by a column, where they do.
fn tells_series(stream: &Stream, column: usize) -> bool {
    let name = stream.schema().fields().get(column).map(|field| field.name());
    let mut properties = stream.spec().properties.iter();
    properties.any(|(key, value)| key == SERIES_PROPERTY && Some(value) == name)
}

/// The column that a condition compares with values, and with how many.
fn values_wanted(condition: &Expr) -> Option<(&str, usize)> {
    match condition {
        Expr::InList(list) if !list.negated => match list.expr.as_ref() {
            Expr::Column(column) => Some((&column.name, list.list.len())),
            _ => None,
        },
        Expr::BinaryExpr(binary) => match (binary.op, binary.left.as_ref(), &*binary.right) {
            (Operator::Eq, Expr::Column(column), Expr::Literal(_, _))
            | (Operator::Eq, Expr::Literal(_, _), Expr::Column(column)) => Some((&column.name, 1)),
            // What a short list is made.
            (Operator::Or, left, right) => {
                let (one, other) = (values_wanted(left)?, values_wanted(right)?);
                (one.0 == other.0).then_some((one.0, one.1 + other.1))
            }
            _ => None,
        },
        _ => None,
    }
}
