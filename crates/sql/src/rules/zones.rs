//! Times without a zone are UTC, wherever they meet times with one.
//!
//! DataFusion's coercion puts a cast there, and Arrow's cast reads a time (or text) without a zone as one
//! in the zone that it is cast to. By way of UTC it is what the house says it is.

use datafusion::arrow::datatypes::DataType;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::{Cast, Expr, ExprSchemable, TryCast};

use crate::instant::is_utc;

const UTC: &str = "UTC";

/// The same expression; if it is a cast between a time with a zone and one without, by way of UTC.
pub(super) fn naive_is_utc(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let (inner, target) = match &expr {
        Expr::Cast(cast) => (&cast.expr, cast.field.data_type()),
        Expr::TryCast(cast) => (&cast.expr, cast.field.data_type()),
        _ => return Ok(Transformed::no(expr)),
    };
    let Some(between) = inner.get_type(schema).ok().and_then(|from| by_way_of(&from, target))
    else {
        return Ok(Transformed::no(expr));
    };
    Ok(Transformed::yes(match expr {
        Expr::Cast(Cast { expr, field }) => {
            Expr::Cast(Cast { expr: Box::new(Expr::Cast(Cast::new(expr, between))), field })
        }
        Expr::TryCast(TryCast { expr, field }) => Expr::TryCast(TryCast {
            expr: Box::new(Expr::TryCast(TryCast::new(expr, between))),
            field,
        }),
        other => other,
    }))
}

/// The type between two of which only one has a zone, and not UTC.
fn by_way_of(from: &DataType, to: &DataType) -> Option<DataType> {
    let DataType::Timestamp(unit, to) = to else { return None };
    let zone = match (from, to) {
        (
            DataType::Timestamp(_, None)
            | DataType::Utf8
            | DataType::LargeUtf8
            | DataType::Utf8View
            | DataType::Date32
            | DataType::Date64,
            Some(zone),
        )
        | (DataType::Timestamp(_, Some(zone)), None) => zone,
        _ => return None,
    };
    (!is_utc(zone)).then(|| DataType::Timestamp(*unit, Some(UTC.into())))
}
