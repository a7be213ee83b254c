//! Parquet, a batch at a time.

mod depth;

use std::io::{self, Read};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use bytes::{Buf, Bytes};
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use parquet::errors::ParquetError;
use parquet::file::reader::{ChunkReader, Length};
use timestrata_engine::Result;

use super::conform::{Begun, RawBatches};
use super::guard;
use super::input::{Opened, Random};
use super::options::ReadOptions;
use super::report::invalid;

const WHAT: &str = "Parquet file";
/// The footer's length and the magic at the end.
const TRAILER_BYTES: u64 = 8;
/// Levels of groups in one another.
const DEPTH_MAX: usize = 100;
const READ_BYTES: usize = 64 << 10;

/// Begins a file, whose columns are read.
pub(super) fn begin(opened: Opened, options: &ReadOptions) -> Result<Begun> {
    let name = opened.name.clone();
    let random = opened.into_random(options.buffer_bytes_max)?;
    check_depth(&name, &random)?;
    let builder = guard::decode(&name, WHAT, || ParquetRecordBatchReaderBuilder::try_new(random))?;
    let schema = SchemaRef::clone(builder.schema());
    let rows = options.batch_rows;
    let reader = guard::decode(&name, WHAT, || builder.with_batch_size(rows).build())?;
    Ok(Begun { schema, batches: Box::new(ParquetRows { name, reader }) })
}

/// Refuses a schema that is nested so deep that decoding it would exhaust the stack.
fn check_depth(name: &str, random: &Random) -> Result<()> {
    let read = |offset: Option<u64>, length: usize| {
        let bytes = offset.and_then(|offset| random.get(offset, length).ok());
        bytes.ok_or_else(|| invalid(name, format!("bad {WHAT}: it is cut off")))
    };
    let trailer_at = random.len().checked_sub(TRAILER_BYTES);
    let trailer = read(trailer_at, usize::try_from(TRAILER_BYTES).unwrap_or(0))?;
    let Some((length, b"PAR1")) = trailer.split_first_chunk::<4>() else {
        // No footer, or an encrypted one: the decoder says which.
        return Ok(());
    };
    let length = u32::from_le_bytes(*length);
    let footer_at = trailer_at.and_then(|end| end.checked_sub(u64::from(length)));
    let footer = read(footer_at, usize::try_from(length).unwrap_or(usize::MAX))?;
    match depth::of_footer(&footer) {
        Some(depth) if depth <= DEPTH_MAX => Ok(()),
        Some(depth) => Err(invalid(name, format!("bad {WHAT}: a schema of {depth} levels"))),
        None => Err(invalid(name, format!("bad {WHAT}: its footer is damaged"))),
    }
}

struct ParquetRows {
    name: String,
    reader: ParquetRecordBatchReader,
}

impl RawBatches for ParquetRows {
    fn next(&mut self) -> Result<Option<RecordBatch>> {
        guard::decode(&self.name, WHAT, || self.reader.next().transpose())
    }
}

impl Length for Random {
    fn len(&self) -> u64 {
        Random::len(self)
    }
}

impl ChunkReader for Random {
    type T = io::BufReader<From>;

    fn get_read(&self, start: u64) -> std::result::Result<Self::T, ParquetError> {
        let from = From { random: self.clone(), offset: start };
        Ok(io::BufReader::with_capacity(READ_BYTES, from))
    }

    fn get_bytes(&self, start: u64, length: usize) -> std::result::Result<Bytes, ParquetError> {
        Ok(self.get(start, length)?)
    }
}

/// An input from a place on.
#[derive(Debug)]
pub(super) struct From {
    random: Random,
    offset: u64,
}

impl Read for From {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.random.len().saturating_sub(self.offset);
        let length = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        let read = self.random.get(self.offset, length)?;
        read.reader().read_exact(buffer.get_mut(..length).unwrap_or_default())?;
        self.offset += u64::try_from(length).unwrap_or(0);
        Ok(length)
    }
}
