//! Decoding columns of a block, in the order in which rows are stored.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use arrow_array::{
    Array, ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions, UInt32Array, make_array,
    new_empty_array,
};
use arrow_buffer::{ArrowNativeType, Buffer};
use arrow_data::ArrayData;
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Schema, SchemaRef};
use arrow_select::concat::concat_batches;
use arrow_select::take::take;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, RowSelection};
use parquet::arrow::{FieldLevels, ProjectionMask, parquet_to_arrow_field_levels};
use parquet::errors::ParquetError;
use parquet::file::metadata::ParquetMetaData;
use parquet::file::page_index::offset_index::PageLocation;
use parquet::schema::types::SchemaDescriptor;
use timestrata_io::Arena;
use timestrata_io::sync::Mutex;

use super::super::cache::KeptRows;
use super::super::checked::guarded;
use super::super::dictionary::ViewedDictionary;
use super::super::parts::PART_ROWS;
use super::super::value_buffer::{Plain, ValueBuffer};
use super::super::{decimals, dictionary};
use super::ColdFile;
use super::block::{BlockReader, Part};
use super::columns::{BlockColumns, KeptDictionaries, pages_of_rows};
use super::flat::FlatColumn;
use super::mask::RowMask;
use crate::scan::views;
use crate::{Error, Result};

/// What columns are decoded as.
#[derive(Debug, Clone, Copy)]
pub(in crate::run) struct DecodedAs<'a> {
    /// Text as views.
    text_views: bool,
    /// Columns of text that may be codes and a dictionary instead, where they are stored so.
    codes: &'a [usize],
    /// Decimal numbers as these, and not as floats.
    keeps_decimals: bool,
    /// For once: the cache doesn't keep it.
    is_for_once: bool,
    /// Where there is room for it, if not in the allocator's memory.
    arena: Option<&'a Arena>,
    /// The cache keeps no dictionary either that it shares with other blocks.
    is_checked: bool,
}

impl<'a> DecodedAs<'a> {
    /// Text and numbers as the stream has them.
    pub(in crate::run) const PLAIN: Self = Self {
        text_views: false,
        codes: &[],
        keeps_decimals: false,
        is_for_once: false,
        arena: None,
        is_checked: false,
    };
    /// The same for a check, which leaves the cache to readers.
    pub(super) const CHECKED: Self = Self { is_checked: true, ..Self::PLAIN };
    /// Numbers as they are stored.
    pub(super) const STORED: Self = Self { keeps_decimals: true, ..Self::PLAIN };

    /// Text as views, if so wished.
    pub(in crate::run) fn viewed(text_views: bool) -> Self {
        Self { text_views, ..Self::PLAIN }
    }

    /// Text as views, if so wished, and of some columns as codes.
    pub(in crate::run) fn coded(text_views: bool, codes: &'a [usize]) -> Self {
        Self { text_views, codes, ..Self::PLAIN }
    }

    /// The same, which the cache doesn't keep.
    pub(in crate::run) fn for_once(self, is_for_once: bool) -> Self {
        Self { is_for_once, ..self }
    }

    /// The same in memory of an arena, as far as it is for once: what the cache keeps would hold all that lies beside it.
    pub(in crate::run) fn in_arena(self, arena: Option<&'a Arena>) -> Self {
        Self { arena: arena.filter(|_| self.is_for_once), ..self }
    }

    pub(super) fn is_for_once(self) -> bool {
        self.is_for_once
    }

    pub(in crate::run) fn has_views(self) -> bool {
        self.text_views
    }

    pub(super) fn may_be_codes(self, column: usize) -> bool {
        self.codes.contains(&column)
    }
}

/// Which rows of a block are decoded.
pub(in crate::run) enum ChosenRows {
    All,
    /// These, and the others are skipped.
    Stretch(RowSelection),
    /// The others are skipped, which costs as much as decoding some hundred rows each time; and of these those are kept that are
    /// set.
    Stretches(RowSelection, BooleanArray),
    /// All of them, or those of one long stretch, a few thousand at once, and those are kept that are set.
    Masked(Option<RowSelection>, BooleanArray),
}

impl ChosenRows {
    /// Rows of a block of so many that follow each other, each of which is kept.
    pub(in crate::run) fn stretch(rows: &Range<usize>, all: usize) -> Self {
        if rows.len() == all {
            return Self::All;
        }
        let selection = RowSelection::from_consecutive_ranges(std::iter::once(rows.clone()), all);
        Self::Stretch(selection)
    }

