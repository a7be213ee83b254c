//! Reading a run: verified, projected, and without a copy where the format allows it.

use std::borrow::Cow;
use std::fmt;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::SchemaRef;
use timestrata_format::{KeyRange, LeadKey, RunFormat, RunId, RunMeta, RunOrigin, StoreId};
use timestrata_io::sync::{Mutex, get_or_try_init};
use timestrata_io::{Bytes, Io, OpenMode};

use super::ahead::{self, BlocksAhead};
use super::cache::BlockCache;
use super::check_column_types;
use super::checked::{CheckedFile, check_tail, unless_damaged};
use super::cold::{self, ColdFile, DecodedAs};
use super::evolve::Evolution;
use super::hot::{self, HotFile};
use super::parts::missing;
use super::tail::{self, Zone};
use crate::scan::{
    BlockAggregates, BlockBounds, ColumnSize, DecodesAhead, PartsOfBlock, PlannedFilter,
    PruneFilter, RowOrder, Share, Source, SourceSummary, Values, ViewedColumns, reads_values,
    views,
};
use crate::{Error, ErrorKind, MissingRange, Result, Stream};

/// One run, for reading. Its file is mapped at the first use and stays so: once that has
/// happened, removing the file's name doesn't matter.
pub(crate) struct RunReader {
    io: Io,
    path: PathBuf,
    store_id: StoreId,
    stream: Arc<Stream>,
    meta: RunMeta,
    cache: Arc<BlockCache>,
    opened: OnceLock<Opened>,
    /// Held while the file is being opened, so that this happens once.
    opening: Mutex<()>,
    ahead: BlocksAhead,
}

/// What the first use finds.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) content: Content,
    /// Where the file has other columns than the stream has today.
    pub(super) evolution: Option<Evolution>,
    /// How many columns the file has.
    pub(super) file_columns: usize,
    pub(super) zones: Vec<Zone>,
}

/// The file, by its format.
#[derive(Debug)]
pub(super) enum Content {
    Hot(HotFile),
    Cold(ColdFile),
}

impl Content {
    pub(super) fn file(&self) -> &CheckedFile {
        match self {
            Self::Hot(hot) => hot.file(),
            Self::Cold(cold) => cold.file(),
        }
    }

    fn read(
        &self,
        (block, zone): (usize, &Zone),
        columns: &[usize],
        wanted: DecodedAs<'_>,
        (order, rows): (RowOrder, &Range<usize>),
    ) -> Result<Vec<ArrayRef>> {
        match self {
            Self::Hot(hot) => hot.read(block, zone, columns),
            Self::Cold(cold) => match order {
                RowOrder::ByKey => cold.read_in_order(block, zone, columns, wanted),
                RowOrder::Any(_) => cold.read_piece((block, zone), columns, wanted, rows),
            },
        }
    }

    /// Whether columns of a block are not among those that the cache keeps of the scan that they are read for.
    fn goes_by(&self, block: usize, wanted: &ViewedColumns) -> bool {
        matches!(self, Self::Cold(cold) if !cold.is_kept(block, wanted, wanted.scan_rows))
    }

    /// Whether rows may lie in another order than the key's.
    pub(super) fn has_places(&self) -> bool {
        matches!(self, Self::Cold(cold) if cold.has_places())
    }

    /// Decodes columns in ascending order, keeping nothing.
    pub(super) fn decode(
        &self,
        block: usize,
        zone: &Zone,
        columns: &[usize],
    ) -> Result<RecordBatch> {
        match self {
            Self::Hot(hot) => hot.decode(block, zone, columns),
            Self::Cold(cold) => cold.decode(block, zone, columns),
        }
    }
}

impl RunReader {
    /// A reader of the run that `meta` speaks of, in the file at `path`. Touches no file before the first use.
    ///
    /// # Errors
    /// `InvalidArgument` for streams with column types that runs can't hold.
    pub(crate) fn open(
        io: &Io,
        path: PathBuf,
        store_id: StoreId,
        stream: &Arc<Stream>,
        meta: RunMeta,
        cache: Arc<BlockCache>,
    ) -> Result<Self> {
        check_column_types(stream.stored_schema())?;
        Ok(Self {
            io: io.clone(),
            path,
            store_id,
            stream: Arc::clone(stream),
            meta,
            cache,
            opened: OnceLock::new(),
            opening: Mutex::new(()),
            ahead: BlocksAhead::default(),
        })
    }

