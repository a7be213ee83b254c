//! What one reading needs of each source, and what it gives: worked out once, shared by all
//! cursors.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions};
use arrow_schema::{ArrowError, Schema, SchemaRef};
use timestrata_format::KeyRange;
use timestrata_io::Arena;

use super::row_filter::{PlannedFilter, ViewedColumns};
use super::{PartsOfBlock, ReadingThreads, RowOrder, ScanSpec, Share, Source, views};
use crate::damage::LeftOut;
use crate::key::KeyView;
use crate::{Error, ErrorKind, Result, RunningQuery, Stream};

/// Columns to read and columns to give.
#[derive(Debug)]
pub(super) struct ScanPlan {
    pub(super) stream: Arc<Stream>,
    /// Columns of the stored schema that are read, and which of them as views of their text.
    read: ViewedColumns,
    /// Positions in `read` of the columns given.
    output: Vec<usize>,
    /// The columns given.
    pub(super) schema: SchemaRef,
    /// Position in `read` of the leading key, where that is read.
    lead: Option<usize>,
    /// Positions in `read` of the other key columns; empty where they need not be compared.
    pub(super) rest: Vec<usize>,
    /// Position in `read` of the delete marker, where rows that have it are to be dropped.
    pub(super) deleted: Option<usize>,
    /// Takes what is damaged, where that is to be left out.
    pub(super) left_out: Option<Arc<LeftOut>>,
    /// What rows have to pass to be given.
    pub(super) filter: Option<PlannedFilter>,
    /// Those that decode the block that comes next, where that is worth it.
    ahead: Option<Arc<ReadingThreads>>,
}

/// How the rows of a reading meet each other.
#[derive(Debug, Clone, Copy)]
pub(super) struct RowsMeeting {
    /// Rows of several sources are to be compared.
    pub(super) several: bool,
    /// Some rows are delete markers that are to be dropped.
    pub(super) drop_markers: bool,
    /// Leading keys are looked at.
    pub(super) by_key: bool,
}

impl RowsMeeting {
    /// Each row is given by itself, whatever its key is.
    pub(super) const NOT: Self = Self { several: false, drop_markers: false, by_key: false };
}

impl ScanPlan {
    /// A plan that gives the columns that `spec` names (all where it names none), for `query` if there is one.
    ///
    /// # Errors
    /// `InvalidArgument` for a column that isn't there, or a filter that the stream can't have.
    pub(super) fn new(
        stream: &Arc<Stream>,
        spec: &ScanSpec,
        meeting: RowsMeeting,
        query: Option<&RunningQuery>,
    ) -> Result<Self> {
        let mut plan = Self::of_columns(stream, spec.columns.as_deref(), meeting)?;
        plan.left_out = spec.skip_damaged.then(Arc::default);
        let columns = &plan.read.columns;
        let filter = spec
            .filter
            .as_ref()
            .map(|filter| PlannedFilter::new(stream, columns, filter, spec.text_views, query));
        plan.filter = filter.transpose()?;
        Ok(if spec.text_views { plan.with_views(&spec.text_dictionaries) } else { plan })
    }

    /// The same for a scan of so many rows.
    pub(super) fn of_rows(mut self, rows: u64) -> Self {
        self.read.scan_rows = rows;
        self
    }

    /// The same with room in an arena for what is read for this scan alone.
    pub(super) fn in_arena(mut self, arena: Arena) -> Self {
        self.read.arena = Some(arena);
        self
    }

    /// The same, for who reads on behind it, with threads that decode the blocks that come next. Not for what is filtered or read as
    /// views, which isn't kept as a whole block of plain columns.
    pub(super) fn sequential(mut self, threads: &Arc<ReadingThreads>) -> Self {
        let is_plain = self.filter.is_none() && self.read.views.is_empty();
        self.ahead = (is_plain && threads.may_unasked()).then(|| Arc::clone(threads));
        self
    }

    /// Lets a thread decode a block that will be asked for, where that is wanted and worth it.
    pub(super) fn read_ahead(&self, source: &Arc<dyn Source>, block: usize) {
        let Some(threads) = &self.ahead else { return };
        if let Some(decode) = Arc::clone(source).ahead(block, &self.read.columns) {
            // Where the system has no more threads, whoever asks for the block decodes it.
            let _ = threads.begin(decode);
        }
    }

