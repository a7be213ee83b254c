//! What `CAST(x AS TIMESTAMP)` is in SQL here: a time in the unit that `x` has, and not in nanoseconds, which
//! end in 2262. A statement's text says it by this function, and planning makes a cast of it again.

use datafusion::arrow::datatypes::{DataType, Field, FieldRef, TimeUnit};
use datafusion::common::{Result, internal_datafusion_err};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{
    Cast, ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDFImpl, Signature,
    TryCast, Volatility,
};
use datafusion::sql::sqlparser::ast;

/// How it was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct TimestampOf {
    /// With a time zone, which is UTC.
    has_zone: bool,
    /// What can't be cast is null.
    is_try: bool,
}

/// The names of all of them: without and with a zone, each as a cast and as one that tries.
const NAMES: [[&str; 2]; 2] =
    [["timestamp_of", "try_timestamp_of"], ["timestamptz_of", "try_timestamptz_of"]];

impl TimestampOf {
    pub(crate) fn new(has_zone: bool, is_try: bool) -> Self {
        Self { has_zone, is_try }
    }

    fn each() -> [Self; 4] {
        [(false, false), (false, true), (true, false), (true, true)]
            .map(|(has_zone, is_try)| Self::new(has_zone, is_try))
    }

    pub(super) fn all() -> [Called; 4] {
        Self::each().map(|of| Called { of, signature: Signature::any(1, Volatility::Immutable) })
    }

    /// The one of this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::each().into_iter().find(|of| of.name() == name)
    }

    /// The cast of a statement that it stands for.
    pub(crate) fn written(self, expr: Box<ast::Expr>) -> ast::Expr {
        let kind = if self.is_try { ast::CastKind::TryCast } else { ast::CastKind::Cast };
        let zone = match self.has_zone {
            true => ast::TimezoneInfo::WithTimeZone,
            false => ast::TimezoneInfo::None,
        };
        let data_type = ast::DataType::Timestamp(None, zone);
        ast::Expr::Cast { kind, expr, data_type, array: false, format: None }
    }

    pub(crate) fn name(self) -> &'static str {
        let [plain, tried] = NAMES[usize::from(self.has_zone)];
        if self.is_try { tried } else { plain }
    }

    fn data_type(self, from: &DataType) -> DataType {
        let unit = match from {
            DataType::Timestamp(unit, _) => *unit,
            DataType::Date32 | DataType::Date64 => TimeUnit::Microsecond,
            // Numbers are seconds, and text has digits, as ever.
            _ => TimeUnit::Nanosecond,
        };
        DataType::Timestamp(unit, self.has_zone.then(|| "UTC".into()))
    }
}

/// The cast that a call stands for; `None` if it is a call of something else.
pub(crate) fn as_cast(
    expr: &Expr,
    type_of: impl Fn(&Expr) -> Result<DataType>,
) -> Result<Option<Expr>> {
    let Expr::ScalarFunction(ScalarFunction { func, args }) = expr else { return Ok(None) };
    let (Some(called), [inner]) = (func.inner().downcast_ref::<Called>(), args.as_slice()) else {
        return Ok(None);
    };
    let target = called.of.data_type(&type_of(inner)?);
    let inner = Box::new(inner.clone());
    Ok(Some(match called.of.is_try {
        true => Expr::TryCast(TryCast::new(inner, target)),
        false => Expr::Cast(Cast::new(inner, target)),
    }))
}

#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Called {
    of: TimestampOf,
    signature: Signature,
}

impl ScalarUDFImpl for Called {
    fn name(&self) -> &str {
        self.of.name()
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
        from.map(|from| self.of.data_type(from))
            .ok_or_else(|| internal_datafusion_err!("a cast has one argument"))
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let Some(field) = args.arg_fields.first() else {
            return Err(internal_datafusion_err!("a cast has one argument"));
        };
        let is_nullable = field.is_nullable() || self.of.is_try;
        Ok(std::sync::Arc::new(Field::new(
            self.name(),
            self.of.data_type(field.data_type()),
            is_nullable,
        )))
    }

    fn invoke_with_args(&self, _: ScalarFunctionArgs) -> Result<ColumnarValue> {
        Err(internal_datafusion_err!("a cast to a time was not planned"))
    }
}
