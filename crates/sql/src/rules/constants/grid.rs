//! Constants among the values that a type of times or decimals has.

use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::Expr;

use super::numbers::{DecimalNumber, LongNumbers};
use crate::error::refused;
use crate::instant::{self, DAY_NS, nanoseconds, timestamp};

/// Whether values of a type are whole multiples of one step, as times and decimals are.
pub(super) fn has_grid(data_type: &DataType) -> bool {
    matches!(
        data_type,
        DataType::Timestamp(_, _)
            | DataType::Decimal32(_, _)
            | DataType::Decimal64(_, _)
            | DataType::Decimal128(_, _)
    )
}

/// A constant, seen from the values of a type: how many steps of the type it is.
#[derive(Debug)]
pub(super) struct Grid {
    data_type: DataType,
    /// Whole steps, rounded down.
    steps: i128,
    is_exact: bool,
}

impl Grid {
    /// `None` for what isn't a constant, or not one that can be compared with the type.
    ///
    /// # Errors
    /// For a number whose digits can't be told.
    pub(super) fn of(
        constant: &Expr,
        data_type: &DataType,
        long: &LongNumbers,
    ) -> Result<Option<Self>> {
        let found = match data_type {
            DataType::Timestamp(unit, _) => instant_of(constant).map(|ns| {
                let unit_ns = nanoseconds(*unit);
                (ns.div_euclid(unit_ns), ns.rem_euclid(unit_ns) == 0)
            }),
            DataType::Decimal32(_, scale)
            | DataType::Decimal64(_, scale)
            | DataType::Decimal128(_, scale) => {
                number(constant, long)?.map(|number| number.at_scale(i32::from(*scale)))
            }
            _ => None,
        };
        Ok(found.map(|(steps, is_exact)| Self { data_type: data_type.clone(), steps, is_exact }))
    }

    pub(super) fn is_exact(&self) -> bool {
        self.is_exact
    }

    /// The value that the constant is; `None` if the type has no such value.
    pub(super) fn point(&self) -> Option<ScalarValue> {
        self.floor().filter(|_| self.is_exact)
    }

    pub(super) fn is_above_all(&self) -> bool {
        self.steps > self.greatest()
    }

    fn greatest(&self) -> i128 {
        match &self.data_type {
            DataType::Decimal32(digits, _)
            | DataType::Decimal64(digits, _)
            | DataType::Decimal128(digits, _) => 10_i128.saturating_pow(u32::from(*digits)) - 1,
            _ => i128::from(i64::MAX),
        }
    }

    fn least(&self) -> i128 {
        match &self.data_type {
            DataType::Timestamp(_, _) => i128::from(i64::MIN),
            _ => -self.greatest(),
        }
    }

    /// The greatest value that isn't above the constant; `None` if there is none, or if the constant is
    /// above all of them.
    pub(super) fn floor(&self) -> Option<ScalarValue> {
        if self.is_above_all() || self.steps < self.least() {
            return None;
        }
        let steps = self.steps;
        Some(match &self.data_type {
            DataType::Decimal32(digits, scale) => {
                ScalarValue::Decimal32(Some(i32::try_from(steps).ok()?), *digits, *scale)
            }
            DataType::Decimal64(digits, scale) => {
                ScalarValue::Decimal64(Some(i64::try_from(steps).ok()?), *digits, *scale)
            }
            DataType::Decimal128(digits, scale) => {
                ScalarValue::Decimal128(Some(steps), *digits, *scale)
            }
            DataType::Timestamp(unit, zone) => {
                timestamp(i64::try_from(steps).ok()?, *unit, zone.clone())
            }
            _ => return None,
        })
    }
}

/// The instant that a constant names, in nanoseconds since 1970.
fn instant_of(constant: &Expr) -> Option<i128> {
    match constant {
        Expr::Alias(alias) => instant_of(&alias.expr),
        Expr::Cast(cast) => {
            let step = match cast.field.data_type() {
                DataType::Timestamp(unit, _) => nanoseconds(*unit),
                DataType::Date32 => DAY_NS,
                _ => return None,
            };
            // What such a cast would cut off is left to it.
            instant_of(&cast.expr).filter(|ns| ns.rem_euclid(step) == 0)
        }
        Expr::Literal(value, _) => instant::instant(value),
        _ => None,
    }
}

/// The number that a constant is.
fn number(constant: &Expr, long: &LongNumbers) -> Result<Option<DecimalNumber>> {
    Ok(match constant {
        Expr::Alias(alias) => number(&alias.expr, long)?,
        Expr::Negative(inner) => number(inner, long)?.map(DecimalNumber::negated),
        // What such a cast would round is left to it.
        Expr::Cast(cast) => match (cast.field.data_type(), cast.expr.as_ref()) {
            (DataType::Decimal128(_, scale), Expr::Literal(text, _)) => {
                let written = text.try_as_str().flatten().and_then(DecimalNumber::parse);
                written.filter(|number| number.at_scale(i32::from(*scale)).1)
            }
            _ => None,
        },
        Expr::Literal(value, _) => match value {
            ScalarValue::Float64(Some(value)) if value.is_finite() => {
                let found = match long.text_of(*value) {
                    Some(written) => written.and_then(DecimalNumber::parse).ok_or_else(|| {
                        refused(format!(
                            "the digits of {value}, which is compared with a decimal, are too many for \
                             a number in SQL: write CAST('...' AS DECIMAL(38, s))"
                        ))
                    })?,
                    None => match DecimalNumber::parse(&format!("{:e}", value.abs())) {
                        Some(found) => found,
                        None => return Ok(None),
                    },
                };
                Some(if value.is_sign_negative() { found.negated() } else { found })
            }
            ScalarValue::Float32(Some(value)) if value.is_finite() => {
                DecimalNumber::parse(&format!("{value:e}"))
            }
            ScalarValue::UInt64(Some(value)) => Some(DecimalNumber::new(i128::from(*value), 0)),
            whole if whole.data_type().is_integer() => match whole.cast_to(&DataType::Int64)? {
                ScalarValue::Int64(value) => {
                    value.map(|value| DecimalNumber::new(i128::from(value), 0))
                }
                _ => None,
            },
            ScalarValue::Decimal128(Some(value), _, scale) => {
                Some(DecimalNumber::new(*value, i32::from(*scale)))
            }
            _ => None,
        },
        _ => None,
    })
}
