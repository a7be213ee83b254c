//! Types of columns of text, from a sample of their values.

use std::borrow::Cow;
use std::sync::Arc;

use arrow_schema::{DataType, TimeUnit};
use timestrata_values::instant::{
    Instant, PLAUSIBLE_MAX_S, PLAUSIBLE_MIN_S, digits, per_second, unit_of_all, unit_of_magnitude,
};
use timestrata_values::number;
use timestrata_values::people_time::{self, DateOrder, DateOrders};
use timestrata_values::spelling::Spelling;
use timestrata_values::time_format::TimeFormat;

use super::convert::{Cell, Column, NullText, Written, in_format, no_time, pointed, ungrouped};
use super::names;
use super::options::{Delimiter, ReadOptions};
use super::report::{BadRow, Place, shorten};

/// The zone that inferred times are kept in.
pub(super) const UTC: &str = "UTC";
/// Digits of a fraction of a second that microseconds hold.
const MICRO_DIGITS: usize = 6;
/// Digits of a day that is written as a number.
const DAY_DIGITS: usize = 8;
/// Digits behind a comma that may be thousands as well.
const THOUSANDS_DIGITS: usize = 3;

const BOOLEAN: u16 = 1;
const INTEGER: u16 = 2;
/// An integer that `i64` does not hold.
const HUGE: u16 = 4;
const FLOAT: u16 = 8;
const DATE: u16 = 16;
const TIME: u16 = 32;
/// A time with more digits than microseconds hold.
const FINE_TIME: u16 = 64;
const TEXT: u16 = 128;
/// A whole number that begins with zeros, which a number would lose.
const ZEROS: u16 = 256;
/// A number with a comma where others have a point.
const COMMA: u16 = 512;
const ANY_TIME: u16 = DATE | TIME | FINE_TIME;

/// What is said of a column besides its values.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Role {
    /// Whether it is the time column, by declaration or choice.
    pub(super) is_time: bool,
    /// The declared unit of its numbers.
    pub(super) unit: Option<TimeUnit>,
}

/// How the values of an input are written, as far as it is declared.
#[derive(Debug, Clone, Default)]
pub(super) struct Writing {
    /// The format of its times.
    format: Option<Arc<TimeFormat>>,
    /// What stands between a number and its fraction, if it is said.
    decimal: Option<u8>,
    /// What stands between thousands, if it is said.
    thousands: Option<char>,
    /// Whether a comma may stand there though nobody says so: it separates no fields.
    may_have_comma: bool,
    /// Whether values are of lists and objects, of which each is read in the plain way.
    is_nested: bool,
}

impl Writing {
    pub(super) fn of(options: &ReadOptions) -> Self {
        let (format, decimal) = (options.time_format.clone(), options.decimal);
        let thousands = options.thousands;
        Self { format: format.map(Arc::new), decimal, thousands, ..Self::default() }
    }

    /// That of values in lists and objects.
    pub(super) fn nested() -> Self {
        Self { is_nested: true, ..Self::default() }
    }

    /// The same for CSV with such a delimiter: the semicolon is what is used where the comma is taken.
    pub(super) fn with_delimiter(self, delimiter: Delimiter) -> Self {
        let is_free = self.decimal.is_none() && self.thousands != Some(',');
        let may_have_comma = is_free && delimiter == Delimiter::Byte(b';');
        Self { may_have_comma, ..self }
    }
}

/// What the values of a column look like, added up over a sample.
#[derive(Debug, Clone, Default)]
pub(super) struct Seen {
    writing: Writing,
    classes: u16,
    /// The least and the greatest number.
    bounds: Option<(i64, i64)>,
    /// The most digits behind a point of a number.
    decimals: usize,
    /// Whether a whole number is none that a float can be.
    loses_digits: bool,
    /// Whether a comma stands where none of thousands can.
    has_decimal_comma: bool,
    /// The orders of days and months that times leave which people wrote.
    orders: Option<DateOrders>,
    /// The orders that whole numbers leave, should they be days.
    days: Option<DateOrders>,
    /// What the values are in the format that is declared: text, where one is not in it.
    formatted: u16,
    /// The values themselves, to hold against a type that is expected; none are kept where none is.
    values: SampleTexts,
    is_unexpected: bool,
    /// The first value that is text and nothing else.
    first_text: Option<Standing>,
    /// The first value of which the day and the month can't be told apart by itself.
    first_of_people: Option<Standing>,
    /// Whether a value that is forgotten didn't fit the type expected.
    has_misfit: bool,
}

