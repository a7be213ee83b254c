//! What a run file says of itself, where no manifest tells of it.

use std::path::Path;
use std::sync::Arc;

use arrow_schema::{Schema, SchemaRef};
use timestrata_format::checksum::crc32c;
use timestrata_format::{RunFormat, RunMeta, RunOrigin, StoreId};
use timestrata_io::{Bytes, Io, OpenMode};

use super::checked::CheckedFile;
use super::sink::Sums;
use super::{cold, hot, tail};
use crate::{Error, Result};

/// A run file by its own word.
#[derive(Debug, Clone)]
pub(crate) struct Peeked {
    pub(crate) store_id: StoreId,
    /// As a manifest would have it. Lengths and checksums are those of the file as it is.
    pub(crate) meta: RunMeta,
    /// `None`: an earlier build has written it.
    pub(crate) origin: Option<RunOrigin>,
    /// The columns of the file.
    pub(crate) schema: SchemaRef,
    /// Whether all bytes of the data fit their checksums.
    pub(crate) is_whole: bool,
}

/// Reads a run file from end to end; `now_ns` stands in for when it was made, where it doesn't say.
///
/// # Errors
/// `Corruption` where it doesn't say what it is, `UnsupportedVersion`, those of the disk.
pub(crate) fn peek(io: &Io, path: &Path, format: RunFormat, now_ns: i64) -> Result<Peeked> {
    let file =
        io.disk.open(path, OpenMode::Read).map_err(|error| Error::io("open a run", path, error))?;
    let length = file.len().map_err(|error| Error::io("read a run's length", path, error))?;
    // Read and not mapped: a sector that can't be read is an error then, and not the process's end.
    let mut bytes = vec![0; usize::try_from(length).unwrap_or(usize::MAX)];
    file.read_at(0, &mut bytes).map_err(|error| Error::io("read a run", path, error))?;
    let bytes = Bytes::from(bytes);
    let (tail_text, origin_text) = match format {
        RunFormat::Hot => hot::read_texts(path, &bytes)?,
        RunFormat::Cold => {
            let footer = cold::read_footer(path, &bytes, 0, &Arc::new(Schema::empty()))?;
            (footer.tail_text, footer.origin_text)
        }
    };
    let tail = tail::of_file(path, 0, tail_text.as_deref())?;
    let data_bytes = usize::try_from(tail.data_bytes).unwrap_or(usize::MAX);
    let Some(end) = bytes.get(data_bytes..) else {
        let message = format!("a run says that it has {data_bytes} bytes of data");
        return Err(Error::corruption(path, length, message));
    };
    let schema = match format {
        RunFormat::Hot => hot::read_footer(path, &bytes, data_bytes)?.schema,
        RunFormat::Cold => {
            cold::read_footer(path, &bytes, data_bytes, &Arc::new(Schema::empty()))?.schema
        }
    };
    let origin = tail::origin(path, tail.data_bytes, origin_text.as_deref())?;
    let checked = CheckedFile::new(path.to_owned(), bytes.clone(), &tail);
    let is_whole = checked.verify(0..tail.data_bytes).is_ok();
    let told = origin.as_ref().map(|origin| (origin.level, origin.created_wall_ns));
    let (level, created_wall_ns) = told.unwrap_or((u8::from(format == RunFormat::Cold), now_ns));
    let sums = Sums { file_bytes: length, file_crc: crc32c(&bytes), tail_crc: crc32c(end) };
    let meta = tail::meta_of(&tail, format, level, created_wall_ns, &sums);
    Ok(Peeked { store_id: tail.store_id, meta, origin, schema, is_whole })
}
