//! A scan that gives only rows that pass a filter: of a block the columns that the filter looks at are
//! read first, and of the others only the rows that passed.
//!
//! ```text
//!   a block's columns:    host    cpu    passes?            rack   load
//!                         a        95      yes      read:   r7     0.9
//!                         b        99      no        not
//!                         a        10      no        not
//!                         a        91      yes      read:   r7     0.8
//! ```
//!
//! A block in which nothing passes costs its filter's columns. The merge sees shorter blocks, and nothing
//! else of it: rows of streams that keep them all meet no others. In streams that keep the newest row a key a row
//! that doesn't pass still replaces older ones, so there is no filter for these.

use std::fmt;
use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions, UInt64Array, new_empty_array,
};
use arrow_schema::{DataType, Field, Schema};
use arrow_select::filter::{FilterBuilder, FilterPredicate, prep_null_mask_filter};
use timestrata_io::Arena;

use super::plan::unfit;
use super::{NumberRange, RowOrder, Source, views};
use crate::{Error, ErrorKind, Result, RunningQuery, Stream};

/// Says which rows a scan gives.
///
/// ```
/// # use std::sync::Arc;
/// # use arrow_array::cast::AsArray;
/// # use arrow_array::types::Float64Type;
/// # use arrow_array::{BooleanArray, RecordBatch};
/// # use arrow_schema::{DataType, Field, Schema};
/// # use timestrata_engine::*;
/// #[derive(Debug)]
/// struct Warm;
///
/// impl RowFilter for Warm {
///     fn columns(&self) -> &[usize] {
///         &[1]
///     }
///     fn passes(&self, rows: &RecordBatch) -> Result<BooleanArray> {
///         let celsius = rows.column(0).as_primitive::<Float64Type>();
///         Ok(celsius.iter().map(|value| Some(value.is_some_and(|value| value > 20.8))).collect())
///     }
/// }
///
/// # fn main() -> timestrata_engine::Result<()> {
/// # let store = Store::memory(Settings::default())?;
/// # let schema = Schema::new(vec![
/// #     Field::new("time", DataType::Int64, false),
/// #     Field::new("celsius", DataType::Float64, true),
/// # ]);
/// # let kitchen = store.create_stream(StreamSpec::new("kitchen", Arc::new(schema)))?;
/// # let mut appender = store.appender(kitchen)?;
/// # for (time, celsius) in [(1_000, 20.5), (2_000, 21.0), (3_000, 21.5)] {
/// #     appender.append(&[Cell::Int(time), Cell::Float(celsius)], Durability::Written)?;
/// # }
/// let spec = ScanSpec { filter: Some(ScanFilter::new(Warm)), ..ScanSpec::default() };
/// assert_eq!(store.snapshot()?.collect(kitchen, &spec)?.num_rows(), 2);
/// # Ok(())
/// # }
/// ```
pub trait RowFilter: fmt::Debug + Send + Sync {
    /// Indexes of the columns that it looks at; at least one.
    fn columns(&self) -> &[usize];

    /// Whether each row passes; a null is a no. `rows` has [`RowFilter::columns`] in that order, text as
    /// the scan gives it. Rows may be among them that the scan does not give: outside its range, or deleted.
    ///
    /// # Errors
    /// Any ends the scan.
    fn passes(&self, rows: &RecordBatch) -> Result<BooleanArray>;

    /// What is asked of single columns: filters that each look at one column, and let through every row that passes. They
    /// are shown the values of a column that has few different ones, each once, in place of its rows.
    fn of_single_columns(&self) -> &[ScanFilter] {
        &[]
    }

    /// For each of [`RowFilter::columns`] the numbers of which a row has one if it passes, and only then; a null is none.
    /// Empty where that isn't all that is asked. Files tell it without making columns of what they store.
    fn number_ranges(&self) -> &[NumberRange] {
        &[]
    }

