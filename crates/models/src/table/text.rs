//! Times as text, for forms that have no type for them.

use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_cast::cast;
use arrow_schema::{DataType, Field, FieldRef, Schema, TimeUnit};

use super::source::instant::date_of;

const SECONDS_PER_DAY: i64 = 86_400;
/// Bytes of a time with nine digits behind the point.
const TEXT_BYTES: usize = 30;
/// First and last day with a year of four digits.
const DAYS: std::ops::RangeInclusive<i64> = -719_528..=2_932_896;

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
    let DataType::Timestamp(unit, zone) = column.data_type() else { return None };
    if zone.as_ref().is_some_and(|zone| !matches!(zone.as_ref(), "UTC" | "+00:00")) {
        return None;
    }
    let a_second: i64 = match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1_000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => 1_000_000_000,
    };
    let numbers = cast(column, &DataType::Int64).ok()?;
    let numbers = numbers.as_primitive_opt::<Int64Type>()?;
    let mut texts = StringBuilder::with_capacity(numbers.len(), numbers.len() * TEXT_BYTES);
    let mut writer = Writer { day: None, text: [0; TEXT_BYTES], has_zone: zone.is_some() };
    for number in numbers {
        match number {
            None => texts.append_null(),
            Some(number) => {
                let fraction = number.rem_euclid(a_second) * (1_000_000_000 / a_second);
                texts.append_value(writer.write(number.div_euclid(a_second), fraction)?);
            }
        }
    }
    Some(Arc::new(texts.finish()))
}

/// Writes one time after the other. Those that follow each other are mostly of one day.
struct Writer {
    day: Option<i64>,
    text: [u8; TEXT_BYTES],
    has_zone: bool,
}

impl Writer {
    /// `YYYY-MM-DDTHH:MM:SS`, then no digits or three, six or nine, as many as are needed.
    fn write(&mut self, seconds: i64, nanoseconds: i64) -> Option<&str> {
        let (day, of_day) =
            (seconds.div_euclid(SECONDS_PER_DAY), seconds.rem_euclid(SECONDS_PER_DAY));
        if self.day != Some(day) {
            if !DAYS.contains(&day) {
                return None;
            }
            let (year, month, day_of_month) = date_of(day);
            digits(self.text.get_mut(..4)?, year);
            digits(self.text.get_mut(5..7)?, month);
            digits(self.text.get_mut(8..10)?, day_of_month);
            for (place, sign) in [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':')] {
                *self.text.get_mut(place)? = sign;
            }
            self.day = Some(day);
        }
        digits(self.text.get_mut(11..13)?, of_day / 3600);
        digits(self.text.get_mut(14..16)?, of_day / 60 % 60);
        digits(self.text.get_mut(17..19)?, of_day % 60);
        let (count, fraction) = match nanoseconds {
            0 => (0, 0),
            _ if nanoseconds % 1_000_000 == 0 => (3, nanoseconds / 1_000_000),
            _ if nanoseconds % 1_000 == 0 => (6, nanoseconds / 1_000),
            _ => (9, nanoseconds),
        };
        let mut end = 19;
        if count > 0 {
            *self.text.get_mut(end)? = b'.';
            digits(self.text.get_mut(end + 1..end + 1 + count)?, fraction);
            end += 1 + count;
        }
        if self.has_zone {
            *self.text.get_mut(end)? = b'Z';
            end += 1;
        }
        std::str::from_utf8(self.text.get(..end)?).ok()
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
mod tests {
    use arrow_array::{Int64Array, make_array};
    use arrow_cast::display::{ArrayFormatter, FormatOptions};
    use proptest::prelude::*;

    use super::*;

    fn any_time() -> impl Strategy<Value = Option<i64>> {
        prop_oneof![
            Just(None),
            any::<i64>().prop_map(Some),
            (-10_000_000_i64..10_000_000_000).prop_map(Some),
            (-1_000_000_i64..2_000_000).prop_map(|number| Some(number * 1_000_000)),
            (-100_000_000_000_i64..260_000_000_000).prop_map(Some),
        ]
    }

    proptest! {
        #[test]
        fn times_are_written_as_arrow_writes_them(
            numbers in prop::collection::vec(any_time(), 0..40),
            unit in 0..4_usize,
            zone in 0..4_usize,
        ) {
            let unit = [TimeUnit::Second, TimeUnit::Millisecond, TimeUnit::Microsecond,
                TimeUnit::Nanosecond][unit];
            let zone = [None, Some("UTC"), Some("+00:00"), Some("+02:00")][zone];
            let data_type = DataType::Timestamp(unit, zone.map(Into::into));
            let data = Int64Array::from(numbers).into_data().into_builder();
            let times = make_array(data.data_type(data_type.clone()).build().unwrap());
            let schema = Schema::new(vec![Field::new("t", data_type, true)]);
            let batch = RecordBatch::try_new(Arc::new(schema), vec![times.clone()]).unwrap();
            let written = times_as_text(&batch);
            let options = FormatOptions::new();
            let expected = ArrayFormatter::try_new(times.as_ref(), &options).unwrap();
            let found = ArrayFormatter::try_new(written.column(0).as_ref(), &options).unwrap();
            for row in 0..times.len() {
                if let Ok(expected) = expected.value(row).try_to_string() {
                    prop_assert_eq!(found.value(row).to_string(), expected);
                }
            }
        }
    }
}
