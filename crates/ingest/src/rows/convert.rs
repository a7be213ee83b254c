//! Conversion of columns of text into typed arrays, for every format whose values are text.

use std::borrow::Cow;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, Date32Type, Float64Type, Int64Type};
use arrow_array::{Array, ArrayRef, BooleanArray, PrimitiveArray, StringArray};
use arrow_buffer::{Buffer, NullBufferBuilder, OffsetBuffer, ScalarBuffer};
use arrow_schema::{DataType, TimeUnit};
use timestrata_values::instant::{self, Instant, Unfit};
use timestrata_values::people_time::{self, DateOrder};
use timestrata_values::time::relabeled;
use timestrata_values::time_format::{TimeFormat, WrittenTime};
use timestrata_values::{convert, number};

use super::report::shorten;

/// What stands for null, where nobody says otherwise, in columns that are not text.
const NULL_TEXT: [&str; 8] = ["", "NA", "N/A", "n/a", "#N/A", "NULL", "null", "\\N"];

const SECONDS_PER_DAY: i64 = 86_400;
/// What a time looks like.
const TIME: &str = "a time (RFC 3339, YYYY-MM-DD HH:MM:SS, YYYY-MM-DD or a number)";

/// A value as it stands in an input.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cell<'a> {
    /// Its text; `None` if the form itself says that it is null.
    pub(super) text: Option<&'a [u8]>,
    /// Whether it stood in quotes.
    pub(super) is_quoted: bool,
}

/// What text stands for null.
#[derive(Debug, Clone)]
pub(super) struct NullText {
    typed: NullTexts,
    text: NullTexts,
}

/// A few short texts.
#[derive(Debug, Clone)]
struct NullTexts {
    all: Vec<Vec<u8>>,
    /// Which bytes they begin with, so that most values need no more than one look.
    first: [bool; 256],
    has_empty: bool,
}

impl NullTexts {
    fn new(all: Vec<Vec<u8>>) -> Self {
        let mut first = [false; 256];
        for byte in all.iter().filter_map(|text| text.first()) {
            if let Some(slot) = first.get_mut(usize::from(*byte)) {
                *slot = true;
            }
        }
        Self { has_empty: all.iter().any(Vec::is_empty), all, first }
    }

    fn contains(&self, text: &[u8]) -> bool {
        match text.first() {
            None => self.has_empty,
            Some(byte) => {
                self.first.get(usize::from(*byte)).is_some_and(|is_first| *is_first)
                    && self.all.iter().any(|null| null == text)
            }
        }
    }
}

impl NullText {
    /// As declared, else as [`ReadOptions::null_text`](super::ReadOptions) says.
    pub(super) fn new(declared: Option<&[String]>) -> Self {
        let bytes = |texts: Vec<&str>| {
            NullTexts::new(texts.into_iter().map(|text| text.as_bytes().to_vec()).collect())
        };
        match declared {
            Some(texts) => {
                let texts = bytes(texts.iter().map(String::as_str).collect());
                Self { typed: texts.clone(), text: texts }
            }
            None => Self { typed: bytes(NULL_TEXT.to_vec()), text: bytes(vec![""]) },
        }
    }

    /// Nothing: the form has a null of its own.
    pub(super) fn none() -> Self {
        Self::new(Some(&[]))
    }

    /// The text of a value without the spaces around it, unless it is null.
    pub(super) fn typed<'a>(&self, cell: Cell<'a>) -> Option<&'a [u8]> {
        let text = trim(cell.text?);
        (!self.typed.contains(text)).then_some(text)
    }

    /// The text of a value, unless it is null.
    fn text<'a>(&self, cell: Cell<'a>) -> Option<&'a [u8]> {
        let text = cell.text?;
        (cell.is_quoted || !self.text.contains(text)).then_some(text)
    }
}

/// Most values have no space around them, which two looks tell.
fn trim(text: &[u8]) -> &[u8] {
    let has_space = |byte: Option<&u8>| byte.is_some_and(|byte| *byte <= b' ');
    if has_space(text.first()) || has_space(text.last()) { text.trim_ascii() } else { text }
}

/// A value that does not fit its column.
#[derive(Debug)]
pub(super) struct BadCell {
    /// Which of the values.
    pub(super) at: usize,
    /// The value, shortened.
    pub(super) value: String,
    /// What is wrong.
    pub(super) why: String,
}