/// A value, and where it stands.
#[derive(Debug, Clone)]
struct Standing {
    place: Option<Place>,
    value: Vec<u8>,
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
    /// Nothing yet, of values that are written so.
    pub(super) fn new(writing: &Writing) -> Self {
        Self { writing: writing.clone(), ..Self::default() }
    }

    /// The same of a column of which no type is expected: its values are held against none.
    pub(super) fn of_any_type(self) -> Self {
        Self { is_unexpected: true, ..self }
    }

    /// Adds a value that is not null, without spaces around it.
    pub(super) fn add(&mut self, text: &[u8], place: Option<Place>) {
        let class = match text.first() {
            Some(b'0'..=b'9' | b'-' | b'.' | b'n' | b'N' | b'i' | b'I') => {
                self.number_or_time(text, place)
            }
            Some(b't' | b'T' | b'f' | b'F') if number::boolean(text).is_some() => BOOLEAN,
            _ => self.time_class(text, place).unwrap_or(TEXT),
        };
        self.count(text, class, place);
    }

    /// Adds a value that is text whatever it looks like, but for a time.
    pub(super) fn add_text(&mut self, text: &[u8], place: Option<Place>) {
        let class = self.time_class(text, place).unwrap_or(TEXT);
        self.count(text, class, place);
    }

    /// Adds a value of a column that is known to hold times, for how these are written; the type is not told.
    pub(super) fn add_time(&mut self, text: &[u8], place: Option<Place>) {
        self.classes |= self.number_or_time(text, place);
        self.add_formatted(text);
    }

    fn count(&mut self, text: &[u8], class: u16, place: Option<Place>) {
        if !self.is_unexpected {
            self.values.push(text);
        }
        self.classes |= class;
        self.add_formatted(text);
        if class == TEXT && self.first_text.is_none() {
            self.first_text = Some(Standing { place, value: text.to_vec() });
        }
    }

    fn add_formatted(&mut self, text: &[u8]) {
        if let Some(format) = &self.writing.format {
            self.formatted |= in_format(text, format).map_or(TEXT, class_of);
        }
    }

    /// Forgets the values, once it is noted whether they fit a column: so many may come that they can't all be kept.
    pub(super) fn forget(&mut self, column: Option<&Column>) {
        self.has_misfit |= column.is_some_and(|column| !self.fits(column));
        self.values = SampleTexts::default();
    }

    /// The value for which a column is no column of times, if it seems to be meant as one: by its name, by
    /// its other values, or by how this one begins. With it, how likely that is: the least number first.
    pub(super) fn spoils_time(&self, name: &str, spelling: Spelling) -> Option<(usize, BadRow)> {
        let is_unclear = self.first_text.is_none() && self.is_only(ANY_TIME);
        let standing = match is_unclear {
            true => self.first_of_people.as_ref()?,
            false => self.first_text.as_ref()?,
        };
        let value = standing.value.as_slice();
        let likely = match names::preferred_for_time(name) {
            Some(rank) => rank,
            None if self.classes & ANY_TIME != 0 => names::PREFERRED,
            None if names::says_time(name).is_some() && value.first()?.is_ascii_digit() => {
                names::PREFERRED + 1
            }
            None => return None,
        };
        let why = match is_unclear {
            true => self.unclear(value, spelling)?,
            false => format!("is not {}", no_time(value)),
        };
        Some((likely, BadRow::value(standing.place?, name, value, why)))
    }

