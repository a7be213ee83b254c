//! Types of columns of text, from a sample of their values.

use arrow_schema::{DataType, TimeUnit};
use timestrata_values::instant::{
    Instant, PLAUSIBLE_MAX_S, PLAUSIBLE_MIN_S, digits, per_second, unit_of_all, unit_of_magnitude,
};
use timestrata_values::number;

use super::convert::{Cell, Column, NullText, no_time};
use super::names;
use super::report::{BadRow, Place};

/// The zone that inferred times are kept in.
pub(super) const UTC: &str = "UTC";
/// Digits of a fraction of a second that microseconds hold.
const MICRO_DIGITS: usize = 6;

const BOOLEAN: u8 = 1;
const INTEGER: u8 = 2;
/// An integer that `i64` does not hold, or that begins with zeros, which a number would lose.
const HUGE: u8 = 4;
const FLOAT: u8 = 8;
const DATE: u8 = 16;
const TIME: u8 = 32;
/// A time with more digits than microseconds hold.
const FINE_TIME: u8 = 64;
const TEXT: u8 = 128;

/// What is said of a column besides its values.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Role {
    /// Whether it is the time column, by declaration or choice.
    pub(super) is_time: bool,
    /// The declared unit of its numbers.
    pub(super) unit: Option<TimeUnit>,
}

/// What the values of a column look like, added up over a sample.
#[derive(Debug, Clone, Default)]
pub(super) struct Seen {
    classes: u8,
    /// The least and the greatest number.
    bounds: Option<(i64, i64)>,
    /// The most digits behind a point of a number.
    decimals: usize,
    /// Whether a whole number is none that a float can be.
    loses_digits: bool,
    /// The values themselves, to hold against a type that is expected.
    values: SampleTexts,
    /// The first value that is text and nothing else: its place, and which of the values it is.
    first_text: Option<(Place, usize)>,
}

/// SampleTexts, one behind the other.
#[derive(Debug, Clone, Default)]
struct SampleTexts {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl SampleTexts {
    fn push(&mut self, text: &[u8]) {
        self.bytes.extend_from_slice(text);
        self.ends.push(self.bytes.len());
    }

    fn get(&self, at: usize) -> Option<&[u8]> {
        let start = at.checked_sub(1).map_or(Some(0), |before| self.ends.get(before).copied())?;
        self.bytes.get(start..*self.ends.get(at)?)
    }
}

impl Seen {
    /// Adds a value that is not null, without spaces around it.
    pub(super) fn add(&mut self, text: &[u8]) {
        self.values.push(text);
        self.classes |= match text.first() {
            Some(b'0'..=b'9' | b'-' | b'.' | b'n' | b'N' | b'i' | b'I') => {
                self.number_or_time(text)
            }
            Some(b't' | b'T' | b'f' | b'F') if number::boolean(text).is_some() => BOOLEAN,
            _ => TEXT,
        };
    }

    /// Says where the value stands that was added last.
    pub(super) fn stands_at(&mut self, place: Place) {
        if self.classes & TEXT != 0 && self.first_text.is_none() {
            self.first_text = self.values.ends.len().checked_sub(1).map(|last| (place, last));
        }
    }

    /// The value for which a column is no column of times, if it seems to be meant as one: by its name, by
    /// its other values, or by how this one begins. With it, how likely that is: the least number first.
    pub(super) fn spoils_time(&self, name: &str) -> Option<(usize, BadRow)> {
        let (place, at) = self.first_text?;
        let value = self.values.get(at)?;
        let likely = match names::preferred_for_time(name) {
            Some(rank) => rank,
            None if self.classes & (DATE | TIME | FINE_TIME) != 0 => names::PREFERRED,
            None if names::says_time(name).is_some() && value.first()?.is_ascii_digit() => {
                names::PREFERRED + 1
            }
            None => return None,
        };
        Some((likely, BadRow::value(place, name, value, format!("is not {}", no_time(value)))))
    }

    /// Adds a value of a column of times for the unit that numbers would have; the type is not told.
    pub(super) fn add_number(&mut self, text: &[u8]) {
        let is_of_number =
            |byte: &u8| byte.is_ascii_digit() || matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E');
        if text.iter().all(is_of_number) {
            let class = self.number_or_time(text);
            self.classes |= class;
        }
    }

