//! Of a condition the range of numbers that it asks of each of its columns, where that is all that it asks.

use std::ops::Bound;
use std::sync::Arc;

use datafusion::common::ScalarValue;
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::expressions::{BinaryExpr, Column, Literal};
use datafusion::physical_expr::{PhysicalExpr, split_conjunction};
use timestrata_engine::NumberRange;

/// For each of so many columns, by its index, its range; none where a condition asks something else.
pub(super) fn number_ranges(predicate: &Arc<dyn PhysicalExpr>, columns: usize) -> Vec<NumberRange> {
    let mut ranges = vec![None; columns];
    for condition in split_conjunction(predicate) {
        let Some((column, range)) = of_comparison(condition) else { return Vec::new() };
        let Some(known) = ranges.get_mut(column) else { return Vec::new() };
        let both = match *known {
            None => Some(range),
            Some(known) => range.and(known),
        };
        let Some(both) = both else { return Vec::new() };
        *known = Some(both);
    }
    ranges.into_iter().collect::<Option<_>>().unwrap_or_default()
}

/// The column that is compared with a number, and its range.
fn of_comparison(condition: &Arc<dyn PhysicalExpr>) -> Option<(usize, NumberRange)> {
    let binary = condition.downcast_ref::<BinaryExpr>()?;
    let sides = |column: &Arc<dyn PhysicalExpr>, number: &Arc<dyn PhysicalExpr>| {
        let column = column.downcast_ref::<Column>()?.index();
        Some((column, number.downcast_ref::<Literal>()?.value().clone()))
    };
    let (column, op, number) = match sides(binary.left(), binary.right()) {
        Some((column, number)) => (column, *binary.op(), number),
        None => {
            let (column, number) = sides(binary.right(), binary.left())?;
            (column, binary.op().swap()?, number)
        }
    };
    let range = match number {
        ScalarValue::Float64(Some(number)) if !number.is_nan() => of_float(op, number),
        ScalarValue::Int64(Some(number)) => of_whole(op, number),
        ScalarValue::Int32(Some(number)) => of_whole(op, number.into()),
        _ => None,
    };
    Some((column, range?))
}

fn of_float(op: Operator, number: f64) -> Option<NumberRange> {
    use Bound::{Excluded, Included, Unbounded};
    let (lo, hi) = match op {
        Operator::Lt => (Unbounded, Excluded(number)),
        Operator::LtEq => (Unbounded, Included(number)),
        Operator::Gt => (Excluded(number), Unbounded),
        Operator::GtEq => (Included(number), Unbounded),
        Operator::Eq => (Included(number), Included(number)),
        _ => return None,
    };
    Some(NumberRange::Floats { lo, hi })
}

fn of_whole(op: Operator, number: i64) -> Option<NumberRange> {
    const NONE: (i64, i64) = (i64::MAX, i64::MIN);
    let (first, last) = match op {
        Operator::Lt => number.checked_sub(1).map_or(NONE, |last| (i64::MIN, last)),
        Operator::LtEq => (i64::MIN, number),
        Operator::Gt => number.checked_add(1).map_or(NONE, |first| (first, i64::MAX)),
        Operator::GtEq => (number, i64::MAX),
        Operator::Eq => (number, number),
        _ => return None,
    };
    Some(NumberRange::Whole { first, last })
}

#[cfg(test)]
mod tests;
