//! Cold runs: a Parquet file, mapped; columns are decoded and kept in the store's cache.
//!
//! Rows of a block lie in the order of the key, or by series (see [`series`]). The cache has columns
//! as they are stored; who reads gets them in the order of the key.

mod aggregates;
mod block;
mod columns;
mod decode;
mod flat;
mod groups;
mod kept;
mod mask;
mod pages;
mod passing;
mod pruning;
mod ranges;

use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use arrow_array::cast::AsArray;
use arrow_array::types::UInt32Type;
use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, UInt32Array};
use arrow_buffer::BooleanBufferBuilder;
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};
use arrow_select::filter::FilterBuilder;
use arrow_select::take::take;
use bytes::Bytes;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions, RowSelection};
use parquet::basic::ConvertedType;
use parquet::bloom_filter::Sbbf;
use parquet::errors::ParquetError;
use parquet::file::metadata::{
    ColumnChunkMetaData, ParquetMetaData, ParquetMetaDataReader, RowGroupMetaData,
};
use timestrata_format::{RunAggregates, RunId, RunLayout, WordFilters};

use self::decode::DecodedTypes;
pub(super) use self::decode::{ChosenRows, DecodedAs, Decoding};
use self::groups::BlockPlace;
use self::mask::RowMask;
pub(super) use self::passing::PIECE_ROWS;
use super::cache::{BlockCache, Form, KeptRows};
use super::checked::{CheckedFile, byte_range, guarded};
use super::series::{self, PLACE_COLUMN};
use super::tail::{self, Zone};
use super::word_filter::BlockWords;
use super::{AGGREGATES_KEY, LAYOUT_KEY, METADATA_KEY, ORIGIN_KEY, WORDS_KEY};
use crate::scan::views;
use crate::{Error, Result, Stream};

/// Rows are few where they are no more than one in so many: to decode all and keep them costs more.
const FEW_ROWS_SHARE: usize = 4;

/// So many rows between two that are selected are decoded faster than they are skipped.
const GAP_ROWS_MAX: usize = 64;

/// A block of more rows is shared between readers, and read in parts that nothing is kept of.
pub(super) const LONG_BLOCK_ROWS: u32 = if cfg!(test) { 8_192 } else { 262_144 };

/// To skip to the next stretch takes as long as to decode so many rows.
const SKIP_ROWS: usize = 512;

/// Where the rows lie that are selected.
struct Selected {
    /// Without the short gaps between them.
    stretches: Vec<Range<usize>>,
    /// Rows of all stretches.
    rows: usize,
}

impl Selected {
    fn of(selected: &RowMask) -> Self {
        let mut stretches: Vec<Range<usize>> = Vec::new();
        for run in selected.runs() {
            match stretches.last_mut() {
                Some(last) if run.start - last.end <= GAP_ROWS_MAX => last.end = run.end,
                _ => stretches.push(run),
            }
        }
        let rows = stretches.iter().map(Range::len).sum();
        Self { stretches, rows }
    }
}

/// Which rows of some stretches are selected.
fn selected_of(selected: &RowMask, stretches: &[Range<usize>]) -> BooleanArray {
    let mut of_stretches = BooleanBufferBuilder::new(selected.stretch().len());
    for stretch in stretches {
        of_stretches.append_buffer(&selected.slice(stretch));
    }
    BooleanArray::new(of_stretches.finish(), None)
}

/// What the footer says.
#[derive(Debug)]
pub(super) struct ColdFooter {
    /// The columns of the stream as it was, whatever the file has them as.
    pub(super) schema: SchemaRef,
    layout: Option<RunLayout>,
    tail: Bytes,
    pub(super) tail_text: Option<String>,
    pub(super) origin_text: Option<String>,
    /// Where the filters of its blocks' words are, if it has them.
    pub(super) words_text: Option<String>,
    /// Where that lies which its rows come to, if it has it.
    aggregates: Option<Box<RunAggregates>>,
    metadata: ArrowReaderMetadata,
}