    /// What the manifest says of the run.
    pub(crate) fn meta(&self) -> &RunMeta {
        &self.meta
    }

    pub(crate) fn stream(&self) -> &Arc<Stream> {
        &self.stream
    }

    /// All bytes of the file as they are mapped, whether or not it still has its name.
    pub(crate) fn bytes(&self) -> Result<Bytes> {
        Ok(self.opened()?.content.file().bytes().clone())
    }

    pub(super) fn ahead(&self) -> &BlocksAhead {
        &self.ahead
    }

    /// The open file; opens it at the first call. A failure is not remembered.
    pub(super) fn opened(&self) -> Result<&Opened> {
        if let Some(opened) = self.opened.get() {
            return Ok(opened);
        }
        let _opening = self.opening.lock();
        get_or_try_init(&self.opened, || self.map_and_check()).map_err(|error| {
            // Without the tail nothing of the file can be read.
            error.with_missing(|error| {
                self.missing(error, (self.meta.key_min, self.meta.key_max), self.meta.rows)
            })
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn io(&self) -> &Io {
        &self.io
    }

    /// What is missing for an error of these rows.
    pub(crate) fn missing(
        &self,
        error: &Error,
        keys: (LeadKey, LeadKey),
        rows: u64,
    ) -> MissingRange {
        missing(&self.stream, &self.path, error, keys, rows)
    }

    /// An error of a block, which says what is missing for it.
    pub(super) fn error_of(&self, zone: &Zone, error: Error) -> Error {
        let keys = (zone.key_min, zone.key_max);
        error.with_missing(|error| self.missing(error, keys, u64::from(zone.rows)))
    }

    fn map_and_check(&self) -> Result<Opened> {
        let file = self.io.disk.open(&self.path, OpenMode::Read).map_err(|error| {
            if error.kind() == io::ErrorKind::NotFound {
                let message = "a run file that the manifest names is missing";
                return Error::corruption(&self.path, 0, message).caused_by(error);
            }
            Error::io("open a run", &self.path, error)
        })?;
        let bytes = file.map().map_err(|error| Error::io("map a run", &self.path, error))?;
        let tail_start = check_tail(&self.path, &bytes, &self.meta)?;
        let schema = self.stream.stored_schema();
        let check_text = |text: Option<&str>, evolution: Option<&Evolution>| {
            let factor = evolution.map_or(1, Evolution::times_factor);
            let of_stream = (self.stream.as_ref(), factor);
            tail::from_text(&self.path, text, self.store_id, of_stream, &self.meta)
        };
        // The file's own columns, if they are not those of today.
        let evolved = |found: &SchemaRef| -> Result<(SchemaRef, Option<Evolution>)> {
            if found.fields() == schema.fields() {
                return Ok((schema.clone(), None));
            }
            check_column_types(found)?;
            let evolution = Evolution::new(&self.path, tail_start as u64, found, &self.stream)?;
            Ok((found.clone(), Some(evolution)))
        };
        let (content, zones, schema, evolution) = match self.meta.format {
            RunFormat::Hot => {
                let bytes = hot::aligned(bytes);
                let footer = hot::read_footer(&self.path, &bytes, tail_start)?;
                let (schema, evolution) = evolved(&footer.schema)?;
                let tail = check_text(footer.tail_text.as_deref(), evolution.as_ref())?;
                let file = CheckedFile::new(self.path.clone(), bytes, &tail);
                let hot = HotFile::new(file, schema.clone(), footer.messages, tail.zones.len())?;
                (Content::Hot(hot), tail.zones, schema, evolution)
            }
            RunFormat::Cold => {
                let footer = cold::read_footer(&self.path, &bytes, tail_start, schema)?;
                let (schema, evolution) = evolved(&footer.schema)?;
                // What became text later has no words in the file.
                let keeps_text = evolution.as_ref().is_none_or(Evolution::keeps_types);
                let tail = check_text(footer.tail_text.as_deref(), evolution.as_ref())?;
                let words = match &footer.words_text {
                    Some(text) if keeps_text => {
                        let blocks = tail.zones.len();
                        Some(tail::word_filters(&self.path, text, blocks, &self.meta)?)
                    }
                    _ => None,
                };
                let file = CheckedFile::new(self.path.clone(), bytes, &tail);
                let cold = ColdFile::new(
                    file,
                    self.meta.id,
                    Arc::clone(&self.cache),
                    schema.clone(),
                    &self.stream,
                    footer,
                    &tail.zones,
                )?
                .with_words(words);
                let (cold, zones) = cold.divided(&self.stream, &tail.zones);
                (Content::Cold(cold), zones, schema, evolution)
            }
        };
        let factor = evolution.as_ref().map_or(1, Evolution::times_factor);
        let zones = tail::zones_of_today(&self.path, zones, factor)?;
        Ok(Opened { content, evolution, file_columns: schema.fields().len(), zones })
    }

    /// Decodes columns of a block; as views those that `views` says, which are all of those that the stream has views
    /// of, or none. Of a damaged block rows with other keys than `keys` are left out.
    fn read_as(
        &self,
        block: usize,
        wanted: &ViewedColumns,
        keys: Option<KeyRange>,
        order: RowOrder,
    ) -> Result<RecordBatch> {
        self.ahead.read(block, || self.read_now(block, wanted, keys, order))
    }

    /// The same, whoever is at the block.
    pub(super) fn read_now(
        &self,
        block: usize,
        wanted: &ViewedColumns,
        keys: Option<KeyRange>,
        order: RowOrder,
    ) -> Result<RecordBatch> {
        let (opened, columns) = (self.opened()?, &wanted.columns);
        let unknown = columns.iter().find(|c| **c >= self.stream.stored_schema().fields().len());
        let (Some(zone), None) = (opened.zones.get(block), unknown) else {
            let message = format!("a run has no block {block} with columns {columns:?}");
            return Err(Error::new(ErrorKind::InvalidArgument, message).at(&self.path));
        };
        let read = || self.read_block(opened, (block, zone), wanted, order);
        self.of_block(opened, (block, zone), read)
            .or_else(|error| self.undamaged(opened, (block, zone), wanted, keys, error))
    }

    /// Where the run comes from, read from its file anew; `None` if an earlier build has written it.
    pub(super) fn origin(&self, opened: &Opened) -> Result<Option<RunOrigin>> {
        let bytes = opened.content.file().bytes();
        let start = usize::try_from(self.meta.tail_offset).unwrap_or(usize::MAX);
        let text = match self.meta.format {
            RunFormat::Hot => hot::read_footer(&self.path, bytes, start)?.origin_text,
            RunFormat::Cold => {
                let schema = self.stream.stored_schema();
                cold::read_footer(&self.path, bytes, start, schema)?.origin_text
            }
        };
        tail::origin(&self.path, self.meta.tail_offset, text.as_deref())
    }

    fn read_block(
        &self,
        opened: &Opened,
        (block, zone): (usize, &Zone),
        wanted: &ViewedColumns,
        order: RowOrder,
    ) -> Result<RecordBatch> {
        let rows = self.rows_of(block, zone, order);
        let read = |columns: &[usize], wanted: DecodedAs<'_>| {
            opened.content.read((block, zone), columns, wanted, (order, &rows))
        };
        let ViewedColumns { columns, views, .. } = wanted;
        let arrays = match &opened.evolution {
            None => {
                let (text_views, codes) = (!views.is_empty(), wanted.coded());
                let decoded_as = match order {
                    RowOrder::ByKey => DecodedAs::viewed(text_views),
                    RowOrder::Any(_) => DecodedAs::coded(text_views, &codes),
                };
                let decoded_as = decoded_as.for_once(opened.content.goes_by(block, wanted));
                read(columns, decoded_as.in_arena(wanted.arena.as_ref()))?
            }
            Some(evolution) => evolution
                .read(zone.rows as usize, columns, |columns| read(columns, DecodedAs::PLAIN))?,
        };
        let is_whole = rows.len() == zone.rows as usize;
        let is_by_key = order == RowOrder::ByKey || is_whole && !opened.content.has_places();
        let leads = columns.iter().zip(&arrays);
        for (_, lead) in leads.filter(|(column, _)| **column == self.stream.lead_column()) {
            match is_by_key {
                true => opened.content.file().check_ends(zone, lead)?,
                false => opened.content.file().check_within(zone, lead)?,
            }
        }
        self.batch_of(opened, (block, rows.len()), columns, views, arrays)
    }

    /// A batch of columns of a block, as they were decoded.
    pub(super) fn batch_of(
        &self,
        opened: &Opened,
        (block, rows): (usize, usize),
        columns: &[usize],
        views: &[bool],
        arrays: Vec<ArrayRef>,
    ) -> Result<RecordBatch> {
        let schema = self.stream.stored_schema();
        let all = columns.iter().copied().eq(0..schema.fields().len());
        let projected =
            if all { Ok(Arc::clone(schema)) } else { schema.project(columns).map(Arc::new) };
        let projected =
            projected.map_err(|error| opened.content.file().bad(0, error.to_string()))?;
        let (projected, arrays) = match views.is_empty() {
            true => (projected, arrays),
            false => views::viewed(projected.fields(), &arrays, views),
        };
        let projected = views::with_dictionaries(&projected, &arrays);
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(projected, arrays, &options).map_err(|error| {
            let message = format!("block {block} of a run does not fit its stream: {error}");
            opened.content.file().bad(0, message).caused_by(error)
        })
    }
}

impl Source for RunReader {
    fn run(&self) -> Option<RunId> {
        Some(self.meta.id)
    }

    fn aggregated_blocks(&self) -> Result<Vec<Range<usize>>> {
        Ok(match &self.opened()?.content {
            Content::Hot(_) => Vec::new(),
            Content::Cold(cold) => cold.aggregated_blocks(),
        })
    }

    fn aggregates(&self) -> Result<Option<Arc<BlockAggregates>>> {
        let opened = self.opened()?;
        // Of columns that came later the file tells nothing, which nobody takes for nulls.
        let keeps_types = opened.evolution.as_ref().is_none_or(Evolution::keeps_types);
        match &opened.content {
            // Who reads the rows needs none of it.
            Content::Cold(cold) if keeps_types => {
                unless_damaged(cold.aggregates(&opened.zones), None)
            }
            _ => Ok(None),
        }
    }

    #[inline]
    fn summary(&self) -> SourceSummary {
        (&self.meta).into()
    }

    fn blocks(&self) -> Result<&[Zone]> {
        Ok(&self.opened()?.zones)
    }

    fn read(&self, block: usize, columns: &[usize]) -> Result<RecordBatch> {
        self.read_as(block, &ViewedColumns::plain(columns.to_vec()), None, RowOrder::ByKey)
    }

    fn read_viewed(
        &self,
        block: usize,
        wanted: &ViewedColumns,
        keys: Option<KeyRange>,
        order: RowOrder,
    ) -> Result<RecordBatch> {
        match keys.filter(|keys| self.has_few_within(block, keys)) {
            Some(few) => self.within(block, wanted, &few, order),
            None => self.read_as(block, wanted, keys, order),
        }
    }

    fn ahead(self: Arc<Self>, block: usize, columns: &[usize]) -> Option<DecodesAhead> {
        ahead::of_blocks(self, block, columns)
    }

    fn leaves_out_other_keys(&self, block: usize, keys: &KeyRange) -> bool {
        self.has_few_within(block, keys) || self.is_damaged(block)
    }

    fn is_long(&self, block: usize) -> bool {
        self.is_long(block)
    }

    fn is_divisible(&self, block: usize) -> bool {
        self.is_divisible(block)
    }

    fn read_parts(
        &self,
        block: usize,
        wanted: &ViewedColumns,
        share: Share,
        scan_rows: u64,
    ) -> Result<Option<PartsOfBlock>> {
        self.parts_of(block, wanted, share, scan_rows)
    }

    fn read_passing(
        &self,
        block: usize,
        filter: &PlannedFilter,
        keys: Option<KeyRange>,
        order: RowOrder,
    ) -> Result<RecordBatch> {
        let opened = self.opened()?;
        let zone = opened.zones.get(block).filter(|_| opened.evolution.is_none());
        let (cold, zone) = match (&opened.content, zone) {
            (Content::Cold(cold), Some(zone)) => (cold, zone),
            (Content::Hot(hot), Some(_)) => {
                return match self.passing_by_codes(opened, hot, block, filter)? {
                    Some(may_pass) => filter.read_among(self, block, order, &may_pass),
                    None => filter.read_whole(self, block, order),
                };
            }
            _ => return filter.read_whole(self, block, order),
        };
        let rows = self.rows_of(block, zone, order);
        // What is looked at of a block in the order of the key is decoded whole, and kept.
        let keys = keys.filter(|keys| cold.has_places() && self.has_few_within(block, keys));
        let looked_at = &filter.looked_at;
        let shown = |columns: Vec<ArrayRef>, rows: usize| {
            self.batch_of(opened, (block, rows), &looked_at.columns, &looked_at.views, columns)
        };
        let read = || {
            let passing =
                cold.read_passing((block, zone), filter, (order, rows.clone(), keys), &shown)?;
            if let Some(lead) = filter.place_of(self.stream.lead_column()) {
                cold.file().check_within(zone, passing.column(lead))?;
            }
            Ok(passing)
        };
        self.of_block(opened, (block, zone), read)
    }

    fn read_rows(&self, block: usize, count: usize) -> Result<Cow<'_, RecordBatch>> {
        let schema = self.stream.schema();
        let read = || self.read(block, &(0..count).collect::<Vec<_>>());
        match &self.opened()?.content {
            Content::Hot(hot) if count == schema.fields().len() => {
                let make = || {
                    let columns = read()?.columns().to_vec();
                    let rows = RecordBatch::try_new(Arc::clone(schema), columns);
                    rows.map_err(|error| hot.file().bad(0, error.to_string()))
                };
                hot.rows(block, make).map(Cow::Borrowed)
            }
            _ => read().map(Cow::Owned),
        }
    }

    fn values(&self, block: usize, column: usize) -> Result<Option<Values>> {
        let opened = self.opened()?;
        match (&opened.content, &opened.evolution, opened.zones.get(block)) {
            // A damaged one tells nothing: whoever reads its rows is told of it.
            (Content::Cold(cold), None, Some(_)) => {
                unless_damaged(cold.values(block, column), None)
            }
            (Content::Hot(hot), None, Some(_)) => {
                let coded = unless_damaged(hot.coded(&opened.zones, column), None);
                Ok(coded?.map(|coded| coded.told().clone()))
            }
            _ => Ok(None),
        }
    }

    fn known_values(&self, block: usize, column: usize) -> Result<Option<Values>> {
        let opened = self.opened()?;
        match (&opened.content, &opened.evolution) {
            (Content::Hot(hot), None) => {
                Ok(hot.known_codes(column).map(|coded| coded.told().clone()))
            }
            _ => self.values(block, column),
        }
    }

    fn may_match(&self, block: usize, filter: &PruneFilter) -> Result<bool> {
        match &self.opened()?.content {
            Content::Hot(_) => Ok(true),
            Content::Cold(cold) => {
                unless_damaged(cold.may_match(&self.stream, block, filter), true)
            }
        }
    }

    fn block_bounds(&self, block: usize, column: usize) -> Result<Option<BlockBounds>> {
        let Content::Cold(cold) = &self.opened()?.content else { return Ok(None) };
        Ok(cold.block_bounds(&self.stream, block, column))
    }

    fn decimal_digits(&self, column: usize) -> Result<Option<u32>> {
        let opened = self.opened()?;
        Ok(match (&opened.content, &opened.evolution) {
            (Content::Cold(cold), None) => cold.decimal_digits(column),
            _ => None,
        })
    }

    fn column_sizes(&self) -> Result<Vec<ColumnSize>> {
        match &self.opened()?.content {
            Content::Hot(_) => Ok(Vec::new()),
            Content::Cold(cold) => Ok(cold.column_sizes()),
        }
    }

    fn may_have_values(&self, column: usize) -> Result<bool> {
        let opened = self.opened()?;
        Ok(match (&opened.content, &opened.evolution) {
            (Content::Cold(cold), None) => cold.may_have_values(column),
            // A damaged one may have anything: whoever reads its rows is told of it.
            (Content::Hot(_), None) => unless_damaged(reads_values(self, column), true)?,
            _ => true,
        })
    }

    fn may_contain(&self, key: LeadKey) -> Result<bool> {
        if key < self.meta.key_min || self.meta.key_max < key {
            return Ok(false);
        }
        let opened = self.opened()?;
        let first = opened.zones.partition_point(|block| block.key_max < key);
        let Content::Cold(cold) = &opened.content else {
            return Ok(opened.zones.get(first).is_some_and(|block| block.key_min <= key));
        };
        let zones = opened.zones.iter().enumerate().skip(first);
        for (block, _) in zones.take_while(|(_, zone)| zone.key_min <= key) {
            if unless_damaged(cold.may_contain(block, key), true)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl fmt::Debug for RunReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunReader")
            .field("path", &self.path)
            .field("rows", &self.meta.rows)
            .field("open", &self.opened.get().is_some())
            .finish_non_exhaustive()
    }
}