    /// Of the stretch of a block of so many rows in which rows are selected these; and how many are read.
    pub(super) fn masked(selected: &RowMask, all: usize) -> (usize, Self) {
        let rows = selected.stretch();
        let read = rows.len();
        let selection =
            (read < all).then(|| RowSelection::from_consecutive_ranges(std::iter::once(rows), all));
        (read, Self::Masked(selection, selected.of_stretch()))
    }

    fn selection(&self) -> Option<&RowSelection> {
        match self {
            Self::Stretch(selection)
            | Self::Stretches(selection, _)
            | Self::Masked(Some(selection), _) => Some(selection),
            Self::All | Self::Masked(None, _) => None,
        }
    }

    /// What is read, and what is kept of that.
    pub(super) fn into_parts(self) -> (Option<RowSelection>, Option<BooleanArray>) {
        match self {
            Self::All => (None, None),
            Self::Stretch(selection) => (Some(selection), None),
            Self::Stretches(selection, mask) => (Some(selection), Some(mask)),
            Self::Masked(selection, mask) => (selection, Some(mask)),
        }
    }
}

/// Columns that are decoded together, and what Parquet's decoder is told of them.
type Projected = (Vec<usize>, Arc<FieldLevels>);

/// So many sets of columns are remembered: queries ask for the same again.
const PROJECTED_MAX: usize = 16;

/// Types that a file's columns are decoded to.
#[derive(Debug)]
pub(super) struct DecodedTypes {
    pub(super) schema: SchemaRef,
    projected: Mutex<Vec<Projected>>,
}

impl DecodedTypes {
    pub(super) fn new(schema: SchemaRef) -> Self {
        Self { schema, projected: Mutex::default() }
    }

    /// What a decoder of these columns is told.
    fn levels(
        &self,
        descriptor: &SchemaDescriptor,
        columns: &[usize],
    ) -> std::result::Result<Arc<FieldLevels>, ParquetError> {
        let is_wanted = |(of, _): &&Projected| of == columns;
        if let Some((_, levels)) = self.projected.lock().iter().find(is_wanted) {
            return Ok(Arc::clone(levels));
        }
        let mask = ProjectionMask::roots(descriptor, columns.iter().copied());
        let levels = parquet_to_arrow_field_levels(descriptor, mask, Some(self.schema.fields()))?;
        let levels = Arc::new(levels);
        let mut projected = self.projected.lock();
        if projected.len() == PROJECTED_MAX {
            projected.remove(0);
        }
        projected.push((columns.to_vec(), Arc::clone(&levels)));
        Ok(levels)
    }
}