/// How the text of a column becomes values.
#[derive(Debug, Clone)]
pub(super) struct Column {
    /// What it becomes.
    pub(super) data_type: DataType,
    /// The unit of numbers, in a column of times.
    pub(super) epoch: TimeUnit,
    /// Whether it takes no nulls.
    pub(super) is_required: bool,
    /// How its times are written.
    pub(super) written: Written,
    /// What stands between a number and its fraction.
    pub(super) decimal: u8,
    /// What stands between its thousands.
    pub(super) thousands: Option<char>,
}

impl Column {
    /// What had to be told apart to read it, in words.
    pub(super) fn note(&self) -> Option<String> {
        let is_of_times = matches!(self.data_type, DataType::Timestamp(..) | DataType::Date32);
        match &self.written {
            Written::InOrder(order) if is_of_times => Some(order.words().to_owned()),
            Written::As(format) if is_of_times => Some(format!("in the format '{format}'")),
            _ if matches!(self.data_type, DataType::Float64 | DataType::Int64) => {
                let comma = (self.decimal != b'.' && self.data_type == DataType::Float64)
                    .then(|| "decimal comma".to_owned());
                let thousands =
                    self.thousands.map(|between| format!("'{between}' between thousands"));
                let notes: Vec<_> = comma.into_iter().chain(thousands).collect();
                (!notes.is_empty()).then(|| notes.join(", "))
            }
            _ => None,
        }
    }
}

/// How times are written, beside RFC 3339 and what is close to it.
#[derive(Debug, Clone, Default)]
pub(super) enum Written {
    /// In no other way.
    #[default]
    Plainly,
    /// As people do, days and months in this order.
    InOrder(DateOrder),
    /// In the format that was declared, and in no other.
    As(Arc<TimeFormat>),
}

impl Written {
    /// The time that a text names.
    fn instant(&self, text: &[u8]) -> Option<Instant> {
        match self {
            Self::Plainly => Instant::parse(text),
            Self::InOrder(order) => Instant::parse(text).or_else(|| {
                std::str::from_utf8(text).ok().and_then(|text| people_time::read(text, *order))
            }),
            Self::As(format) => in_format(text, format),
        }
    }
}

/// The time that a text names in a format. Midnight is a day.
pub(super) fn in_format(text: &[u8], format: &TimeFormat) -> Option<Instant> {
    match format.read(std::str::from_utf8(text).ok()?)? {
        WrittenTime::At { seconds, nanoseconds } => {
            let is_date = nanoseconds == 0 && seconds % SECONDS_PER_DAY == 0;
            Some(Instant { seconds, nanoseconds, is_date })
        }
        WrittenTime::InYear { .. } => None,
    }
}

/// An array as long as there were values, in which those that don't fit are null or empty.
pub(super) struct Converted {
    pub(super) array: ArrayRef,
    pub(super) bad: Vec<BadCell>,
}

impl Column {
    /// Converts values in order. With `is_first_enough`, the others behind the first that does
    /// not fit are not looked at, and the array is of no use.
    pub(super) fn convert<'a>(
        &self,
        cells: impl Iterator<Item = Cell<'a>> + Clone,
        nulls: &NullText,
        is_first_enough: bool,
    ) -> Converted {
        let fill = Fill { column: self, nulls, is_first_enough };
        match &self.data_type {
            DataType::Int64 if self.thousands.is_none() => {
                fill.primitives::<Int64Type>(cells, integer)
            }
            DataType::Int64 => {
                fill.primitives::<Int64Type>(cells, |text| integer(&self.number(text)))
            }
            DataType::Float64 => {
                fill.primitives::<Float64Type>(cells, |text| float(&self.number(text)))
            }
            DataType::Date32 => fill.primitives::<Date32Type>(cells, |text| {
                self.written.instant(text).and_then(Instant::days).ok_or(None)
            }),
            DataType::Boolean => fill.booleans(cells),
            DataType::Utf8 => fill.texts(cells),
            DataType::Timestamp(unit, _) => fill.times(cells, *unit),
            other => fill.cast(cells, other),
        }
    }
}

impl Column {
    /// A number as others write it.
    pub(super) fn number<'a>(&self, text: &'a [u8]) -> Cow<'a, [u8]> {
        plain_number(text, self.decimal, self.thousands)
    }
}

