//! Results of arithmetic on floats with one NaN and one zero.
//!
//! Processors give a NaN with a sign for `0 * infinity` and the like, which DataFusion orders before all numbers
//! and groups apart from the NaN that is stored; and -0.0 is less than 0.0 to it. So what calculations give
//! loses these signs, in the outermost of them.

use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::expr::{AggregateFunction, ScalarFunction};
use datafusion::logical_expr::{BinaryExpr, Expr, ExprSchemable, Operator};

use crate::functions::Marker;

/// Functions that give NaN for arguments that are numbers.
const FUNCTIONS: [&str; 12] =
    ["sqrt", "ln", "log", "log2", "log10", "power", "pow", "asin", "acos", "acosh", "atanh", "mod"];
/// Aggregates to whom a sign of a NaN is nothing, and of a zero neither.
const SUMS: [&str; 3] = ["sum", "avg", "count"];

/// The same expression; if it calculates a float, with no sign of a NaN or of a zero.
pub(super) fn unsigned(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    match expr {
        Expr::AggregateFunction(AggregateFunction { func, mut params })
            if SUMS.contains(&func.name()) && !params.distinct =>
        {
            let is_marked = params.args.iter().any(|arg| Marker::Unsigned.inner(arg).is_some());
            params.args = params.args.into_iter().map(bare).collect();
            let call = Expr::AggregateFunction(AggregateFunction { func, params });
            Ok(Transformed::new_transformed(call, is_marked))
        }
        expr if !is_float(&expr, schema) => Ok(Transformed::no(expr)),
        Expr::BinaryExpr(BinaryExpr { left, op, right }) if is_arithmetic(op) => {
            let (left, right) = (Box::new(bare(*left)), Box::new(bare(*right)));
            Ok(wrapped(Expr::BinaryExpr(BinaryExpr { left, op, right })))
        }
        Expr::Negative(inner) => Ok(wrapped(Expr::Negative(Box::new(bare(*inner))))),
        Expr::ScalarFunction(ScalarFunction { func, args }) if FUNCTIONS.contains(&func.name()) => {
            let args = args.into_iter().map(bare).collect();
            Ok(wrapped(Expr::ScalarFunction(ScalarFunction { func, args })))
        }
        expr => Ok(Transformed::no(expr)),
    }
}

fn is_float(expr: &Expr, schema: &DFSchema) -> bool {
    let may_be = matches!(expr, Expr::BinaryExpr(_) | Expr::Negative(_) | Expr::ScalarFunction(_));
    may_be && expr.get_type(schema).is_ok_and(|data_type| data_type.is_floating())
}

fn is_arithmetic(op: Operator) -> bool {
    matches!(
        op,
        Operator::Plus | Operator::Minus | Operator::Multiply | Operator::Divide | Operator::Modulo
    )
}

fn wrapped(expr: Expr) -> Transformed<Expr> {
    Transformed::yes(Marker::Unsigned.wrap(expr))
}

/// What is in a call of ours, if it is one.
fn bare(expr: Expr) -> Expr {
    Marker::Unsigned.inner(&expr).cloned().unwrap_or(expr)
}