    /// Whether any row of each of several pages may pass, by what is known of them unread: for each of
    /// [`RowFilter::columns`] its bounds. `None`: that can't be told.
    ///
    /// # Errors
    /// Any ends the scan.
    fn may_pass(&self, _pages: &[ColumnBounds]) -> Result<Option<BooleanArray>> {
        Ok(None)
    }
}

/// What is known of a column in several pages without a look at its values: one entry a page.
///
/// ```
/// # use std::sync::Arc;
/// # use arrow_array::cast::AsArray;
/// # use arrow_array::types::Int64Type;
/// # use arrow_array::{BooleanArray, Int64Array, UInt64Array};
/// # use timestrata_engine::ColumnBounds;
/// let levels = ColumnBounds {
///     min: Arc::new(Int64Array::from(vec![1, 40])),
///     max: Arc::new(Int64Array::from(vec![20, 70])),
///     nulls: UInt64Array::from(vec![0, 3]),
///     rows: UInt64Array::from(vec![4_096, 1_000]),
/// };
/// // Of the first page no value is greater than 20.
/// let max = levels.max.as_primitive::<Int64Type>();
/// let may_pass: BooleanArray = max.iter().map(|max| max.map(|max| max > 50)).collect();
/// assert_eq!(may_pass, BooleanArray::from(vec![false, true]));
/// ```
#[derive(Debug, Clone)]
pub struct ColumnBounds {
    /// No value is less; null where that is not known.
    pub min: ArrayRef,
    /// No value is greater; null where that is not known.
    pub max: ArrayRef,
    /// How many values are null, where that is known.
    pub nulls: UInt64Array,
    /// How many rows a page has.
    pub rows: UInt64Array,
}

/// A [`RowFilter`] in a [`ScanSpec`](super::ScanSpec). Equal are those that are the same one.
///
/// ```
/// # use arrow_array::{Array, BooleanArray, RecordBatch};
/// # use timestrata_engine::{Result, RowFilter, ScanFilter, ScanSpec};
/// /// Rows that have a value in the second column.
/// #[derive(Debug)]
/// struct HasValue;
///
/// impl RowFilter for HasValue {
///     fn columns(&self) -> &[usize] {
///         &[1]
///     }
///     fn passes(&self, rows: &RecordBatch) -> Result<BooleanArray> {
///         let column = rows.column(0);
///         Ok((0..column.len()).map(|row| Some(column.is_valid(row))).collect())
///     }
/// }
///
/// let filter = ScanFilter::new(HasValue);
/// let spec = ScanSpec { filter: Some(filter.clone()), ..ScanSpec::default() };
/// assert_eq!(spec.filter, Some(filter));
/// ```
#[derive(Debug, Clone)]
pub struct ScanFilter(Arc<dyn RowFilter>);

impl ScanFilter {
    /// A filter for scans, which may share it.
    pub fn new(filter: impl RowFilter + 'static) -> Self {
        Self(Arc::new(filter))
    }
}

impl PartialEq for ScanFilter {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for ScanFilter {}

/// Columns of a block, and which of them are read as views of their text; empty: none.
#[derive(Debug)]
pub(crate) struct ViewedColumns {
    pub(crate) columns: Vec<usize>,
    pub(crate) views: Vec<bool>,
    /// Of those that are views which may be dictionaries as well, of rows as they lie that are stored by these;
    /// empty: none.
    pub(crate) by_dictionary: Vec<bool>,
    /// How many rows the scan reads that they are read for; 0: that isn't known, or few.
    pub(crate) scan_rows: u64,
    /// Where there is room for what is read for that scan alone.
    pub(crate) arena: Option<Arena>,
}

impl ViewedColumns {
    pub(super) fn new(stream: &Stream, columns: Vec<usize>, text_views: bool) -> Self {
        let views: Vec<bool> =
            columns.iter().map(|column| stream.has_text_views(*column)).collect();
        let views = if text_views && views.contains(&true) { views } else { Vec::new() };
        Self { columns, views, ..Self::plain(Vec::new()) }
    }

