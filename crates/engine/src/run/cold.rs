//! Cold runs: a Parquet file, mapped; columns are decoded and kept in the store's cache.

use std::ops::{Range, RangeInclusive};
use std::path::Path;
use std::sync::{Arc, OnceLock};

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef};
use arrow_select::concat::concat_batches;
use bytes::Bytes;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder,
};
use parquet::basic::Type as PhysicalType;
use parquet::bloom_filter::Sbbf;
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaDataReader, RowGroupMetaData};
use parquet::file::statistics::Statistics;
use timestrata_format::{RunId, WordFilters};
use timestrata_io::sync::get_or_try_init;

use super::cache::{BlockCache, Form};
use super::checked::{CheckedFile, byte_range, guarded};
use super::dictionary;
use super::tail::Zone;
use super::word_filter::BlockWords;
use super::{METADATA_KEY, ORIGIN_KEY, WORDS_KEY};
use crate::scan::{ColumnSize, PruneFilter, Values, views};
use crate::{Error, LeadKey, Result, Stream};

/// What the footer says.
#[derive(Debug)]
pub(super) struct ColdFooter {
    pub(super) schema: SchemaRef,
    pub(super) tail_text: Option<String>,
    pub(super) origin_text: Option<String>,
    /// Where the filters of its blocks' words are, if it has them.
    pub(super) words_text: Option<String>,
    metadata: ArrowReaderMetadata,
}

/// Types that a file's columns are decoded to.
#[derive(Debug)]
struct DecodedTypes {
    schema: SchemaRef,
    metadata: ArrowReaderMetadata,
}

/// A cold run, open.
#[derive(Debug)]
pub(super) struct ColdFile {
    file: CheckedFile,
    run: RunId,
    cache: Arc<BlockCache>,
    schema: SchemaRef,
    /// The file's own types; the others are made when somebody wants them.
    stored: DecodedTypes,
    /// For each column whether it is read as views where views are wanted.
    has_views: Vec<bool>,
    viewed: OnceLock<DecodedTypes>,
    /// All text by its dictionaries.
    by_dictionary: OnceLock<DecodedTypes>,
    lead_column: usize,
    /// Bloom filters of the leading key, as row groups were asked for.
    filters: Vec<OnceLock<Option<Sbbf>>>,
    words: Option<BlockWords>,
}

/// Reads the footer, which lies in the verified tail at `tail_start`.
pub(super) fn read_footer(
    path: &Path,
    bytes: &Bytes,
    tail_start: usize,
    schema: &SchemaRef,
) -> Result<ColdFooter> {
    guarded(path, || {
        let read = || -> std::result::Result<ColdFooter, ParquetError> {
            // Only the tail is given to the decoder: it can't look at unverified bytes.
            let metadata =
                ParquetMetaDataReader::new().parse_and_finish(&bytes.slice(tail_start..))?;
            let entries = metadata.file_metadata().key_value_metadata();
            let entry = |key: &str| entries?.iter().find(|entry| entry.key == key)?.value.clone();
            let (tail_text, words_text) = (entry(METADATA_KEY), entry(WORDS_KEY));
            let origin_text = entry(ORIGIN_KEY);
            let metadata = Arc::new(metadata);
            let as_today = ArrowReaderOptions::new().with_schema(schema.clone());
            let metadata = match ArrowReaderMetadata::try_new(Arc::clone(&metadata), as_today) {
                Ok(metadata) => metadata,
                // Written before its stream got other columns: it knows its own.
                Err(_) => ArrowReaderMetadata::try_new(metadata, ArrowReaderOptions::new())?,
            };
            let schema = metadata.schema().clone();
            Ok(ColdFooter { schema, tail_text, origin_text, words_text, metadata })
        };
        read().map_err(|error| {
            let message = format!("the footer of a run can't be read: {error}");
            Error::corruption(path, tail_start as u64, message).caused_by(error)
        })
    })
}