impl ColdFile {
    /// How columns of a block are best read: text that is stored by dictionaries alone by these.
    fn reading(&self, block: usize, columns: &[usize], text_views: bool) -> Result<&DecodedTypes> {
        let group = self.place(block)?.group;
        let group = self.groups().get(group).ok_or_else(|| self.file.no_block(block))?;
        let schema = self.metadata.file_metadata().schema_descr();
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
                Ok(self.read_as(&self.by_dictionary, |_, field| dictionary::field(field)))
            }
            true if text_views => Ok(self.read_as(&self.viewed, |column, field| {
                self.is_viewed(column).then(|| views::viewed_field(field))
            })),
            _ => Ok(&self.stored),
        }
    }

    /// The file with other types for some fields.
    fn read_as<'a>(
        &self,
        slot: &'a OnceLock<DecodedTypes>,
        other: impl Fn(usize, &FieldRef) -> Option<FieldRef>,
    ) -> &'a DecodedTypes {
        slot.get_or_init(|| {
            let fields = self.stored.schema.fields().iter().enumerate();
            let fields = fields
                .map(|(column, field)| other(column, field).unwrap_or_else(|| Arc::clone(field)));
            DecodedTypes::new(Arc::new(Schema::new(fields.collect::<Vec<_>>())))
        })
    }

    /// Decodes columns of one block, in ascending order: so many rows, all of them or those that are chosen; and what is
    /// given of these in another order, if there is one.
    pub(super) fn decode_rows(
        &self,
        (block, rows): (usize, usize),
        columns: &[usize],
        wanted: DecodedAs<'_>,
        chosen: ChosenRows,
        order: Option<&UInt32Array>,
    ) -> Result<RecordBatch> {
        let rows_a_part = if matches!(chosen, ChosenRows::Masked(..)) { PART_ROWS } else { rows };
        let mut decoding = self.decoding((block, rows), rows_a_part, columns, wanted, chosen)?;
        decoding.order = order.cloned();
        let (path, start) = (decoding.path.clone(), decoding.start);
        let mut parts = decoding.by_ref().collect::<Result<Vec<_>>>()?;
        let bad = |message: String| Error::corruption(&path, start, message);
        let decoded = match (parts.len(), parts.first()) {
            (0, _) | (_, None) => return Err(bad("a row group has no rows".to_owned())),
            (1, _) => parts.remove(0),
            (_, Some(first)) => concat_batches(first.schema_ref(), &parts)
                .map_err(|error| bad(error.to_string()).caused_by(error))?,
        };
        // Rows of several parts are put in order behind them.
        let Some(order) = decoding.order.take() else { return Ok(decoded) };
        let columns = self.in_order(decoded.columns(), &order)?;
        RecordBatch::try_new(decoded.schema(), columns)
            .map_err(|error| bad(error.to_string()).caused_by(error))
    }

    /// What is read of a column for some rows: its dictionary, which lies before all pages, and the pages that
    /// have such rows. A column of a file that isn't in memory would else be read whole for each row.
    pub(super) fn read_ranges(
        &self,
        chunk: Range<u64>,
        places: &[PageLocation],
        rows: &RowSelection,
    ) -> Result<Vec<Range<u64>>> {
        let first = places.first().and_then(|page| u64::try_from(page.offset).ok());
        let dictionary = chunk.start..first.unwrap_or(chunk.end);
        let of_page = |page: &PageLocation| {
            let start = u64::try_from(page.offset).ok()?;
            Some(start..start.checked_add(page.compressed_page_size.try_into().ok()?)?)
        };
        let pages = pages_of_rows(places, rows).map(of_page);
        let ranges: Option<Vec<_>> = std::iter::once(Some(dictionary)).chain(pages).collect();
        ranges.ok_or_else(|| self.file.bad(chunk.start, "a page has no place in its column"))
    }

    /// Columns of one block, in ascending order, decoded bit by bit: no more than `rows_a_part` rows at once.
    pub(in crate::run) fn decoding(
        &self,
        (block, rows): (usize, usize),
        rows_a_part: usize,
        columns: &[usize],
        wanted: DecodedAs<'_>,
        chosen: ChosenRows,
    ) -> Result<Decoding> {
        let reading = self.reading(block, columns, wanted.text_views)?;
        let place = self.place(block)?;
        let chosen = place.in_group(chosen);
        let selection = chosen.selection();
        let group = self.groups().get(place.group).ok_or_else(|| self.file.no_block(block))?;
        let schema = self.metadata.file_metadata().schema_descr();
        // With its page index a block's pages are left out that nothing is wanted of.
        let pages = selection.and_then(|_| self.pages(place.group));
        let mut start = u64::MAX;
        for (leaf, chunk) in group.columns().iter().enumerate() {
            if columns.contains(&schema.get_column_root_idx(leaf)) {
                let range = self.chunk_range(chunk)?;
                start = start.min(range.start);
                match selection.zip(pages.as_deref().and_then(|of| places(of, leaf))) {
                    Some((rows, places)) => {
                        let mut ranges = self.read_ranges(range, places, rows)?.into_iter();
                        ranges.try_for_each(|range| self.file.verify(range))?;
                    }
                    None => self.file.verify(range)?,
                }
            }
        }
        let (metadata, of_metadata) = match pages {
            Some(pages) => (pages, 0),
            None => (Arc::clone(&self.metadata), place.group),
        };
        let of_group = || KeptRows::all(self.run, place.group);
        let are_kept = !place.is_whole() && !wanted.is_checked;
        let kept = are_kept.then(|| KeptDictionaries::new(&self.cache, of_group()));
        let read = BlockColumns::new(self.file.bytes().clone(), metadata, of_metadata);
        let read = read.keeping(kept);
        let part_rows = (rows, rows_a_part.min(rows));
        let path = self.file.path();
        let begin = || {
            let (of_file, columns) = ((reading, &read), (place.group, columns));
            let keeps_decimals = wanted.keeps_decimals;
            let begun = self.block_reader(of_file, columns, keeps_decimals, chosen, part_rows);
            begun.map_err(|error| undecodable(path, start, error))
        };
        let (reader, schema) = guarded(path, begin)?;
        let is_viewed = columns.iter().map(|column| wanted.text_views && self.is_viewed(*column));
        let is_float = columns
            .iter()
            .map(|column| !wanted.keeps_decimals && self.decimal_digits(*column).is_some());
        Ok(Decoding {
            reader,
            schema,
            is_viewed: is_viewed.collect(),
            is_coded: columns.iter().map(|column| wanted.may_be_codes(*column)).collect(),
            is_float: is_float.collect(),
            dictionaries: vec![None; columns.len()],
            order: None,
            arena: wanted.arena.cloned(),
            rows,
            rows_left: Some(rows),
            path: path.to_owned(),
            start,
        })
    }

    /// What decodes columns of a block, and their types.
    fn block_reader(
        &self,
        (reading, read): (&DecodedTypes, &BlockColumns),
        (group, columns): (usize, &[usize]),
        keeps_decimals: bool,
        chosen: ChosenRows,
        (rows, rows_a_part): (usize, usize),
    ) -> std::result::Result<(BlockReader, SchemaRef), DecodeFailure> {
        let schema = reading.schema.project(columns)?;
        let mut fields = schema.fields().to_vec();
        let mut flat = Vec::new();
        let mut others = (Vec::new(), Vec::new());
        for (place, (column, field)) in columns.iter().zip(&mut fields).enumerate() {
            let digits = self.decimal_digits(*column).filter(|_| !keeps_decimals);
            let selection = chosen.selection();
            match self.flat_column(
                (group, *column),
                field.data_type(),
                digits,
                (read, selection),
            )? {
                Some(column) => {
                    let data_type = column.data_type();
                    if field.data_type() != &data_type {
                        *field = Arc::new(Field::clone(field).with_data_type(data_type));
                    }
                    flat.push((place, column));
                }
                None => {
                    others.0.push(place);
                    others.1.push(*column);
                }
            }
        }
        let (places, columns) = others;
        let others = match columns.is_empty() {
            true => None,
            false => {
                let selection = chosen.selection().cloned();
                let of_file = self.metadata.file_metadata().schema_descr();
                let levels = reading.levels(of_file, &columns)?;
                let reader = ParquetRecordBatchReader::try_new_with_row_groups(
                    &levels,
                    read,
                    rows_a_part,
                    selection,
                )?;
                Some((places, reader))
            }
        };
        let schema = Arc::new(Schema::new(fields));
        Ok((BlockReader::new(flat, others, chosen, (rows, rows_a_part)), schema))
    }

    /// The column where it is flat.
    fn flat_column(
        &self,
        (group, column): (usize, usize),
        data_type: &DataType,
        digits: Option<u32>,
        (read, selection): (&BlockColumns, Option<&RowSelection>),
    ) -> std::result::Result<Option<FlatColumn>, ParquetError> {
        let Some(leaf) = self.only_leaf(column) else { return Ok(None) };
        // Of other text most values differ from the one before, and codes of them were for nothing.
        let is_text = matches!(data_type, DataType::Utf8 | DataType::Utf8View);
        if is_text && !self.series.contains(&column) {
            return Ok(None);
        }
        let group = self.groups().get(group);
        let chunk = group.and_then(|group| {
            // As many as the zone map says, which was looked at when the file was opened.
            let rows = usize::try_from(group.num_rows()).ok()?;
            Some((group.columns().get(leaf)?, rows))
        });
        chunk.map_or(Ok(None), |chunk| {
            FlatColumn::new(chunk, data_type, digits, || read.pages_with(leaf, selection))
        })
    }
}