    /// Goes on without what an error says is missing.
    ///
    /// # Errors
    /// The error itself, where nothing is to be left out or it is none of damage.
    pub(super) fn leave_out(&self, error: Error) -> Result<()> {
        match &self.left_out {
            Some(left_out) => left_out.note(error),
            None => Err(error),
        }
    }

    /// A plan that gives the `columns` of the schema (all where `None`).
    pub(super) fn of_columns(
        stream: &Arc<Stream>,
        columns: Option<&[usize]>,
        meeting: RowsMeeting,
    ) -> Result<Self> {
        let schema = stream.schema();
        let Some(columns) = columns else {
            let all: Vec<usize> = (0..schema.fields().len()).collect();
            return Ok(Self::with(stream, &all, Arc::clone(schema), meeting));
        };
        if let Some(column) = columns.iter().find(|column| **column >= schema.fields().len()) {
            let why = format!("no column {column}, there are {}", schema.fields().len());
            return Err(stream.spec().error(ErrorKind::InvalidArgument, why));
        }
        let projected = schema.project(columns).map_err(|error| unfit(&error))?;
        Ok(Self::with(stream, columns, Arc::new(projected), meeting))
    }

    /// A plan that gives all columns of the stored schema.
    pub(super) fn stored(stream: &Arc<Stream>, meeting: RowsMeeting) -> Self {
        let schema = Arc::clone(stream.stored_schema());
        let all: Vec<usize> = (0..schema.fields().len()).collect();
        Self::with(stream, &all, schema, meeting)
    }

    fn with(
        stream: &Arc<Stream>,
        columns: &[usize],
        schema: SchemaRef,
        meeting: RowsMeeting,
    ) -> Self {
        let mut read = Vec::with_capacity(columns.len() + stream.key_columns().len());
        let mut position_of =
            |column: usize| match read.iter().position(|candidate| *candidate == column) {
                Some(position) => position,
                None => {
                    read.push(column);
                    read.len() - 1
                }
            };
        let output = columns.iter().map(|column| position_of(*column)).collect();
        let lead = match meeting.by_key {
            true => Some(position_of(stream.lead_column())),
            false => columns.iter().position(|column| *column == stream.lead_column()),
        };
        let rest = match meeting.several {
            true => stream.key_columns().iter().skip(1).map(|key| position_of(*key)).collect(),
            false => Vec::new(),
        };
        let deleted = (stream.is_latest() && meeting.drop_markers)
            .then(|| position_of(stream.schema().fields().len()));
        Self {
            stream: Arc::clone(stream),
            read: ViewedColumns::plain(read),
            output,
            schema,
            lead,
            rest,
            deleted,
            left_out: None,
            filter: None,
            ahead: None,
        }
    }

    /// The same plan, with views of text; of the columns `by_dictionary` parts of blocks may have dictionaries.
    fn with_views(mut self, by_dictionary: &[usize]) -> Self {
        self.read = ViewedColumns::new(&self.stream, self.read.columns, true);
        self.read.take_dictionaries(by_dictionary);
        let given = self.schema.fields().iter().zip(&self.output);
        let fields: Vec<_> = given
            .map(|(field, position)| match self.read.views.get(*position) {
                Some(true) => views::viewed_field(field),
                _ => Arc::clone(field),
            })
            .collect();
        let metadata = self.schema.metadata().clone();
        self.schema = Arc::new(Schema::new_with_metadata(fields, metadata));
        self
    }

    /// Reads a block of a source; where there is a filter, of the rows that pass. Rows with other keys than `keys` may be
    /// left out.
    pub(super) fn read_block(
        &self,
        source: &dyn Source,
        block: usize,
        keys: Option<KeyRange>,
        order: RowOrder,
    ) -> Result<RecordBatch> {
        let batch = match &self.filter {
            None => source.read_viewed(block, &self.read, keys, order)?,
            Some(filter) => {
                filter.check()?;
                source.read_passing(block, filter, keys, order)?
            }
        };
        self.check(&batch)?;
        Ok(batch)
    }

