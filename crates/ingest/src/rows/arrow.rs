//! Arrow IPC, stream and file. Lengths in messages are checked before memory is taken for what
//! they promise.

use std::io::Read;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::reader::{FileDecoder, StreamDecoder, read_footer_length};
use arrow_ipc::{Block, MessageHeader, root_as_footer, root_as_message};
use arrow_schema::SchemaRef;
use timestrata_engine::Result;

use super::conform::{Begun, RawBatches};
use super::input::{self, Opened, Random};
use super::options::ReadOptions;
use super::report::invalid;
use super::{guard, names};

const WHAT: &str = "Arrow data";
/// Marks messages of all but the oldest writers.
const CONTINUATION: u32 = u32::MAX;
/// What closes a stream; writers may leave it off.
const END: [u8; 8] = [0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0];
/// Bytes of a message's description, at most.
const HEADER_BYTES_MAX: u64 = 256 << 20;
/// Bytes of a message's columns, at most, packed or unpacked.
const BODY_BYTES_MAX: i64 = 2 << 30;
/// The length of the footer and the magic behind it.
const TRAILER_BYTES: u64 = 10;
/// Where a buffer that is packed says how long it was.
const LENGTH_BYTES: usize = 8;

/// Begins a stream.
pub(super) fn begin_stream(opened: Opened) -> Result<Begun> {
    let (schema, stream) = begin(opened)?;
    Ok(Begun { schema, batches: Box::new(stream) })
}

/// Reads a stream whole.
pub(super) fn read_stream(opened: Opened) -> Result<Vec<RecordBatch>> {
    let (schema, mut stream) = begin(opened)?;
    names::check(&stream.name, schema.fields().iter().map(|field| field.name().as_str()))?;
    std::iter::from_fn(|| stream.next().transpose()).collect()
}

/// A stream, whose columns have been read.
fn begin(opened: Opened) -> Result<(SchemaRef, Stream)> {
    let name = opened.name;
    let decoder = StreamDecoder::new();
    let mut stream = Stream {
        name: name.clone(),
        reader: opened.reader,
        decoder,
        first: None,
        is_at_end: false,
    };
    loop {
        // The decoder sees a message without columns, as the schema is, with the next one.
        let message = stream.message()?;
        if let Some(schema) = stream.decoder.schema() {
            stream.first = message.flatten();
            return Ok((schema, stream));
        }
        if message.is_none() {
            return Err(invalid(&name, "the input is empty: an Arrow stream begins with a schema"));
        }
    }
}

struct Stream {
    name: String,
    reader: Box<dyn Read + Send>,
    decoder: StreamDecoder,
    /// A batch that was read along with the schema.
    first: Option<RecordBatch>,
    is_at_end: bool,
}

impl Stream {
    /// The next message, and its batch if it has one; `None` at the end.
    fn message(&mut self) -> Result<Option<Option<RecordBatch>>> {
        let mut start = self.bytes(4)?;
        if start.is_empty() {
            return self.end();
        }
        let mut length = self.number(&start)?;
        if length == CONTINUATION {
            let rest = self.bytes(4)?;
            length = self.number(&rest)?;
            start.extend(rest);
        }
        if length == 0 {
            return self.end();
        }
        if u64::from(length) > HEADER_BYTES_MAX {
            return Err(self.bad(format!("a message's description has {length} bytes")));
        }
        let header = self.bytes(u64::from(length))?;
        let name = self.name.clone();
        let body_bytes = guard::decode(&name, WHAT, || body_bytes(&header))?;
        let body = self.bytes(body_bytes)?;
        if u64::try_from(body.len()).is_ok_and(|length| length < body_bytes) {
            return Err(self.bad("it ends in the middle of a message".to_owned()));
        }
        guard::decode(&name, WHAT, || check_buffers(&header, &body))?;
        let decoder = &mut self.decoder;
        guard::decode(&name, WHAT, || {
            let mut batch = None;
            start.extend(header);
            for bytes in [start, body] {
                let mut buffer = Buffer::from_vec(bytes);
                while !buffer.is_empty() {
                    batch = decoder.decode(&mut buffer).map_err(|cause| cause.to_string())?;
                }
            }
            Ok::<_, String>(Some(batch))
        })
    }

