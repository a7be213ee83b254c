//! The two file formats behind one face: blocks in, bytes into the sink.

use arrow_array::RecordBatch;
use arrow_ipc::MetadataVersion;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions};
use parquet::arrow::ArrowWriter;
use parquet::file::metadata::KeyValue;
use timestrata_format::RunFormat;

use super::encodings::writer_properties;
use super::sink::Sink;
use crate::Stream;

/// Bytes that each buffer of a hot run is aligned to.
const ALIGNMENT: usize = 64;

/// What an encoder can fail with; the sink knows better if it was the disk.
type EncodeError = Box<dyn std::error::Error + Send + Sync>;

/// Writes blocks into a file.
pub(super) enum Encoder {
    Hot(Box<FileWriter<Sink>>),
    /// Before its first block a cold run has no encodings yet.
    ColdEmpty(Option<Box<Sink>>),
    Cold(Box<ArrowWriter<Sink>>),
}

impl Encoder {
    pub(super) fn new(format: RunFormat, stream: &Stream, sink: Sink) -> Result<Self, EncodeError> {
        match format {
            RunFormat::Hot => {
                let options = IpcWriteOptions::try_new(ALIGNMENT, false, MetadataVersion::V5)?;
                let writer =
                    FileWriter::try_new_with_options(sink, stream.stored_schema(), options)?;
                Ok(Self::Hot(Box::new(writer)))
            }
            RunFormat::Cold => Ok(Self::ColdEmpty(Some(Box::new(sink)))),
        }
    }

    /// Writes one block: a record batch, or a row group, with the rows of it by `series` if these are some columns. It has
    /// the columns that the file is to have.
    pub(super) fn write(
        &mut self,
        stream: &Stream,
        block: &RecordBatch,
        series: &[usize],
    ) -> Result<(), EncodeError> {
        match self {
            Self::Hot(writer) => Ok(writer.write(block)?),
            Self::ColdEmpty(sink) => {
                let sink = sink.take().ok_or("the encoder could not be set up")?;
                let properties = writer_properties(stream, block, series)?;
                let schema = block.schema();
                let mut writer = Box::new(ArrowWriter::try_new(*sink, schema, Some(properties))?);
                let result = write_row_group(&mut writer, block);
                *self = Self::Cold(writer);
                result
            }
            Self::Cold(writer) => write_row_group(writer, block),
        }
    }

    /// Hands everything written so far to the sink.
    pub(super) fn settle(&mut self) -> Result<(), EncodeError> {
        match self {
            Self::Hot(_) | Self::ColdEmpty(_) => Ok(()),
            Self::Cold(writer) => Ok(writer.sync()?),
        }
    }

    /// Writes bytes behind the blocks that no reader of the file's format looks at.
    pub(super) fn append(&mut self, bytes: &[u8]) -> Result<(), EncodeError> {
        match self {
            Self::Hot(_) | Self::ColdEmpty(_) => Err("only cold runs take other bytes".into()),
            Self::Cold(writer) => {
                writer.write_all(bytes)?;
                Ok(writer.sync()?)
            }
        }
    }

    /// Writes what follows the data, with these entries in the metadata.
    pub(super) fn finish(
        &mut self,
        entries: Vec<(&'static str, String)>,
    ) -> Result<(), EncodeError> {
        match self {
            Self::Hot(writer) => {
                entries.into_iter().for_each(|(key, text)| writer.write_metadata(key, text));
                Ok(writer.finish()?)
            }
            Self::ColdEmpty(_) => Err("a run needs a row".into()),
            Self::Cold(writer) => {
                for (key, text) in entries {
                    writer.append_key_value_metadata(KeyValue::new(key.to_owned(), Some(text)));
                }
                writer.finish()?;
                Ok(writer.sync()?)
            }
        }
    }

    /// The sink; `None` only where setting up the encoder failed.
    pub(super) fn sink(&mut self) -> Option<&mut Sink> {
        match self {
            Self::Hot(writer) => Some(writer.get_mut()),
            Self::ColdEmpty(sink) => sink.as_deref_mut(),
            Self::Cold(writer) => Some(writer.inner_mut()),
        }
    }

    /// Bytes written, as far as known without handing them to the sink.
    pub(super) fn bytes_written(&self) -> u64 {
        match self {
            Self::Hot(writer) => writer.get_ref().written(),
            Self::ColdEmpty(_) => 0,
            Self::Cold(writer) => writer.bytes_written() as u64,
        }
    }
}

fn write_row_group(writer: &mut ArrowWriter<Sink>, block: &RecordBatch) -> Result<(), EncodeError> {
    writer.write(block)?;
    Ok(writer.flush()?)
}
