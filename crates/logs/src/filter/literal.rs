//! Values to compare with: how they are written, and how those of entries are ordered by them.

use std::cmp::Ordering;
use std::sync::Arc;

use num_bigint::BigInt;
use timestrata_values::instant::Instant;
use timestrata_values::number::{float, is_number, is_whole};

use super::super::{Level, Scalar};
use super::Target;

const NS_PER_DAY: i64 = 86_400 * 1_000_000_000;
/// Whole numbers of more digits are taken for the nearest float.
const DIGITS_MAX: usize = 4_096;

/// A relation that an entry's value may have to a literal. There is no "unequal": that is the
/// negation of `Equal`, which holds for entries without such a value, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Op {
    /// `=`
    Equal,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
}

/// A value as it was written, and what it means.
#[derive(Debug, Clone, PartialEq)]
pub struct Literal {
    text: Box<str>,
    value: Value,
}

/// What a literal means.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Null, or no such field.
    Null,
    /// A truth value.
    Bool(bool),
    /// A whole number of 64 bits.
    Int(i64),
    /// A whole number above those of `Int`.
    UInt(u64),
    /// A whole number beyond those of 64 bits.
    Big(Arc<BigInt>),
    /// A number with a fraction or an exponent; finite.
    Float(f64),
    /// The literal's text.
    Text,
    /// A level.
    Level(Level),
    /// A moment, whose ends are the same, or a whole day.
    Time {
        /// Its first nanosecond since 1970-01-01 UTC.
        first: i64,
        /// Its last.
        last: i64,
    },
}

/// A number, so that any two of them can be compared exactly.
#[derive(Clone, Copy)]
enum Number<'a> {
    Whole(i128),
    Big(&'a BigInt),
    Float(f64),
}

impl Op {
    /// How it is written.
    pub const fn symbol(self) -> &'static str {
        match self {
            Self::Equal => "=",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
        }
    }

    /// Whether it holds for a value that is ordered so towards the literal.
    pub const fn holds(self, order: Ordering) -> bool {
        match self {
            Self::Equal => order.is_eq(),
            Self::Less => order.is_lt(),
            Self::LessOrEqual => order.is_le(),
            Self::Greater => order.is_gt(),
            Self::GreaterOrEqual => order.is_ge(),
        }
    }
}

impl Literal {
    /// Reads what stands behind an operator.
    ///
    /// # Errors
    /// What was expected instead.
    pub(super) fn read(target: &Target, text: &str, is_quoted: bool) -> Result<Self, &'static str> {
        let value = match target {
            _ if !is_quoted && text == "null" => Value::Null,
            Target::Level => Level::of_name(text.as_bytes())
                .map(Value::Level)
                .ok_or("a level (trace, debug, info, warn, error, fatal)")?,
            Target::Timestamp | Target::SourceTime => {
                time(text).ok_or("a time (2026-11-23, 2026-11-23T08:30:00Z or nanoseconds)")?
            }
            _ if is_quoted => Value::Text,
            _ => Value::of_bare(text),
        };
        Ok(Self { text: text.into(), value })
    }

    /// As it was written, without quotes. Texts are compared with it, whatever it means.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What it means.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// The order of an entry's value towards this one: texts by their bytes, numbers by value.
    /// `None` where there is none, as between a number and a quoted text.
    pub fn order_of(&self, value: Scalar<'_>) -> Option<Ordering> {
        match value {
            Scalar::Text(_) if self.value == Value::Null => None,
            Scalar::Text(text) => Some(text.cmp(&self.text)),
            other => self.value.order_of(other),
        }
    }

    /// The order of an entry's whole number towards this one.
    pub fn order_of_whole(&self, value: &BigInt) -> Option<Ordering> {
        self.value.order_of_whole(value)
    }

    /// The order of an entry's level towards this one.
    pub fn order_of_level(&self, level: Level) -> Option<Ordering> {
        match self.value {
            Value::Level(ref known) => Some(level.cmp(known)),
            _ => None,
        }
    }

    /// The order of a time towards this one, to which all of a day is equal.
    pub fn order_of_time(&self, time: i64) -> Option<Ordering> {
        match self.value {
            Value::Time { first, .. } if time < first => Some(Ordering::Less),
            Value::Time { last, .. } if time > last => Some(Ordering::Greater),
            Value::Time { .. } => Some(Ordering::Equal),
            _ => None,
        }
    }
}

impl Value {
    /// What a text without quotes means, where any type will do.
    pub(super) fn of_bare(text: &str) -> Self {
        match text {
            "true" => Self::Bool(true),
            "false" => Self::Bool(false),
            _ => number(text).unwrap_or(Self::Text),
        }
    }

