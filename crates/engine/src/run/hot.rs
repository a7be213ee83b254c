//! Hot runs: an Arrow IPC file, mapped; columns are slices of the map.

use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use arrow_array::{ArrayRef, RecordBatch};
use arrow_buffer::Buffer;
use arrow_ipc::reader::{RecordBatchDecoder, read_footer_length};
use arrow_ipc::{Footer, MetadataVersion, root_as_footer, root_as_message};
use arrow_schema::{DataType, SchemaRef};
use bytes::Bytes;
use timestrata_io::sync::get_or_try_init;

use super::checked::{CheckedFile, byte_range, guarded};
use super::coded::CodedText;
use super::layout::{ColumnLayout, column_layouts};
use super::tail::Zone;
use super::{METADATA_KEY, ORIGIN_KEY};
use crate::{Error, Result};

mod undamaged;

/// Length and magic at the end of an IPC file.
const TRAILER_BYTES: usize = 10;
/// Continuation marker and length before a message.
const PREFIX_BYTES: u64 = 8;
/// The strictest alignment that an Arrow type asks of its values (128-bit numbers).
const ALIGNMENT: usize = 16;

/// One record batch message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Message {
    /// Its header, prefix included.
    header: Range<u64>,
    /// Its buffers.
    body: Range<u64>,
}

/// What the footer says.
#[derive(Debug)]
pub(super) struct HotFooter {
    pub(super) schema: SchemaRef,
    pub(super) tail_text: Option<String>,
    pub(super) origin_text: Option<String>,
    pub(super) messages: Vec<Message>,
}

/// A hot run, open.
#[derive(Debug)]
pub(super) struct HotFile {
    file: CheckedFile,
    /// The same bytes as the file's.
    buffer: Buffer,
    schema: SchemaRef,
    layouts: Vec<ColumnLayout>,
    messages: Vec<Message>,
    /// Decoded columns, block by block: small values that point into the map.
    columns: Vec<OnceLock<ArrayRef>>,
    /// Blocks with the columns of the stream's schema, each made by the first point read.
    rows: Vec<OnceLock<RecordBatch>>,
    /// Each column of few texts as places among these, found by whoever asks first.
    coded: Vec<OnceLock<Option<CodedText>>>,
    /// How many blocks filters have asked about by each column before that.
    asked: Vec<AtomicUsize>,
    /// Blocks that could not be read whole: who wants some keys of one is given their rows alone.
    damaged: Vec<AtomicBool>,
}

/// The bytes, aligned for every Arrow type: a map is, memory of another disk may not be.
pub(super) fn aligned(bytes: Bytes) -> Bytes {
    if bytes.as_ptr().addr().is_multiple_of(ALIGNMENT) {
        return bytes;
    }
    Bytes::from_owner(AlignedCopy(Buffer::from_slice_ref(&bytes)))
}

/// Gives a buffer to [`Bytes`].
struct AlignedCopy(Buffer);

