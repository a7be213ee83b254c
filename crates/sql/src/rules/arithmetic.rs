//! `+`, `-` and `*` of whole numbers, and the sign, that fail where the result has no room: DataFusion's
//! wrap around without a word.

use std::sync::{Arc, LazyLock};

use datafusion::arrow::compute::kernels::numeric::{add, mul, neg, sub};
use datafusion::arrow::datatypes::{DataType, FieldRef};
use datafusion::arrow::error::ArrowError;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, DataFusionError, Result, internal_datafusion_err};
use datafusion::logical_expr::{
    BinaryExpr, ColumnarValue, Expr, ExprSchemable, Operator, ReturnFieldArgs, ScalarFunctionArgs,
    ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::physical_expr_common::datum::apply;

use crate::error::{overflow, refused};
use crate::functions::field_of;

/// Operators one behind the other. Each is a function's call, which takes more of a stack than an operator.
const DEPTH_MAX: usize = 200;

static PLUS: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| function(ArithmeticOp::Plus));
static MINUS: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| function(ArithmeticOp::Minus));
static TIMES: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| function(ArithmeticOp::Times));
static NEGATE: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| function(ArithmeticOp::Negate));

fn function(operation: ArithmeticOp) -> Arc<ScalarUDF> {
    let signature = Signature::variadic_any(Volatility::Immutable);
    Arc::new(ScalarUDF::new_from_impl(CheckedArithmetic { operation, signature }))
}

/// The same expression; if it is arithmetic of whole numbers of one type, such as fails.
pub(super) fn checked(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let is_whole = |side: &Expr| side.get_type(schema).is_ok_and(|found| found.is_integer());
    Ok(match expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
            let function = match op {
                Operator::Plus => &PLUS,
                Operator::Minus => &MINUS,
                Operator::Multiply => &TIMES,
                _ => return Ok(Transformed::no(Expr::BinaryExpr(BinaryExpr { left, op, right }))),
            };
            match is_whole(&left) && is_whole(&right) {
                true => Transformed::yes(call(function, vec![*left, *right])?),
                false => Transformed::no(Expr::BinaryExpr(BinaryExpr { left, op, right })),
            }
        }
        Expr::Negative(inner) if is_whole(&inner) => Transformed::yes(call(&NEGATE, vec![*inner])?),
        other => Transformed::no(other),
    })
}

/// How many operators there are in the left side of one.
fn depth(args: &[Expr]) -> usize {
    let (mut args, mut depth) = (args, 0);
    while let Some(Expr::ScalarFunction(call)) = args.first()
        && call.func.inner().is::<CheckedArithmetic>()
    {
        (args, depth) = (&call.args, depth + 1);
    }
    depth
}

/// The call; of literals its result, if it has one.
///
/// # Errors
/// For a result without room, and for more operators than a thread's stack is sure to hold.
fn call(function: &Arc<ScalarUDF>, args: Vec<Expr>) -> Result<Expr> {
    if depth(&args) > DEPTH_MAX {
        return Err(refused(format!(
            "an expression of whole numbers has more than {DEPTH_MAX} operators one behind the other"
        )));
    }
    let literals = args.iter().map(|arg| match arg {
        Expr::Literal(value, _) => Some(ColumnarValue::Scalar(value.clone())),
        _ => None,
    });
    let (Some(literals), Some(checked)) = (
        literals.collect::<Option<Vec<_>>>(),
        function.inner().downcast_ref::<CheckedArithmetic>(),
    ) else {
        return Ok(function.call(args));
    };
    let data_type =
        function.return_type(&literals.iter().map(ColumnarValue::data_type).collect::<Vec<_>>())?;
    match checked.operation.of(&literals, &data_type)? {
        ColumnarValue::Scalar(value) => Ok(Expr::Literal(value, None)),
        ColumnarValue::Array(_) => Ok(function.call(args)),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum ArithmeticOp {
    Plus,
    Minus,
    Times,
    Negate,
}

impl ArithmeticOp {
    fn sign(self) -> &'static str {
        match self {
            Self::Plus => "+",
            Self::Minus | Self::Negate => "-",
            Self::Times => "*",
        }
    }

    fn of(self, args: &[ColumnarValue], data_type: &DataType) -> Result<ColumnarValue> {
        let result = match (self, args) {
            (Self::Plus, [left, right]) => apply(left, right, add),
            (Self::Minus, [left, right]) => apply(left, right, sub),
            (Self::Times, [left, right]) => apply(left, right, mul),
            (Self::Negate, [inner]) => apply(inner, inner, |inner, _| neg(inner.get().0)),
            _ => return Err(internal_datafusion_err!("arithmetic of {} operands", args.len())),
        };
        result.map_err(|error| match error {
            DataFusionError::ArrowError(inner, _)
                if matches!(*inner, ArrowError::ArithmeticOverflow(_)) =>
            {
                overflow(self.sign(), data_type)
            }
            other => other,
        })
    }
}

/// A call as it was written, with operators. Long sums are deep on their left side: that is walked down and
/// not called down, for the sake of the stack.
fn written(operation: ArithmeticOp, args: &[Expr]) -> String {
    let name = |arg: &Expr| arg.schema_name().to_string();
    let (mut operation, mut args) = (operation, args);
    let mut behind: Vec<String> = Vec::new();
    let start = loop {
        let [left, right] = args else {
            break format!("(- {})", args.iter().map(name).collect::<Vec<_>>().join(", "));
        };
        behind.push(format!(" {} {}", operation.sign(), name(right)));
        match left {
            Expr::ScalarFunction(call)
                if let Some(inner) = call.func.inner().downcast_ref::<CheckedArithmetic>() =>
            {
                (operation, args) = (inner.operation, &call.args);
            }
            other => break name(other),
        }
    };
    behind.iter().rev().fold(start, |text, part| text + part)
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct CheckedArithmetic {
    operation: ArithmeticOp,
    signature: Signature,
}

impl ScalarUDFImpl for CheckedArithmetic {
    fn name(&self) -> &str {
        match self.operation {
            ArithmeticOp::Plus => "checked_plus",
            ArithmeticOp::Minus => "checked_minus",
            ArithmeticOp::Times => "checked_times",
            ArithmeticOp::Negate => "checked_negate",
        }
    }

    /// As the operator's own, so that columns keep their names.
    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        Ok(written(self.operation, args))
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, given: &[DataType]) -> Result<DataType> {
        given.first().cloned().ok_or_else(|| internal_datafusion_err!("arithmetic of nothing"))
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        field_of(self, &args)
    }

    fn is_strict(&self) -> bool {
        true
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        self.operation.of(&args.args, args.return_field.data_type())
    }
}