    fn end(&mut self) -> Result<Option<Option<RecordBatch>>> {
        if std::mem::replace(&mut self.is_at_end, true) {
            return Ok(None);
        }
        let decoder = &mut self.decoder;
        guard::decode(&self.name, WHAT, || {
            decoder.decode(&mut Buffer::from_slice_ref(END)).map(|_| None)
        })
    }

    fn number(&self, bytes: &[u8]) -> Result<u32> {
        let bytes = bytes.try_into().map_err(|_| self.bad("it ends in the middle".to_owned()))?;
        Ok(u32::from_le_bytes(bytes))
    }

    fn bytes(&mut self, length: u64) -> Result<Vec<u8>> {
        input::up_to(&mut self.reader, length, &self.name)
    }

    fn bad(&self, why: String) -> timestrata_engine::Error {
        invalid(&self.name, format!("bad {WHAT}: {why}"))
    }
}

impl RawBatches for Stream {
    fn next(&mut self) -> Result<Option<RecordBatch>> {
        if let Some(batch) = self.first.take() {
            return Ok(Some(batch));
        }
        loop {
            match self.message()? {
                Some(Some(batch)) => return Ok(Some(batch)),
                Some(None) => {}
                None => return Ok(None),
            }
        }
    }
}

/// Bytes of the columns that a message's description promises.
fn body_bytes(header: &[u8]) -> std::result::Result<u64, String> {
    let message = root_as_message(header).map_err(|cause| cause.to_string())?;
    let bytes = message.bodyLength();
    if !(0..=BODY_BYTES_MAX).contains(&bytes) {
        return Err(format!("a message of {bytes} bytes"));
    }
    u64::try_from(bytes).map_err(|cause| cause.to_string())
}

/// Checks that the buffers of a message lie within it and unpack to what can be held.
fn check_buffers(header: &[u8], body: &[u8]) -> std::result::Result<(), String> {
    let message = root_as_message(header).map_err(|cause| cause.to_string())?;
    let batch = match message.header_type() {
        MessageHeader::RecordBatch => message.header_as_record_batch(),
        MessageHeader::DictionaryBatch => {
            message.header_as_dictionary_batch().and_then(|batch| batch.data())
        }
        _ => return Ok(()),
    };
    let batch = batch.ok_or("a message without its content")?;
    if batch.length() < 0 || batch.nodes().into_iter().flatten().any(|node| node.length() < 0) {
        return Err("a negative number of rows".to_owned());
    }
    for buffer in batch.buffers().into_iter().flatten() {
        let start = usize::try_from(buffer.offset()).map_err(|cause| cause.to_string())?;
        let length = usize::try_from(buffer.length()).map_err(|cause| cause.to_string())?;
        let bytes = start.checked_add(length).and_then(|end| body.get(start..end));
        let bytes = bytes.ok_or("a column outside of its message")?;
        let unpacked = batch.compression().and(bytes.first_chunk::<LENGTH_BYTES>());
        let unpacked = unpacked.map_or(0, |length| i64::from_le_bytes(*length));
        if unpacked > BODY_BYTES_MAX {
            return Err(format!("a column of {unpacked} bytes"));
        }
    }
    Ok(())
}