    /// All as they are stored.
    pub(crate) fn plain(columns: Vec<usize>) -> Self {
        Self { columns, views: Vec::new(), by_dictionary: Vec::new(), scan_rows: 0, arena: None }
    }

    /// Takes dictionaries in these columns too, as far as they are viewed.
    pub(crate) fn take_dictionaries(&mut self, of: &[usize]) {
        let viewed = self.columns.iter().zip(&self.views);
        let each: Vec<bool> = viewed.map(|(column, view)| *view && of.contains(column)).collect();
        self.by_dictionary = if each.contains(&true) { each } else { Vec::new() };
    }

    /// The columns that may be dictionaries.
    pub(crate) fn coded(&self) -> Vec<usize> {
        let each = self.columns.iter().zip(&self.by_dictionary);
        each.filter_map(|(column, is_coded)| is_coded.then_some(*column)).collect()
    }

    pub(crate) fn takes_dictionary(&self, place: usize) -> bool {
        self.by_dictionary.get(place).copied().unwrap_or(false)
    }

    /// The type that a column is read with.
    pub(super) fn data_type<'a>(&self, place: usize, stream: &'a Stream) -> &'a DataType {
        let column = self.columns.get(place).copied().unwrap_or(usize::MAX);
        match (self.views.get(place), stream.stored_schema().fields().get(column)) {
            (Some(true), _) => &DataType::Utf8View,
            (_, Some(field)) => field.data_type(),
            (_, None) => &DataType::Null,
        }
    }
}

/// Where a column of a reading is found.
#[derive(Debug, Clone, Copy)]
enum Found {
    /// Among those that the filter has looked at.
    LookedAt(usize),
    /// Among the others.
    Other(usize),
}

/// What a filter asks of one column.
#[derive(Debug)]
pub(crate) struct ColumnFilter {
    /// That one.
    pub(crate) column: ViewedColumns,
    filter: ScanFilter,
}

impl ColumnFilter {
    /// Which values of the column pass: without nulls.
    pub(crate) fn passes(&self, values: &RecordBatch) -> Result<BooleanArray> {
        passes(&self.filter, values)
    }
}

fn passes(filter: &ScanFilter, rows: &RecordBatch) -> Result<BooleanArray> {
    let passes = filter.0.passes(rows)?;
    if passes.len() != rows.num_rows() {
        let (told, rows) = (passes.len(), rows.num_rows());
        let message = format!("a filter told of {told} rows, and there are {rows}");
        return Err(Error::new(ErrorKind::InvalidArgument, message));
    }
    Ok(match passes.null_count() {
        0 => passes,
        _ => prep_null_mask_filter(&passes),
    })
}

/// A filter in the plan of a reading.
#[derive(Debug)]
pub(crate) struct PlannedFilter {
    filter: ScanFilter,
    /// What the filter looks at.
    pub(crate) looked_at: ViewedColumns,
    /// What is read of rows that pass besides.
    pub(crate) others: ViewedColumns,
    /// What it looks at, and the others, of no row.
    unseen: Vec<ArrayRef>,
    unread: Vec<ArrayRef>,
    /// Each column of the reading.
    found: Vec<Found>,
    /// What the filter asks of single columns.
    of_single_columns: Vec<ColumnFilter>,
    /// Asked at each block: there may be long ways from one row that passes to the next.
    query: Option<RunningQuery>,
}