/// A cold run, open.
#[derive(Debug)]
pub(super) struct ColdFile {
    file: CheckedFile,
    run: RunId,
    cache: Arc<BlockCache>,
    /// The columns of the stream as it was.
    schema: SchemaRef,
    /// Columns by which rows lie, which the file has one more column of places for; none: they lie in the order of the key.
    series: Vec<usize>,
    metadata: Arc<ParquetMetaData>,
    /// Where the rows of each block are.
    places: Vec<BlockPlace>,
    /// The file's own types; the others are made when somebody wants them.
    stored: DecodedTypes,
    /// For each column whether it is read as views where views are wanted.
    has_views: Vec<bool>,
    viewed: OnceLock<DecodedTypes>,
    /// All text by its dictionaries.
    by_dictionary: OnceLock<DecodedTypes>,
    lead_column: usize,
    /// The end of the file, which was verified.
    tail: Bytes,
    /// Bloom filters of the leading key, as row groups were asked for.
    filters: Vec<OnceLock<Option<Sbbf>>>,
    words: Option<BlockWords>,
    /// Where that lies which its rows come to.
    aggregates: Option<Box<RunAggregates>>,
}

/// Reads the footer, which lies in the verified tail at `tail_start`.
pub(super) fn read_footer(
    path: &Path,
    bytes: &Bytes,
    tail_start: usize,
    schema: &SchemaRef,
) -> Result<ColdFooter> {
    let unreadable = |error: ParquetError| {
        let message = format!("the footer of a run can't be read: {error}");
        Error::corruption(path, tail_start as u64, message).caused_by(error)
    };
    guarded(path, || {
        // Only the tail is given to the decoder: it can't look at unverified bytes.
        let tail = bytes.slice(tail_start..);
        let metadata = ParquetMetaDataReader::new().parse_and_finish(&tail);
        let metadata = Arc::new(metadata.map_err(unreadable)?);
        let entries = metadata.file_metadata().key_value_metadata();
        let entry = |key: &str| entries?.iter().find(|entry| entry.key == key)?.value.clone();
        let (tail_text, words_text) = (entry(METADATA_KEY), entry(WORDS_KEY));
        let origin_text = entry(ORIGIN_KEY);
        let layout = tail::layout(path, tail_start as u64, entry(LAYOUT_KEY).as_deref())?;
        let aggregates = entry(AGGREGATES_KEY);
        let aggregates =
            tail::aggregates(path, tail_start as u64, aggregates.as_deref())?.map(Box::new);
        let as_today = in_file(schema, layout.as_ref());
        let is_of_seconds = has_seconds_for_others(&metadata, &as_today);
        let as_today = ArrowReaderOptions::new().with_schema(as_today);
        let metadata = match ArrowReaderMetadata::try_new(Arc::clone(&metadata), as_today) {
            Ok(metadata) if !is_of_seconds => metadata,
            // Written before its stream got other columns: it knows its own.
            _ => ArrowReaderMetadata::try_new(metadata, ArrowReaderOptions::new())
                .map_err(unreadable)?,
        };
        let schema = of_stream(metadata.schema(), layout.as_ref()).ok_or_else(|| {
            let message = "the columns of a run are not those that its layout tells of";
            Error::corruption(path, tail_start as u64, message)
        })?;
        Ok(ColdFooter {
            schema,
            layout,
            tail,
            tail_text,
            origin_text,
            words_text,
            aggregates,
            metadata,
        })
    })
}

/// Digits that a whole number has which a float has one by one, and more.
const DECIMAL_PRECISION: u8 = 18;

/// What floats with so many digits behind the point are stored as; `None`: nobody stores them so.
pub(super) fn decimal_type(digits: u32) -> Option<DataType> {
    let scale = i8::try_from(digits).ok().filter(|scale| *scale <= 18)?;
    Some(DataType::Decimal64(DECIMAL_PRECISION, scale))
}

