//! Decoding columns of a block, in the order in which rows are stored.

use std::sync::{Arc, OnceLock};

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef};
use arrow_select::concat::concat_batches;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder, RowSelection,
};

use super::super::checked::guarded;
use super::super::{decimals, dictionary};
use super::ColdFile;
use crate::Result;
use crate::scan::views;

/// What the text of a file is decoded to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Decoded {
    /// The file's own types.
    Stored,
    /// Views.
    Viewed,
    /// Keys of dictionaries.
    ByDictionary,
}

impl Decoded {
    pub(super) const COUNT: usize = 3;
}

/// Types that a file's columns are decoded to.
#[derive(Debug)]
pub(super) struct DecodedTypes {
    pub(super) decoded: Decoded,
    pub(super) schema: SchemaRef,
    pub(super) metadata: ArrowReaderMetadata,
}

impl ColdFile {
    /// How columns of a block are best read: text that is stored by dictionaries alone by these.
    fn reading(&self, block: usize, columns: &[usize], text_views: bool) -> Result<&DecodedTypes> {
        let group = self.groups().get(block).ok_or_else(|| self.file.no_block(block))?;
        let schema = self.stored.metadata.parquet_schema();
        let mut texts = group.columns().iter().enumerate().filter_map(|(leaf, chunk)| {
            let column = schema.get_column_root_idx(leaf);
            let field = self.schema.fields().get(column).filter(|_| columns.contains(&column))?;
            (field.data_type() == &DataType::Utf8).then_some((chunk, field.data_type()))
        });
        let mut has_text = false;
        let is_told = texts.all(|(chunk, data_type)| {
            has_text = true;
            dictionary::tells_all(chunk, data_type)
        });
        match has_text {
            true if is_told => {
                let slot = (Decoded::ByDictionary, &self.by_dictionary);
                self.read_as(slot, |_, field| dictionary::field(field))
            }
            true if text_views => self.read_as((Decoded::Viewed, &self.viewed), |column, field| {
                self.is_viewed(column).then(|| views::viewed_field(field))
            }),
            _ => Ok(&self.stored),
        }
    }

    /// The file with other types for some fields.
    fn read_as<'a>(
        &self,
        (decoded, slot): (Decoded, &'a OnceLock<DecodedTypes>),
        other: impl Fn(usize, &FieldRef) -> Option<FieldRef>,
    ) -> Result<&'a DecodedTypes> {
        if let Some(reading) = slot.get() {
            return Ok(reading);
        }
        let fields = self.stored.schema.fields().iter().enumerate();
        let fields =
            fields.map(|(column, field)| other(column, field).unwrap_or_else(|| Arc::clone(field)));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let options = ArrowReaderOptions::new().with_schema(Arc::clone(&schema));
        let metadata = Arc::clone(self.stored.metadata.metadata());
        let metadata = ArrowReaderMetadata::try_new(metadata, options)
            .map_err(|error| self.file.bad(0, error.to_string()).caused_by(error))?;
        Ok(slot.get_or_init(|| DecodedTypes { decoded, schema, metadata }))
    }

    /// Decodes columns of one block, in ascending order: so many rows, all of them or those of a selection.
    pub(super) fn decode_rows(
        &self,
        (block, rows): (usize, usize),
        columns: &[usize],
        text_views: bool,
        selection: Option<RowSelection>,
    ) -> Result<RecordBatch> {
        let reading = self.reading(block, columns, text_views)?;
        let group = self.groups().get(block).ok_or_else(|| self.file.no_block(block))?;
        let schema = self.stored.metadata.parquet_schema();
        let mut start = u64::MAX;
        for (leaf, chunk) in group.columns().iter().enumerate() {
            if columns.contains(&schema.get_column_root_idx(leaf)) {
                let range = self.chunk_range(chunk)?;
                start = start.min(range.start);
                self.file.verify(range)?;
            }
        }
        let is_viewed = |index: usize| {
            text_views && columns.get(index).is_some_and(|column| self.is_viewed(*column))
        };
        let is_float = |index: usize| {
            columns.get(index).is_some_and(|column| self.decimal_digits(*column).is_some())
        };
        let decode = || -> std::result::Result<RecordBatch, DecodeFailure> {
            // With its page index a block's pages are left out that nothing is wanted of.
            let (metadata, group) = match selection.as_ref().and_then(|_| self.pages(block)) {
                Some(pages) => (pages.reader(reading)?, 0),
                None => (reading.metadata.clone(), block),
            };
            let reader = ParquetRecordBatchReaderBuilder::new_with_metadata(
                self.file.bytes().clone(),
                metadata,
            )
            .with_row_groups(vec![group])
            .with_projection(ProjectionMask::roots(schema, columns.iter().copied()))
            .with_batch_size(rows);
            let reader = match selection {
                Some(selection) => reader.with_row_selection(selection),
                None => reader,
            };
            let parts = reader.build()?.collect::<std::result::Result<Vec<_>, _>>()?;
            let schema = reading.schema.project(columns)?;
            without_keys(without_decimals(join(parts, rows, schema)?, is_float)?, is_viewed)
        };
        guarded(self.file.path(), || {
            decode().map_err(|error| {
                let message = format!("a row group can't be decoded: {error}");
                self.file.bad(start, message).caused_by(error)
            })
        })
    }
}