/// A number with a point before its fraction and nothing between thousands.
pub(super) fn plain_number(text: &[u8], decimal: u8, thousands: Option<char>) -> Cow<'_, [u8]> {
    match ungrouped(text, decimal, thousands) {
        Cow::Borrowed(text) => pointed(text, decimal),
        Cow::Owned(text) => Cow::Owned(pointed(&text, decimal).into_owned()),
    }
}

/// A number with nothing between its thousands. One in which that stands anywhere else is none: nobody knows what it means.
pub(super) fn ungrouped(text: &[u8], decimal: u8, thousands: Option<char>) -> Cow<'_, [u8]> {
    let Some(between) = thousands else { return Cow::Borrowed(text) };
    let mut encoded = [0; 4];
    let between = between.encode_utf8(&mut encoded).as_bytes();
    if memchr::memmem::find(text, between).is_none() {
        return Cow::Borrowed(text);
    }
    let point = text.iter().position(|byte| *byte == decimal).unwrap_or(text.len());
    let (whole, fraction) = text.split_at(point);
    let sign = usize::from(matches!(whole.first(), Some(b'-' | b'+')));
    let (sign, mut rest) = whole.split_at(sign);
    let mut number = sign.to_vec();
    let mut lengths = 1..=3;
    loop {
        let group = memchr::memmem::find(rest, between);
        let (digits, behind) = rest.split_at(group.unwrap_or(rest.len()));
        if !lengths.contains(&digits.len()) || !digits.iter().all(u8::is_ascii_digit) {
            return Cow::Borrowed(b"");
        }
        number.extend_from_slice(digits);
        lengths = 3..=3;
        match group {
            Some(_) => rest = behind.get(between.len()..).unwrap_or_default(),
            None => break,
        }
    }
    if memchr::memmem::find(fraction, between).is_some() {
        return Cow::Borrowed(b"");
    }
    number.extend_from_slice(fraction);
    Cow::Owned(number)
}

/// Why a text is no value of its column's type, where there is more to say than that it is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Misfit {
    Unfit(Unfit),
    /// A whole number with zeros in front, which a number would lose.
    LeadingZeros,
}

fn integer(text: &[u8]) -> Result<i64, Option<Misfit>> {
    match number::has_leading_zeros(text) && number::is_whole(text) {
        true => Err(Some(Misfit::LeadingZeros)),
        false => number::integer(text).ok_or(None),
    }
}

/// A number; but no whole one that would lose digits, and none that is larger than all floats.
fn float(text: &[u8]) -> Result<f64, Option<Misfit>> {
    if number::has_leading_zeros(text) && number::is_whole(text) {
        return Err(Some(Misfit::LeadingZeros));
    }
    let value = number::float(text).ok_or(None)?;
    let is_beyond = value.is_infinite() && text.iter().any(u8::is_ascii_digit);
    match is_beyond || number::loses_digits(text) {
        true => Err(Some(Misfit::Unfit(Unfit::OutOfRange))),
        false => Ok(value),
    }
}

/// A number with a point before its fraction, whatever stands there. One with a point where a comma
/// should be is none: nobody knows what the point means.
pub(super) fn pointed(text: &[u8], decimal: u8) -> Cow<'_, [u8]> {
    if decimal == b'.' {
        return Cow::Borrowed(text);
    }
    if text.contains(&b'.') {
        return Cow::Borrowed(b"");
    }
    let point = |byte: &u8| if *byte == decimal { b'.' } else { *byte };
    Cow::Owned(text.iter().map(point).collect())
}

struct Fill<'c> {
    column: &'c Column,
    nulls: &'c NullText,
    is_first_enough: bool,
}