/// Where the pages of a column of the only block lie that the metadata has.
pub(super) fn places(pages: &ParquetMetaData, leaf: usize) -> Option<&[PageLocation]> {
    let places = pages.offset_index()?.first()?.get(leaf)?.page_locations();
    (!places.is_empty()).then_some(places)
}

pub(super) type DecodeFailure = Box<dyn std::error::Error + Send + Sync>;

fn undecodable(path: &Path, start: u64, error: DecodeFailure) -> Error {
    Error::corruption(path, start, format!("a row group can't be decoded: {error}"))
        .caused_by(error)
}

/// Columns of one block, as they are decoded. Their bytes have been verified.
pub(in crate::run) struct Decoding {
    reader: BlockReader,
    /// As the reader gives them.
    schema: SchemaRef,
    /// Which of them are wanted as views,
    is_viewed: Vec<bool>,
    /// which of them as codes, where they are stored so,
    is_coded: Vec<bool>,
    /// and which are floats, even where the file has decimal numbers.
    is_float: Vec<bool>,
    /// The order that rows are given in, if it is another one: of all that are given.
    order: Option<UInt32Array>,
    /// Where there is room for the columns that are given.
    arena: Option<Arena>,
    /// The views of each column's last dictionary.
    dictionaries: Vec<Option<ViewedDictionary>>,
    rows: usize,
    /// Rows to come; `None` once it has ended or failed.
    rows_left: Option<usize>,
    path: PathBuf,
    start: u64,
}