    /// The order of a number or truth value of an entry towards this one.
    pub(super) fn order_of(&self, value: Scalar<'_>) -> Option<Ordering> {
        if let (Scalar::Bool(value), Self::Bool(known)) = (value, self) {
            return Some(value.cmp(known));
        }
        let value = match value {
            Scalar::Int(value) => Number::Whole(value.into()),
            Scalar::UInt(value) => Number::Whole(value.into()),
            Scalar::Float(value) => Number::Float(value),
            Scalar::Bool(_) | Scalar::Text(_) => return None,
        };
        value.order(self.number()?)
    }

    /// The order of a whole number of any size towards this one.
    pub(super) fn order_of_whole(&self, value: &BigInt) -> Option<Ordering> {
        Number::Big(value).order(self.number()?)
    }

    fn number(&self) -> Option<Number<'_>> {
        Some(match self {
            Self::Int(known) => Number::Whole((*known).into()),
            Self::UInt(known) => Number::Whole((*known).into()),
            Self::Big(known) => Number::Big(known),
            Self::Float(known) => Number::Float(*known),
            _ => return None,
        })
    }
}

impl Number<'_> {
    fn order(self, other: Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Whole(a), Self::Whole(b)) => Some(a.cmp(&b)),
            (Self::Float(a), Self::Float(b)) => a.partial_cmp(&b),
            (Self::Whole(a), Self::Float(b)) => order_of_whole(a, b),
            (Self::Float(a), Self::Whole(b)) => order_of_whole(b, a).map(Ordering::reverse),
            (Self::Big(a), Self::Big(b)) => Some(a.cmp(b)),
            (Self::Big(a), Self::Whole(b)) => Some(a.cmp(&b.into())),
            (Self::Whole(a), Self::Big(b)) => Some(BigInt::from(a).cmp(b)),
            (Self::Big(a), Self::Float(b)) => order_of_big(a, b),
            (Self::Float(a), Self::Big(b)) => order_of_big(b, a).map(Ordering::reverse),
        }
    }
}

/// The order of a whole number of 64 bits towards a float, to the last digit.
fn order_of_whole(whole: i128, float: f64) -> Option<Ordering> {
    if float.is_nan() {
        return None;
    }
    // The cast keeps to the bounds of its type, which are beyond those of `whole`.
    let order = whole.cmp(&(float as i128));
    Some(order.then_with(|| 0.0_f64.partial_cmp(&float.fract()).unwrap_or(Ordering::Equal)))
}

/// The order of a whole number of any size towards a float, to the last digit.
fn order_of_big(whole: &BigInt, float: f64) -> Option<Ordering> {
    if float.is_nan() {
        return None;
    }
    if float.is_infinite() {
        return Some(if float > 0.0 { Ordering::Less } else { Ordering::Greater });
    }
    // A float's parts: `mantissa * 2^exponent`, and below 2^53 there may be a fraction.
    let bits = float.abs().to_bits();
    let exponent = (bits >> 52).saturating_sub(1_075);
    if exponent == 0 {
        // Below 2^53: the cast is exact but for the fraction.
        let order = whole.cmp(&BigInt::from(float as i64));
        return Some(
            order.then_with(|| 0.0_f64.partial_cmp(&float.fract()).unwrap_or(Ordering::Equal)),
        );
    }
    let mantissa = BigInt::from((bits & ((1 << 52) - 1)) | (1 << 52)) << exponent;
    Some(whole.cmp(&if float < 0.0 { -mantissa } else { mantissa }))
}

/// Reads `-12`, `1.5` or `2e-3`; whole numbers stay whole. `inf` and `nan` are words.
fn number(text: &str) -> Option<Value> {
    let whole = text.parse().map(Value::Int).or_else(|_| text.parse().map(Value::UInt));
    match whole {
        Ok(whole) if is_whole(text.as_bytes()) => Some(whole),
        Err(_) if is_whole(text.as_bytes()) && text.len() <= DIGITS_MAX => {
            text.parse().ok().map(|whole| Value::Big(Arc::new(whole)))
        }
        _ if is_number(text.as_bytes()) => {
            float(text.as_bytes()).filter(|float| float.is_finite()).map(Value::Float)
        }
        _ => None,
    }
}

/// Reads a day, a point in time, or nanoseconds since 1970-01-01 UTC.
fn time(text: &str) -> Option<Value> {
    if let Ok(ns) = text.parse() {
        return Some(Value::Time { first: ns, last: ns });
    }
    let instant = Instant::parse(text.as_bytes())?;
    let first = instant.to_unit(arrow_schema::TimeUnit::Nanosecond).ok()?;
    let last = if instant.is_date { first.saturating_add(NS_PER_DAY - 1) } else { first };
    Some(Value::Time { first, last })
}