    /// Adds a value that is text whatever it looks like, but for a time.
    pub(super) fn add_text(&mut self, text: &[u8]) {
        self.values.push(text);
        self.classes |= time_class(text).unwrap_or(TEXT);
    }

    fn number_or_time(&mut self, text: &[u8]) -> u8 {
        if number::is_whole(text) {
            self.loses_digits |= number::loses_digits(text);
            let Some(value) = number::integer(text) else { return HUGE };
            self.bound(value);
            return if number::has_leading_zeros(text) { HUGE } else { INTEGER };
        }
        if let Some(class) = time_class(text) {
            return class;
        }
        if !number::is_number(text) {
            return TEXT;
        }
        #[expect(clippy::cast_possible_truncation, reason = "saturates, which is not plausible")]
        self.bound(number::float(text).unwrap_or_default() as i64);
        let point = text.iter().position(|byte| *byte == b'.');
        self.decimals = self.decimals.max(point.map_or(0, |point| text.len() - point - 1));
        FLOAT
    }

    fn bound(&mut self, value: i64) {
        let (min, max) = self.bounds.unwrap_or((value, value));
        self.bounds = Some((min.min(value), max.max(value)));
    }

    /// Whether all values can be converted as a column says.
    pub(super) fn fits(&self, column: &Column) -> bool {
        let cell = |at| Cell { text: self.values.get(at), is_quoted: true };
        let cells = (0..self.values.ends.len()).map(cell);
        column.convert(cells, &NullText::none(), true).bad.is_empty()
    }

    /// Whether all values are of some of these classes.
    fn is_only(&self, classes: u8) -> bool {
        self.classes & !classes == 0
    }

    /// The unit of numbers that are times: declared, as the name says, else by magnitude.
    pub(super) fn epoch_unit(&self, name: &str, role: Role) -> TimeUnit {
        let declared = role.unit.filter(|_| role.is_time);
        declared.or_else(|| names::says_time(name).flatten()).unwrap_or_else(|| {
            let (min, max) = self.bounds.unwrap_or_default();
            unit_of_magnitude(min.unsigned_abs().max(max.unsigned_abs()))
        })
    }

    /// Why the unit of numbers that are the time can't be told, if so.
    pub(super) fn unit_problem(&self, name: &str, role: Role) -> Option<String> {
        let is_told = role.unit.is_some() || names::says_time(name).flatten().is_some();
        let (min, max) = self.bounds.filter(|_| role.is_time && !is_told)?;
        unit_of_all(min, max).err()
    }

    /// Whether the numbers are all times that somebody would write down.
    fn is_plausible(&self, unit: TimeUnit) -> bool {
        let step = per_second(unit);
        let range = PLAUSIBLE_MIN_S * step..PLAUSIBLE_MAX_S.saturating_mul(step);
        self.bounds.is_some_and(|(min, max)| range.contains(&min) && range.contains(&max))
    }

    /// The type that holds all values. A column without any is text.
    pub(super) fn data_type(&self, name: &str, role: Role) -> DataType {
        let unit = self.epoch_unit(name, role);
        let is_number = self.classes != 0 && self.is_only(INTEGER | FLOAT);
        let says_time = is_number && names::says_time(name).is_some() && self.is_plausible(unit);
        if role.is_time || says_time {
            return timestamp(self.is_fine(unit, is_number));
        }
        match self.classes {
            0 => DataType::Utf8,
            BOOLEAN => DataType::Boolean,
            DATE => DataType::Date32,
            _ if self.is_only(DATE | TIME | FINE_TIME) => timestamp(self.is_fine(unit, false)),
            INTEGER => DataType::Int64,
            // A float would lose digits of identifiers; text keeps them.
            _ if self.is_only(INTEGER | HUGE) => DataType::Utf8,
            _ if self.is_only(INTEGER | HUGE | FLOAT) && !self.loses_digits => DataType::Float64,
            _ => DataType::Utf8,
        }
    }

