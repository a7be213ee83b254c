//! A block that is read once, from its first row to its last, in parts of a few thousand rows: what one operator has
//! written the next one still finds in the processor's cache, and the store's cache keeps what others come back to.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::SchemaRef;
use timestrata_format::{KeyRange, LeadKey, Zone};

use super::cold::{ChosenRows, DecodedAs, Decoding, LONG_BLOCK_ROWS, PIECE_ROWS};
use super::reader::{Content, RunReader};
use crate::key::KeyView;
use crate::scan::{PartsOfBlock, RowOrder, Share, ViewedColumns, views};
use crate::{Error, ErrorKind, MissingRange, Result, Stream};

/// Rows of a part at most: a few columns of them fit into a processor's second cache.
pub(super) const PART_ROWS: usize = 8_192;

/// A block in the order of the key that has no more pieces than this is read whole.
const PIECES_MIN: u32 = 4;

/// Rows with some keys are few where they are less than one in so many of a block.
const FEW_OF: u128 = 2;

/// The rows of one block of a cold run, in the order in which they are stored.
struct BlockParts {
    decoding: Decoding,
    /// Where each column wanted is among those decoded.
    places: Vec<usize>,
    /// The columns wanted, as the stream stores them,
    schema: SchemaRef,
    /// and which of them are views: all or none where it is empty.
    views: Vec<bool>,
    /// Where the leading key is among the columns wanted.
    lead: Option<usize>,
    zone: Zone,
    stream: Arc<Stream>,
    path: PathBuf,
}

impl BlockParts {
    fn part(&self, decoded: &RecordBatch) -> Result<RecordBatch> {
        let bad = |message: String| Error::corruption(&self.path, 0, message);
        let columns = self.places.iter().map(|place| decoded.columns().get(*place).cloned());
        let columns = columns.collect::<Option<Vec<_>>>();
        let columns = columns.ok_or_else(|| bad("a block of a run lacks a column".to_owned()))?;
        let (schema, columns) = match self.views.is_empty() {
            true => (Arc::clone(&self.schema), columns),
            false => views::viewed(self.schema.fields(), &columns, &self.views),
        };
        let schema = views::with_dictionaries(&schema, &columns);
        if let Some(lead) = self.lead.and_then(|lead| columns.get(lead)) {
            let keys = KeyView::of_column(lead.as_ref())?;
            if !keys.are_within(self.zone.key_min, self.zone.key_max) {
                return Err(bad("keys of a run are outside their zone map".to_owned()));
            }
        }
        let options = RecordBatchOptions::new().with_row_count(Some(decoded.num_rows()));
        RecordBatch::try_new_with_options(schema, columns, &options).map_err(|error| {
            bad(format!("a block of a run does not fit its stream: {error}")).caused_by(error)
        })
    }
}

impl Content {
    /// The record batch or row group that a block is in.
    pub(super) fn group_of(&self, block: usize) -> Option<usize> {
        match self {
            Self::Hot(_) => Some(block),
            Self::Cold(cold) => cold.group_of(block),
        }
    }

    /// Whether some of these parts of the file have bytes of a block.
    pub(super) fn has_bytes_in(&self, block: usize, parts: &[Range<u64>]) -> bool {
        match self {
            // All blocks of a record batch are one.
            Self::Hot(_) => true,
            Self::Cold(cold) => cold.has_bytes_in(block, parts),
        }
    }

    /// The blocks of a record batch or row group.
    pub(super) fn blocks_of(&self, group: usize) -> Range<usize> {
        match self {
            Self::Hot(_) => group..group.saturating_add(1),
            Self::Cold(cold) => {
                cold.blocks_before(group)..cold.blocks_before(group.saturating_add(1))
            }
        }
    }
}

impl RunReader {
    /// Whether a block has so many rows that it is shared between readers in any order.
    pub(super) fn is_long(&self, block: usize) -> bool {
        let opened = self.opened().ok().filter(|opened| opened.evolution.is_none());
        opened.is_some_and(|opened| {
            let zone = opened.zones.get(block);
            opened.content.has_places() && zone.is_some_and(|zone| zone.rows > LONG_BLOCK_ROWS)
        })
    }

    /// Whether some rows of a block can be read without the others.
    pub(super) fn is_divisible(&self, block: usize) -> bool {
        self.opened().is_ok_and(|opened| {
            let is_cold = matches!(opened.content, Content::Cold(_));
            is_cold && opened.evolution.is_none() && block < opened.zones.len()
        })
    }

    /// Which rows of a block are read, as they are stored.
    pub(super) fn rows_of(&self, block: usize, zone: &Zone, order: RowOrder) -> Range<usize> {
        match order {
            RowOrder::Any(share) if self.is_divisible(block) => share.of_rows(zone.rows as usize),
            RowOrder::Any(_) | RowOrder::ByKey => 0..zone.rows as usize,
        }
    }