impl Decoding {
    /// The next rows; `None` once all have come.
    fn next_part(
        &mut self,
        left: usize,
    ) -> std::result::Result<Option<RecordBatch>, DecodeFailure> {
        // What is put in order is copied into the arena, and not what it is copied from.
        let arena = self.arena.as_ref().filter(|_| self.order.is_none());
        let part = self.reader.next(arena)?;
        let found = part.as_ref().map_or(0, |part| part.rows);
        let Some(left) = left.checked_sub(found).filter(|left| found > 0 || *left == 0) else {
            let found = self.rows - left + found;
            return Err(format!("{found} rows, expected {}", self.rows).into());
        };
        self.rows_left = (found > 0).then_some(left);
        let Some(Part { mut columns, given, .. }) = part else { return Ok(None) };
        // Before texts are made of codes, which are shorter.
        if let Some(order) = self.order.take_if(|order| order.len() == given) {
            for column in &mut columns {
                *column = in_order(column, &order, self.arena.as_ref())?;
            }
        }
        let options = RecordBatchOptions::new().with_row_count(Some(given));
        // Compares types, and refuses nulls in columns that have none.
        let part = RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)?;
        self.as_wanted(part).map(Some)
    }

    /// The same rows, with text in place of keys of dictionaries, as views of it where these are wanted, and with floats
    /// in place of decimal numbers. Streams have no columns of dictionaries, so what is one was read as one.
    fn as_wanted(&mut self, part: RecordBatch) -> std::result::Result<RecordBatch, DecodeFailure> {
        let (schema, mut columns, rows) = part.into_parts();
        let mut fields = schema.fields().to_vec();
        for (index, (field, column)) in fields.iter_mut().zip(&mut columns).enumerate() {
            let is = |flags: &[bool]| flags.get(index).copied().unwrap_or(false);
            let found = std::mem::replace(column, new_empty_array(&DataType::Null));
            *column = match (field.data_type(), self.dictionaries.get_mut(index)) {
                (DataType::Dictionary(_, _), _) if is(&self.is_coded) => found,
                (DataType::Dictionary(_, _), Some(dictionary)) if is(&self.is_viewed) => {
                    dictionary::viewed(&found, dictionary)?
                }
                (DataType::Dictionary(_, _), _) => {
                    dictionary::expanded(&found, self.arena.as_ref())?
                }
                (DataType::Decimal64(_, _), _) if is(&self.is_float) => decimals::as_floats(found),
                _ => found,
            };
            if field.data_type() != column.data_type() {
                *field = Arc::new(Field::clone(field).with_data_type(column.data_type().clone()));
            }
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        Ok(RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), columns, &options)?)
    }
}

/// A column in another order, in an arena where one is given and values have a width.
fn in_order(
    column: &ArrayRef,
    order: &UInt32Array,
    arena: Option<&Arena>,
) -> std::result::Result<ArrayRef, ArrowError> {
    let width = column.data_type().primitive_width();
    if arena.is_none() || column.null_count() > 0 || order.null_count() > 0 {
        return take(column, order, None);
    }
    let data = column.to_data();
    let taken = match width {
        Some(4) => gathered::<i32>(&data, order, arena),
        Some(8) => gathered::<i64>(&data, order, arena),
        _ => None,
    };
    let Some(taken) = taken else { return take(column, order, None) };
    let taken = ArrayData::builder(column.data_type().clone()).len(order.len()).add_buffer(taken);
    Ok(make_array(taken.build()?))
}

/// The values at some places, of a width; `None` where one has none.
fn gathered<T: Plain + ArrowNativeType>(
    data: &ArrayData,
    places: &UInt32Array,
    arena: Option<&Arena>,
) -> Option<Buffer> {
    let values: &[T] = bytemuck::try_cast_slice(data.buffers().first()?).ok()?;
    let values = values.get(data.offset()..)?.get(..data.len())?;
    let mut taken = ValueBuffer::default();
    taken.reserve(places.len(), arena);
    let mut are_there = true;
    taken.extend(places.values().iter().map(|place| {
        let value = values.get(*place as usize);
        are_there &= value.is_some();
        value.copied().unwrap_or_default()
    }));
    are_there.then(|| taken.into_buffer())
}

impl Iterator for Decoding {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        let left = self.rows_left.take()?;
        let (path, start) = (self.path.clone(), self.start);
        let next = || self.next_part(left).map_err(|error| undecodable(&path, start, error));
        guarded(&path, next).transpose()
    }
}
