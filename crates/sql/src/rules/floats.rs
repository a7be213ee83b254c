//! Results of arithmetic on floats with one NaN and one zero.
//!
//! Processors give a NaN with a sign for `0 * infinity` and the like, which DataFusion orders before all numbers
//! and groups apart from the NaN that is stored; and -0.0 is less than 0.0 to it. So what calculations give
//! loses these signs, in the outermost of them.

use std::sync::{Arc, LazyLock};

use datafusion::arrow::array::cast::AsArray;
use datafusion::arrow::array::{ArrayRef, PrimitiveArray};
use datafusion::arrow::compute::unary;
use datafusion::arrow::datatypes::{DataType, FieldRef, Float32Type, Float64Type};
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result, ScalarValue, internal_datafusion_err};
use datafusion::logical_expr::expr::{AggregateFunction, ScalarFunction};
use datafusion::logical_expr::{
    BinaryExpr, ColumnarValue, Expr, ExprSchemable, Operator, ReturnFieldArgs, ScalarFunctionArgs,
    ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

static UNSIGNED: LazyLock<Arc<ScalarUDF>> =
    LazyLock::new(|| Arc::new(ScalarUDF::new_from_impl(Unsigned::new())));

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
            params.args = params.args.into_iter().map(bare).collect();
            Ok(Transformed::yes(Expr::AggregateFunction(AggregateFunction { func, params })))
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
    Transformed::yes(UNSIGNED.call(vec![expr]))
}

/// What is in a call of ours, if it is one.
fn bare(expr: Expr) -> Expr {
    match expr {
        Expr::ScalarFunction(ScalarFunction { func, mut args })
            if func.inner().is::<Unsigned>() && args.len() == 1 =>
        {
            args.remove(0)
        }
        other => other,
    }
}

/// One NaN for all that there are, and one zero.
fn plain_f64(value: f64) -> f64 {
    // 0.0 is added to -0.0 gives 0.0; to all others nothing.
    if value.is_nan() { f64::NAN } else { value + 0.0 }
}

fn plain_f32(value: f32) -> f32 {
    if value.is_nan() { f32::NAN } else { value + 0.0 }
}

/// The values of an array of floats without signs of NaN and zero.
pub(crate) fn plain(array: &ArrayRef) -> ArrayRef {
    match array.data_type() {
        DataType::Float64 => {
            let floats: PrimitiveArray<Float64Type> =
                unary(array.as_primitive::<Float64Type>(), plain_f64);
            Arc::new(floats)
        }
        DataType::Float32 => {
            let floats: PrimitiveArray<Float32Type> =
                unary(array.as_primitive::<Float32Type>(), plain_f32);
            Arc::new(floats)
        }
        _ => Arc::clone(array),
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Unsigned {
    signature: Signature,
}

impl Unsigned {
    fn new() -> Self {
        Self { signature: Signature::any(1, Volatility::Immutable) }
    }
}

impl ScalarUDFImpl for Unsigned {
    fn name(&self) -> &str {
        "unsigned"
    }

    fn display_name(&self, args: &[Expr]) -> Result<String> {
        Ok(args.first().map(ToString::to_string).unwrap_or_default())
    }

    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        Ok(args.first().map(|inner| inner.schema_name().to_string()).unwrap_or_default())
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, given: &[DataType]) -> Result<DataType> {
        given.first().cloned().ok_or_else(|| internal_datafusion_err!("a float is one argument"))
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let inner = args.arg_fields.first().cloned();
        inner.ok_or_else(|| internal_datafusion_err!("a float is one argument"))
    }

    fn is_strict(&self) -> bool {
        true
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        match args.args.into_iter().next() {
            Some(ColumnarValue::Array(array)) => Ok(ColumnarValue::Array(plain(&array))),
            Some(ColumnarValue::Scalar(value)) => {
                let array = plain(&value.to_array()?);
                Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&array, 0)?))
            }
            None => Err(internal_datafusion_err!("a float is one argument")),
        }
    }
}