type DecodeFailure = Box<dyn std::error::Error + Send + Sync>;

/// One batch of the parts, which must have all rows and the types expected.
fn join(
    mut parts: Vec<RecordBatch>,
    rows: usize,
    schema: Schema,
) -> std::result::Result<RecordBatch, DecodeFailure> {
    let whole = match parts.len() {
        1 => parts.pop().ok_or("no rows")?,
        _ => {
            let found = parts.first().ok_or("no rows")?.schema();
            concat_batches(&found, &parts)?
        }
    };
    if whole.num_rows() != rows {
        return Err(format!("{} rows, expected {rows}", whole.num_rows()).into());
    }
    // Compares types, and refuses nulls in columns that have none.
    Ok(RecordBatch::try_new(Arc::new(schema), whole.columns().to_vec())?)
}

/// The same rows, with text in place of keys of dictionaries: views of it in columns that
/// `is_viewed`. Streams have no columns of dictionaries, so what is one was read as one.
fn without_keys(
    batch: RecordBatch,
    is_viewed: impl Fn(usize) -> bool,
) -> std::result::Result<RecordBatch, DecodeFailure> {
    let (schema, mut columns, rows) = batch.into_parts();
    let mut fields = schema.fields().to_vec();
    for (index, (field, column)) in fields.iter_mut().zip(&mut columns).enumerate() {
        if matches!(field.data_type(), DataType::Dictionary(_, _)) {
            *column = match is_viewed(index) {
                true => dictionary::viewed(column)?,
                false => dictionary::expanded(column)?,
            };
            *field = Arc::new(Field::clone(field).with_data_type(column.data_type().clone()));
        }
    }
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    Ok(RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), columns, &options)?)
}

/// The same columns, as floats where they are those of the stream and only the file has decimal numbers.
fn without_decimals(
    batch: RecordBatch,
    is_float: impl Fn(usize) -> bool,
) -> std::result::Result<RecordBatch, DecodeFailure> {
    let is_decimal = |index: usize, field: &FieldRef| {
        is_float(index) && matches!(field.data_type(), DataType::Decimal64(_, _))
    };
    let (schema, mut columns, rows) = batch.into_parts();
    let mut fields = schema.fields().to_vec();
    for (index, (field, column)) in fields.iter_mut().zip(&mut columns).enumerate() {
        if is_decimal(index, field) {
            *column = decimals::as_floats(column);
            *field = Arc::new(Field::clone(field).with_data_type(column.data_type().clone()));
        }
    }
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    Ok(RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), columns, &options)?)
}