/// What a file has where its stream has these columns.
pub(super) fn in_file(schema: &SchemaRef, layout: Option<&RunLayout>) -> SchemaRef {
    let Some(layout) = layout else { return Arc::clone(schema) };
    let fields = (0_u32..).zip(schema.fields()).map(|(column, field)| {
        let digits = layout.decimals.iter().find(|(decimal, _)| *decimal == column);
        match digits.and_then(|(_, digits)| decimal_type(*digits)) {
            Some(data_type) => Arc::new(Field::clone(field).with_data_type(data_type)),
            None => Arc::clone(field),
        }
    });
    let places = (!layout.series.is_empty())
        .then(|| Arc::new(Field::new(PLACE_COLUMN, DataType::UInt32, false)));
    let fields: Vec<_> = fields.chain(places).collect();
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

/// Whether a column has seconds in the file and other times today. Parquet has no name for seconds: it has whole numbers, which
/// its reader takes for times of whichever unit it is told.
fn has_seconds_for_others(file: &ParquetMetaData, today: &Schema) -> bool {
    let columns = file.file_metadata().schema_descr();
    (0..columns.num_columns()).any(|leaf| {
        let (column, root) = (columns.column(leaf), columns.get_column_root_idx(leaf));
        let is_time = (today.fields().get(root)).is_some_and(|field| {
            matches!(field.data_type(), DataType::Timestamp(unit, _) if *unit != TimeUnit::Second)
        });
        is_time
            && column.logical_type_ref().is_none()
            && column.converted_type() == ConvertedType::NONE
    })
}

/// The opposite; `None` where the file has others.
fn of_stream(schema: &SchemaRef, layout: Option<&RunLayout>) -> Option<SchemaRef> {
    let Some(layout) = layout else { return Some(Arc::clone(schema)) };
    let mut fields = schema.fields().to_vec();
    if !layout.series.is_empty() {
        let places = fields.pop()?;
        if places.name() != PLACE_COLUMN || places.data_type() != &DataType::UInt32 {
            return None;
        }
    }
    for (column, digits) in &layout.decimals {
        let field = fields.get_mut(usize::try_from(*column).ok()?)?;
        if Some(field.data_type()) != decimal_type(*digits).as_ref() {
            return None;
        }
        *field = Arc::new(Field::clone(field).with_data_type(DataType::Float64));
    }
    let has = |column: &u32| usize::try_from(*column).is_ok_and(|column| column < fields.len());
    let is_whole = layout.series.iter().all(has);
    is_whole.then(|| Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone())))
}

impl ColdFile {
    /// A file whose tail agrees with the manifest. It has no blocks before its row groups are [divided](ColdFile::divided).
    pub(super) fn new(
        file: CheckedFile,
        run: RunId,
        cache: Arc<BlockCache>,
        schema: SchemaRef,
        stream: &Stream,
        footer: ColdFooter,
        zones: &[Zone],
    ) -> Result<Self> {
        let metadata = footer.metadata;
        let groups = metadata.metadata().row_groups();
        let fits = groups.len() == zones.len()
            && groups.iter().zip(zones).all(|(g, zone)| g.num_rows() == i64::from(zone.rows));
        if !fits {
            return Err(file.bad(0, "the row groups of a run don't fit its zone maps"));
        }
        let series = footer.layout.map_or(Vec::new(), |layout| layout.series);
        let series = series.into_iter().filter_map(|column| usize::try_from(column).ok()).collect();
        let columns = 0..schema.fields().len();
        let has_views = columns.map(|column| stream.has_text_views(column)).collect();
        let filters = std::iter::repeat_with(OnceLock::new).take(groups.len()).collect();
        Ok(Self {
            file,
            run,
            cache,
            series,
            stored: DecodedTypes::new(Arc::clone(metadata.schema())),
            metadata: Arc::clone(metadata.metadata()),
            places: Vec::new(),
            schema,
            has_views,
            viewed: OnceLock::new(),
            by_dictionary: OnceLock::new(),
            lead_column: stream.lead_column(),
            tail: footer.tail,
            filters,
            words: None,
            aggregates: footer.aggregates,
        })
    }