    fn number_or_time(&mut self, text: &[u8], place: Option<Place>) -> u16 {
        if self.writing.thousands.is_some() {
            let decimal = self.writing.decimal.unwrap_or(b'.');
            if let Cow::Owned(number) = ungrouped(text, decimal, self.writing.thousands) {
                return self.plain_or_time(&number, place);
            }
        }
        self.plain_or_time(text, place)
    }

    fn plain_or_time(&mut self, text: &[u8], place: Option<Place>) -> u16 {
        if number::is_whole(text) {
            return self.whole(text);
        }
        let pointed = pointed(text, self.writing.decimal.unwrap_or(b'.'));
        if !number::is_number(&pointed) {
            // A date has three parts and a number two, so that most values need no second look.
            let time = self.time_class(text, place);
            return time.unwrap_or_else(|| if self.is_with_comma(text) { COMMA } else { TEXT });
        }
        if let Some(instant) = Instant::parse(text) {
            return class_of(instant);
        }
        let value = number::float(&pointed).unwrap_or_default();
        if value.is_infinite() && pointed.iter().any(u8::is_ascii_digit) {
            // No float is as large.
            return TEXT;
        }
        #[expect(clippy::cast_possible_truncation, reason = "saturates, which is not plausible")]
        self.bound(value as i64);
        let point = pointed.iter().position(|byte| *byte == b'.');
        self.decimals = self.decimals.max(point.map_or(0, |point| pointed.len() - point - 1));
        FLOAT
    }

    fn whole(&mut self, text: &[u8]) -> u16 {
        // Once one does, the others need no look, which takes a while.
        self.loses_digits = self.loses_digits || number::loses_digits(text);
        let may_be_day = text.len() == DAY_DIGITS;
        let orders = std::str::from_utf8(text).ok().filter(|_| may_be_day).and_then(DateOrders::of);
        let before = self.days.unwrap_or(DateOrders::ANY);
        self.days = Some(orders.map_or(DateOrders::NONE, |orders| orders.and(before)));
        let Some(value) = number::integer(text) else { return HUGE };
        self.bound(value);
        if number::has_leading_zeros(text) { ZEROS } else { INTEGER }
    }

    /// Whether it is a number with a comma before its fraction, where one may stand.
    fn is_with_comma(&mut self, text: &[u8]) -> bool {
        let comma = text.iter().position(|byte| *byte == b',');
        let is = self.writing.may_have_comma
            && comma.is_some()
            && number::is_number(&pointed(text, b','));
        let digits = comma.map_or(0, |comma| text.len() - comma - 1);
        self.has_decimal_comma |= is && digits != THOUSANDS_DIGITS;
        is
    }

    fn time_class(&mut self, text: &[u8], place: Option<Place>) -> Option<u16> {
        if let Some(instant) = Instant::parse(text) {
            return Some(class_of(instant));
        }
        if self.classes & TEXT != 0 || self.writing.is_nested {
            // It is text in any case, and most columns of text are long.
            return None;
        }
        let written = std::str::from_utf8(text).ok()?;
        let orders = DateOrders::of(written)?;
        if self.first_of_people.is_none() && orders.only().is_none() {
            self.first_of_people = Some(Standing { place, value: text.to_vec() });
        }
        self.orders = Some(self.orders.map_or(orders, |before| before.and(orders)));
        let read = orders.each().find_map(|order| people_time::read(written, order))?;
        Some(class_of(read))
    }

    fn bound(&mut self, value: i64) {
        let (min, max) = self.bounds.unwrap_or((value, value));
        self.bounds = Some((min.min(value), max.max(value)));
    }

    /// Whether all values can be converted as a column says.
    pub(super) fn fits(&self, column: &Column) -> bool {
        let cell = |at| Cell { text: self.values.get(at), is_quoted: true };
        let cells = (0..self.values.ends.len()).map(cell);
        !self.has_misfit && column.convert(cells, &NullText::none(), true).bad.is_empty()
    }