impl PlannedFilter {
    /// Of a reading of the columns `read` of the stored schema.
    ///
    /// # Errors
    /// `InvalidArgument` for a stream that keeps the newest row a key, and columns that aren't there.
    pub(crate) fn new(
        stream: &Stream,
        read: &[usize],
        filter: &ScanFilter,
        text_views: bool,
        query: Option<&RunningQuery>,
    ) -> Result<Self> {
        let refused = |why: String| Err(stream.spec().error(ErrorKind::InvalidArgument, why));
        if stream.is_latest() {
            return refused("a scan of the newest row a key takes no filter".to_owned());
        }
        let columns = filter.0.columns().to_vec();
        let known = stream.schema().fields().len();
        if columns.is_empty() || columns.iter().any(|column| *column >= known) {
            return refused(format!("a filter of columns {columns:?}, there are {known}"));
        }
        let mut others = Vec::new();
        let place = |column: &usize| match columns.iter().position(|looked_at| looked_at == column)
        {
            Some(place) => Found::LookedAt(place),
            None => {
                others.push(*column);
                Found::Other(others.len() - 1)
            }
        };
        let found = read.iter().map(place).collect();
        let others = ViewedColumns::new(stream, others, text_views);
        let looked_at = ViewedColumns::new(stream, columns, text_views);
        let empty = |columns: &ViewedColumns| {
            let places = 0..columns.columns.len();
            places.map(|place| new_empty_array(columns.data_type(place, stream))).collect()
        };
        let single = filter.0.of_single_columns().iter().filter_map(|filter| {
            let [column] = filter.0.columns() else { return None };
            let column = ViewedColumns::new(stream, vec![*column], text_views);
            Some(ColumnFilter { column, filter: filter.clone() })
        });
        Ok(Self {
            filter: filter.clone(),
            of_single_columns: single.collect(),
            unseen: empty(&looked_at),
            unread: empty(&others),
            looked_at,
            others,
            found,
            query: query.cloned(),
        })
    }

    /// Whether anything that the filter looks at is given, too.
    pub(crate) fn gives_looked_at(&self) -> bool {
        self.found.iter().any(|found| matches!(found, Found::LookedAt(_)))
    }

    /// Where a column of the stream is among those of the reading.
    pub(crate) fn place_of(&self, column: usize) -> Option<usize> {
        let found = self.found.iter().map(|found| match found {
            Found::LookedAt(place) => self.looked_at.columns.get(*place),
            Found::Other(place) => self.others.columns.get(*place),
        });
        found.enumerate().find(|(_, read)| *read == Some(&column)).map(|(place, _)| place)
    }

    /// An error if the scan is for a query that is no longer wanted.
    pub(crate) fn check(&self) -> Result<()> {
        self.query.as_ref().map_or(Ok(()), RunningQuery::check)
    }

    /// What is asked of single columns.
    pub(crate) fn of_single_columns(&self) -> &[ColumnFilter] {
        &self.of_single_columns
    }

    /// The range of each of the columns that the filter looks at, where that is all that it asks.
    pub(crate) fn number_ranges(&self) -> Option<&[NumberRange]> {
        let ranges = self.filter.0.number_ranges();
        (ranges.len() == self.looked_at.columns.len()).then_some(ranges)
    }

    /// Which rows pass, by the columns that the filter looks at: without nulls.
    pub(crate) fn passes(&self, rows: &RecordBatch) -> Result<BooleanArray> {
        passes(&self.filter, rows)
    }

    /// Which of some pages may have rows that pass; `None`: all.
    pub(crate) fn may_pass(&self, pages: &[ColumnBounds]) -> Result<Option<BooleanArray>> {
        let rows = pages.first().map_or(0, |column| column.rows.len());
        Ok(self.filter.0.may_pass(pages)?.filter(|may| may.len() == rows))
    }

    /// The columns of the reading: so many rows that passed, from those looked at and the others; where none passed,
    /// the others need not have been read.
    pub(crate) fn joined(
        &self,
        looked_at: &[ArrayRef],
        others: &[ArrayRef],
        rows: usize,
    ) -> Result<RecordBatch> {
        let others = if rows == 0 { &self.unread } else { others };
        let columns = self.found.iter().map(|found| match found {
            Found::LookedAt(place) => looked_at.get(*place).cloned(),
            Found::Other(place) => others.get(*place).cloned(),
        });
        let columns = columns.collect::<Option<Vec<_>>>().ok_or_else(|| {
            Error::new(ErrorKind::Corruption, "a filtered block lacks a column".to_owned())
        })?;
        batch_of(columns, rows)
    }

