//! Filters as ranges of the leading key.

use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::common::ScalarValue;
use datafusion::logical_expr::{Between, BinaryExpr, Expr, Operator};
use timestrata_engine::KeyRange;

use super::literal::{LiteralBounds, bounds_of};
use crate::functions::Marker;
use crate::ranges::Ranges;
use crate::rules::is_comparison;

/// Ranges that a filter may have; with more it is one range from the first to the last of them.
const RANGES_MAX: usize = 256;

/// What a filter says of the leading key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FilterRanges {
    /// No row with another key passes.
    pub(crate) ranges: Ranges,
    /// Every row with one of these keys passes.
    pub(crate) is_exact: bool,
}

impl FilterRanges {
    fn exactly(ranges: Ranges) -> Self {
        Self { ranges, is_exact: true }
    }
}

/// What `filter` says of the leading key `lead`, if anything.
pub(crate) fn narrow(lead: &Field, filter: &Expr) -> Option<FilterRanges> {
    let found = match filter {
        Expr::BinaryExpr(binary) => narrow_binary(lead, binary)?,
        Expr::Between(between) => narrow_between(lead, between)?,
        Expr::InList(list) if !list.negated => {
            let none = FilterRanges::exactly(Ranges::none());
            let mut each = list.list.iter().map(|to| compare(lead, &list.expr, Operator::Eq, to));
            each.try_fold(none, |found, one| Some(either(found, one?)))?
        }
        // Keys are never null.
        Expr::IsNotNull(inner) if is_lead(lead, inner) => FilterRanges::exactly(Ranges::all()),
        Expr::IsNull(inner) if is_lead(lead, inner) => FilterRanges::exactly(Ranges::none()),
        Expr::Literal(ScalarValue::Boolean(Some(true)), _) => FilterRanges::exactly(Ranges::all()),
        Expr::Literal(ScalarValue::Boolean(_), _) => FilterRanges::exactly(Ranges::none()),
        Expr::Alias(alias) => narrow(lead, &alias.expr)?,
        Expr::ScalarFunction(_) => narrow(lead, Marker::Guard.inner(filter)?)?,
        _ => return None,
    };
    Some(match found.ranges.as_slice().len() {
        0..=RANGES_MAX => found,
        _ => FilterRanges { ranges: Ranges::of(found.ranges.hull()), is_exact: false },
    })
}

/// All filters together, of which each must pass.
pub(crate) fn narrow_all(lead: &Field, filters: &[Expr]) -> FilterRanges {
    let start = FilterRanges::exactly(Ranges::all());
    filters.iter().fold(start, |found, filter| both(Some(found), narrow(lead, filter)))
}

fn narrow_binary(lead: &Field, binary: &BinaryExpr) -> Option<FilterRanges> {
    match binary.op {
        Operator::And => match (narrow(lead, &binary.left), narrow(lead, &binary.right)) {
            (None, None) => None,
            (left, right) => Some(both(left, right)),
        },
        Operator::Or => Some(either(narrow(lead, &binary.left)?, narrow(lead, &binary.right)?)),
        op => match is_literal(&binary.right) {
            true => compare(lead, &binary.left, op, &binary.right),
            false => compare(lead, &binary.right, op.swap()?, &binary.left),
        },
    }
}

fn narrow_between(lead: &Field, between: &Between) -> Option<FilterRanges> {
    let (low, high) = match between.negated {
        false => (Operator::GtEq, Operator::LtEq),
        true => (Operator::Lt, Operator::Gt),
    };
    let low = compare(lead, &between.expr, low, &between.low)?;
    let high = compare(lead, &between.expr, high, &between.high)?;
    Some(if between.negated { either(low, high) } else { both(Some(low), Some(high)) })
}

fn both(left: Option<FilterRanges>, right: Option<FilterRanges>) -> FilterRanges {
    let is_exact = [&left, &right].iter().all(|side| side.as_ref().is_some_and(|s| s.is_exact));
    let ranges = [left, right]
        .into_iter()
        .flatten()
        .fold(Ranges::all(), |ranges, side| ranges.intersect(&side.ranges));
    FilterRanges { ranges, is_exact }
}

fn either(left: FilterRanges, right: FilterRanges) -> FilterRanges {
    FilterRanges {
        is_exact: left.is_exact && right.is_exact,
        ranges: left.ranges.union(right.ranges),
    }
}

fn is_literal(expr: &Expr) -> bool {
    matches!(expr, Expr::Literal(_, _))
}

fn is_lead(lead: &Field, expr: &Expr) -> bool {
    matches!(expr, Expr::Column(column) if column.name == *lead.name())
}

/// The type as which the leading key stands in `expr`: itself, or in a cast.
fn compared_as(lead: &Field, expr: &Expr) -> Option<DataType> {
    match expr {
        Expr::Cast(cast) if is_lead(lead, &cast.expr) => Some(cast.field.data_type().clone()),
        expr if is_lead(lead, expr) => Some(lead.data_type().clone()),
        _ => None,
    }
}

fn compare(lead: &Field, expr: &Expr, op: Operator, literal: &Expr) -> Option<FilterRanges> {
    let compared = compared_as(lead, expr)?;
    let Expr::Literal(literal, _) = literal else { return None };
    if literal.is_null() {
        return compare_with_null(op);
    }
    // Keys are never null.
    let op = match op {
        Operator::IsDistinctFrom => Operator::NotEq,
        Operator::IsNotDistinctFrom => Operator::Eq,
        op => op,
    };
    let LiteralBounds { not_below, above, is_exact } =
        bounds_of(lead.data_type(), &compared, literal)?;
    let below = |end: Option<_>| match end {
        Some(end) => Ranges::of(KeyRange { lo: None, hi: Some(end) }),
        None => Ranges::all(),
    };
    let from = |start: Option<_>| match start {
        Some(start) => Ranges::of(KeyRange { lo: Some(start), hi: None }),
        None => Ranges::none(),
    };
    // Where these bounds are rough, its ends lie on either side of the literal: the wider one is
    // taken.
    let ranges = match op {
        Operator::Eq => from(not_below).intersect(&below(above)),
        Operator::Lt => below(if is_exact { not_below } else { above }),
        Operator::LtEq => below(above),
        Operator::Gt => from(if is_exact { above } else { not_below }),
        Operator::GtEq => from(not_below),
        Operator::NotEq if is_exact => below(not_below).union(from(above)),
        _ => return None,
    };
    Some(FilterRanges { ranges, is_exact })
}

/// Of a key, which is never null: it is distinct from null, and compares with it in no other way.
fn compare_with_null(op: Operator) -> Option<FilterRanges> {
    match op {
        Operator::IsDistinctFrom => Some(FilterRanges::exactly(Ranges::all())),
        op if is_comparison(op) => Some(FilterRanges::exactly(Ranges::none())),
        _ => None,
    }
}