    /// The same, with the filters of its blocks' words.
    pub(super) fn with_words(mut self, words: Option<WordFilters>) -> Self {
        self.words = words.map(BlockWords::new);
        self
    }

    pub(super) fn file(&self) -> &CheckedFile {
        &self.file
    }

    /// The columns of the stream as it was.
    pub(super) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// How many digits a column of floats has behind the point, where it is stored as decimal numbers.
    pub(super) fn decimal_digits(&self, column: usize) -> Option<u32> {
        let stored = self.stored.schema.fields().get(column)?.data_type();
        match (self.schema.fields().get(column)?.data_type(), stored) {
            (DataType::Float64, DataType::Decimal64(_, scale)) => u32::try_from(*scale).ok(),
            _ => None,
        }
    }

    /// Whether rows may lie in another order than the key's.
    pub(super) fn has_places(&self) -> bool {
        !self.series.is_empty()
    }

    /// Columns of one block, in the order of the key, from the cache where it has them; text as views if so wished.
    pub(super) fn read_in_order(
        &self,
        block: usize,
        zone: &Zone,
        columns: &[usize],
        wanted: DecodedAs<'_>,
    ) -> Result<Vec<ArrayRef>> {
        let rows = 0..zone.rows as usize;
        match self.places(block, zone)? {
            Some(places) if wanted.is_for_once() => {
                self.read_once_in_order((block, zone), columns, wanted, &places)
            }
            Some(places) => {
                let stored = self.read_piece((block, zone), columns, wanted, &rows)?;
                self.in_order(&stored, &places)
            }
            None => self.read_piece((block, zone), columns, wanted, &rows),
        }
    }

    /// The same of what the cache doesn't keep: it is put in order while it is decoded, texts as codes of them.
    fn read_once_in_order(
        &self,
        (block, zone): (usize, &Zone),
        columns: &[usize],
        wanted: DecodedAs<'_>,
        places: &UInt32Array,
    ) -> Result<Vec<ArrayRef>> {
        let all = zone.rows as usize;
        let (mut found, missing) = self.cached((block, all), &(0..all), columns, wanted);
        for column in found.iter_mut().flatten() {
            *column = self.in_order_of(column, places)?;
        }
        if missing.is_empty() {
            return self.joined(block, columns, found, &missing, &[]);
        }
        let (of_block, order) = ((block, all), Some(places));
        let decoded = self.decode_rows(of_block, &missing, wanted, ChosenRows::All, order)?;
        self.joined(block, columns, found, &missing, decoded.columns())
    }

    /// Where each row lies, in the order of the key; `None` where rows are stored in that order.
    fn places(&self, block: usize, zone: &Zone) -> Result<Option<UInt32Array>> {
        if !self.has_places() {
            return Ok(None);
        }
        let column = self.schema.fields().len();
        if let Some(places) = self.cache.get(KeptRows::all(self.run, block), column, Form::ByKey) {
            return Ok(places.as_primitive_opt::<UInt32Type>().cloned());
        }
        let rows = (block, zone.rows as usize);
        let places = self.places_of(
            block,
            self.decode_rows(rows, &[column], DecodedAs::PLAIN, ChosenRows::All, None)?.column(0),
        )?;
        let of_block = KeptRows::all(self.run, block);
        self.cache.insert(of_block, column, Form::ByKey, Arc::new(places.clone()));
        Ok(Some(places))
    }