    /// Whether few rows of a block have some keys, so that these are looked for before other columns are read.
    pub(super) fn has_few_within(&self, block: usize, keys: &KeyRange) -> bool {
        let opened = self.opened().ok().filter(|opened| opened.evolution.is_none());
        opened.is_some_and(|opened| {
            let zone = opened.zones.get(block).filter(|zone| match &opened.content {
                Content::Cold(cold) => cold.has_places() || zone.rows >= PIECES_MIN * PIECE_ROWS,
                Content::Hot(_) => false,
            });
            zone.is_some_and(|zone| is_few(keys, zone))
        })
    }

    /// Rows of a block with some keys, which [are few](RunReader::has_few_within).
    pub(super) fn within(
        &self,
        block: usize,
        wanted: &ViewedColumns,
        keys: &KeyRange,
        order: RowOrder,
    ) -> Result<RecordBatch> {
        let opened = self.opened()?;
        let (Content::Cold(cold), Some(zone)) = (&opened.content, opened.zones.get(block)) else {
            let message = format!("a run has no compacted block {block}");
            return Err(Error::new(ErrorKind::InvalidArgument, message).at(self.path()));
        };
        let among = self.rows_of(block, zone, order);
        let read = || {
            let (rows, arrays) = cold.read_within((block, zone), wanted, keys, (order, &among))?;
            let lead = wanted.columns.iter().position(|c| *c == self.stream().lead_column());
            if let Some(lead) = lead.and_then(|lead| arrays.get(lead)) {
                cold.file().check_within(zone, lead)?;
            }
            self.batch_of(opened, (block, rows), &wanted.columns, &wanted.views, arrays)
        };
        self.of_block(opened, (block, zone), read)
    }

    /// The rows of a share of a block, part by part; `None` where it is better read at once.
    pub(super) fn parts_of(
        &self,
        block: usize,
        wanted: &ViewedColumns,
        share: Share,
        scan_rows: u64,
    ) -> Result<Option<PartsOfBlock>> {
        let opened = self.opened()?;
        let (Content::Cold(cold), None, Some(zone)) =
            (&opened.content, &opened.evolution, opened.zones.get(block))
        else {
            return Ok(None);
        };
        let all = zone.rows as usize;
        let rows = self.rows_of(block, zone, RowOrder::Any(share));
        if rows.is_empty() {
            return Ok(Some(Box::new(std::iter::empty())));
        }
        if cold.is_cached((block, zone), wanted, scan_rows) {
            return Ok(None);
        }
        let mut columns = wanted.columns.clone();
        columns.sort_unstable();
        columns.dedup();
        let places = wanted.columns.iter().map(|column| columns.binary_search(column).ok());
        let schema = self.stream().stored_schema().project(&wanted.columns);
        let (Some(places), Ok(schema)) = (places.collect(), schema) else { return Ok(None) };
        let (text_views, codes) = (!wanted.views.is_empty(), wanted.coded());
        let begin = || {
            let (of_block, chosen) = ((block, rows.len()), ChosenRows::stretch(&rows, all));
            let decoded_as = DecodedAs::coded(text_views, &codes);
            cold.decoding(of_block, PART_ROWS, &columns, decoded_as, chosen)
        };
        let lead = self.stream().lead_column();
        Ok(Some(Box::new(BlockParts {
            decoding: self.of_block(opened, (block, zone), begin)?,
            places,
            schema: Arc::new(schema),
            views: wanted.views.clone(),
            lead: wanted.columns.iter().position(|column| *column == lead),
            zone: *zone,
            stream: Arc::clone(self.stream()),
            path: self.path().to_owned(),
        })))
    }
}

impl Iterator for BlockParts {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        let decoded = self.decoding.next()?;
        let part = decoded.and_then(|decoded| self.part(&decoded));
        let keys = (self.zone.key_min, self.zone.key_max);
        Some(part.map_err(|error| {
            let rows = u64::from(self.zone.rows);
            error.with_missing(|error| missing(&self.stream, &self.path, error, keys, rows))
        }))
    }
}

/// Whether a range of keys has no more than a part of a block's rows, if these lie evenly between its least and its
/// greatest key.
fn is_few(keys: &KeyRange, zone: &Zone) -> bool {
    let (LeadKey::Time(min), LeadKey::Time(max)) = (zone.key_min, zone.key_max) else {
        return false;
    };
    let time = |key: Option<LeadKey>, other: i64| match key {
        Some(LeadKey::Time(time)) => time.clamp(min, max),
        _ => other,
    };
    let (lo, hi) = (time(keys.lo, min), time(keys.hi, max));
    let wanted = if lo < hi { hi.abs_diff(lo) } else { 0 };
    u128::from(wanted) * FEW_OF < u128::from(max.abs_diff(min))
}

/// What is missing of a stream for an error of some rows of a run.
pub(super) fn missing(
    stream: &Stream,
    path: &Path,
    error: &Error,
    keys: (LeadKey, LeadKey),
    rows: u64,
) -> MissingRange {
    MissingRange {
        stream: stream.name().to_owned(),
        key_min: keys.0,
        key_max: keys.1,
        rows,
        file: path.to_owned(),
        offset: error.offset().unwrap_or(0),
        why: error.message().to_owned(),
    }
}
