//! Which row replaces which, in tables whose upsert key lacks the time.
//!
//! Such a table has a second stream, from a row's identity to its time. A single column of whole
//! numbers is itself the index's key; any other key goes by its hash, with the columns behind it,
//! so that two keys of one hash are still two.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::builder::FixedSizeBinaryBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch, UInt32Array, UInt64Array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use timestrata_engine::{
    Cell, Error, ErrorKind, KeyRange, LeadKey, Result, ScanSpec, Snapshot, StreamId,
};
use twox_hash::XxHash3_128;

use super::layout::Layout;

const NUMBER_COLUMN: &str = "number";
const HASH_COLUMN: &str = "hash";
const HASH_BYTES: i32 = 16;
/// Column of the index, the last one.
const TIME_COLUMN: &str = "time";
/// From this share of a range on, reading the range is cheaper than asking for each key.
const DENSE_SHARE: u64 = 32;

/// The columns of an index and the names of its key columns.
///
/// # Errors
/// `InvalidArgument` for a key of a type that no row can be found by.
pub(super) fn index_columns(
    columns: &Schema,
    key: &[String],
    time_name: &str,
) -> Result<(Vec<Field>, Vec<String>)> {
    let field = |name: &str| {
        columns.field_with_name(name).map_err(|_| {
            Error::new(ErrorKind::InvalidArgument, format!("there is no column '{name}'"))
        })
    };
    let key_fields = key.iter().map(|name| field(name)).collect::<Result<Vec<_>>>()?;
    let mut fields = Vec::new();
    if matches!(key_fields[..], [field] if field.data_type().is_integer()) {
        fields.push(Field::new(NUMBER_COLUMN, DataType::UInt64, false));
    } else {
        fields.push(Field::new(HASH_COLUMN, DataType::FixedSizeBinary(HASH_BYTES), false));
        for (number, field) in key_fields.iter().enumerate() {
            if !Cell::can_express(field.data_type()) {
                let (name, data_type) = (field.name(), field.data_type());
                let message = format!(
                    "column '{name}' has type {data_type}, by which no row can be found: choose \
                     another key"
                );
                return Err(Error::new(ErrorKind::InvalidArgument, message));
            }
            fields.push(Field::new(format!("key{number}"), field.data_type().clone(), false));
        }
    }
    let names = fields.iter().map(|field| field.name().clone()).collect();
    fields.push(Field::new(TIME_COLUMN, field(time_name)?.data_type().clone(), false));
    Ok((fields, names))
}

fn cells_at<'a>(columns: &'a [&'a ArrayRef], row: usize) -> impl Iterator<Item = Cell<'a>> {
    columns.iter().map(move |column| Cell::of(column, row).unwrap_or(Cell::Null))
}

/// Identities of the rows of a batch.
#[derive(Debug)]
pub(super) enum Identities {
    Numbers(Vec<u64>),
    /// Each the values of the key columns, one behind the other.
    Bytes(Vec<Box<[u8]>>),
}

impl Identities {
    /// Of the rows of a batch in the table's columns.
    pub(super) fn of(layout: &Layout, batch: &RecordBatch) -> Result<Self> {
        let columns = layout.key_columns();
        let columns: Vec<_> = columns.iter().map(|column| batch.column(*column)).collect();
        match columns[..] {
            [column] if layout.has_number_key() => numbers(column).map(Self::Numbers),
            _ => {
                let key = |row| key_bytes(cells_at(&columns, row));
                (0..batch.num_rows()).map(key).collect::<Result<_>>().map(Self::Bytes)
            }
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::Numbers(numbers) => numbers.len(),
            Self::Bytes(keys) => keys.len(),
        }
    }

    /// The rows that no later row of the same batch replaces; `None`: all.
    pub(super) fn last_of_each(&self) -> Option<UInt32Array> {
        let rows = match self {
            Self::Numbers(numbers) if numbers.is_sorted_by(|a, b| a < b) => return None,
            Self::Numbers(numbers) => last_rows(numbers.iter()),
            Self::Bytes(keys) => last_rows(keys.iter()),
        };
        (rows.len() < self.len()).then(|| UInt32Array::from(rows))
    }

    /// The rows of the index for these rows.
    pub(super) fn index_rows(
        &self,
        layout: &Layout,
        index: &SchemaRef,
        batch: &RecordBatch,
    ) -> Result<RecordBatch> {
        let mut columns: Vec<ArrayRef> = Vec::with_capacity(index.fields().len());
        match self {
            Self::Numbers(numbers) => columns.push(Arc::new(UInt64Array::from(numbers.clone()))),
            Self::Bytes(keys) => {
                let mut hashes = FixedSizeBinaryBuilder::with_capacity(keys.len(), HASH_BYTES);
                for key in keys {
                    hashes.append_value(hash(key)).map_err(unmade)?;
                }
                columns.push(Arc::new(hashes.finish()));
                columns.extend(layout.key_arrays(batch));
            }
        }
        columns.push(ArrayRef::clone(batch.column(layout.time())));
        RecordBatch::try_new(Arc::clone(index), columns).map_err(unmade)
    }
}

fn unmade(error: arrow_schema::ArrowError) -> Error {
    Error::new(ErrorKind::InvalidData, "the rows make no index").caused_by(error)
}

fn last_rows<K: std::hash::Hash + Eq>(keys: impl Iterator<Item = K>) -> Vec<u32> {
    let mut last = HashMap::new();
    for (row, key) in keys.enumerate() {
        last.insert(key, row as u32);
    }
    let mut rows: Vec<u32> = last.into_values().collect();
    rows.sort_unstable();
    rows
}

/// Whole numbers as unsigned ones, in the same order.
fn numbers(column: &ArrayRef) -> Result<Vec<u64>> {
    match column.as_primitive_opt::<UInt64Type>() {
        Some(numbers) if numbers.null_count() == 0 => Ok(numbers.values().to_vec()),
        _ => (0..column.len())
            .map(|row| number(Cell::of(column, row).unwrap_or(Cell::Null)))
            .collect(),
    }
}

fn number(cell: Cell<'_>) -> Result<u64> {
    match cell {
        Cell::UInt(number) => Ok(number),
        Cell::Int(number) => Ok(number.cast_unsigned() ^ (1 << 63)),
        _ => Err(no_key()),
    }
}

fn no_key() -> Error {
    Error::new(ErrorKind::InvalidData, "a row has no key")
}

/// The values of a key, so that other values are other bytes.
fn key_bytes<'a>(cells: impl Iterator<Item = Cell<'a>>) -> Result<Box<[u8]>> {
    let mut key = Vec::new();
    for cell in cells {
        match cell {
            Cell::Bool(value) => key.push(u8::from(value)),
            Cell::Int(value) => key.extend(value.to_le_bytes()),
            Cell::UInt(value) => key.extend(value.to_le_bytes()),
            Cell::Float(value) => key.extend(value.to_bits().to_le_bytes()),
            Cell::Bytes(value) => put_bytes(&mut key, value),
            Cell::Text(value) => put_bytes(&mut key, value.as_bytes()),
            Cell::Null => return Err(no_key()),
        }
    }
    Ok(key.into())
}