    /// The places that a block's column of them tells.
    fn places_of(&self, block: usize, stored: &ArrayRef) -> Result<UInt32Array> {
        stored.as_primitive_opt::<UInt32Type>().and_then(series::by_key).ok_or_else(|| {
            self.file.bad(0, format!("block {block} of a run has no place for each of its rows"))
        })
    }

    fn in_order(&self, columns: &[ArrayRef], order: &UInt32Array) -> Result<Vec<ArrayRef>> {
        columns.iter().map(|column| self.in_order_of(column, order)).collect()
    }

    fn in_order_of(&self, column: &ArrayRef, order: &UInt32Array) -> Result<ArrayRef> {
        take(column, order, None).map_err(|error| {
            self.file.bad(0, format!("rows of a run can't be put in order: {error}"))
        })
    }

    /// Columns of one block as they are stored, from the cache where it has them.
    fn read_stored(
        &self,
        block: usize,
        zone: &Zone,
        columns: &[usize],
        text_views: bool,
    ) -> Result<Vec<ArrayRef>> {
        let wanted = DecodedAs::viewed(text_views);
        self.read_piece((block, zone), columns, wanted, &(0..zone.rows as usize))
    }

    /// The same of rows that follow each other, as they are stored.
    pub(super) fn read_piece(
        &self,
        (block, zone): (usize, &Zone),
        columns: &[usize],
        wanted: DecodedAs<'_>,
        rows: &Range<usize>,
    ) -> Result<Vec<ArrayRef>> {
        let text_views = wanted.has_views();
        if rows.is_empty() {
            return Ok(self.read_none(columns, text_views));
        }
        let all = zone.rows as usize;
        let (found, missing) = self.cached((block, all), rows, columns, wanted);
        if missing.is_empty() {
            return self.joined(block, columns, found, &missing, &[]);
        }
        let chosen = ChosenRows::stretch(rows, all);
        let decoded = self.decode_rows((block, rows.len()), &missing, wanted, chosen, None)?;
        let kept = KeptRows::of(self.run, block, rows, all);
        let kept_columns = if wanted.is_for_once() { &[] } else { missing.as_slice() };
        for (column, array) in kept_columns.iter().zip(decoded.columns()) {
            let form = match views::is_dictionary(array.data_type()) {
                true => Form::Codes,
                false => self.form(*column, text_views),
            };
            self.cache.insert(kept, *column, form, array.clone());
        }
        self.joined(block, columns, found, &missing, decoded.columns())
    }

    /// The same, only the rows that `selected` is set for as they are stored; and these in another order, if it is given.
    fn read_stored_selected(
        &self,
        block: usize,
        zone: &Zone,
        columns: &[usize],
        text_views: bool,
        selected: &RowMask,
        order: Option<&UInt32Array>,
    ) -> Result<Vec<ArrayRef>> {
        let chosen = |columns: &[ArrayRef]| {
            let stretch = selected.stretch();
            let columns: Vec<ArrayRef> =
                columns.iter().map(|column| column.slice(stretch.start, stretch.len())).collect();
            let chosen = self.chosen(&columns, &selected.of_stretch())?;
            match order {
                Some(order) => self.in_order(&chosen, order),
                None => Ok(chosen),
            }
        };
        let Selected { stretches, rows } = Selected::of(selected);
        let all = zone.rows as usize;
        if rows.saturating_mul(FEW_ROWS_SHARE) > all && zone.rows <= LONG_BLOCK_ROWS {
            let whole = self.read_stored(block, zone, columns, text_views)?;
            return chosen(&whole);
        }
        let as_wanted = DecodedAs::viewed(text_views);
        let (mut found, missing) = self.cached((block, all), &(0..all), columns, as_wanted);
        for column in found.iter_mut().flatten() {
            let chosen = chosen(std::slice::from_ref(column))?;
            *column = chosen.into_iter().next().unwrap_or_else(|| Arc::clone(column));
        }
        if missing.is_empty() {
            return self.joined(block, columns, found, &missing, &[]);
        }
        let (rows, wanted) = match stretches.len().saturating_mul(SKIP_ROWS) > all {
            true => ChosenRows::masked(selected, all),
            false => {
                let of_stretches = selected_of(selected, &stretches);
                let selection = RowSelection::from_consecutive_ranges(stretches.into_iter(), all);
                (rows, ChosenRows::Stretches(selection, of_stretches))
            }
        };
        let decoded = self.decode_rows((block, rows), &missing, as_wanted, wanted, order)?;
        self.joined(block, columns, found, &missing, decoded.columns())
    }

