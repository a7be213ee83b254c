//! What is known of the pages of a block: where they begin, and between which values theirs lie.

use std::borrow::Cow;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{Array, ArrayRef, new_null_array};
use arrow_schema::{Field, FieldRef};
use parquet::arrow::arrow_reader::statistics::StatisticsConverter;
use parquet::file::metadata::{PageIndexPolicy, ParquetMetaData, ParquetMetaDataReader};

use super::super::cache::{Form, KeptRows};
use super::super::checked::guarded;
use super::super::decimals;
use super::ColdFile;
use super::groups::BlockPlace;
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

/// What is known of the pages of one column of a row group.
struct PageBounds {
    /// The first row of each.
    starts: Vec<usize>,
    bounds: ColumnBounds,
}

impl PageBounds {
    /// Bytes in memory.
    fn size(&self) -> usize {
        let ColumnBounds { min, max, nulls, rows } = &self.bounds;
        let arrays: [&dyn Array; 4] = [min, max, nulls, rows];
        let arrays = arrays.iter().map(|array| array.get_array_memory_size());
        arrays.sum::<usize>() + self.starts.capacity() * size_of::<usize>()
    }
}

impl PageBounds {
    /// The same of a block: of pages that have others' rows too what these are said to lie between.
    fn of_rows(&self, place: &BlockPlace) -> Option<(Cow<'_, [usize]>, ColumnBounds)> {
        if place.is_whole() {
            return Some((Cow::Borrowed(&self.starts), self.bounds.clone()));
        }
        let rows = &place.rows;
        let first = self.starts.partition_point(|start| *start <= rows.start).checked_sub(1)?;
        let end = self.starts.partition_point(|start| *start < rows.end);
        let starts = self.starts.get(first..end)?.iter();
        let starts: Vec<_> = starts.map(|start| start.saturating_sub(rows.start)).collect();
        let pages = end.checked_sub(first)?;
        let ColumnBounds { min, max, nulls, rows } = &self.bounds;
        if min.len() < end || nulls.len() < end || rows.len() < end {
            return None;
        }
        Some((
            Cow::Owned(starts),
            ColumnBounds {
                min: min.slice(first, pages),
                max: max.slice(first, pages),
                nulls: nulls.slice(first, pages),
                rows: rows.slice(first, pages),
            },
        ))
    }
}

impl ColdFile {
    /// What the file's metadata says of one row group, with its page index; `None` where it has none. That only spares work,
    /// so that damage in it is nothing known.
    pub(super) fn pages(&self, group: usize) -> Option<Arc<ParquetMetaData>> {
        let kept = KeptRows::all(self.run, group);
        if let Some(pages) = self.cache.known(kept, 0, Form::Pages) {
            return Some(pages);
        }
        let pages = Arc::new(self.read_pages(group).ok()?);
        let bytes = pages.memory_size();
        self.cache.insert_known(kept, (0, Form::Pages), Arc::clone(&pages), bytes);
        Some(pages)
    }

    fn read_pages(&self, group: usize) -> crate::Result<ParquetMetaData> {
        let group = self.groups().get(group).ok_or_else(|| self.file.no_block(group))?;
        let of_file = self.metadata.file_metadata();
        let metadata = ParquetMetaData::new(of_file.clone(), vec![group.clone()]);
        let file_bytes = self.file.bytes().len() as u64;
        guarded(self.file.path(), || {
            let mut reader = ParquetMetaDataReader::new_with_metadata(metadata)
                .with_page_index_policy(PageIndexPolicy::Optional);
            // Only the verified tail is given to it.
            let read = reader.read_page_indexes_sized(&self.tail, file_bytes);
            let metadata = read.and_then(|()| reader.finish());
            metadata.map_err(|error| self.file.bad(0, error.to_string()))
        })
    }

    /// The first row of each page of a block, and the bounds of these columns in each; `None` where they have no such pages
    /// in common.
    pub(super) fn bounds(
        &self,
        block: usize,
        wanted: &ViewedColumns,
    ) -> Option<(Vec<usize>, Vec<ColumnBounds>)> {
        let rows = self.place(block).ok()?;
        let mut starts: Option<Vec<usize>> = None;
        let mut bounds = Vec::with_capacity(wanted.columns.len());
        for (place, column) in wanted.columns.iter().enumerate() {
            let is_viewed = wanted.views.get(place).copied().unwrap_or(false);
            let of_group = self.page_bounds(rows.group, *column, is_viewed)?;
            let (of_column, bounds_of_column) = of_group.of_rows(rows)?;
            match &starts {
                None => starts = Some(of_column.into_owned()),
                Some(starts) if starts.as_slice() != of_column.as_ref() => return None,
                Some(_) => {}
            }
            bounds.push(bounds_of_column);
        }
        Some((starts?, bounds))
    }