    /// Whether times have digits that microseconds don't hold.
    fn is_fine(&self, unit: TimeUnit, is_number: bool) -> bool {
        let has_numbers = is_number || self.classes & (INTEGER | FLOAT) != 0;
        self.classes & FINE_TIME != 0
            || (has_numbers && self.decimals + digits(unit) > MICRO_DIGITS)
    }
}

fn timestamp(is_fine: bool) -> DataType {
    let unit = if is_fine { TimeUnit::Nanosecond } else { TimeUnit::Microsecond };
    DataType::Timestamp(unit, Some(UTC.into()))
}

fn time_class(text: &[u8]) -> Option<u8> {
    let instant = Instant::parse(text)?;
    Some(match instant {
        _ if instant.is_date => DATE,
        _ if instant.nanoseconds % 1_000 != 0 => FINE_TIME,
        _ => TIME,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inferred(name: &str, values: &[&str]) -> String {
        let mut seen = Seen::default();
        values.iter().for_each(|value| seen.add(value.as_bytes()));
        seen.data_type(name, Role::default()).to_string()
    }

    #[test]
    fn a_column_takes_the_narrowest_type_that_holds_its_values() {
        for (values, expected) in [
            (&[][..], "Utf8"),
            (&["true", "FALSE"], "Boolean"),
            (&["1", "-7", "0"], "Int64"),
            (&["01234", "99999"], "Utf8"),
            (&["007", "1.5"], "Float64"),
            (&["1", "2.5", "1e9", "nan", "-inf"], "Float64"),
            (&["1", "true"], "Utf8"),
            (&["18446744073709551616", "1"], "Utf8"),
            (&["18446744073709551616", "0.5"], "Float64"),
            (&["123456789012345678901234567890", "0.5"], "Utf8"),
            (&["9007199254740993", "0.5"], "Utf8"),
            (&["9007199254740992", "0.5"], "Float64"),
            (&["+4930123"], "Utf8"),
            (&["2024-02-29", "1969/12/31"], "Date32"),
            (&["2023-02-29"], "Utf8"),
            (&["2024-01-01", "2024-01-01 10:00"], "Timestamp(µs, \"UTC\")"),
            (&["2024-01-01T10:00:00.000000Z"], "Timestamp(µs, \"UTC\")"),
            (&["2024-01-01T10:00:00.000000001+02:00"], "Timestamp(ns, \"UTC\")"),
            (&["2024-01-01", "x"], "Utf8"),
            (&["-", "."], "Utf8"),
        ] {
            assert_eq!(inferred("x", values), expected, "{values:?}");
        }
    }

    #[test]
    fn numbers_are_times_by_name_and_magnitude_together() {
        let (micro, nano) = ("Timestamp(µs, \"UTC\")", "Timestamp(ns, \"UTC\")");
        for (name, values, expected) in [
            ("timestamp", &["1700000000", "1700000001"][..], micro),
            ("ts", &["1700000000000"], micro),
            ("exch_ts_ms", &["1723161255342"], micro),
            ("local_ts_ns", &["1723161254087891268"], nano),
            ("time", &["1700000000.25"], micro),
            ("time", &["1700000000.1234567"], nano),
            // Flights leave at 5:17, and are in the air for 227 minutes.
            ("dep_time", &["517", "2359"], "Int64"),
            ("air_time", &["227"], "Int64"),
            ("date", &["2013", "2014"], "Int64"),
            ("volume", &["1700000000"], "Int64"),
            ("price", &["1700000000.5"], "Float64"),
            ("time", &["1700000000", "5"], "Int64"),
        ] {
            assert_eq!(inferred(name, values), expected, "{name} {values:?}");
        }
    }

    #[test]
    fn what_is_declared_a_time_is_one() {
        let mut seen = Seen::default();
        seen.add(b"5");
        let role = Role { is_time: true, unit: Some(TimeUnit::Nanosecond) };
        assert_eq!(seen.data_type("x", role).to_string(), "Timestamp(ns, \"UTC\")");
        assert_eq!(seen.epoch_unit("x", role), TimeUnit::Nanosecond);
        assert_eq!(seen.epoch_unit("x", Role::default()), TimeUnit::Second);
    }
}