    /// The values that are selected, of columns with as many rows as the selection.
    fn chosen(&self, columns: &[ArrayRef], selected: &BooleanArray) -> Result<Vec<ArrayRef>> {
        if selected.true_count() == selected.len() {
            return Ok(columns.to_vec());
        }
        let filter = FilterBuilder::new(selected).optimize().build();
        let chosen = columns.iter().map(|column| filter.filter(column));
        let chosen = chosen.collect::<std::result::Result<Vec<_>, _>>();
        chosen.map_err(|error| self.file.bad(0, error.to_string()))
    }

    /// Decodes columns of one block, in ascending order; keeps nothing.
    pub(super) fn decode(
        &self,
        block: usize,
        zone: &Zone,
        columns: &[usize],
    ) -> Result<RecordBatch> {
        let rows = (block, zone.rows as usize);
        let wanted = DecodedAs::CHECKED;
        if !self.has_places() {
            return self.decode_rows(rows, columns, wanted, ChosenRows::All, None);
        }
        let places = self.schema.fields().len();
        let with_places: Vec<usize> = columns.iter().copied().chain([places]).collect();
        let mut stored = self.decode_rows(rows, &with_places, wanted, ChosenRows::All, None)?;
        let places = self.places_of(block, &stored.remove_column(columns.len()))?;
        let columns = self.in_order(stored.columns(), &places)?;
        RecordBatch::try_new(stored.schema(), columns)
            .map_err(|error| self.file.bad(0, error.to_string()))
    }

    /// The columns that were found, and those that were missing and have been decoded.
    fn joined(
        &self,
        block: usize,
        columns: &[usize],
        found: Vec<Option<ArrayRef>>,
        missing: &[usize],
        decoded: &[ArrayRef],
    ) -> Result<Vec<ArrayRef>> {
        let joined = columns.iter().zip(found).map(|(column, found)| {
            found.or_else(|| decoded.get(missing.binary_search(column).ok()?).cloned())
        });
        joined
            .collect::<Option<_>>()
            .ok_or_else(|| self.file.bad(0, format!("block {block} of a run lacks a column")))
    }

    fn is_viewed(&self, column: usize) -> bool {
        self.has_views.get(column).copied().unwrap_or(false)
    }

    fn groups(&self) -> &[RowGroupMetaData] {
        self.metadata.row_groups()
    }

    /// What a block has of a column; of a nested one its first part.
    fn chunk(&self, block: usize, column: usize) -> Option<&ColumnChunkMetaData> {
        let schema = self.metadata.file_metadata().schema_descr();
        let mut leaves = 0..schema.num_columns();
        let leaf = leaves.find(|leaf| schema.get_column_root_idx(*leaf) == column)?;
        self.groups().get(self.group_of(block)?)?.columns().get(leaf)
    }

    /// The bytes of a column chunk. Parquet's own method panics on a negative place.
    fn chunk_range(&self, chunk: &ColumnChunkMetaData) -> Result<Range<u64>> {
        let first = match chunk.dictionary_page_offset() {
            Some(dictionary) => dictionary.min(chunk.data_page_offset()),
            None => chunk.data_page_offset(),
        };
        byte_range(first, chunk.compressed_size())
            .ok_or_else(|| self.file.bad(0, "a column chunk has a negative place"))
    }
}