    /// The first row of each page of a row group's keys, and the least and the greatest key of each; `None` where that isn't
    /// known.
    pub(super) fn lead_pages(&self, group: usize) -> Option<(Vec<usize>, ColumnBounds)> {
        let pages = self.page_bounds(group, self.lead_column, false)?;
        let PageBounds { starts, bounds } = pages.as_ref();
        let is_known = bounds.min.null_count() + bounds.max.null_count() == 0;
        is_known.then(|| (starts.clone(), bounds.clone()))
    }

    /// What is known of the pages of a row group's column, from the cache where that has it: to read it from the page index takes as long
    /// as to look at it.
    fn page_bounds(&self, group: usize, column: usize, is_viewed: bool) -> Option<Arc<PageBounds>> {
        let form = if is_viewed { Form::ViewedBounds } else { Form::Bounds };
        let kept = KeptRows::all(self.run, group);
        if let Some(bounds) = self.cache.known(kept, column, form) {
            return Some(bounds);
        }
        let (pages, leaf) = (self.pages(group)?, self.only_leaf(column)?);
        let locations = pages.offset_index()?.first()?.get(leaf)?.page_locations().iter();
        let starts = locations.map(|page| usize::try_from(page.first_row_index).ok());
        let starts = starts.collect::<Option<Vec<_>>>()?;
        let bounds = self.bounds_of(&pages, (column, leaf), is_viewed)?;
        let is_sound =
            starts.first() == Some(&0) && starts.is_sorted() && bounds.min.len() == starts.len();
        let known = Arc::new(is_sound.then_some(PageBounds { starts, bounds })?);
        self.cache.insert_known(kept, (column, form), Arc::clone(&known), known.size());
        Some(known)
    }

    fn bounds_of(
        &self,
        pages: &ParquetMetaData,
        (column, leaf): (usize, usize),
        is_viewed: bool,
    ) -> Option<ColumnBounds> {
        let field: &FieldRef = self.stored.schema.fields().get(column)?;
        let field = if is_viewed { views::viewed_field(field) } else { Arc::clone(field) };
        let schema = self.metadata.file_metadata().schema_descr();
        let field: &Field = &field;
        let (values, offsets) = (pages.column_index()?, pages.offset_index()?);
        let groups = pages.row_groups();
        let tell = || -> parquet::errors::Result<Option<ColumnBounds>> {
            let converter = StatisticsConverter::from_column_index(leaf, field, schema)?;
            let is_decimal = self.decimal_digits(column).is_some();
            // Nobody tells of NaN, which is greater than all other floats, or with a sign less; decimal numbers are none.
            let has_nan = field.data_type().is_floating();
            let known = |bounds: ArrayRef| match (has_nan, is_decimal) {
                (true, _) => new_null_array(bounds.data_type(), bounds.len()),
                (false, true) => decimals::as_floats(bounds),
                (false, false) => bounds,
            };
            let rows = converter.data_page_row_counts(offsets, groups, [&0])?;
            let Some(rows) = rows else { return Ok(None) };
            Ok(Some(ColumnBounds {
                min: least_zero(&known(converter.data_page_mins(values, offsets, [&0])?)),
                max: known(converter.data_page_maxes(values, offsets, [&0])?),
                nulls: converter.data_page_null_counts(values, offsets, [&0])?,
                rows,
            }))
        };
        guarded(self.file.path(), || tell().map_err(|error| self.file.bad(0, error.to_string())))
            .ok()
            .flatten()
    }

    /// The one leaf of a column that has no parts.
    pub(super) fn only_leaf(&self, column: usize) -> Option<usize> {
        let schema = self.metadata.file_metadata().schema_descr();
        let of_column = |leaf: &usize| schema.get_column_root_idx(*leaf) == column;
        let mut leaves = (0..schema.num_columns()).filter(of_column);
        match (leaves.next(), leaves.next()) {
            (Some(leaf), None) => Some(leaf),
            _ => None,
        }
    }
}