/// Begins a file, whose columns and dictionaries are read.
pub(super) fn begin_file(opened: Opened, options: &ReadOptions) -> Result<Begun> {
    let name = opened.name.clone();
    let random = opened.into_random(options.buffer_bytes_max)?;
    let footer = footer(&name, &random)?;
    let (decoder, schema, dictionaries, blocks) = guard::decode(&name, WHAT, || {
        let footer = root_as_footer(&footer).map_err(|cause| cause.to_string())?;
        let schema = footer.schema().ok_or("there is no schema")?;
        let schema = Arc::new(arrow_ipc::convert::fb_to_schema(schema));
        let decoder = FileDecoder::new(Arc::clone(&schema), footer.version());
        let blocks = footer.recordBatches().into_iter().flatten().copied().collect::<Vec<_>>();
        let dictionaries = footer.dictionaries().into_iter().flatten().copied();
        Ok::<_, String>((decoder, schema, dictionaries.collect::<Vec<_>>(), blocks))
    })?;
    let mut file = ArrowFile { name: name.clone(), random, decoder, blocks: blocks.into_iter() };
    for block in dictionaries {
        let bytes = file.block(&block)?;
        let decoder = &mut file.decoder;
        guard::decode(&name, WHAT, || decoder.read_dictionary(&block, &bytes))?;
    }
    Ok(Begun { schema, batches: Box::new(file) })
}

fn footer(name: &str, random: &Random) -> Result<bytes::Bytes> {
    let read = |offset: Option<u64>, length: usize| {
        let bytes = offset.map(|offset| random.get(offset, length)).transpose();
        let bytes = bytes.map_err(|cause| input::could_not_read(name, cause))?;
        bytes.ok_or_else(|| invalid(name, format!("bad {WHAT}: the file is too short")))
    };
    let trailer_at = random.len().checked_sub(TRAILER_BYTES);
    let trailer = read(trailer_at, usize::try_from(TRAILER_BYTES).unwrap_or(0))?;
    let length = guard::decode(name, WHAT, || {
        let trailer = <[u8; 10]>::try_from(trailer.as_ref()).map_err(|cause| cause.to_string())?;
        read_footer_length(trailer).map_err(|cause| cause.to_string())
    })?;
    let start = u64::try_from(length).ok().zip(trailer_at);
    read(start.and_then(|(length, end)| end.checked_sub(length)), length)
}

struct ArrowFile {
    name: String,
    random: Random,
    decoder: FileDecoder,
    blocks: std::vec::IntoIter<Block>,
}

impl ArrowFile {
    /// A message with its body, which the footer says is here.
    fn block(&self, block: &Block) -> Result<Buffer> {
        let bad = |why: &str| invalid(&self.name, format!("bad {WHAT}: {why}"));
        let numbers = u64::try_from(block.offset())
            .ok()
            .zip(usize::try_from(block.metaDataLength()).ok())
            .zip(usize::try_from(block.bodyLength()).ok());
        let ((offset, header_bytes), body_bytes) =
            numbers.ok_or_else(|| bad("a negative length"))?;
        let length = header_bytes.checked_add(body_bytes).ok_or_else(|| bad("a length"))?;
        let bytes = self.random.get(offset, length);
        let bytes = bytes.map_err(|cause| input::could_not_read(&self.name, cause))?;
        let (header, body) = bytes.split_at_checked(header_bytes).ok_or_else(|| bad("a length"))?;
        let marked = header.strip_prefix(&CONTINUATION.to_le_bytes()).unwrap_or(header);
        let header = marked.get(4..).ok_or_else(|| bad("a length"))?;
        guard::decode(&self.name, WHAT, || check_buffers(header, body))?;
        Ok(Buffer::from(bytes))
    }
}

impl RawBatches for ArrowFile {
    fn next(&mut self) -> Result<Option<RecordBatch>> {
        let Some(block) = self.blocks.next() else { return Ok(None) };
        let bytes = self.block(&block)?;
        let batch =
            guard::decode(&self.name, WHAT, || self.decoder.read_record_batch(&block, &bytes))?;
        batch
            .map(Some)
            .ok_or_else(|| invalid(&self.name, format!("bad {WHAT}: a message that holds no rows")))
    }
}
