//! Literals as bounds of the leading key: exactly where they are of its type, by arithmetic on
//! units where they are another kind of time.

use datafusion::arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use timestrata_engine::LeadKey;

use crate::instant::{DAY_NS, is_utc, nanoseconds, units_of};

/// A literal, seen from the keys: between which two of them it lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LiteralBounds {
    /// The least key that is not below it; `None`: all are below it.
    pub(super) not_below: Option<LeadKey>,
    /// The least key that is above it; `None`: none is.
    pub(super) above: Option<LeadKey>,
    /// Whether what is compared with the literal is the key itself, or one to one with it.
    pub(super) is_exact: bool,
}

/// Where a literal lies among keys of type `key`, which are compared with it as type `compared`
/// (`key` itself, or what a cast made of it). `None` where that can't be told.
pub(super) fn bounds_of(
    key: &DataType,
    compared: &DataType,
    literal: &ScalarValue,
) -> Option<LiteralBounds> {
    match key {
        DataType::Timestamp(unit, zone) => {
            let unit_ns = nanoseconds(*unit);
            let zone = zone.as_deref();
            if let DataType::Date32 = compared {
                return date(unit_ns, zone, literal);
            }
            let DataType::Timestamp(shown, shown_zone) = compared else { return None };
            if !same_instants(zone, shown_zone.as_deref()) {
                return None;
            }
            let instant = i128::from(units_of(literal)?) * nanoseconds(*shown);
            Some(times(instant, unit_ns, nanoseconds(*shown)))
        }
        DataType::Int64 => match (compared, literal) {
            (DataType::Int64, ScalarValue::Int64(Some(value))) => Some(whole(i128::from(*value))),
            _ => None,
        },
        DataType::UInt64 => offset(literal),
        DataType::FixedSizeBinary(width) => id(*width, literal),
        _ => None,
    }
}

/// Whether a cast from one zone to another leaves the instant what it is.
fn same_instants(from: Option<&str>, to: Option<&str>) -> bool {
    match (from, to) {
        (None, None) | (Some(_), Some(_)) => true,
        (Some(zone), None) | (None, Some(zone)) => is_utc(zone),
    }
}

/// An instant in nanoseconds, among keys of a unit that are compared in another.
fn times(instant: i128, unit_ns: i128, shown_ns: i128) -> LiteralBounds {
    if shown_ns > unit_ns {
        // The cast drops what is below its unit, towards zero.
        let units = shown_ns / unit_ns;
        let first_of = |value: i128| match value > 0 {
            true => value * units,
            false => (value - 1) * units + 1,
        };
        let value = instant.div_euclid(shown_ns);
        let (low, high) = (first_of(value), first_of(value + 1));
        return LiteralBounds { not_below: time(low), above: time(high), is_exact: true };
    }
    let (low, high) = (ceil(instant, unit_ns), instant.div_euclid(unit_ns) + 1);
    LiteralBounds { not_below: time(low), above: time(high), is_exact: true }
}

/// A day, among keys that were cast to dates.
fn date(unit_ns: i128, zone: Option<&str>, literal: &ScalarValue) -> Option<LiteralBounds> {
    let ScalarValue::Date32(Some(day)) = literal else { return None };
    // Days are those of UTC, whole ones; in another zone they are shifted by less than a day.
    let is_exact = same_instants(zone, None);
    let margin = if is_exact { 0 } else { 1 };
    let low = ceil((i128::from(*day) - margin) * DAY_NS, unit_ns);
    let high = ceil((i128::from(*day) + 1 + margin) * DAY_NS, unit_ns);
    Some(LiteralBounds { not_below: time(low), above: time(high), is_exact })
}

fn whole(value: i128) -> LiteralBounds {
    LiteralBounds { not_below: time(value), above: time(value + 1), is_exact: true }
}

/// The least key that is not below a number.
fn time(value: i128) -> Option<LeadKey> {
    match i64::try_from(value) {
        Ok(value) => Some(LeadKey::Time(value)),
        Err(_) if value < 0 => Some(LeadKey::Time(i64::MIN)),
        Err(_) => None,
    }
}

fn ceil(value: i128, unit: i128) -> i128 {
    -(-value).div_euclid(unit)
}

/// Any whole number, among offsets.
fn offset(literal: &ScalarValue) -> Option<LiteralBounds> {
    let value = match literal {
        ScalarValue::UInt64(Some(value)) => i128::from(*value),
        ScalarValue::Int64(Some(value)) => i128::from(*value),
        ScalarValue::Decimal128(Some(value), _, 0) => *value,
        _ => return None,
    };
    let key = |value: i128| match u64::try_from(value) {
        Ok(value) => Some(LeadKey::Offset(value)),
        Err(_) if value < 0 => Some(LeadKey::Offset(0)),
        Err(_) => None,
    };
    Some(LiteralBounds { not_below: key(value), above: key(value + 1), is_exact: true })
}

/// Bytes as long as the ids.
fn id(width: i32, literal: &ScalarValue) -> Option<LiteralBounds> {
    let bytes = match literal {
        ScalarValue::FixedSizeBinary(_, Some(bytes))
        | ScalarValue::Binary(Some(bytes))
        | ScalarValue::LargeBinary(Some(bytes))
        | ScalarValue::BinaryView(Some(bytes)) => bytes.as_slice(),
        _ => return None,
    };
    let key = match width {
        16 => LeadKey::Id16(bytes.try_into().ok()?),
        32 => LeadKey::Id32(bytes.try_into().ok()?),
        _ => return None,
    };
    Some(LiteralBounds { not_below: Some(key), above: key.successor(), is_exact: true })
}

#[cfg(test)]
mod tests {
    use datafusion::arrow::datatypes::TimeUnit;

    use super::*;

    fn key(unit: TimeUnit) -> DataType {
        DataType::Timestamp(unit, Some("UTC".into()))
    }

    #[test]
    fn a_finer_literal_lies_between_two_keys() {
        let literal = ScalarValue::TimestampNanosecond(Some(-1_500_000), None);
        let compared = DataType::Timestamp(TimeUnit::Nanosecond, None);
        let bounds = bounds_of(&key(TimeUnit::Millisecond), &compared, &literal).unwrap();
        assert_eq!(bounds.not_below, Some(LeadKey::Time(-1)));
        assert_eq!(bounds.above, Some(LeadKey::Time(-1)));
        assert!(bounds.is_exact);
    }

    #[test]
    fn a_literal_beyond_all_keys_has_no_key_above_it() {
        let literal = ScalarValue::TimestampSecond(Some(i64::MAX), None);
        let compared = DataType::Timestamp(TimeUnit::Second, None);
        let bounds = bounds_of(&key(TimeUnit::Nanosecond), &compared, &literal).unwrap();
        assert_eq!((bounds.not_below, bounds.is_exact), (None, true));
    }

    #[test]
    fn zones_other_than_utc_are_no_instants_without_their_zone() {
        let berlin = DataType::Timestamp(TimeUnit::Second, Some("Europe/Berlin".into()));
        let literal = ScalarValue::TimestampSecond(Some(0), None);
        assert_eq!(
            bounds_of(&berlin, &DataType::Timestamp(TimeUnit::Second, None), &literal),
            None
        );
    }
}
