//! A block that is read once, from its first row to its last, in parts of a few thousand rows: what one operator has
//! written the next one still finds in the processor's cache, and the store's cache keeps what others come back to.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::SchemaRef;
use timestrata_format::{LeadKey, Zone};

use super::cold::Decoding;
use crate::key::KeyView;
use crate::scan::views;
use crate::{Error, MissingRange, Result, Stream};

/// Rows of a part at most: a few columns of them fit into a processor's second cache.
pub(super) const PART_ROWS: usize = 8_192;

/// The rows of one block of a cold run, in the order in which they are stored.
pub(super) struct BlockParts {
    pub(super) decoding: Decoding,
    /// Where each column wanted is among those decoded.
    pub(super) places: Vec<usize>,
    /// The columns wanted, as the stream stores them,
    pub(super) schema: SchemaRef,
    /// and which of them are views: all or none where it is empty.
    pub(super) views: Vec<bool>,
    /// Where the leading key is among the columns wanted.
    pub(super) lead: Option<usize>,
    pub(super) zone: Zone,
    pub(super) stream: Arc<Stream>,
    pub(super) path: PathBuf,
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
