//! Rows as protobuf: `message Batch { repeated Row rows = 1; }`,
//! `message Row { map<string,string> values = 1; }`. Read a row at a time.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Read};
use std::sync::Arc;

use arrow_array::RecordBatch;
use prost::Message;
use timestrata_engine::{Error, ErrorKind, Result};

use super::assemble::Assembly;
use super::convert::{Cell, Column, NullText};
use super::infer::{Seen, Writing};
use super::input::{self, Opened};
use super::options::ReadOptions;
use super::report::{BadRow, Place, ReadReport, invalid};
use super::schema::{ColumnLayout, FoundColumn};
use super::{BatchReader, Rows, names};

const READ_BYTES: usize = 64 << 10;
/// Bytes of values behind which a batch is given out.
const BATCH_BYTES: usize = 16 << 20;
/// Bytes of a number, at most.
const VARINT_BYTES_MAX: u32 = 10;
/// The field of the rows.
const ROWS: u64 = 1;
/// Kinds of fields.
const VARINT: u64 = 0;
const FIXED_64: u64 = 1;
const BYTES: u64 = 2;
const FIXED_32: u64 = 5;

/// Values of a row by their keys: a map as it is on the wire. A body that has a key twice is read all the
/// same, and text that is no UTF-8 is told of as other values are that don't fit.
#[derive(Clone, PartialEq, Message)]
struct ProtobufRow {
    #[prost(message, repeated, tag = "1")]
    values: Vec<ProtobufValue>,
}

#[derive(Clone, PartialEq, Message)]
struct ProtobufValue {
    #[prost(string, tag = "1")]
    key: String,
    #[prost(bytes = "vec", tag = "2")]
    text: Vec<u8>,
}

/// Opens protobuf: reads a sample, and settles names and types by it.
pub(super) fn open(opened: Opened, options: &ReadOptions) -> Result<Rows> {
    let mut messages = Messages {
        reader: io::BufReader::with_capacity(READ_BYTES, opened.reader),
        name: opened.name.clone(),
        row_bytes_max: options.row_bytes_max,
        rows: 0,
    };
    let (mut sample, mut bytes) = (Vec::new(), 0);
    let nulls = NullText::new(options.null_text.as_deref());
    let writing = Writing::of(options);
    // A map has no order: that of the names is the same from one body to the next.
    let mut columns: BTreeMap<String, Seen> = BTreeMap::new();
    while sample.len() < options.sample_rows && bytes < options.sample_bytes {
        let Some(row) = messages.next()? else { break };
        for ProtobufValue { key, text } in &row.values {
            bytes += key.len() + text.len();
            let seen = columns.entry(key.clone()).or_insert_with(|| Seen::new(&writing));
            if let Some(text) = nulls.typed(Cell { text: Some(text), is_quoted: false }) {
                seen.add(text, Some(Place::Row(messages.rows)));
            }
        }
        sample.push(row);
    }
    names::check(&opened.name, columns.keys().map(String::as_str))?;
    let places = columns.keys().cloned().zip(0..).collect();
    let found: Vec<FoundColumn> =
        columns.into_iter().map(|(name, seen)| FoundColumn::of_text(name, seen)).collect();
    let mut options = options.clone();
    // An empty body has no columns, so none can be missing.
    options.time = options.time.filter(|_| !found.is_empty());
    let layout = ColumnLayout::new(&opened.name, found, &options)?;
    let assembly = Assembly::new(&opened.name, &layout.schema, layout.time.as_deref(), &options);
    let has_misfit = Arc::clone(&assembly.has_misfit);
    let batches = ProtobufRows {
        assembly: assembly.of_text(),
        sample: sample.into_iter(),
        messages,
        places,
        columns: layout.columns,
        nulls,
        batch_rows: options.batch_rows,
        row: 0,
    };
    Ok(Rows {
        schema: layout.schema,
        time: layout.time,
        spoils_time: layout.spoils_time,
        notes: layout.notes,
        delimiter: None,
        has_misfit,
        batches: Box::new(batches),
    })
}

struct ProtobufRows {
    assembly: Assembly,
    /// Rows that were read to infer types, and are given out first.
    sample: std::vec::IntoIter<ProtobufRow>,
    messages: Messages,
    places: HashMap<String, usize>,
    columns: Vec<Column>,
    nulls: NullText,
    batch_rows: usize,
    /// Rows given out or left out.
    row: u64,
}

impl ProtobufRows {
    fn next_row(&mut self) -> Result<Option<ProtobufRow>> {
        match self.sample.next() {
            Some(row) => Ok(Some(row)),
            None => self.messages.next(),
        }
    }
}