    /// Whether all values are of some of these classes.
    fn is_only(&self, classes: u16) -> bool {
        self.classes & !classes == 0
    }

    /// How a column's times are written, as far as its values tell it.
    pub(super) fn written(&self, name: &str, role: Role) -> Written {
        if let Some(format) = &self.writing.format
            && (role.is_time || self.is_formatted(name))
        {
            return Written::As(Arc::clone(format));
        }
        let order = match (self.are_days(name, role), self.orders) {
            (true, _) => Some(DateOrder::Digits),
            (false, orders) => orders.and_then(DateOrders::only),
        };
        order.map_or(Written::Plainly, Written::InOrder)
    }

    /// What stands between its numbers and their fractions.
    pub(super) fn decimal(&self) -> u8 {
        let comma = if self.is_of_commas() { b',' } else { b'.' };
        self.writing.decimal.unwrap_or(comma)
    }

    /// What stands between its thousands.
    pub(super) fn thousands(&self) -> Option<char> {
        self.writing.thousands
    }

    fn is_of_commas(&self) -> bool {
        self.classes & COMMA != 0 && self.is_only(INTEGER | COMMA) && self.has_decimal_comma
    }

    /// Whether all values are in the declared format, and not just numbers that happen to be.
    fn is_formatted(&self, name: &str) -> bool {
        let is_number = self.is_only(INTEGER | HUGE | ZEROS | FLOAT);
        self.formatted != 0
            && self.formatted & TEXT == 0
            && (!is_number || names::says_time(name).is_some())
    }

    /// Whether its whole numbers are days of eight digits, which nobody says to be anything else.
    fn are_days(&self, name: &str, role: Role) -> bool {
        let is_named = role.is_time || names::says_time(name).is_some();
        let may_be = is_named && role.unit.is_none() && !self.writing.is_nested;
        let orders = self.days.map(|days| days.and(self.orders.unwrap_or(DateOrders::ANY)));
        may_be
            && self.classes & INTEGER != 0
            && self.is_only(INTEGER | ANY_TIME)
            && orders.and_then(DateOrders::only) == Some(DateOrder::Digits)
    }

    /// Whether days and months can't be told apart in times of which all are read in several orders.
    pub(super) fn is_unclear(&self) -> bool {
        let orders = self.orders.filter(|orders| !orders.is_none() && self.is_only(ANY_TIME));
        self.writing.format.is_none() && orders.is_some_and(|orders| orders.only().is_none())
    }

    /// How a value is read in several orders, and what to do about it.
    fn unclear(&self, value: &[u8], spelling: Spelling) -> Option<String> {
        let text = std::str::from_utf8(value).ok()?;
        let orders = self.orders.filter(|orders| !orders.is_none())?;
        let words: Vec<_> = orders.each().map(DateOrder::words).collect();
        let formats: Vec<_> = orders
            .each()
            .filter_map(|order| people_time::format_of(text, order))
            .map(|format| spelling.option("time_format", &format))
            .collect();
        let formats = match formats.is_empty() {
            true => spelling.option("time_format", "FORMAT"),
            false => formats.join(" or "),
        };
        Some(format!(
            "and all others of its column can be read as {}: say which it is ({formats})",
            words.join(" and as ")
        ))
    }

    /// The unit of numbers that are times: declared, as the name says, else by magnitude.
    pub(super) fn epoch_unit(&self, name: &str, role: Role) -> TimeUnit {
        let declared = role.unit.filter(|_| role.is_time);
        declared.or_else(|| names::says_time(name).flatten()).unwrap_or_else(|| {
            let (min, max) = self.bounds.unwrap_or_default();
            unit_of_magnitude(min.unsigned_abs().max(max.unsigned_abs()))
        })
    }