    /// The columns of the reading, of no row.
    pub(crate) fn no_rows(&self) -> Result<RecordBatch> {
        self.joined(&self.unseen, &[], 0)
    }

    /// The rows of a block that pass, where a source has nothing better to do than to read all of it.
    pub(crate) fn read_whole(
        &self,
        source: &(impl Source + ?Sized),
        block: usize,
        order: RowOrder,
    ) -> Result<RecordBatch> {
        let looked_at = source.read_viewed(block, &self.looked_at, None, order)?;
        let passes = self.passes(&looked_at)?;
        let filter = FilterBuilder::new(&passes).optimize().build();
        let rows = filter.count();
        let looked_at = match self.gives_looked_at() {
            true => filtered(&filter, &looked_at)?,
            false => Vec::new(),
        };
        match rows {
            0 => self.joined(&looked_at, &[], 0),
            _ => {
                let others = chosen_of(source, block, order, &self.others, &filter)?;
                self.joined(&looked_at, &others, rows)
            }
        }
    }

    /// The same of a block of which it is known that no other rows than some pass.
    pub(crate) fn read_among(
        &self,
        source: &(impl Source + ?Sized),
        block: usize,
        order: RowOrder,
        may_pass: &BooleanArray,
    ) -> Result<RecordBatch> {
        let among = FilterBuilder::new(may_pass).optimize().build();
        if among.count() == 0 {
            return self.no_rows();
        }
        let plain = ViewedColumns::plain(self.looked_at.columns.clone());
        let looked_at = source.read_viewed(block, &plain, None, order)?;
        let looked_at = among.filter_record_batch(&looked_at).map_err(|error| unfit(&error))?;
        let looked_at = match self.looked_at.views.is_empty() {
            true => looked_at,
            false => views::of_batch(&looked_at, &self.looked_at.views)?,
        };
        let filter = FilterBuilder::new(&self.passes(&looked_at)?).optimize().build();
        if filter.count() == 0 {
            return self.no_rows();
        }
        let others = chosen_of(source, block, order, &self.others, &among)?;
        let others = others.iter().map(|column| filter.filter(column));
        let others = others.collect::<std::result::Result<Vec<_>, _>>();
        let others = others.map_err(|error| unfit(&error))?;
        self.joined(&filtered(&filter, &looked_at)?, &others, filter.count())
    }
}

/// The rows of a block that a filter chooses. Views are made of what is left.
fn chosen_of(
    source: &(impl Source + ?Sized),
    block: usize,
    order: RowOrder,
    wanted: &ViewedColumns,
    filter: &FilterPredicate,
) -> Result<Vec<ArrayRef>> {
    if wanted.columns.is_empty() {
        return Ok(Vec::new());
    }
    let plain = ViewedColumns::plain(wanted.columns.clone());
    let chosen = filtered(filter, &source.read_viewed(block, &plain, None, order)?)?;
    let views = wanted.views.iter().copied().chain(std::iter::repeat(false));
    Ok(chosen.iter().zip(views).map(|(column, is)| views::shown(column, is)).collect())
}

fn filtered(filter: &FilterPredicate, batch: &RecordBatch) -> Result<Vec<ArrayRef>> {
    let columns = batch.columns().iter().map(|column| filter.filter(column));
    columns.collect::<std::result::Result<Vec<_>, _>>().map_err(|error| unfit(&error))
}

/// A batch that only a reading looks at: its fields have types, and no names.
fn batch_of(columns: Vec<ArrayRef>, rows: usize) -> Result<RecordBatch> {
    let fields = columns.iter().map(|column| Field::new("", column.data_type().clone(), true));
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(schema, columns, &options).map_err(|error| unfit(&error))
}
