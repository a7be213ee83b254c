//! What rows come to, from what is kept beside them: see [`Snapshot::aggregates`](crate::Snapshot::aggregates).

use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, BooleanArray, Int64Array};
use arrow_select::filter::{FilterBuilder, FilterPredicate};
use timestrata_format::{KeyRange, RunId, Zone};

use super::StreamView;
use super::plan::unfit;
use crate::Result;
use crate::tombstones::Visible;

/// With more ranges than these rows are read: to hold each block against each of them takes longer.
const RANGES_MAX: usize = 64;

/// What is kept of the rows of a run.
#[derive(Debug)]
pub(crate) struct BlockAggregates {
    pub(crate) spans: Vec<Span>,
    /// Columns whose values tell series apart, and which these are.
    pub(crate) series: Vec<usize>,
    pub(crate) series_told: Vec<ArrayRef>,
    /// Columns of numbers.
    pub(crate) numbers: Vec<usize>,
    pub(crate) numbers_told: Vec<NumberAggregates>,
    pub(crate) rows: Int64Array,
    pub(crate) first: ArrayRef,
    pub(crate) last: ArrayRef,
}

impl BlockAggregates {
    /// Bytes in memory.
    pub(crate) fn bytes(&self) -> usize {
        let of_series = self.series_told.iter().map(|column| column.get_array_memory_size());
        let of_numbers = self.numbers_told.iter().map(|numbers| {
            let NumberAggregates { count, sum, min, max } = numbers;
            let values = [sum, min, max].map(|column| column.get_array_memory_size());
            count.get_array_memory_size() + values.iter().sum::<usize>()
        });
        let of_keys = [&self.first, &self.last].map(|keys| keys.get_array_memory_size());
        self.rows.get_array_memory_size()
            + self.spans.capacity() * size_of::<Span>()
            + of_keys.iter().sum::<usize>()
            + of_series.chain(of_numbers).sum::<usize>()
    }
}

/// Some blocks of a run, and the series that have rows in them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) blocks: Range<usize>,
    pub(crate) series: Range<usize>,
}

/// What the values of a column of numbers come to, series by series.
///
/// ```
/// # use std::sync::Arc;
/// # use arrow_schema::{DataType, Field, Schema};
/// # use timestrata_engine::*;
/// # fn main() -> timestrata_engine::Result<()> {
/// # let store = Store::memory(Settings::default())?;
/// # let schema = Schema::new(vec![
/// #     Field::new("time", DataType::Int64, false),
/// #     Field::new("room", DataType::Utf8, false),
/// #     Field::new("celsius", DataType::Float64, true),
/// # ]);
/// # let mut spec = StreamSpec::new("rooms", Arc::new(schema));
/// # spec.run_format = RunFormat::Cold;
/// # spec.properties.push((SERIES_PROPERTY.to_owned(), "room".to_owned()));
/// # let rooms = store.create_stream(spec)?;
/// # let mut appender = store.appender(rooms)?;
/// # for time in 0..4_000 {
/// #     let room = if time & 1 == 0 { "hall" } else { "attic" };
/// #     appender.append(&[Cell::Int(time), Cell::Text(room), Cell::Float(20.5)], Durability::Written)?;
/// # }
/// # drop(appender);
/// # store.compact(Some(rooms))?;
/// // What the numbers in column 2 come to, by the rooms in column 1.
/// let known = store.snapshot()?.aggregates(rooms, &[KeyRange::ALL], &[1], &[2])?;
/// let celsius = &known.pieces[0].numbers[0];
/// assert_eq!((celsius.count.value(0), Cell::of(&celsius.max, 0)), (2_000, Some(Cell::Float(20.5))));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct NumberAggregates {
    /// How many rows have a value.
    pub count: Int64Array,
    /// Their sum, as [`DataType::Float64`](arrow_schema::DataType) or `Int64`; null where there is none.
    pub sum: ArrayRef,
    /// The least value, in the column's type; null where there is none.
    pub min: ArrayRef,
    /// The greatest value.
    pub max: ArrayRef,
}