impl Fill<'_> {
    /// Each value by `parse`, which gives `None` for what it can't read.
    fn each<'a, T: Default>(
        &self,
        cells: impl Iterator<Item = Cell<'a>>,
        parse: impl Fn(&'a [u8]) -> Result<T, Option<Misfit>>,
    ) -> (Vec<T>, NullBufferBuilder, Vec<BadCell>) {
        let rows = cells.size_hint().0;
        let (mut values, mut validity) = (Vec::with_capacity(rows), NullBufferBuilder::new(rows));
        let mut bad = Vec::new();
        for cell in cells {
            let parsed = self.nulls.typed(cell).map(&parse);
            if let Some(Ok(value)) = parsed {
                values.push(value);
                validity.append_non_null();
                continue;
            }
            if let Some(problem) = self.problem(cell, parsed.and_then(Result::err)) {
                bad.push(BadCell { at: values.len(), ..problem });
                if self.is_first_enough {
                    break;
                }
            }
            values.push(T::default());
            validity.append_null();
        }
        (values, validity, bad)
    }

    /// What is wrong with a value that was not read, if anything is.
    fn problem(&self, cell: Cell<'_>, misfit: Option<Option<Misfit>>) -> Option<BadCell> {
        let data_type = &self.column.data_type;
        let why = match misfit {
            None if self.column.is_required => "is null, which this column takes not".to_owned(),
            None => return None,
            Some(Some(Misfit::Unfit(Unfit::TooFine))) => {
                format!("is finer than {data_type} can keep; a finer unit can")
            }
            Some(Some(Misfit::Unfit(Unfit::OutOfRange))) => {
                format!("is outside what {data_type} can keep")
            }
            Some(Some(Misfit::LeadingZeros)) => {
                format!("begins with zeros, which {data_type} would lose: text keeps them")
            }
            Some(None) if let Written::As(format) = &self.column.written => {
                format!("is not a time in the format '{format}'")
            }
            Some(None) if matches!(data_type, DataType::Timestamp(..)) => {
                format!("is not {}", no_time(cell.text.unwrap_or_default()))
            }
            Some(None) => format!("is not {}", expected(data_type)),
        };
        Some(BadCell { at: 0, value: shorten(cell.text.unwrap_or_default()), why })
    }

    fn primitives<'a, P: ArrowPrimitiveType>(
        &self,
        cells: impl Iterator<Item = Cell<'a>>,
        parse: impl Fn(&'a [u8]) -> Result<P::Native, Option<Misfit>>,
    ) -> Converted {
        let (values, mut validity, bad) = self.each(cells, parse);
        let array = PrimitiveArray::<P>::new(values.into(), validity.finish());
        Converted { array: Arc::new(array), bad }
    }

    fn booleans<'a>(&self, cells: impl Iterator<Item = Cell<'a>>) -> Converted {
        let parse = |text: &'a [u8]| match text {
            b"1" => Ok(true),
            b"0" => Ok(false),
            _ => number::boolean(text).ok_or(None),
        };
        let (values, mut validity, bad) = self.each(cells, parse);
        Converted { array: Arc::new(BooleanArray::new(values.into(), validity.finish())), bad }
    }

    fn times<'a>(&self, cells: impl Iterator<Item = Cell<'a>>, unit: TimeUnit) -> Converted {
        let Column { epoch: from, written, decimal, .. } = self.column;
        let parse = |text: &'a [u8]| {
            let time = match (written.instant(text), written) {
                (Some(instant), _) => instant.to_unit(unit),
                (None, Written::As(_)) => return Err(None),
                (None, _) => instant::epoch(&pointed(text, *decimal), *from, unit).ok_or(None)?,
            };
            time.map_err(|unfit| Some(Misfit::Unfit(unfit)))
        };
        let Converted { array, bad } = self.primitives::<Int64Type>(cells, parse);
        // Times are numbers of 64 bits.
        Converted { array: relabeled(&array, &self.column.data_type).unwrap_or(array), bad }
    }

    fn texts<'a>(&self, cells: impl Iterator<Item = Cell<'a>> + Clone) -> Converted {
        let (array, mut bad) = self.valid_texts(cells.clone());
        if let Some(array) = array {
            return Converted { array: Arc::new(array), bad };
        }
        // Some value is no UTF-8: the slow way, which tells which.
        let mut values = Vec::new();
        for (at, cell) in cells.enumerate() {
            let text = self.nulls.text(cell);
            match text.map(std::str::from_utf8).transpose() {
                Ok(text) => values.push(text),
                Err(_) => {
                    let value = shorten(text.unwrap_or_default());
                    bad.push(BadCell { at, value, why: "is not UTF-8 text".to_owned() });
                    values.push(None);
                }
            }
        }
        bad.sort_by_key(|cell| cell.at);
        Converted { array: Arc::new(StringArray::from(values)), bad }
    }

    /// The array, unless a value is no UTF-8.
    fn valid_texts<'a>(
        &self,
        cells: impl Iterator<Item = Cell<'a>>,
    ) -> (Option<StringArray>, Vec<BadCell>) {
        let rows = cells.size_hint().0;
        let (mut bytes, mut ends) = (Vec::with_capacity(rows * 8), Vec::with_capacity(rows + 1));
        let (mut validity, mut bad) = (NullBufferBuilder::new(rows), Vec::new());
        ends.push(0i32);
        for (at, cell) in cells.enumerate() {
            if let Some(text) = self.nulls.text(cell) {
                bytes.extend_from_slice(text);
                validity.append_non_null();
            } else {
                if let Some(problem) = self.problem(cell, None) {
                    bad.push(BadCell { at, ..problem });
                }
                validity.append_null();
            }
            // Pieces are far smaller than what does not fit here.
            ends.push(i32::try_from(bytes.len()).unwrap_or(i32::MAX));
        }
        let offsets = OffsetBuffer::new(ScalarBuffer::from(ends));
        (StringArray::try_new(offsets, Buffer::from_vec(bytes), validity.finish()).ok(), bad)
    }

    /// Types that are rare in text, by way of it.
    fn cast<'a>(
        &self,
        cells: impl Iterator<Item = Cell<'a>> + Clone,
        data_type: &DataType,
    ) -> Converted {
        let kept = cells.clone().map(|cell| Cell {
            text: self.nulls.typed(cell).filter(|text| !loses_digits(text, data_type)),
            is_quoted: true,
        });
        let as_text =
            Column { data_type: DataType::Utf8, is_required: false, ..self.column.clone() };
        let texts = Fill { column: &as_text, ..*self }.texts(kept).array;
        let array = convert::cast(&texts, data_type).map_or_else(
            |_| arrow_array::new_null_array(data_type, texts.len()),
            |converted| converted.column,
        );
        // What was there and is gone was not of the type.
        let lost = cells.enumerate().filter(|(at, _)| array.is_null(*at));
        let bad = lost.filter_map(|(at, cell)| {
            let problem = self.problem(cell, self.nulls.typed(cell).map(|_| None))?;
            Some(BadCell { at, ..problem })
        });
        let bad = bad.collect();
        Converted { array, bad }
    }
}