fn put_bytes(key: &mut Vec<u8>, value: &[u8]) {
    key.extend((value.len() as u64).to_le_bytes());
    key.extend(value);
}

fn hash(key: &[u8]) -> [u8; HASH_BYTES as usize] {
    XxHash3_128::oneshot(key).to_be_bytes()
}

/// The time at which the row with an upsert key is, one cell a key column.
pub(super) fn time_of(
    snapshot: &Snapshot,
    index: StreamId,
    is_number: bool,
    key: &[Cell<'_>],
) -> Result<Option<i64>> {
    let hashed;
    let mut cells = Vec::with_capacity(1 + key.len());
    match key {
        [cell] if is_number => cells.push(Cell::UInt(number(*cell)?)),
        _ => {
            hashed = hash(&key_bytes(key.iter().copied())?);
            cells.push(Cell::Bytes(&hashed));
            cells.extend(key);
        }
    }
    let Some(found) = snapshot.get(index, &cells)? else { return Ok(None) };
    Ok(time_at(&found.batch, found.index))
}

/// The time in a row of the index.
fn time_at(batch: &RecordBatch, row: usize) -> Option<i64> {
    match Cell::of(batch.columns().last()?, row) {
        Some(Cell::Int(time)) => Some(time),
        _ => None,
    }
}

/// The times at which rows of the same identities are, as a snapshot sees them.
pub(super) fn times_of(
    snapshot: &Snapshot,
    index: StreamId,
    identities: &Identities,
    key_columns: &[ArrayRef],
) -> Result<Vec<Option<i64>>> {
    let borrowed: Vec<_> = key_columns.iter().collect();
    let look_up = |row| {
        let key: Vec<_> = cells_at(&borrowed, row).collect();
        time_of(snapshot, index, matches!(identities, Identities::Numbers(_)), &key)
    };
    let Identities::Numbers(numbers) = identities else {
        return (0..identities.len()).map(look_up).collect();
    };
    match known_numbers(snapshot, index, numbers)? {
        Known::None => Ok(vec![None; numbers.len()]),
        Known::All(times) => Ok(numbers.iter().map(|number| times.get(number).copied()).collect()),
        Known::UpTo(greatest) => {
            let row = |(row, number): (usize, &u64)| match *number <= greatest {
                true => look_up(row),
                false => Ok(None),
            };
            numbers.iter().enumerate().map(row).collect()
        }
    }
}

/// What is known of some numbers without asking for each.
enum Known {
    /// None of them is in the index: numbers mostly go up.
    None,
    /// Those that are in the index.
    All(HashMap<u64, i64>),
    /// Those above are not in the index.
    UpTo(u64),
}

fn known_numbers(snapshot: &Snapshot, index: StreamId, numbers: &[u64]) -> Result<Known> {
    let (Some(smallest), Some(largest)) = (numbers.iter().min(), numbers.iter().max()) else {
        return Ok(Known::None);
    };
    let greatest = match snapshot.max_key(index, &KeyRange::ALL)? {
        Some(LeadKey::Offset(greatest)) if greatest >= *smallest => greatest,
        _ => return Ok(Known::None),
    };
    let range = KeyRange::closed(LeadKey::Offset(*smallest), LeadKey::Offset(*largest));
    let rows = snapshot.count(index, &range)?;
    if rows / DENSE_SHARE > numbers.len() as u64 {
        return Ok(Known::UpTo(greatest));
    }
    let mut times = HashMap::with_capacity(rows as usize);
    for batch in snapshot.scan(index, &ScanSpec { range, ..ScanSpec::default() })? {
        let batch = batch?;
        let Some(keys) = batch.column(0).as_primitive_opt::<UInt64Type>() else { continue };
        times.extend(
            (0..keys.len()).filter_map(|row| Some((keys.value(row), time_at(&batch, row)?))),
        );
    }
    Ok(Known::All(times))
}

/// What one commit has written so far, by identity: of a row that is written more than once the
/// last time counts.
#[derive(Debug, Default)]
pub(super) struct Written {
    /// Numbers that only go up are each written once, and need no list.
    greatest: Option<u64>,
    numbers: Option<HashMap<u64, i64>>,
    bytes: HashMap<Box<[u8]>, i64>,
}

impl Written {
    /// Notes the times of rows, whose identities differ. Gives those which they had before;
    /// `entries` is what the index got so far.
    pub(super) fn put(
        &mut self,
        identities: &Identities,
        times: &[i64],
        entries: &[RecordBatch],
    ) -> Result<Vec<Option<i64>>> {
        let numbers = match identities {
            Identities::Bytes(keys) => {
                let rows = keys.iter().zip(times);
                return Ok(rows.map(|(key, time)| self.bytes.insert(key.clone(), *time)).collect());
            }
            Identities::Numbers(numbers) => numbers,
        };
        let goes_up = numbers.is_sorted_by(|a, b| a < b)
            && numbers.first().is_none_or(|first| self.greatest.is_none_or(|last| *first > last));
        if goes_up && self.numbers.is_none() {
            self.greatest = numbers.last().copied().or(self.greatest);
            return Ok(vec![None; numbers.len()]);
        }
        let known = match &mut self.numbers {
            Some(known) => known,
            none => none.insert(times_by_number(entries)?),
        };
        Ok(numbers.iter().zip(times).map(|(number, time)| known.insert(*number, *time)).collect())
    }

    /// The last time of each; `times` where it was written once.
    pub(super) fn last(&self, identities: &Identities, times: Vec<i64>) -> Vec<i64> {
        let known = |row: usize| match (identities, &self.numbers) {
            (Identities::Numbers(numbers), Some(known)) => known.get(numbers.get(row)?),
            (Identities::Numbers(_), None) => None,
            (Identities::Bytes(keys), _) => self.bytes.get(keys.get(row)?),
        };
        let times = times.into_iter().enumerate();
        times.map(|(row, time)| known(row).copied().unwrap_or(time)).collect()
    }
}

/// The times in rows of an index of numbers.
fn times_by_number(entries: &[RecordBatch]) -> Result<HashMap<u64, i64>> {
    let mut times = HashMap::new();
    for batch in entries {
        let numbers = numbers(batch.column(0))?;
        let of_rows = (0..batch.num_rows()).filter_map(|row| time_at(batch, row));
        times.extend(numbers.into_iter().zip(of_rows));
    }
    Ok(times)
}

impl Identities {
    /// Of rows of the index, with the columns of the upsert key.
    pub(super) fn of_index(
        layout: &Layout,
        entries: &RecordBatch,
    ) -> Result<(Self, Vec<ArrayRef>)> {
        let columns = entries.columns();
        if !layout.has_number_key() {
            let key = columns.get(1..columns.len().saturating_sub(1)).unwrap_or_default();
            let borrowed: Vec<_> = key.iter().collect();
            let bytes = |row| key_bytes(cells_at(&borrowed, row));
            let keys = (0..entries.num_rows()).map(bytes).collect::<Result<_>>()?;
            return Ok((Self::Bytes(keys), key.to_vec()));
        }
        let numbers = numbers(entries.column(0))?;
        let key = layout.key_columns();
        let data_type = match key[..] {
            [column] => layout.schema.field(column).data_type().clone(),
            _ => DataType::UInt64,
        };
        let column: ArrayRef = match data_type.is_signed_integer() {
            true => {
                let signed = numbers.iter().map(|number| (number ^ (1 << 63)).cast_signed());
                Arc::new(Int64Array::from_iter_values(signed))
            }
            false => ArrayRef::clone(entries.column(0)),
        };
        let column = arrow_cast::cast(&column, &data_type).map_err(unmade)?;
        Ok((Self::Numbers(numbers), vec![column]))
    }
}