impl ColdFile {
    /// A file whose tail agrees with the manifest.
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
        let columns = 0..schema.fields().len();
        let has_views = columns.map(|column| stream.has_text_views(column)).collect();
        let filters = std::iter::repeat_with(OnceLock::new).take(groups.len()).collect();
        Ok(Self {
            file,
            run,
            cache,
            stored: DecodedTypes { schema: Arc::clone(&schema), metadata },
            schema,
            has_views,
            viewed: OnceLock::new(),
            by_dictionary: OnceLock::new(),
            lead_column: stream.lead_column(),
            filters,
            words: None,
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

    /// Columns of one block, from the cache where it has them; text as views if so wished.
    pub(super) fn read(
        &self,
        block: usize,
        zone: &Zone,
        columns: &[usize],
        text_views: bool,
    ) -> Result<Vec<ArrayRef>> {
        let form = |column: usize| match text_views && self.is_viewed(column) {
            true => Form::Views,
            false => Form::Stored,
        };
        let mut found: Vec<Option<ArrayRef>> = columns
            .iter()
            .map(|column| self.cache.get(self.run, block, *column, form(*column)))
            .collect();
        let mut missing: Vec<usize> = columns
            .iter()
            .zip(&found)
            .filter_map(|(column, array)| array.is_none().then_some(*column))
            .collect();
        if !missing.is_empty() {
            missing.sort_unstable();
            missing.dedup();
            let decoded = self.decode(block, zone, &missing, text_views)?;
            for (column, array) in missing.iter().zip(decoded.columns()) {
                self.cache.insert(self.run, block, *column, form(*column), array.clone());
            }
            for (column, slot) in columns.iter().zip(&mut found) {
                if let Ok(place) = missing.binary_search(column) {
                    slot.get_or_insert_with(|| decoded.column(place).clone());
                }
            }
        }
        found
            .into_iter()
            .collect::<Option<_>>()
            .ok_or_else(|| self.file.bad(0, format!("block {block} of a run lacks a column")))
    }

    fn is_viewed(&self, column: usize) -> bool {
        self.has_views.get(column).copied().unwrap_or(false)
    }

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
                self.read_as(&self.by_dictionary, |_, field| dictionary::field(field))
            }
            true if text_views => self.read_as(&self.viewed, |column, field| {
                self.is_viewed(column).then(|| views::viewed_field(field))
            }),
            _ => Ok(&self.stored),
        }
    }

    /// The file with other types for some fields.
    fn read_as<'a>(
        &self,
        slot: &'a OnceLock<DecodedTypes>,
        other: impl Fn(usize, &FieldRef) -> Option<FieldRef>,
    ) -> Result<&'a DecodedTypes> {
        if let Some(reading) = slot.get() {
            return Ok(reading);
        }
        let fields = self.schema.fields().iter().enumerate();
        let fields =
            fields.map(|(column, field)| other(column, field).unwrap_or_else(|| Arc::clone(field)));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let options = ArrowReaderOptions::new().with_schema(Arc::clone(&schema));
        let metadata = Arc::clone(self.stored.metadata.metadata());
        let metadata = ArrowReaderMetadata::try_new(metadata, options)
            .map_err(|error| self.file.bad(0, error.to_string()).caused_by(error))?;
        Ok(slot.get_or_init(|| DecodedTypes { schema, metadata }))
    }

    /// Decodes columns of one block, in ascending order and without a look at the cache.
    pub(super) fn decode(
        &self,
        block: usize,
        zone: &Zone,
        columns: &[usize],
        text_views: bool,
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
        let decode = || -> std::result::Result<RecordBatch, DecodeFailure> {
            let reader = ParquetRecordBatchReaderBuilder::new_with_metadata(
                self.file.bytes().clone(),
                reading.metadata.clone(),
            )
            .with_row_groups(vec![block])
            .with_projection(ProjectionMask::roots(schema, columns.iter().copied()))
            .with_batch_size(zone.rows as usize)
            .build()?;
            let parts = reader.collect::<std::result::Result<Vec<_>, _>>()?;
            let schema = reading.schema.project(columns)?;
            without_keys(join(parts, zone, schema)?, is_viewed)
        };
        guarded(self.file.path(), || {
            decode().map_err(|error| {
                let message = format!("a row group can't be decoded: {error}");
                self.file.bad(start, message).caused_by(error)
            })
        })
    }

    /// What each of the file's columns takes, nested ones with all of their parts.
    pub(super) fn column_sizes(&self) -> Vec<ColumnSize> {
        let schema = self.stored.metadata.parquet_schema();
        let mut sizes: Vec<ColumnSize> = Vec::new();
        for group in self.groups() {
            for (leaf, chunk) in group.columns().iter().enumerate() {
                let root = schema.get_column_root_idx(leaf);
                let Some(field) = self.schema.fields().get(root) else { continue };
                let found = chunk_size(field.name(), chunk);
                match sizes.iter_mut().find(|size| size.name == found.name) {
                    Some(size) => size.add(found),
                    None => sizes.push(found),
                }
            }
        }
        sizes
    }

    /// The values that a column has in a block, where its dictionary tells all of them.
    pub(super) fn values(
        &self,
        block: usize,
        zone: &Zone,
        column: usize,
    ) -> Result<Option<Values>> {
        let field = self.schema.fields().get(column);
        let Some((chunk, field)) = self.chunk(block, column).zip(field) else { return Ok(None) };
        if !dictionary::tells_all(chunk, field.data_type()) {
            return Ok(None);
        }
        let range = self.chunk_range(chunk)?;
        self.file.verify(range.clone())?;
        guarded(self.file.path(), || {
            dictionary::read(self.file.bytes(), chunk, zone.rows as usize).map(Some).map_err(
                |error| {
                    let message = format!("the values of a column can't be read: {error}");
                    self.file.bad(range.start, message).caused_by(error)
                },
            )
        })
    }

    fn groups(&self) -> &[RowGroupMetaData] {
        self.stored.metadata.metadata().row_groups()
    }

    /// What a block has of a column; of a nested one its first part.
    fn chunk(&self, block: usize, column: usize) -> Option<&ColumnChunkMetaData> {
        let schema = self.stored.metadata.parquet_schema();
        let mut leaves = 0..schema.num_columns();
        let leaf = leaves.find(|leaf| schema.get_column_root_idx(*leaf) == column)?;
        self.groups().get(block)?.columns().get(leaf)
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

    /// False only if the block has no row with this leading key.
    pub(super) fn may_contain(&self, block: usize, key: LeadKey) -> Result<bool> {
        let Some(slot) = self.filters.get(block) else { return Ok(true) };
        let Some(filter) = get_or_try_init(slot, || self.read_filter(block))? else {
            return Ok(true);
        };
        Ok(match key {
            LeadKey::Id16(id) => filter.check(id.as_slice()),
            LeadKey::Id32(id) => filter.check(id.as_slice()),
            LeadKey::Time(_) | LeadKey::Offset(_) => true,
        })
    }

    /// False only if no row of the block has all that `filter` asks for. `stream` is that of today,
    /// whose columns the filter speaks of.
    pub(super) fn may_match(
        &self,
        stream: &Stream,
        block: usize,
        filter: &PruneFilter,
    ) -> Result<bool> {
        for (column, wanted) in filter.ranges() {
            if !self.may_have_between(stream, block, *column, wanted) {
                return Ok(false);
            }
        }
        let Some(words) = &self.words else { return Ok(true) };
        for any_of in filter.words() {
            let mut may_have = false;
            for word in any_of {
                may_have = may_have || words.may_have(&self.file, block, word)?;
            }
            if !may_have {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether a column of whole numbers or times may have one in a range in the block, as Parquet's
    /// statistics tell, which are part of the verified tail.
    fn may_have_between(
        &self,
        stream: &Stream,
        block: usize,
        column: usize,
        wanted: &RangeInclusive<i64>,
    ) -> bool {
        let Some(field) = stream.stored_schema().fields().get(column) else { return true };
        let Ok(of_file) = self.schema.index_of(field.name()) else { return false };
        let has_same_type =
            (self.schema.fields().get(of_file)).is_some_and(|f| f.data_type() == field.data_type());
        let chunk = self.chunk(block, of_file).filter(|_| has_same_type);
        let Some(found) = chunk.and_then(|chunk| chunk.statistics()) else { return true };
        let ends = match found {
            Statistics::Int32(found) => (
                found.min_opt().map(|min| i64::from(*min)),
                found.max_opt().map(|max| i64::from(*max)),
            ),
            Statistics::Int64(found) => (found.min_opt().copied(), found.max_opt().copied()),
            _ => return true,
        };
        match ends {
            (Some(min), Some(max)) => min <= *wanted.end() && *wanted.start() <= max,
            // None but nulls have no ends, and no null is in a range.
            _ => found.null_count_opt().is_none_or(|nulls| {
                let group = self.groups().get(block);
                group.is_none_or(|group| u64::try_from(group.num_rows()) != Ok(nulls))
            }),
        }
    }

    fn read_filter(&self, block: usize) -> Result<Option<Sbbf>> {
        let Some(chunk) = self.chunk(block, self.lead_column) else { return Ok(None) };
        // Without a length nothing could be verified before it is read.
        let (Some(offset), Some(length)) =
            (chunk.bloom_filter_offset(), chunk.bloom_filter_length())
        else {
            return Ok(None);
        };
        let range = byte_range(offset, length)
            .ok_or_else(|| self.file.bad(0, "bad place of a Bloom filter"))?;
        self.file.verify(range.clone())?;
        guarded(self.file.path(), || {
            Sbbf::read_from_column_chunk(chunk, self.file.bytes()).map_err(|error| {
                let message = format!("a Bloom filter can't be read: {error}");
                self.file.bad(range.start, message).caused_by(error)
            })
        })
    }
}

type DecodeFailure = Box<dyn std::error::Error + Send + Sync>;

/// One batch of the parts, which must have all rows and the types expected.
fn join(
    mut parts: Vec<RecordBatch>,
    zone: &Zone,
    schema: Schema,
) -> std::result::Result<RecordBatch, DecodeFailure> {
    let whole = match parts.len() {
        1 => parts.pop().ok_or("no rows")?,
        _ => {
            let found = parts.first().ok_or("no rows")?.schema();
            concat_batches(&found, &parts)?
        }
    };
    if whole.num_rows() != zone.rows as usize {
        return Err(format!("{} rows, expected {}", whole.num_rows(), zone.rows).into());
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

/// Bytes of a length before each text.
const LENGTH_BYTES: i64 = 4;

fn chunk_size(name: &str, chunk: &ColumnChunkMetaData) -> ColumnSize {
    let values = chunk.num_values();
    let width = |bytes: i64| values.saturating_mul(bytes);
    let plain = match chunk.column_type() {
        PhysicalType::BOOLEAN => values / 8,
        PhysicalType::INT32 | PhysicalType::FLOAT => width(4),
        PhysicalType::INT64 | PhysicalType::DOUBLE => width(8),
        PhysicalType::INT96 => width(12),
        PhysicalType::FIXED_LEN_BYTE_ARRAY => width(chunk.column_descr().type_length().into()),
        PhysicalType::BYTE_ARRAY => chunk
            .unencoded_byte_array_data_bytes()
            .unwrap_or_else(|| chunk.uncompressed_size())
            .saturating_add(width(LENGTH_BYTES)),
    };
    // Counts that were made up by somebody may be negative.
    let counted = |number: i64| u64::try_from(number).unwrap_or(0);
    let mut size = ColumnSize { name: name.to_owned(), ..ColumnSize::default() };
    size.add(ColumnSize {
        name: String::new(),
        values: counted(values),
        stored_bytes: counted(chunk.compressed_size()),
        plain_bytes: counted(plain),
        encodings: chunk.encodings().map(|encoding| encoding.to_string()).collect(),
    });
    size
}
