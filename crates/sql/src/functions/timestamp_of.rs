//! What `CAST(x AS TIMESTAMP)` is in SQL here: a time in the unit that `x` has, and not in nanoseconds, which
//! end in 2262. A statement's text says it by this function, and planning makes a cast of it again.

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, FieldRef, TimeUnit};
use datafusion::common::{Result, internal_datafusion_err};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{
    Cast, ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDFImpl, Signature,
    TryCast, Volatility,
};

use super::field_of;
use crate::time_types::TimestampCast;

/// The type that a cast of `from` gives.
fn target(cast: TimestampCast, from: &DataType) -> DataType {
    let unit = match from {
        DataType::Timestamp(unit, _) => *unit,
        DataType::Date32 | DataType::Date64 => TimeUnit::Microsecond,
        // Numbers are seconds, and text has digits, as ever.
        _ => TimeUnit::Nanosecond,
    };
    DataType::Timestamp(unit, cast.has_zone.then(|| "UTC".into()))
}

/// The cast that a call stands for; `None` if it is a call of something else.
pub(crate) fn as_cast(
    expr: &Expr,
    type_of: impl Fn(&Expr) -> Result<DataType>,
) -> Result<Option<Expr>> {
    let Expr::ScalarFunction(ScalarFunction { func, args }) = expr else { return Ok(None) };
    let (Some(function), [inner]) = (func.inner().downcast_ref::<TimestampOf>(), args.as_slice())
    else {
        return Ok(None);
    };
    let target = target(function.cast, &type_of(inner)?);
    let inner = Box::new(inner.clone());
    Ok(Some(match function.cast.is_try {
        true => Expr::TryCast(TryCast::new(inner, target)),
        false => Expr::Cast(Cast::new(inner, target)),
    }))
}

#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct TimestampOf {
    cast: TimestampCast,
    signature: Signature,
}

impl TimestampOf {
    /// One for each kind of cast.
    pub(super) fn all() -> [Self; 4] {
        let signature = || Signature::any(1, Volatility::Immutable);
        TimestampCast::all().map(|cast| Self { cast, signature: signature() })
    }
}

impl ScalarUDFImpl for TimestampOf {
    fn name(&self) -> &str {
        self.cast.name()
    }

    /// As the cast's own.
    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        Ok(args.first().map(|inner| inner.schema_name().to_string()).unwrap_or_default())
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, given: &[DataType]) -> Result<DataType> {
        let from = given.first();
        from.map(|from| target(self.cast, from))
            .ok_or_else(|| internal_datafusion_err!("a cast has one argument"))
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let field = field_of(self, &args)?;
        let is_nullable = field.is_nullable() || self.cast.is_try;
        Ok(Arc::new(Arc::unwrap_or_clone(field).with_nullable(is_nullable)))
    }

    fn invoke_with_args(&self, _: ScalarFunctionArgs) -> Result<ColumnarValue> {
        Err(internal_datafusion_err!("a cast to a time was not planned"))
    }
}
