//! Made-up rows, the same in every run.
//!
//! A row's *place* is its position in the order of ingest; its time is the place times
//! [`STEP`], moved where a [`Shuffle`] says so.

use std::sync::Arc;

use arrow_array::{ArrayRef, BinaryArray, Int64Array, RecordBatch};
use arrow_buffer::{Buffer, OffsetBuffer};
use arrow_schema::{DataType, Field, Schema, SchemaRef};

use crate::Result;

/// Time between two rows that are in order.
pub const STEP: i64 = 1_000;

/// Random numbers that are the same in every run (SplitMix64).
#[derive(Debug, Clone)]
pub struct Numbers(u64);

impl Numbers {
    /// A sequence of its own for each seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`, which must not be 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// Bytes that don't compress.
    pub fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.next_u64() as u8).collect()
    }
}

/// Which rows are out of order, and by how much.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shuffle {
    /// None.
    InOrder,
    /// One in five is late, by 1 to this many places, evenly spread.
    Late(u64),
    /// One in ten is late, one in ten is early, by 1 to this many places, evenly spread.
    LateAndEarly(u64),
    /// As `LateAndEarly`, and one in a hundred anywhere among all rows so far.
    Anywhere(u64),
}

impl Shuffle {
    /// Time of the row at `place`.
    pub fn time(self, place: u64, numbers: &mut Numbers) -> i64 {
        let moved = |places: u64, numbers: &mut Numbers| 1 + numbers.below(places) as i64;
        let place = place as i64;
        let moved_to = match self {
            Self::InOrder => place,
            Self::Late(places) => match numbers.below(5) {
                0 => place - moved(places, numbers),
                _ => place,
            },
            Self::LateAndEarly(places) => match numbers.below(10) {
                0 => place - moved(places, numbers),
                1 => place + moved(places, numbers),
                _ => place,
            },
            Self::Anywhere(places) => match numbers.below(100) {
                0 => place - moved(place.unsigned_abs() + 1, numbers),
                1..=10 => place - moved(places, numbers),
                11..=20 => place + moved(places, numbers),
                _ => place,
            },
        };
        moved_to * STEP
    }
}

/// Columns of rows with one value of bytes: `time` and `value`.
pub fn bytes_schema() -> SchemaRef {
    schema_of(DataType::Binary)
}

fn schema_of(value: DataType) -> SchemaRef {
    let fields = [("time", DataType::Int64), ("value", value)];
    Arc::new(Schema::new(fields.map(|(name, kind)| Field::new(name, kind, false)).to_vec()))
}

/// Makes batches of rows, place after place.
#[derive(Debug)]
pub struct Batches {
    schema: SchemaRef,
    shuffle: Shuffle,
    numbers: Numbers,
    place: u64,
    values: Values,
}

#[derive(Debug)]
enum Values {
    Numbers,
    /// The bytes of each value.
    Bytes(usize),
}

impl Batches {
    /// Rows of 16 bytes: `time` and a whole number, `value`.
    pub fn of_numbers(shuffle: Shuffle) -> Self {
        Self::of(schema_of(DataType::Int64), shuffle, Values::Numbers)
    }

    /// Rows of [`bytes_schema`] with values of `bytes` bytes.
    pub fn of_bytes(shuffle: Shuffle, bytes: usize) -> Self {
        Self::of(bytes_schema(), shuffle, Values::Bytes(bytes))
    }

    fn of(schema: SchemaRef, shuffle: Shuffle, values: Values) -> Self {
        Self { schema, shuffle, numbers: Numbers::new(1), place: 0, values }
    }

    /// The columns.
    pub fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    /// Time of the next row, which counts as made.
    pub fn next_time(&mut self) -> i64 {
        let time = self.shuffle.time(self.place, &mut self.numbers);
        self.place += 1;
        time
    }

    /// The next rows.
    pub fn next_batch(&mut self, rows: usize) -> Result<RecordBatch> {
        let times: Int64Array = (0..rows).map(|_| self.next_time()).collect::<Vec<_>>().into();
        let values: ArrayRef = match self.values {
            Values::Numbers => {
                let values = (0..rows).map(|_| self.numbers.next_u64() as i64);
                Arc::new(Int64Array::from(values.collect::<Vec<_>>()))
            }
            Values::Bytes(bytes) => {
                let data = Buffer::from_vec(self.numbers.bytes(rows * bytes));
                let offsets = OffsetBuffer::from_lengths(std::iter::repeat_n(bytes, rows));
                Arc::new(BinaryArray::try_new(offsets, data, None)?)
            }
        };
        Ok(RecordBatch::try_new(self.schema(), vec![Arc::new(times), values])?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_row_in_five_is_late_and_none_is_early() {
        let (mut numbers, mut late) = (Numbers::new(7), 0);
        for place in 0..100_000 {
            let time = Shuffle::Late(50).time(place, &mut numbers);
            assert!(time <= place as i64 * STEP && time >= (place as i64 - 50) * STEP);
            late += u64::from(time < place as i64 * STEP);
        }
        assert!((19_000..21_000).contains(&late), "{late} of 100,000 rows are late");
    }

    #[test]
    fn batches_hold_what_was_asked_for() -> Result<()> {
        let mut batches = Batches::of_bytes(Shuffle::InOrder, 64);
        batches.next_batch(10)?;
        let batch = batches.next_batch(10)?;
        assert_eq!((batch.num_rows(), batch.num_columns()), (10, 2));
        let times = batch.column(0).to_data();
        assert_eq!(times.buffer::<i64>(0), (10..20).map(|place| place * STEP).collect::<Vec<_>>());
        Ok(())
    }
}
