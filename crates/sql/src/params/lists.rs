//! Lists as values of placeholders: one of them in `IN ($1)` stands for all of its values, each as if it had been written
//! there. So ranges of keys and zone maps prune by it as by a list in the statement.

use std::collections::HashMap;

use datafusion::arrow::array::Array;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use sqlparser::ast::{BinaryOperator, Expr, Value};
use timestrata_engine::Result;

use super::Params;
use crate::error::{from_datafusion, invalid};
use crate::rewrite::Rewriter;

/// The greatest whole number up to which a float holds all.
const EXACT_MAX: u64 = 1 << 53;

impl Params {
    /// Several values as the one value of a placeholder: for `IN ($1)`, `= ANY($1)` and functions of arrays. They have one
    /// type: whole numbers beside fractions become these, and nothing else is converted.
    ///
    /// ```
    /// use timestrata_sql::Params;
    ///
    /// # fn main() -> timestrata_engine::Result<()> {
    /// let airports = Params::list(vec!["EWR".into(), "JFK".into()])?;
    /// let params = Params::from(vec![airports]);
    /// assert!(!params.is_empty());
    /// assert!(Params::list(vec!["EWR".into(), 1_i64.into()]).is_err());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// `InvalidArgument` for values of several types, and for whole numbers that no common type holds exactly.
    pub fn list(values: Vec<ScalarValue>) -> Result<ScalarValue> {
        let mut common = DataType::Null;
        for (place, value) in values.iter().enumerate() {
            let own = value.data_type();
            common = wider(&common, &own).ok_or_else(|| {
                invalid(format!(
                    "value {} of a list (the first is 1) is {own}, those before it are {common}: a list has values of one type",
                    place + 1
                ))
            })?;
        }
        let fitted = values.into_iter().map(|value| fitted(value, &common));
        let fitted = fitted.collect::<Result<Vec<_>>>()?;
        Ok(ScalarValue::List(ScalarValue::new_list(&fitted, &common, true)))
    }

    /// These, with the values of each list behind them as values of their own; and for each list the placeholders of its values.
    pub(crate) fn with_elements(mut self) -> (Self, GivenLists) {
        let mut names = HashMap::new();
        let lists: Vec<_> = self.by_place.iter().map(elements).enumerate().collect();
        for (place, values) in lists {
            let Some(values) = values else { continue };
            let first = self.by_place.len() + 1;
            let last = first + values.len();
            names.insert(
                format!("${}", place + 1),
                (first..last).map(|number| format!("${number}")).collect(),
            );
            self.by_place.extend(values);
        }
        let lists: Vec<_> =
            self.by_name.iter().map(|(name, value)| (name.clone(), elements(value))).collect();
        for (name, values) in lists {
            let Some(values) = values else { continue };
            let called: Vec<String> =
                (0..values.len()).map(|place| format!("{name}:{place}")).collect();
            names
                .insert(format!("${name}"), called.iter().map(|name| format!("${name}")).collect());
            self.by_name.extend(called.into_iter().zip(values));
        }
        (self, GivenLists { names })
    }
}

/// The values of a list.
pub(super) fn elements(value: &ScalarValue) -> Option<Vec<ScalarValue>> {
    let ScalarValue::List(list) = value else { return None };
    let values = (!list.is_empty() && list.is_valid(0)).then(|| list.value(0))?;
    (0..values.len()).map(|row| ScalarValue::try_from_array(&values, row).ok()).collect()
}

/// The type that holds the values of both.
fn wider(one: &DataType, other: &DataType) -> Option<DataType> {
    use DataType::{Float64, Int64, Null, UInt64};
    Some(match (one, other) {
        (one, other) if one == other => one.clone(),
        (Null, other) | (other, Null) => other.clone(),
        (Int64, UInt64) | (UInt64, Int64) => UInt64,
        (Int64 | UInt64 | Float64, Int64 | UInt64 | Float64) => Float64,
        _ => return None,
    })
}

fn fitted(value: ScalarValue, data_type: &DataType) -> Result<ScalarValue> {
    let whole = match &value {
        ScalarValue::Int64(Some(number)) => Some((number.unsigned_abs(), *number < 0)),
        ScalarValue::UInt64(Some(number)) => Some((*number, false)),
        _ => None,
    };
    let is_lost = whole.is_some_and(|(size, is_negative)| match data_type {
        DataType::Float64 => size > EXACT_MAX,
        DataType::UInt64 => is_negative,
        _ => false,
    });
    if is_lost {
        return Err(invalid(format!(
            "{value} does not go with the other values of its list exactly: no type holds all of them"
        )));
    }
    value.cast_to(data_type).map_err(from_datafusion)
}

/// Puts the values of lists in place of their placeholders, where one of several values is meant.
#[derive(Debug)]
pub(crate) struct GivenLists {
    names: HashMap<String, Vec<String>>,
}

impl GivenLists {
    pub(crate) fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// What a placeholder stands for, if it is one of a list.
    fn values(&self, expr: &Expr) -> Option<Vec<Expr>> {
        let Expr::Value(value) = expr else { return None };
        let Value::Placeholder(name) = &value.value else { return None };
        let names = self.names.get(name)?.iter();
        Some(names.map(|name| Expr::value(Value::Placeholder(name.clone()))).collect())
    }
}

impl Rewriter for &GivenLists {
    fn leave_expr(&mut self, expr: &mut Expr) {
        let taken = |inner: &mut Expr| std::mem::replace(inner, Expr::value(Value::Null));
        match expr {
            Expr::InList { list, negated, .. } => {
                if !list.iter().any(|value| self.values(value).is_some()) {
                    return;
                }
                let each = list.drain(..).flat_map(|value| match self.values(&value) {
                    Some(values) => values,
                    None => vec![value],
                });
                *list = each.collect();
                // Nothing is among no values, not even null.
                if list.is_empty() {
                    *expr = Expr::value(Value::Boolean(*negated));
                }
            }
            Expr::AnyOp { left, compare_op: BinaryOperator::Eq, right, .. } => {
                let Some(list) = self.values(right) else { return };
                *expr = among(taken(left), list, false);
            }
            Expr::AllOp { left, compare_op: BinaryOperator::NotEq, right } => {
                let Some(list) = self.values(right) else { return };
                *expr = among(taken(left), list, true);
            }
            _ => {}
        }
    }
}

fn among(expr: Expr, list: Vec<Expr>, negated: bool) -> Expr {
    match list.is_empty() {
        true => Expr::value(Value::Boolean(negated)),
        false => Expr::InList { expr: Box::new(expr), list, negated },
    }
}