impl AsRef<[u8]> for AlignedCopy {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// Reads the footer, which lies in the verified tail at `tail_start`.
pub(super) fn read_footer(path: &Path, bytes: &Bytes, tail_start: usize) -> Result<HotFooter> {
    let bad = |message: String| Error::corruption(path, tail_start as u64, message);
    with_footer(path, bytes, tail_start, |footer| {
        decode_footer(footer, tail_start as u64).map_err(bad)
    })
}

/// The texts of the run's tail and origin, where nobody knows yet where the tail begins.
pub(super) fn read_texts(path: &Path, bytes: &Bytes) -> Result<(Option<String>, Option<String>)> {
    with_footer(path, bytes, 0, |footer| {
        Ok((entry_of(footer, METADATA_KEY), entry_of(footer, ORIGIN_KEY)))
    })
}

fn with_footer<T>(
    path: &Path,
    bytes: &Bytes,
    tail_start: usize,
    read: impl FnOnce(&Footer<'_>) -> Result<T>,
) -> Result<T> {
    let bad = |message: String| Error::corruption(path, tail_start as u64, message);
    let tail = bytes.get(tail_start..).unwrap_or_default();
    let Some((rest, trailer)) = tail.split_last_chunk::<TRAILER_BYTES>() else {
        return Err(bad("the tail of a run is too short for an Arrow file".into()));
    };
    guarded(path, || {
        let length = read_footer_length(*trailer).map_err(|error| bad(error.to_string()))?;
        let footer =
            rest.len().checked_sub(length).and_then(|start| rest.get(start..)).ok_or_else(
                || bad(format!("the footer of {length} bytes is larger than the tail")),
            )?;
        let footer = root_as_footer(footer)
            .map_err(|error| bad(format!("the footer can't be read: {error}")))?;
        read(&footer)
    })
}

/// The value of an entry of the file's metadata.
fn entry_of(footer: &Footer<'_>, key: &str) -> Option<String> {
    let entry = footer.custom_metadata()?.iter().find(|entry| entry.key() == Some(key))?;
    entry.value().map(str::to_owned)
}

fn decode_footer(footer: &Footer<'_>, data_end: u64) -> std::result::Result<HotFooter, String> {
    if footer.version() != MetadataVersion::V5 {
        return Err(format!("IPC metadata version {:?}, expected V5", footer.version()));
    }
    if footer.dictionaries().is_some_and(|dictionaries| !dictionaries.is_empty()) {
        return Err("the run has dictionaries, which it should not".into());
    }
    let found = footer.schema().ok_or("the footer has no schema")?;
    if !found.endianness().equals_to_target_endianness() {
        return Err("the run was written with another byte order".into());
    }
    let schema = SchemaRef::new(arrow_ipc::convert::fb_to_schema(found));
    let blocks = footer.recordBatches().ok_or("the footer has no record batches")?;
    let messages = blocks.iter().map(|block| {
        let header = byte_range(block.offset(), block.metaDataLength())?;
        let body = byte_range(header.end, block.bodyLength())?;
        let sound = header.end - header.start >= PREFIX_BYTES && body.end <= data_end;
        sound.then_some(Message { header, body })
    });
    let messages = messages.collect::<Option<_>>().ok_or("a record batch lies outside the data")?;
    let tail_text = entry_of(footer, METADATA_KEY);
    let origin_text = entry_of(footer, ORIGIN_KEY);
    Ok(HotFooter { schema, tail_text, origin_text, messages })
}

impl HotFile {
    /// A file whose tail agrees with the manifest.
    pub(super) fn new(
        file: CheckedFile,
        schema: SchemaRef,
        messages: Vec<Message>,
        zones: usize,
    ) -> Result<Self> {
        if messages.len() != zones {
            let message = format!("a run has {} record batches, zone maps {zones}", messages.len());
            return Err(file.bad(0, message));
        }
        let layouts = column_layouts(&schema);
        let slots = messages.len() * layouts.len();
        let blocks = messages.len();
        Ok(Self {
            buffer: Buffer::from(file.bytes().clone()),
            file,
            layouts,
            messages,
            columns: std::iter::repeat_with(OnceLock::new).take(slots).collect(),
            rows: std::iter::repeat_with(OnceLock::new).take(blocks).collect(),
            coded: std::iter::repeat_with(OnceLock::new).take(schema.fields().len()).collect(),
            asked: std::iter::repeat_with(AtomicUsize::default)
                .take(schema.fields().len())
                .collect(),
            damaged: std::iter::repeat_with(AtomicBool::default).take(blocks).collect(),
            schema,
        })
    }

    /// A column of all blocks as places among its values, where that is known already.
    pub(super) fn known_codes(&self, column: usize) -> Option<&CodedText> {
        self.coded.get(column)?.get()?.as_ref()
    }

    /// The same, found once filters have asked about as many blocks as there are: to find it takes several times as long
    /// as to look at the text itself, and who asks about an hour of a day may not come again.
    pub(super) fn worthwhile_codes(
        &self,
        zones: &[Zone],
        column: usize,
    ) -> Result<Option<&CodedText>> {
        let Some((slot, asked)) = self.coded.get(column).zip(self.asked.get(column)) else {
            return Ok(None);
        };
        if slot.get().is_none() && asked.fetch_add(1, Ordering::Relaxed) < zones.len() {
            return Ok(None);
        }
        self.coded(zones, column)
    }

    /// A column of all blocks as places among its values, if it is text and these are few.
    pub(super) fn coded(&self, zones: &[Zone], column: usize) -> Result<Option<&CodedText>> {
        let Some(slot) = self.coded.get(column) else { return Ok(None) };
        let coded = get_or_try_init(slot, || {
            if self.schema.field(column).data_type() != &DataType::Utf8 {
                return Ok(None);
            }
            let mut blocks = Vec::with_capacity(zones.len());
            for (block, zone) in zones.iter().enumerate() {
                blocks.extend(self.read(block, zone, &[column])?);
            }
            let rows = zones.iter().map(|zone| u64::from(zone.rows)).sum();
            Ok(CodedText::of(&blocks, rows))
        });
        coded.map(Option::as_ref)
    }

    pub(super) fn file(&self) -> &CheckedFile {
        &self.file
    }

    /// A block with the columns of the stream's schema; `make` makes it the first time.
    #[inline]
    pub(super) fn rows(
        &self,
        block: usize,
        make: impl FnOnce() -> Result<RecordBatch>,
    ) -> Result<&RecordBatch> {
        let Some(slot) = self.rows.get(block) else {
            return Err(self.file.no_block(block));
        };
        get_or_try_init(slot, make)
    }

    /// Columns of one block, decoded at most once each.
    pub(super) fn read(
        &self,
        block: usize,
        zone: &Zone,
        columns: &[usize],
    ) -> Result<Vec<ArrayRef>> {
        let slot = |column: usize| self.columns.get(block * self.layouts.len() + column);
        let mut missing: Vec<usize> = columns
            .iter()
            .copied()
            .filter(|column| slot(*column).is_none_or(|slot| slot.get().is_none()))
            .collect();
        if !missing.is_empty() {
            missing.sort_unstable();
            missing.dedup();
            let decoded = self.decode(block, zone, &missing)?;
            for (column, array) in missing.iter().zip(decoded.columns()) {
                if let Some(slot) = slot(*column) {
                    // Another thread may have been faster; its value is the same.
                    let _ = slot.set(array.clone());
                }
            }
        }
        let array = |column: &usize| slot(*column).and_then(OnceLock::get).cloned();
        columns.iter().map(array).collect::<Option<_>>().ok_or_else(|| self.file.no_block(block))
    }

    /// Decodes columns of one block, without keeping them.
    pub(super) fn decode(
        &self,
        block: usize,
        zone: &Zone,
        columns: &[usize],
    ) -> Result<RecordBatch> {
        let message = self.messages.get(block).ok_or_else(|| self.file.no_block(block))?;
        guarded(self.file.path(), || self.decode_message(message, zone, columns))
    }

    /// What a message says of its columns, which is what the run says.
    fn header_of(&self, message: &Message, zone: &Zone) -> Result<arrow_ipc::RecordBatch<'_>> {
        let bad = |why: String| self.file.bad(message.header.start, why);
        let header = self.file.slice(message.header.start + PREFIX_BYTES..message.header.end)?;
        let root = root_as_message(header)
            .map_err(|error| bad(format!("a record batch header can't be read: {error}")))?;
        let batch = root
            .header_as_record_batch()
            .ok_or_else(|| bad("a message of a run is not a record batch".into()))?;
        let nodes = batch.nodes().map_or(0, |nodes| nodes.len());
        let buffers = batch.buffers().unwrap_or_default();
        let expected = self.layouts.last().map_or((0, 0), |l| (l.nodes.end, l.buffers.end));
        if root.version() != MetadataVersion::V5
            || batch.compression().is_some()
            || batch.variadicBufferCounts().is_some_and(|counts| !counts.is_empty())
            || batch.length() != i64::from(zone.rows)
            || (nodes, buffers.len()) != expected
        {
            return Err(bad("a record batch header does not fit the run".into()));
        }
        Ok(batch)
    }

    fn decode_message(
        &self,
        message: &Message,
        zone: &Zone,
        columns: &[usize],
    ) -> Result<RecordBatch> {
        let bad = |why: String| self.file.bad(message.header.start, why);
        let batch = self.header_of(message, zone)?;
        let buffers = batch.buffers().unwrap_or_default();
        for layout in columns.iter().filter_map(|column| self.layouts.get(*column)) {
            for index in layout.buffers.clone() {
                let buffer = buffers.get(index);
                let range = buffer_range(&message.body, buffer.offset(), buffer.length());
                let range =
                    range.ok_or_else(|| bad("a buffer lies outside its record batch".into()))?;
                self.file.verify(range)?;
            }
        }
        let body_bytes = (message.body.end - message.body.start) as usize;
        let body = self.buffer.slice_with_length(message.body.start as usize, body_bytes);
        let dictionaries = HashMap::new();
        RecordBatchDecoder::try_new(
            &body,
            batch,
            self.schema.clone(),
            &dictionaries,
            &MetadataVersion::V5,
        )
        .and_then(|decoder| decoder.with_projection(Some(columns)).read_record_batch())
        .map_err(|error| bad(format!("a record batch can't be decoded: {error}")).caused_by(error))
    }
}

/// The place in the file of a buffer of a message with this body.
fn buffer_range(body: &Range<u64>, offset: i64, length: i64) -> Option<Range<u64>> {
    let range = byte_range(body.start.checked_add(u64::try_from(offset).ok()?)?, length)?;
    (range.end <= body.end).then_some(range)
}