    /// Why a column that is the time can't be read, if so: the unit of its numbers can't be told, or its days
    /// from its months.
    pub(super) fn time_problem(
        &self,
        name: &str,
        role: Role,
        spelling: Spelling,
    ) -> Option<String> {
        if self.is_unclear()
            && let Some(Standing { place, value }) = &self.first_of_people
        {
            let why = self.unclear(value, spelling)?;
            let place = place.map_or_else(String::new, |place| format!("{place}: "));
            return Some(format!("{place}'{}' {why}", shorten(value)));
        }
        let is_told = role.unit.is_some() || names::says_time(name).flatten().is_some();
        let is_written = !matches!(self.written(name, role), Written::Plainly);
        let (min, max) = self.bounds.filter(|_| role.is_time && !is_told && !is_written)?;
        unit_of_all(min, max).err()
    }

    /// Whether the numbers are all times that somebody would write down.
    fn is_plausible(&self, unit: TimeUnit) -> bool {
        let step = per_second(unit);
        let range = PLAUSIBLE_MIN_S * step..PLAUSIBLE_MAX_S.saturating_mul(step);
        self.bounds.is_some_and(|(min, max)| range.contains(&min) && range.contains(&max))
    }

    /// Whole numbers in a column whose name says that it is the time, but which are no plausible ones.
    pub(super) fn no_plausible_time(&self, name: &str) -> Option<(i64, i64)> {
        let is_meant = names::preferred_for_time(name).is_some() && self.is_only(INTEGER | FLOAT);
        self.bounds.filter(|_| is_meant && self.classes != 0)
    }

    /// The type that holds all values. A column without any is text.
    pub(super) fn data_type(&self, name: &str, role: Role) -> DataType {
        if role.is_time {
            return self.time_type(name, role);
        }
        if self.is_formatted(name) {
            return of_times(self.formatted, timestamp(self.formatted & FINE_TIME != 0));
        }
        let is_number = self.classes != 0 && self.is_only(INTEGER | FLOAT);
        if self.are_days(name, role) {
            return of_times(self.classes & !INTEGER | DATE, self.time_type(name, role));
        }
        let unit = self.epoch_unit(name, role);
        let may_be_time = is_number && !self.writing.is_nested;
        if may_be_time && names::says_time(name).is_some() && self.is_plausible(unit) {
            return self.time_type(name, role);
        }
        match self.classes {
            0 => DataType::Utf8,
            BOOLEAN => DataType::Boolean,
            _ if self.is_only(ANY_TIME) => match self.orders.map(DateOrders::only) {
                // Nothing is guessed: text says all that is there.
                Some(None) => DataType::Utf8,
                _ => of_times(self.classes, self.time_type(name, role)),
            },
            INTEGER => DataType::Int64,
            _ if self.is_of_commas() => DataType::Float64,
            // Numbers would lose digits of identifiers and of what is larger than they are; text keeps them.
            _ if self.is_only(INTEGER | FLOAT) && !self.loses_digits => DataType::Float64,
            _ => DataType::Utf8,
        }
    }

    /// The type of times: microseconds, unless a value has more digits.
    fn time_type(&self, name: &str, role: Role) -> DataType {
        if matches!(self.written(name, role), Written::As(_)) {
            return timestamp(self.formatted & FINE_TIME != 0);
        }
        let has_numbers = self.classes & (INTEGER | FLOAT) != 0 && !self.are_days(name, role);
        let is_fine = self.classes & FINE_TIME != 0
            || (has_numbers && self.decimals + digits(self.epoch_unit(name, role)) > MICRO_DIGITS);
        timestamp(is_fine)
    }
}

/// Days where all times of some classes are, else the type of times.
fn of_times(classes: u16, times: DataType) -> DataType {
    if classes == DATE { DataType::Date32 } else { times }
}

fn timestamp(is_fine: bool) -> DataType {
    let unit = if is_fine { TimeUnit::Nanosecond } else { TimeUnit::Microsecond };
    DataType::Timestamp(unit, Some(UTC.into()))
}

fn class_of(instant: Instant) -> u16 {
    match instant {
        _ if instant.is_date => DATE,
        _ if !instant.nanoseconds.is_multiple_of(1_000) => FINE_TIME,
        _ => TIME,
    }
}

#[cfg(test)]
mod tests;