/// What rows of some blocks of one run come to, series by series; a series may be there several times.
///
/// ```
/// # use std::sync::Arc;
/// # use arrow_schema::{DataType, Field, Schema};
/// # use timestrata_engine::*;
/// # fn main() -> timestrata_engine::Result<()> {
/// # let store = Store::memory(Settings::default())?;
/// # let schema = Schema::new(vec![
/// #     Field::new("time", DataType::Int64, false),
/// #     Field::new("room", DataType::Utf8, false),
/// #     Field::new("celsius", DataType::Float64, true),
/// # ]);
/// # let mut spec = StreamSpec::new("rooms", Arc::new(schema));
/// # spec.run_format = RunFormat::Cold;
/// # spec.properties.push((SERIES_PROPERTY.to_owned(), "room".to_owned()));
/// # let rooms = store.create_stream(spec)?;
/// # let mut appender = store.appender(rooms)?;
/// # for time in 0..4_000 {
/// #     let room = if time & 1 == 0 { "hall" } else { "attic" };
/// #     appender.append(&[Cell::Int(time), Cell::Text(room), Cell::Float(20.5)], Durability::Written)?;
/// # }
/// # drop(appender);
/// # store.compact(Some(rooms))?;
/// // What the numbers in column 2 come to, by the rooms in column 1.
/// let known = store.snapshot()?.aggregates(rooms, &[KeyRange::ALL], &[1], &[2])?;
/// let piece = &known.pieces[0];
/// assert_eq!((piece.rows.value(0), Cell::of(&piece.series[0], 0)), (2_000, Some(Cell::Text("hall"))));
/// assert_eq!((Cell::of(&piece.first, 1), Cell::of(&piece.last, 1)), (Some(Cell::Int(1)), Some(Cell::Int(3_999))));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct SeriesAggregates {
    /// What tells series apart: the columns that were asked for.
    pub series: Vec<ArrayRef>,
    /// How many rows it has.
    pub rows: Int64Array,
    /// Its first key.
    pub first: ArrayRef,
    /// Its last key.
    pub last: ArrayRef,
    /// Of each column of numbers that was asked for.
    pub numbers: Vec<NumberAggregates>,
}

/// What some rows come to, and which blocks these are.
///
/// ```
/// # use std::sync::Arc;
/// # use arrow_schema::{DataType, Field, Schema};
/// # use timestrata_engine::*;
/// # fn main() -> timestrata_engine::Result<()> {
/// # let store = Store::memory(Settings::default())?;
/// # let schema = Schema::new(vec![
/// #     Field::new("time", DataType::Int64, false),
/// #     Field::new("room", DataType::Utf8, false),
/// #     Field::new("celsius", DataType::Float64, true),
/// # ]);
/// # let mut spec = StreamSpec::new("rooms", Arc::new(schema));
/// # spec.run_format = RunFormat::Cold;
/// # spec.properties.push((SERIES_PROPERTY.to_owned(), "room".to_owned()));
/// # let rooms = store.create_stream(spec)?;
/// # let mut appender = store.appender(rooms)?;
/// # for time in 0..4_000 {
/// #     let room = if time & 1 == 0 { "hall" } else { "attic" };
/// #     appender.append(&[Cell::Int(time), Cell::Text(room), Cell::Float(20.5)], Durability::Written)?;
/// # }
/// # drop(appender);
/// # store.compact(Some(rooms))?;
/// // What the numbers in column 2 come to, by the rooms in column 1.
/// let known = store.snapshot()?.aggregates(rooms, &[KeyRange::ALL], &[1], &[2])?;
/// assert_eq!(known.pieces.len(), 1);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default)]
pub struct Aggregates {
    /// A piece for each run.
    pub pieces: Vec<SeriesAggregates>,
    /// Where the rows are of which this tells: scans [without](super::ScanSpec::without) them give the others.
    pub blocks: AggregatedBlocks,
}

/// Blocks of runs, for scans of the same snapshot to leave out.
///
/// ```
/// # use std::sync::Arc;
/// # use arrow_schema::{DataType, Field, Schema};
/// # use timestrata_engine::*;
/// # fn main() -> timestrata_engine::Result<()> {
/// # let store = Store::memory(Settings::default())?;
/// # let schema = Schema::new(vec![
/// #     Field::new("time", DataType::Int64, false),
/// #     Field::new("room", DataType::Utf8, false),
/// #     Field::new("celsius", DataType::Float64, true),
/// # ]);
/// # let mut spec = StreamSpec::new("rooms", Arc::new(schema));
/// # spec.run_format = RunFormat::Cold;
/// # spec.properties.push((SERIES_PROPERTY.to_owned(), "room".to_owned()));
/// # let rooms = store.create_stream(spec)?;
/// # let mut appender = store.appender(rooms)?;
/// # for time in 0..4_000 {
/// #     let room = if time & 1 == 0 { "hall" } else { "attic" };
/// #     appender.append(&[Cell::Int(time), Cell::Text(room), Cell::Float(20.5)], Durability::Written)?;
/// # }
/// # drop(appender);
/// # store.compact(Some(rooms))?;
/// // What the numbers in column 2 come to, by the rooms in column 1.
/// let known = store.snapshot()?.aggregates(rooms, &[KeyRange::ALL], &[1], &[2])?;
/// assert_eq!((known.blocks.is_empty(), known.blocks.len()), (false, 1));
/// let rest = ScanSpec { any_order: Some(Share::WHOLE), without: known.blocks, ..ScanSpec::default() };
/// assert_eq!(store.snapshot()?.collect(rooms, &rest)?.num_rows(), 0);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AggregatedBlocks {
    of_runs: Arc<Vec<(RunId, Vec<Range<usize>>)>>,
    rows: u64,
}