impl BatchReader for ProtobufRows {
    fn next(&mut self, report: &mut ReadReport) -> Result<Option<RecordBatch>> {
        // The rows of the batch, by column; and the number of each.
        let mut values: Vec<Vec<Option<Vec<u8>>>> = vec![Vec::new(); self.columns.len()];
        let (mut numbers, mut bad) = (Vec::new(), Vec::new());
        let (mut is_at_end, mut bytes) = (false, 0);
        while numbers.len() < self.batch_rows && bytes < BATCH_BYTES {
            let Some(row) = self.next_row()? else {
                is_at_end = true;
                break;
            };
            self.row += 1;
            let place = Place::Row(self.row);
            let is_unknown = |value: &&ProtobufValue| !self.places.contains_key(&value.key);
            if let Some(ProtobufValue { key, text }) = row.values.iter().find(is_unknown) {
                let larger = self.assembly.larger_sample();
                let why = format!(
                    "is in a column that the sample has not; a larger sample may have it ({larger})"
                );
                bad.push(BadRow::value(place, key, text, why));
                if self.assembly.is_first_enough() {
                    break;
                }
                continue;
            }
            numbers.push(self.row);
            for ProtobufValue { key, text } in row.values {
                bytes += text.len();
                let column = self.places.get(&key).and_then(|at| values.get_mut(*at));
                if let Some(column) = column {
                    // The last of two values of one key counts.
                    column.resize(numbers.len() - 1, None);
                    column.push(Some(text));
                }
            }
        }
        values.iter_mut().for_each(|column| column.resize(numbers.len(), None));
        let converted = self.columns.iter().zip(&values).map(|(column, values)| {
            let cells =
                values.iter().map(|value| Cell { text: value.as_deref(), is_quoted: false });
            column.convert(cells, &self.nulls, self.assembly.is_first_enough())
        });
        let converted = converted.collect();
        let place = |at: usize| Place::Row(numbers.get(at).copied().unwrap_or_default());
        let batch = self.assembly.batch(converted, numbers.len(), place, &mut bad)?;
        report.skip(bad);
        Ok((!is_at_end || batch.num_rows() > 0).then_some(batch))
    }
}

/// The rows of a message, one by one.
struct Messages {
    reader: io::BufReader<Box<dyn Read + Send>>,
    name: String,
    row_bytes_max: usize,
    rows: u64,
}

impl Messages {
    fn next(&mut self) -> Result<Option<ProtobufRow>> {
        loop {
            let Some(tag) = self.varint()? else { return Ok(None) };
            match (tag >> 3, tag & 7) {
                (ROWS, BYTES) => {
                    let message = self.bytes()?;
                    self.rows += 1;
                    let row = ProtobufRow::decode(message.as_slice());
                    return row
                        .map(Some)
                        .map_err(|error| self.malformed(&format!("the row is damaged ({error})")));
                }
                (_, VARINT) => {
                    self.varint()?.ok_or_else(|| self.malformed("it ends in the middle"))?;
                }
                (_, FIXED_64) => drop(self.exactly(8)?),
                (_, FIXED_32) => drop(self.exactly(4)?),
                (_, BYTES) => drop(self.bytes()?),
                _ => return Err(self.malformed("a field of unknown kind")),
            }
        }
    }

    /// A number; `None` at the end.
    fn varint(&mut self) -> Result<Option<u64>> {
        let mut value = 0u64;
        for at in 0..VARINT_BYTES_MAX {
            let byte = match input::up_to(&mut self.reader, 1, &self.name)?.as_slice() {
                [byte] => *byte,
                _ if at == 0 => return Ok(None),
                _ => return Err(self.malformed("it ends in the middle")),
            };
            value |= u64::from(byte & 0x7f).checked_shl(at * 7).unwrap_or(0);
            if byte < 0x80 {
                return Ok(Some(value));
            }
        }
        Err(self.malformed("a number is too long"))
    }

    /// Bytes behind their number.
    fn bytes(&mut self) -> Result<Vec<u8>> {
        let length = self.varint()?.ok_or_else(|| self.malformed("it ends in the middle"))?;
        if usize::try_from(length).is_ok_and(|length| length <= self.row_bytes_max) {
            return self.exactly(length);
        }
        let message =
            format!("row {}: {length} bytes, at most {}", self.rows + 1, self.row_bytes_max);
        Err(Error::new(ErrorKind::TooLarge, message).at(&self.name))
    }

    /// So many bytes, for which memory is taken as they come.
    fn exactly(&mut self, length: u64) -> Result<Vec<u8>> {
        let bytes = input::up_to(&mut self.reader, length, &self.name)?;
        if u64::try_from(bytes.len()).is_ok_and(|read| read == length) {
            return Ok(bytes);
        }
        Err(self.malformed("it ends in the middle"))
    }

    fn malformed(&self, what: &str) -> Error {
        invalid(&self.name, format!("bad protobuf at row {}: {what}", self.rows + 1))
    }
}
