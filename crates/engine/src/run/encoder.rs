//! The two file formats behind one face: blocks in, bytes into the sink.

use std::sync::Arc;

use arrow_ipc::MetadataVersion;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions};
use arrow_schema::SchemaRef;
use parquet::arrow::arrow_writer::{ArrowRowGroupWriterFactory, compute_leaves};
use parquet::arrow::{ArrowSchemaConverter, add_encoded_arrow_schema_to_metadata};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use timestrata_format::RunFormat;

use super::encodings::writer_properties;
use super::sink::Sink;
use super::stored_block::StoredBlock;
use crate::Stream;

/// Bytes that each buffer of a hot run is aligned to.
const ALIGNMENT: usize = 64;

/// What an encoder can fail with; the sink knows better if it was the disk.
type EncodeError = Box<dyn std::error::Error + Send + Sync>;

/// Writes blocks into a file.
pub(super) enum Encoder {
    Hot(Box<FileWriter<Sink>>),
    /// Before its first block a cold run has no encodings yet; and how many rows a page has where they lie in the order of the
    /// key.
    ColdEmpty(Option<Box<Sink>>, usize),
    Cold(Box<ColdWriter>),
}

impl Encoder {
    pub(super) fn new(
        format: RunFormat,
        stream: &Stream,
        sink: Sink,
        page_rows: usize,
    ) -> Result<Self, EncodeError> {
        match format {
            RunFormat::Hot => {
                let options = IpcWriteOptions::try_new(ALIGNMENT, false, MetadataVersion::V5)?;
                let writer =
                    FileWriter::try_new_with_options(sink, stream.stored_schema(), options)?;
                Ok(Self::Hot(Box::new(writer)))
            }
            RunFormat::Cold => Ok(Self::ColdEmpty(Some(Box::new(sink)), page_rows)),
        }
    }

    /// Writes one block: a record batch, or a row group, with the rows of it by `series` if these are some columns.
    pub(super) fn write(
        &mut self,
        stream: &Stream,
        block: &StoredBlock<'_>,
        series: &[usize],
    ) -> Result<(), EncodeError> {
        match self {
            Self::Hot(writer) => Ok(writer.write(&block.whole()?)?),
            Self::ColdEmpty(sink, page_rows) => {
                let sink = sink.take().ok_or("the encoder could not be set up")?;
                let properties = writer_properties(stream, block, series, *page_rows)?;
                let mut writer =
                    Box::new(ColdWriter::new(*sink, Arc::clone(block.schema()), properties)?);
                let result = writer.write_row_group(block);
                *self = Self::Cold(writer);
                Ok(result?)
            }
            Self::Cold(writer) => Ok(writer.write_row_group(block)?),
        }
    }

    /// Hands everything written so far to the sink.
    pub(super) fn settle(&mut self) -> Result<(), EncodeError> {
        match self {
            Self::Hot(_) | Self::ColdEmpty(..) => Ok(()),
            Self::Cold(writer) => Ok(writer.file.flush()?),
        }
    }

    /// Writes bytes behind the blocks that no reader of the file's format looks at.
    pub(super) fn append(&mut self, bytes: &[u8]) -> Result<(), EncodeError> {
        match self {
            Self::Hot(_) | Self::ColdEmpty(..) => Err("only cold runs take other bytes".into()),
            Self::Cold(writer) => {
                writer.file.write_all(bytes)?;
                Ok(writer.file.flush()?)
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
            Self::ColdEmpty(..) => Err("a run needs a row".into()),
            Self::Cold(writer) => {
                for (key, text) in entries {
                    let entry = KeyValue::new(key.to_owned(), Some(text));
                    writer.file.append_key_value_metadata(entry);
                }
                writer.file.finish()?;
                Ok(writer.file.flush()?)
            }
        }
    }

    /// The sink; `None` only where setting up the encoder failed.
    pub(super) fn sink(&mut self) -> Option<&mut Sink> {
        match self {
            Self::Hot(writer) => Some(writer.get_mut()),
            Self::ColdEmpty(sink, _) => sink.as_deref_mut(),
            Self::Cold(writer) => Some(writer.file.inner_mut()),
        }
    }

    /// Bytes written, as far as known without handing them to the sink.
    pub(super) fn bytes_written(&self) -> u64 {
        match self {
            Self::Hot(writer) => writer.get_ref().written(),
            Self::ColdEmpty(..) => 0,
            Self::Cold(writer) => writer.file.bytes_written() as u64,
        }
    }
}

/// Writes a Parquet file, column by column: of a block there is one that is being encoded, and no other's pages.
pub(super) struct ColdWriter {
    file: SerializedFileWriter<Sink>,
    schema: SchemaRef,
    columns: ArrowRowGroupWriterFactory,
}

impl ColdWriter {
    fn new(
        sink: Sink,
        schema: SchemaRef,
        mut properties: WriterProperties,
    ) -> Result<Self, ParquetError> {
        let of_file = ArrowSchemaConverter::new().convert(&schema)?;
        add_encoded_arrow_schema_to_metadata(&schema, &mut properties);
        let file =
            SerializedFileWriter::new(sink, of_file.root_schema_ptr(), Arc::new(properties))?;
        let columns = ArrowRowGroupWriterFactory::new(&file, Arc::clone(&schema));
        Ok(Self { file, schema, columns })
    }

    fn write_row_group(&mut self, block: &StoredBlock<'_>) -> Result<(), ParquetError> {
        let writers = self.columns.create_column_writers(self.file.flushed_row_groups().len())?;
        let mut writers = writers.into_iter();
        let mut group = self.file.next_row_group()?;
        for (column, field) in self.schema.fields().iter().enumerate() {
            for leaf in compute_leaves(field, &block.column(column)?)? {
                let mut writer = writers.next().ok_or_else(|| {
                    ParquetError::General(format!("column '{}' has no writer", field.name()))
                })?;
                writer.write(&leaf)?;
                writer.close()?.append_to_row_group(&mut group)?;
            }
        }
        group.close()?;
        Ok(())
    }
}
