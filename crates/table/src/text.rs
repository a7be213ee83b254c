//! Times as text, for output formats that have no type for them.

use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch, RecordBatchOptions};
use arrow_cast::cast;
use arrow_schema::{DataType, Field, FieldRef, Schema};
use timestrata_values::instant::{date_of, per_second};
use timestrata_values::time::{SECONDS_PER_DAY, YEARS_DAYS};

/// Bytes of a time with nine digits behind the point.
const TEXT_BYTES: usize = 30;

/// The same rows, their times as RFC 3339 text: as Arrow's own writers of JSON and CSV put them,
/// in a fraction of the time. Times in zones other than UTC, and of years that take more than four
/// digits, are left to these writers.
pub fn times_as_text(batch: &RecordBatch) -> RecordBatch {
    let found = batch.schema();
    let mut fields: Vec<FieldRef> = found.fields().to_vec();
    let mut columns = batch.columns().to_vec();
    for (field, column) in fields.iter_mut().zip(&mut columns) {
        if let Some(text) = text_of(column) {
            *field = Arc::new(Field::new(field.name(), DataType::Utf8, field.is_nullable()));
            *column = text;
        }
    }
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    let schema = Arc::new(Schema::new(fields));
    RecordBatch::try_new_with_options(schema, columns, &options).unwrap_or_else(|_| batch.clone())
}

/// A column of times as text, unless it is none or has to be left to others.
fn text_of(column: &ArrayRef) -> Option<ArrayRef> {
    let mut times = TimeTexts::of(column.as_ref())?;
    let mut texts = StringBuilder::with_capacity(column.len(), column.len() * TEXT_BYTES);
    for row in 0..column.len() {
        match column.is_null(row) {
            true => texts.append_null(),
            false => texts.append_value(times.text(row)),
        }
    }
    Some(Arc::new(texts.finish()))
}

/// The times of a column, one after the other as RFC 3339. Those that follow each other are mostly
/// of one minute, which is written once.
///
/// ```
/// use arrow_array::TimestampMillisecondArray;
/// use timestrata_table::TimeTexts;
///
/// let times = TimestampMillisecondArray::from(vec![1_714_550_400_250]).with_timezone("UTC");
/// let mut texts = TimeTexts::of(&times).unwrap();
/// assert_eq!(texts.text(0), "2024-05-01T08:00:00.250Z");
/// ```
#[derive(Debug)]
pub struct TimeTexts {
    times: Int64Array,
    a_second: i64,
    has_zone: bool,
    /// Where the minute begins that `text` is of, in units of the column.
    minute: i64,
    /// How long it is: nothing at first.
    minute_len: u64,
    text: [u8; TEXT_BYTES],
}

impl TimeTexts {
    /// `None` where the column has no times, or some that are left to others: in zones other than
    /// UTC, or of years that take more than four digits.
    pub fn of(column: &dyn Array) -> Option<Self> {
        let DataType::Timestamp(unit, zone) = column.data_type() else { return None };
        if zone.as_ref().is_some_and(|zone| !matches!(zone.as_ref(), "UTC" | "+00:00")) {
            return None;
        }
        let a_second = per_second(*unit);
        let times = cast(column, &DataType::Int64).ok()?;
        let times = times.as_primitive_opt::<Int64Type>()?.clone();
        let is_written =
            |time: i64| YEARS_DAYS.contains(&time.div_euclid(a_second * SECONDS_PER_DAY));
        let ends = [times.iter().flatten().min(), times.iter().flatten().max()];
        if !ends.into_iter().flatten().all(is_written) {
            return None;
        }
        let has_zone = zone.is_some();
        let text = *b"0000-00-00T00:00:00.000000000Z";
        Some(Self { times, a_second, has_zone, minute: 0, minute_len: 0, text })
    }

    /// The time of a row, which must not be null: `YYYY-MM-DDTHH:MM:SS`, then no digits or three,
    /// six or nine, as many as are needed, and `Z` if the column has a zone.
    pub fn text(&mut self, row: usize) -> &str {
        let end = self.write(row);
        std::str::from_utf8(&self.text[..end]).unwrap_or_default()
    }

    /// Appends the same text.
    pub fn append(&mut self, row: usize, out: &mut Vec<u8>) {
        let end = out.len() + self.write(row);
        // To copy as many bytes each time takes no call.
        out.extend_from_slice(&self.text);
        out.truncate(end);
    }

    /// Writes the time of a row to `text`, and says how long it is.
    fn write(&mut self, row: usize) -> usize {
        let time = self.times.values().get(row).copied().unwrap_or(0);
        // The first nanoseconds that there are belong to a minute that began before these.
        if time.wrapping_sub(self.minute) as u64 >= self.minute_len {
            self.write_minute(time);
        }
        let of_minute = time.wrapping_sub(self.minute);
        let (second, rest) = (of_minute / self.a_second, of_minute % self.a_second);
        digits(&mut self.text[17..19], second);
        let nanoseconds = rest * (1_000_000_000 / self.a_second);
        let (count, fraction) = match nanoseconds {
            0 => (0, 0),
            _ if nanoseconds % 1_000_000 == 0 => (3, nanoseconds / 1_000_000),
            _ if nanoseconds % 1_000 == 0 => (6, nanoseconds / 1_000),
            _ => (9, nanoseconds),
        };
        let mut end = 19;
        if count > 0 {
            self.text[end] = b'.';
            digits(&mut self.text[end + 1..end + 1 + count], fraction);
            end += 1 + count;
        }
        if self.has_zone {
            self.text[end] = b'Z';
            end += 1;
        }
        end
    }

    /// Writes the date, the hour and the minute of a time.
    #[inline(never)]
    fn write_minute(&mut self, time: i64) {
        let minutes = time.div_euclid(self.a_second).div_euclid(60);
        let (day, of_day) = (minutes.div_euclid(24 * 60), minutes.rem_euclid(24 * 60));
        let (year, month, day_of_month) = date_of(day);
        digits(&mut self.text[..4], year);
        digits(&mut self.text[5..7], month);
        digits(&mut self.text[8..10], day_of_month);
        digits(&mut self.text[11..13], of_day / 60);
        digits(&mut self.text[14..16], of_day % 60);
        let a_minute = 60 * self.a_second;
        self.minute = minutes.wrapping_mul(a_minute);
        self.minute_len = a_minute.unsigned_abs();
    }
}

/// Writes a number that has no more digits than there is room for.
fn digits(text: &mut [u8], mut number: i64) {
    for digit in text.iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
    }
}

#[cfg(test)]
mod tests;
