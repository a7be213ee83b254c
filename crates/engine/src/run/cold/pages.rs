//! What is known of the pages of a block: where they begin, and between which values theirs lie.

use std::sync::{Arc, OnceLock};

use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{ArrayRef, new_null_array};
use arrow_schema::{Field, FieldRef};
use parquet::arrow::arrow_reader::statistics::StatisticsConverter;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use parquet::errors::ParquetError;
use parquet::file::metadata::{PageIndexPolicy, ParquetMetaData, ParquetMetaDataReader};

use super::super::checked::guarded;
use super::super::decimals;
use super::ColdFile;
use super::decode::{Decoded, DecodedTypes};
use crate::scan::{ColumnBounds, ViewedColumns, views};

/// The same bounds, with zeros of floats below all zeros, as Parquet's own are: bounds are compared bit by bit, and values
/// are not.
fn least_zero(min: &ArrayRef) -> ArrayRef {
    match min.as_primitive_opt::<Float64Type>() {
        Some(floats) => {
            Arc::new(floats.unary::<_, Float64Type>(|min| if min == 0.0 { -0.0 } else { min }))
        }
        None => Arc::clone(min),
    }
}

/// About what a decoder keeps of a column.
const READER_BYTES: usize = 256;

/// What the file's metadata says of one block, with its page index.
#[derive(Debug)]
pub(super) struct BlockPages {
    pub(super) metadata: Arc<ParquetMetaData>,
    /// The same for what its columns are decoded to, as that was asked for.
    readers: [OnceLock<ArrowReaderMetadata>; Decoded::COUNT],
}

impl BlockPages {
    /// For a decoder of the block, whose columns become these types.
    pub(super) fn reader(&self, types: &DecodedTypes) -> Result<ArrowReaderMetadata, ParquetError> {
        let Some(slot) = self.readers.get(types.decoded as usize) else {
            return Err(ParquetError::General("types that nothing is decoded to".to_owned()));
        };
        if let Some(reader) = slot.get() {
            return Ok(reader.clone());
        }
        let options = ArrowReaderOptions::new().with_schema(Arc::clone(&types.schema));
        let reader = ArrowReaderMetadata::try_new(Arc::clone(&self.metadata), options)?;
        Ok(slot.get_or_init(|| reader).clone())
    }
}

impl ColdFile {
    /// What is known of the pages of a block; `None` where nothing is. It only spares work, so that damage in it is
    /// nothing known.
    pub(super) fn pages(&self, block: usize) -> Option<Arc<BlockPages>> {
        if let Some(pages) = self.cache.pages(self.run, block) {
            return Some(pages);
        }
        let pages = Arc::new(self.read_pages(block).ok()?);
        // With what decoders will want of it.
        let bytes = pages.metadata.memory_size()
            + Decoded::COUNT * READER_BYTES * self.schema.fields().len();
        self.cache.insert_pages((self.run, block), Arc::clone(&pages), bytes);
        Some(pages)
    }

    fn read_pages(&self, block: usize) -> crate::Result<BlockPages> {
        let group = self.groups().get(block).ok_or_else(|| self.file.no_block(block))?;
        let of_file = self.stored.metadata.metadata().file_metadata();
        let metadata = ParquetMetaData::new(of_file.clone(), vec![group.clone()]);
        let file_bytes = self.file.bytes().len() as u64;
        guarded(self.file.path(), || {
            let mut reader = ParquetMetaDataReader::new_with_metadata(metadata)
                .with_page_index_policy(PageIndexPolicy::Optional);
            // Only the verified tail is given to it.
            let read = reader.read_page_indexes_sized(&self.tail, file_bytes);
            let metadata = read.and_then(|()| reader.finish());
            let metadata = metadata.map_err(|error| self.file.bad(0, error.to_string()))?;
            Ok(BlockPages { metadata: Arc::new(metadata), readers: Default::default() })
        })
    }

    /// The first row of each page, and the bounds of these columns in each; `None` where they have no such pages in
    /// common.
    pub(super) fn bounds(
        &self,
        pages: &BlockPages,
        wanted: &ViewedColumns,
    ) -> Option<(Vec<usize>, Vec<ColumnBounds>)> {
        let offsets = pages.metadata.offset_index()?.first()?;
        let mut starts: Option<Vec<usize>> = None;
        let mut bounds = Vec::with_capacity(wanted.columns.len());
        for (place, column) in wanted.columns.iter().enumerate() {
            let leaf = self.only_leaf(*column)?;
            let locations = offsets.get(leaf)?.page_locations().iter();
            let begin = locations.map(|page| usize::try_from(page.first_row_index).ok());
            let begin = begin.collect::<Option<Vec<_>>>()?;
            if starts.get_or_insert_with(|| begin.clone()) != &begin {
                return None;
            }
            let is_viewed = wanted.views.get(place).copied().unwrap_or(false);
            bounds.push(self.bounds_of(pages, (*column, leaf), is_viewed)?);
        }
        let starts = starts?;
        let is_sound = starts.first() == Some(&0)
            && starts.is_sorted()
            && bounds.iter().all(|column| column.min.len() == starts.len());
        is_sound.then_some((starts, bounds))
    }

    fn bounds_of(
        &self,
        pages: &BlockPages,
        (column, leaf): (usize, usize),
        is_viewed: bool,
    ) -> Option<ColumnBounds> {
        let field: &FieldRef = self.stored.schema.fields().get(column)?;
        let field = if is_viewed { views::viewed_field(field) } else { Arc::clone(field) };
        let schema = self.stored.metadata.parquet_schema();
        let field: &Field = &field;
        let (values, offsets) = (pages.metadata.column_index()?, pages.metadata.offset_index()?);
        let groups = pages.metadata.row_groups();
        let tell = || -> parquet::errors::Result<Option<ColumnBounds>> {
            let converter = StatisticsConverter::from_column_index(leaf, field, schema)?;
            let is_decimal = self.decimal_digits(column).is_some();
            let floats = |bounds: ArrayRef| match is_decimal {
                true => decimals::as_floats(bounds),
                false => bounds,
            };
            // Nobody tells of NaN, which is greater than all other floats; decimal numbers are none.
            let has_nan = field.data_type().is_floating();
            let greatest = |bounds: ArrayRef| match has_nan {
                true => new_null_array(bounds.data_type(), bounds.len()),
                false => floats(bounds),
            };
            let rows = converter.data_page_row_counts(offsets, groups, [&0])?;
            let Some(rows) = rows else { return Ok(None) };
            Ok(Some(ColumnBounds {
                min: least_zero(&floats(converter.data_page_mins(values, offsets, [&0])?)),
                max: greatest(converter.data_page_maxes(values, offsets, [&0])?),
                nulls: converter.data_page_null_counts(values, offsets, [&0])?,
                rows,
            }))
        };
        guarded(self.file.path(), || tell().map_err(|error| self.file.bad(0, error.to_string())))
            .ok()
            .flatten()
    }

    /// The one leaf of a column that has no parts.
    fn only_leaf(&self, column: usize) -> Option<usize> {
        let schema = self.stored.metadata.parquet_schema();
        let of_column = |leaf: &usize| schema.get_column_root_idx(*leaf) == column;
        let mut leaves = (0..schema.num_columns()).filter(of_column);
        match (leaves.next(), leaves.next()) {
            (Some(leaf), None) => Some(leaf),
            _ => None,
        }
    }
}