    /// The same of all rows of a share, part by part, where nothing is looked for among them and nothing is to be left out that is
    /// found to be damaged after other parts were given.
    pub(super) fn read_parts(
        &self,
        source: &dyn Source,
        block: usize,
        share: Share,
        scan_rows: u64,
    ) -> Result<Option<PartsOfBlock>> {
        match self.filter.is_some() || self.left_out.is_some() {
            true => Ok(None),
            false => source.read_parts(block, &self.read, share, scan_rows),
        }
    }

    /// The leading keys of a block, in their order, where these are best read before other columns.
    pub(super) fn keys_alone(&self, source: &dyn Source, block: usize) -> Result<Option<ArrayRef>> {
        if self.filter.is_some() || !source.is_long(block) {
            return Ok(None);
        }
        let wanted = ViewedColumns::plain(vec![self.stream.lead_column()]);
        let keys = source.read_viewed(block, &wanted, None, RowOrder::ByKey)?;
        Ok(keys.columns().first().cloned())
    }

    pub(super) fn has_filter(&self) -> bool {
        self.filter.is_some()
    }

    /// Whether what is damaged is left out, and told of.
    pub(super) fn leaves_out(&self) -> bool {
        self.left_out.is_some()
    }

    /// The leading keys of a batch as read.
    ///
    /// # Errors
    /// `Corruption` for a column that has no keys, or isn't there.
    pub(super) fn keys_of<'a>(&self, batch: &'a RecordBatch) -> Result<KeyView<'a>> {
        let lead = self.lead.and_then(|lead| batch.columns().get(lead)).ok_or_else(|| {
            let message = format!("a block of stream '{}' lacks its keys", self.stream.name());
            Error::new(ErrorKind::Corruption, message)
        })?;
        KeyView::of_column(lead.as_ref())
    }

    /// The columns given, of a batch as read.
    pub(super) fn output_columns<'a>(
        &'a self,
        batch: &'a RecordBatch,
    ) -> impl Iterator<Item = &'a ArrayRef> {
        self.output.iter().map(|position| batch.column(*position))
    }

    /// How many columns are given.
    pub(super) fn output_len(&self) -> usize {
        self.output.len()
    }

    /// The `index`th column given, of a batch as read.
    pub(super) fn output_column<'a>(&self, batch: &'a RecordBatch, index: usize) -> &'a ArrayRef {
        batch.column(self.output[index])
    }

    /// A batch of the columns given.
    pub(super) fn batch(&self, columns: Vec<ArrayRef>, rows: usize) -> Result<RecordBatch> {
        let schema = match self.read.by_dictionary.is_empty() {
            true => Arc::clone(&self.schema),
            false => views::with_dictionaries(&self.schema, &columns),
        };
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(schema, columns, &options).map_err(|error| unfit(&error))
    }

    /// Checks that a block is what was asked for, so that nothing behind this can panic.
    pub(super) fn check(&self, batch: &RecordBatch) -> Result<()> {
        let columns = &self.read.columns;
        if batch.num_columns() != columns.len() {
            let message = format!(
                "a block of stream '{}' was read with {} columns, expected {}",
                self.stream.name(),
                batch.num_columns(),
                columns.len()
            );
            return Err(Error::new(ErrorKind::Corruption, message));
        }
        let fields = self.stream.stored_schema().fields();
        for (position, (column, array)) in columns.iter().zip(batch.columns()).enumerate() {
            let field = &fields[*column];
            let expected = self.read.data_type(position, &self.stream);
            let is_taken =
                views::is_dictionary(array.data_type()) && self.read.takes_dictionary(position);
            if array.data_type() != expected && !is_taken {
                let message = format!(
                    "a block of stream '{}' has type {} in column '{}', expected {}",
                    self.stream.name(),
                    array.data_type(),
                    field.name(),
                    expected
                );
                return Err(Error::new(ErrorKind::Corruption, message));
            }
        }
        Ok(())
    }

    /// The delete markers of a batch as read, where some row has one that counts.
    pub(super) fn markers(&self, batch: &RecordBatch) -> Option<BooleanArray> {
        let column = batch.column(self.deleted?);
        let markers = column.as_any().downcast_ref::<BooleanArray>()?;
        (markers.true_count() > 0).then(|| markers.clone())
    }
}

/// Arrow refused columns that come from the store.
pub(super) fn unfit(error: &ArrowError) -> Error {
    Error::new(ErrorKind::InvalidData, format!("stored columns don't fit together: {error}"))
}