impl AggregatedBlocks {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.of_runs.is_empty()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.of_runs.iter().flat_map(|(_, blocks)| blocks).map(Range::len).sum()
    }

    /// Rows of all of them.
    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    /// Those of a run, in their order; `None` where there is none.
    pub(super) fn of_run(&self, run: Option<RunId>) -> Option<&[Range<usize>]> {
        let (_, blocks) = self.of_runs.iter().find(|(with, _)| Some(*with) == run)?;
        Some(blocks)
    }
}

impl StreamView {
    /// What the rows of some ranges come to, as far as that is kept.
    pub(crate) fn aggregates(
        &self,
        ranges: &[KeyRange],
        by: &[usize],
        of: &[usize],
    ) -> Result<Aggregates> {
        let mut found = Aggregates::default();
        if self.stream.is_latest() || ranges.len() > RANGES_MAX {
            return Ok(found);
        }
        let mut of_runs = Vec::new();
        for source in &self.sources {
            let Some(run) = source.run() else { continue };
            let visible = ranges.iter().filter_map(|r| source.visible(r, &self.tombstones));
            let visible: Vec<Visible> = visible.collect();
            if visible.is_empty() {
                continue;
            }
            // Before what they come to is read: a narrow range has no block as a whole.
            let zones = source.blocks()?;
            let is_whole = |blocks: &Range<usize>| is_whole(zones, blocks, &visible);
            if !source.aggregated_blocks()?.iter().any(is_whole) {
                continue;
            }
            let Some(kept) = source.aggregates()? else { continue };
            let Some(asked) = Asked::of(&kept, by, of) else { continue };
            let spans = kept.spans.iter().filter(|span| is_whole(&span.blocks));
            let spans: Vec<Span> = spans.filter(|span| asked.knows(span)).cloned().collect();
            if !spans.is_empty() {
                found.pieces.push(asked.told(&spans)?);
                of_runs.push((run, spans.into_iter().map(|span| span.blocks).collect()));
            }
        }
        let rows = found.pieces.iter().flat_map(|piece| piece.rows.values());
        let rows = rows.map(|rows| u64::try_from(*rows).unwrap_or_default()).sum();
        found.blocks = AggregatedBlocks { of_runs: Arc::new(of_runs), rows };
        Ok(found)
    }
}

/// Whether all rows of some blocks are seen.
fn is_whole(zones: &[Zone], blocks: &Range<usize>, visible: &[Visible]) -> bool {
    let zones = zones.get(blocks.clone()).unwrap_or_default();
    zones.first().zip(zones.last()).is_some_and(|(first, last)| {
        visible.iter().any(|seen| seen.covers(first.key_min, last.key_max))
    })
}

/// What of a run's aggregates is asked for.
struct Asked<'a> {
    kept: &'a BlockAggregates,
    series: Vec<&'a ArrayRef>,
    numbers: Vec<&'a NumberAggregates>,
}

impl<'a> Asked<'a> {
    /// `None` where the run has nothing of one of the columns.
    fn of(kept: &'a BlockAggregates, by: &[usize], of: &[usize]) -> Option<Self> {
        let series = by.iter().map(|column| {
            kept.series_told.get(kept.series.iter().position(|other| other == column)?)
        });
        let numbers = of.iter().map(|column| {
            kept.numbers_told.get(kept.numbers.iter().position(|other| other == column)?)
        });
        Some(Self {
            kept,
            series: series.collect::<Option<_>>()?,
            numbers: numbers.collect::<Option<_>>()?,
        })
    }

    /// Whether all numbers of a span are known. What has values and no sum is not.
    fn knows(&self, span: &Span) -> bool {
        self.numbers.iter().all(|numbers| {
            span.series
                .clone()
                .all(|place| numbers.sum.is_valid(place) || numbers.count.value(place) == 0)
        })
    }

    fn told(&self, spans: &[Span]) -> Result<SeriesAggregates> {
        let rows = self.kept.rows.len();
        let mut chosen = vec![false; rows];
        for span in spans {
            chosen.get_mut(span.series.clone()).unwrap_or_default().fill(true);
        }
        let filter = FilterBuilder::new(&BooleanArray::from(chosen)).optimize().build();
        let of = |column: &ArrayRef| filter.filter(column).map_err(|error| unfit(&error));
        let whole = |column: &Int64Array| whole_of(&filter, column);
        let numbers = self.numbers.iter().map(|numbers| {
            let NumberAggregates { count, sum, min, max } = numbers;
            Ok(NumberAggregates {
                count: whole(count)?,
                sum: of(sum)?,
                min: of(min)?,
                max: of(max)?,
            })
        });
        Ok(SeriesAggregates {
            series: self.series.iter().map(|column| of(column)).collect::<Result<_>>()?,
            rows: whole(&self.kept.rows)?,
            first: of(&self.kept.first)?,
            last: of(&self.kept.last)?,
            numbers: numbers.collect::<Result<_>>()?,
        })
    }
}

fn whole_of(filter: &FilterPredicate, column: &Int64Array) -> Result<Int64Array> {
    let filtered = filter.filter(column).map_err(|error| unfit(&error))?;
    Ok(filtered.as_primitive::<Int64Type>().clone())
}
