//! Values for the placeholders of a statement.

mod lists;

use std::collections::HashMap;

use datafusion::arrow::datatypes::DataType;
use datafusion::common::{ParamValues, ScalarValue};
use sqlparser::ast::{Array, Expr, TableFactor, Value};

use crate::names::has_arguments;
use crate::rewrite::Rewriter;

/// Values for `?` and `$1`, by place, or for `$name`, by name.
///
/// ```
/// use timestrata_sql::Params;
///
/// let by_place = Params::from(vec![7_i64.into(), "EWR".into()]);
/// let by_name = Params::named([("origin", "EWR".into())]);
/// assert!(!by_place.is_empty() && !by_name.is_empty());
/// ```
#[derive(Debug, Clone, Default)]
pub struct Params {
    by_place: Vec<ScalarValue>,
    by_name: HashMap<String, ScalarValue>,
}

impl Params {
    /// No values.
    pub fn none() -> Self {
        Self::default()
    }

    /// Values by name, without the `$`.
    pub fn named<N: Into<String>>(values: impl IntoIterator<Item = (N, ScalarValue)>) -> Self {
        let by_name = values.into_iter().map(|(name, value)| (name.into(), value)).collect();
        Self { by_name, ..Self::default() }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.by_place.is_empty() && self.by_name.is_empty()
    }

    fn value(&self, placeholder: &str) -> Option<&ScalarValue> {
        let name = placeholder.strip_prefix('$')?;
        let place = || name.parse::<usize>().ok()?.checked_sub(1);
        self.by_name.get(name).or_else(|| self.by_place.get(place()?))
    }

    pub(crate) fn into_values(self) -> ParamValues {
        match self.by_name.is_empty() {
            true => ParamValues::from(self.by_place),
            false => ParamValues::from(self.by_name),
        }
    }
}

/// A value as it would be written, if it can be.
fn literal(value: &ScalarValue) -> Option<Expr> {
    if let Some(values) = lists::elements(value) {
        let elem = values.iter().map(literal).collect::<Option<Vec<_>>>()?;
        return Some(Expr::Array(Array { elem, named: true }));
    }
    Some(Expr::value(match value {
        ScalarValue::Utf8(Some(text)) => Value::SingleQuotedString(text.clone()),
        ScalarValue::Int64(Some(number)) => Value::Number(number.to_string(), false),
        ScalarValue::UInt64(Some(number)) => Value::Number(number.to_string(), false),
        ScalarValue::Boolean(Some(value)) => Value::Boolean(*value),
        ScalarValue::Binary(Some(bytes)) => {
            let digits = bytes.iter().map(|byte| format!("{byte:02X}"));
            Value::HexStringLiteral(digits.collect())
        }
        // As text, which is read as a time wherever one is taken.
        ScalarValue::TimestampMicrosecond(Some(_), _)
        | ScalarValue::TimestampNanosecond(Some(_), _) => {
            let ScalarValue::Utf8(Some(text)) = value.cast_to(&DataType::Utf8).ok()? else {
                return None;
            };
            Value::SingleQuotedString(text)
        }
        _ => return None,
    }))
}

impl From<Vec<ScalarValue>> for Params {
    fn from(by_place: Vec<ScalarValue>) -> Self {
        Self { by_place, ..Self::default() }
    }
}

/// Puts values in place of placeholders among the arguments of table functions: what these are called with has to be known when
/// a statement is planned.
pub(crate) struct GivenArguments<'a> {
    params: &'a Params,
    /// How many tables with arguments are around.
    tables: usize,
}

impl<'a> GivenArguments<'a> {
    pub(crate) fn of(params: &'a Params) -> Self {
        Self { params, tables: 0 }
    }
}

impl Rewriter for GivenArguments<'_> {
    fn enter_table(&mut self, table: &mut TableFactor) {
        self.tables += usize::from(has_arguments(table));
    }

    fn leave_table(&mut self, table: &mut TableFactor) {
        self.tables -= usize::from(has_arguments(table));
    }

    fn leave_expr(&mut self, expr: &mut Expr) {
        let Expr::Value(value) = expr else { return };
        if self.tables > 0
            && let Value::Placeholder(placeholder) = &value.value
            && let Some(literal) = self.params.value(placeholder).and_then(literal)
        {
            *expr = literal;
        }
    }
}