/// Whether a column would lose digits of a number: zeros in front of it, or those that a decimal one would round.
fn loses_digits(text: &[u8], data_type: &DataType) -> bool {
    if data_type.is_numeric() && number::is_whole(text) && number::has_leading_zeros(text) {
        return true;
    }
    let (DataType::Decimal32(_, scale)
    | DataType::Decimal64(_, scale)
    | DataType::Decimal128(_, scale)
    | DataType::Decimal256(_, scale)) = data_type
    else {
        return false;
    };
    let decimals = text.iter().position(|byte| *byte == b'.').and_then(|at| text.get(at + 1..));
    let kept = usize::try_from(*scale).unwrap_or(0);
    let rest = decimals.and_then(|decimals| decimals.get(kept..)).unwrap_or_default();
    rest.iter().any(|byte| *byte != b'0')
}

/// What a text should have been that is not a time, and why it is none where many write it so.
pub(super) fn no_time(text: &[u8]) -> String {
    let clock = text.iter().position(|byte| *byte == b':');
    let hour = clock.and_then(|colon| text.get(colon.checked_sub(2)?..colon));
    let is_bare = clock.is_some_and(|colon| colon <= 2 && !text.contains(&b'-'));
    let why = match hour {
        Some(b"24") => ": hours end at 23, and midnight is 00:00:00 of the next day",
        _ if is_bare => ": a time of day needs its date",
        _ => "",
    };
    format!("{TIME}{why}")
}

/// What a value should have been.
fn expected(data_type: &DataType) -> String {
    match data_type {
        DataType::Int64 => "an integer (Int64)".to_owned(),
        DataType::Float64 => "a number (Float64)".to_owned(),
        DataType::Boolean => "true or false (Boolean)".to_owned(),
        DataType::Date32 => "a date (YYYY-MM-DD)".to_owned(),
        DataType::Timestamp(..) => TIME.to_owned(),
        other => format!("of type {other}"),
    }
}

/// The values of an array of text.
pub(super) fn cells_of(array: &ArrayRef) -> Option<impl Iterator<Item = Cell<'_>> + Clone> {
    let texts = array.as_string_opt::<i32>()?;
    Some((0..texts.len()).map(|at| Cell {
        text: (!texts.is_null(at)).then(|| texts.value(at).as_bytes()),
        is_quoted: true,
    }))
}
