//! Functions around an expression that give what they are given: they keep rules and names from it while a
//! statement is planned.

use std::sync::{Arc, LazyLock};

use datafusion::arrow::datatypes::{DataType, FieldRef};
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DataFusionError, Result, internal_datafusion_err};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility,
};

use super::exact::canonical;
use super::map_values;
use crate::names::AS_WRITTEN;

/// What a call is there for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Marker {
    /// No rule takes apart what is in it.
    Guard,
    /// A float that was calculated, without the signs of NaN and of zero.
    Unsigned,
    /// Casts and parentheses show in the name of the column.
    AsWritten,
}

const MARKERS: [Marker; 3] = [Marker::Guard, Marker::Unsigned, Marker::AsWritten];

static FUNCTIONS: LazyLock<[Arc<ScalarUDF>; 3]> = LazyLock::new(|| {
    MARKERS.map(|marker| {
        let signature = Signature::any(1, Volatility::Immutable);
        Arc::new(ScalarUDF::new_from_impl(MarkerFunction { marker, signature }))
    })
});

impl Marker {
    pub(crate) fn function(self) -> Arc<ScalarUDF> {
        let [guard, unsigned, as_written] = &*FUNCTIONS;
        Arc::clone(match self {
            Self::Guard => guard,
            Self::Unsigned => unsigned,
            Self::AsWritten => as_written,
        })
    }

    /// The expression with a call around it.
    pub(crate) fn wrap(self, inner: Expr) -> Expr {
        self.function().call(vec![inner])
    }

    /// What a call is around, if `expr` is one.
    pub(crate) fn inner(self, expr: &Expr) -> Option<&Expr> {
        let Expr::ScalarFunction(ScalarFunction { func, args }) = expr else { return None };
        let found = func.inner().downcast_ref::<MarkerFunction>()?;
        args.first().filter(|_| found.marker == self)
    }

    /// The same expression without calls.
    pub(crate) fn removed(self, expr: Expr) -> Result<Transformed<Expr>> {
        expr.transform_up(|expr| {
            let inner = self.inner(&expr).cloned();
            Ok(inner.map_or_else(|| Transformed::no(expr), Transformed::yes))
        })
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct MarkerFunction {
    marker: Marker,
    signature: Signature,
}

impl MarkerFunction {
    fn without_argument(&self) -> DataFusionError {
        internal_datafusion_err!("{} has one argument", self.name())
    }
}

impl ScalarUDFImpl for MarkerFunction {
    fn name(&self) -> &str {
        match self.marker {
            Marker::Guard => "guard",
            Marker::Unsigned => "unsigned",
            Marker::AsWritten => AS_WRITTEN,
        }
    }

    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        Ok(match (self.marker, args.first()) {
            (Marker::AsWritten, Some(cast @ (Expr::Cast(_) | Expr::TryCast(_)))) => {
                cast.to_string()
            }
            (Marker::AsWritten, Some(inner)) => format!("({inner})"),
            (_, Some(inner)) => inner.schema_name().to_string(),
            (_, None) => String::new(),
        })
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, given: &[DataType]) -> Result<DataType> {
        given.first().cloned().ok_or_else(|| self.without_argument())
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        args.arg_fields.first().cloned().ok_or_else(|| self.without_argument())
    }

    fn is_strict(&self) -> bool {
        self.marker != Marker::Guard
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let inner = args.args.into_iter().next().ok_or_else(|| self.without_argument())?;
        match self.marker {
            Marker::Unsigned => map_values(&inner, |floats| Ok(canonical(floats))),
            _ => Ok(inner),
        }
    }
}
