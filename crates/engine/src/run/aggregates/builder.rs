//! Adding rows up while a run is written.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal64Type, Float64Type, Int64Type};
use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, Int64Array, PrimitiveArray, RecordBatch, UInt64Array,
};
use arrow_cast::cast;
use arrow_schema::{ArrowError, DataType};
use arrow_select::concat::concat_batches;
use arrow_select::take::take_record_batch;
use hashbrown::HashMap;
use timestrata_format::RunAggregates;

use super::super::block_builder::Block;
use super::super::decimals::{DecimalColumn, power, units_of};
use super::super::series::{Numbered, SeriesValues, values_of_columns};
use super::AggregatedColumns;
use crate::Stream;

/// Rows of a series in a span, on average, with which the span ends.
const ROWS_TO_ADD_UP: u64 = if cfg!(test) { 32 } else { 4_096 };
/// With fewer rows a series, on average of a run, nothing is kept: it would be more than a hundredth of what they take.
const ROWS_MIN: u64 = if cfg!(test) { 8 } else { 1_024 };
/// So many series are added up before it is asked how many rows they have.
const SERIES_MAX_AT_FIRST: u64 = 65_536;
/// Digits of a sum that is stored as a decimal number.
const DECIMAL_MAX: i128 = 10_i128.pow(18);

/// What the rows so far come to.
#[derive(Debug)]
pub(in crate::run) struct AggregatesBuilder {
    columns: AggregatedColumns,
    /// What tells each series of each span apart, a row each.
    series: Vec<RecordBatch>,
    /// Of each of them.
    rows: Vec<i64>,
    firsts: Vec<i64>,
    lasts: Vec<i64>,
    numbers: Vec<Numbers>,
    /// Blocks and series of each span that has ended.
    spans: Vec<(u32, u32)>,
    span: Span,
    /// After how many blocks each span ends; `None`: once it has rows enough.
    ends: Option<Vec<u32>>,
    rows_added: u64,
}

/// The span that has not ended.
#[derive(Debug, Default)]
struct Span {
    blocks: u32,
    rows: u64,
    /// Its series by their values.
    known: HashMap<Vec<u8>, u32>,
}

/// What all rows added up come to, for each series of each span.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::run) struct Added {
    pub(in crate::run) spans: Vec<(u32, u32)>,
    pub(in crate::run) rows: RecordBatch,
}

impl AggregatesBuilder {
    /// Nothing yet of a run of this stream; `None` for streams of which nothing is added up.
    pub(in crate::run) fn of(stream: &Stream) -> Option<Self> {
        AggregatedColumns::of(stream).map(Self::new)
    }

    fn new(columns: AggregatedColumns) -> Self {
        let numbers = columns.numbers.iter().map(|_| Numbers::Unknown).collect();
        Self {
            columns,
            series: Vec::new(),
            rows: Vec::new(),
            firsts: Vec::new(),
            lasts: Vec::new(),
            numbers,
            spans: Vec::new(),
            span: Span::default(),
            ends: None,
            rows_added: 0,
        }
    }

    /// The same with spans of so many blocks, whatever they have of rows: to hold against what is kept.
    pub(in crate::run) fn again(columns: &AggregatedColumns, entry: &RunAggregates) -> Self {
        let ends = entry.spans.iter().map(|(blocks, _)| *blocks).collect();
        Self { ends: Some(ends), ..Self::new(columns.clone()) }
    }

    /// What is added up.
    pub(in crate::run) fn columns(&self) -> &AggregatedColumns {
        &self.columns
    }

    /// Adds the rows of a block, of whose columns some are stored as decimal numbers: of all blocks the same ones. False:
    /// the series are too many, or of a type that can't tell them apart, and nothing is to be kept.
    ///
    /// # Errors
    /// Arrow's, of a block that lacks a column.
    pub(in crate::run) fn add(
        &mut self,
        block: &Block,
        decimals: &[DecimalColumn],
    ) -> Result<bool, ArrowError> {
        let tags = block.project(&self.columns.series)?;
        let Some(values) = values_of_columns(&tags) else { return Ok(false) };
        let numbered = Numbered::of(&values);
        let places = self.places_of(&tags, &values, &numbered.firsts)?;
        drop(values);
        self.rows_added += block.rows() as u64;
        if self.rows.len() as u64 > SERIES_MAX_AT_FIRST && !self.is_worth_keeping() {
            return Ok(false);
        }
        let place_of = |id: &u32| places.get(*id as usize).copied().unwrap_or_default() as usize;
        let places: Vec<usize> = numbered.ids.iter().map(place_of).collect();
        self.add_keys(&block.column(self.columns.lead)?, &places)?;
        let kept = self.rows.len();
        for (column, numbers) in self.columns.numbers.iter().zip(&mut self.numbers) {
            let digits = decimals.iter().find(|(decimal, _)| decimal == column);
            numbers.add(
                &block.column(*column)?,
                digits.map(|(_, digits)| *digits),
                &places,
                kept,
            )?;
        }
        self.span.blocks += 1;
        self.span.rows += block.rows() as u64;
        let is_over = match &self.ends {
            Some(ends) => ends.get(self.spans.len()) == Some(&self.span.blocks),
            None => self.span.rows >= self.span.known.len() as u64 * ROWS_TO_ADD_UP,
        };
        if is_over {
            self.end_span();
        }
        Ok(true)
    }

    /// Whether it is little beside the rows.
    fn is_worth_keeping(&self) -> bool {
        self.ends.is_some() || self.rows.len() as u64 * ROWS_MIN <= self.rows_added
    }

    /// The place of each series of a block among all that are kept.
    fn places_of(
        &mut self,
        tags: &RecordBatch,
        values: &[SeriesValues<'_>],
        firsts: &[usize],
    ) -> Result<Vec<u32>, ArrowError> {
        let mut new = Vec::new();
        let mut places = Vec::with_capacity(firsts.len());
        let mut key = Vec::new();
        for row in firsts {
            key.clear();
            for column in values {
                let value = column.get(*row);
                // One more than its length; 0 is null.
                let length = value.map_or(0, |value| value.len() as u64 + 1);
                key.extend_from_slice(&length.to_le_bytes());
                key.extend_from_slice(value.unwrap_or_default());
            }
            let place = match self.span.known.get(&key) {
                Some(place) => *place,
                None => {
                    // Far fewer than 2^32 are kept.
                    let place = u32::try_from(self.rows.len()).unwrap_or(u32::MAX);
                    self.span.known.insert(key.clone(), place);
                    self.rows.push(0);
                    self.firsts.push(i64::MAX);
                    self.lasts.push(i64::MIN);
                    new.push(*row as u64);
                    place
                }
            };
            places.push(place);
        }
        if !new.is_empty() {
            self.series.push(take_record_batch(tags, &UInt64Array::from(new))?);
        }
        Ok(places)
    }

    fn add_keys(&mut self, keys: &ArrayRef, places: &[usize]) -> Result<(), ArrowError> {
        let keys = cast(keys, &DataType::Int64)?;
        for (key, place) in keys.as_primitive::<Int64Type>().values().iter().zip(places) {
            let slots = (self.rows.get_mut(*place), self.firsts.get_mut(*place));
            if let (Some(rows), Some(first)) = slots
                && let Some(last) = self.lasts.get_mut(*place)
            {
                *rows += 1;
                *first = (*first).min(*key);
                *last = (*last).max(*key);
            }
        }
        Ok(())
    }

    fn end_span(&mut self) {
        let Span { blocks, known, .. } = std::mem::take(&mut self.span);
        // Places fit in 32 bits, and these are some of them.
        self.spans.push((blocks, u32::try_from(known.len()).unwrap_or(u32::MAX)));
    }

    /// What all of them come to, if that is worth keeping, of a run that has these columns.
    ///
    /// # Errors
    /// Arrow's, of columns that don't fit the builder's.
    pub(in crate::run) fn finish(
        mut self,
        schema: &arrow_schema::Schema,
        decimals: &[DecimalColumn],
    ) -> Result<Option<Added>, ArrowError> {
        if self.span.blocks > 0 {
            self.end_span();
        }
        let in_file = self.columns.in_file(schema, decimals);
        let (Some(first), Some(in_file)) = (self.series.first(), in_file) else { return Ok(None) };
        if !self.is_worth_keeping() {
            return Ok(None);
        }
        let mut columns = concat_batches(&first.schema(), &self.series)?.columns().to_vec();
        for numbers in [self.rows, self.firsts, self.lasts] {
            columns.push(Arc::new(Int64Array::from(numbers)));
        }
        for numbers in self.numbers {
            columns.extend(numbers.finish());
        }
        let typed = columns.iter().zip(in_file.fields());
        let typed = typed.map(|(column, field)| match field.data_type() {
            // The units of a decimal number are what was added up.
            DataType::Decimal64(precision, scale) if column.data_type() == &DataType::Int64 => {
                let units = column.as_primitive::<Int64Type>();
                let units = units.reinterpret_cast::<Decimal64Type>();
                Ok(Arc::new(units.with_precision_and_scale(*precision, *scale)?) as ArrayRef)
            }
            data_type => cast(column, data_type),
        });
        let columns = typed.collect::<Result<Vec<_>, _>>()?;
        let rows = RecordBatch::try_new(in_file, columns)?;
        Ok(Some(Added { spans: self.spans, rows }))
    }
}

/// A column of numbers, added up.
#[derive(Debug)]
enum Numbers {
    /// No block has come.
    Unknown,
    Whole {
        each: Vec<WholeNumbers>,
        greatest: i128,
    },
    Floats(Vec<Floats>),
}

#[derive(Debug, Clone)]
struct WholeNumbers {
    count: i64,
    sum: i128,
    min: i64,
    max: i64,
    /// Some number is too large to be one of these.
    is_unknown: bool,
}

impl WholeNumbers {
    const NONE: Self = Self { count: 0, sum: 0, min: i64::MAX, max: i64::MIN, is_unknown: false };

    fn add(&mut self, value: i64) {
        self.count += 1;
        self.sum += i128::from(value);
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }
}

#[derive(Debug, Clone)]
struct Floats {
    count: i64,
    sum: f64,
    min: f64,
    max: f64,
}

impl Floats {
    const NONE: Self = Self { count: 0, sum: 0.0, min: f64::INFINITY, max: f64::NEG_INFINITY };

    fn add(&mut self, value: f64) {
        self.count += 1;
        self.sum += value;
        self.min = if value < self.min { value } else { self.min };
        self.max = if value > self.max { value } else { self.max };
    }
}

impl Numbers {
    /// Adds values, each to the series of its place, of which there are so many.
    fn add(
        &mut self,
        values: &ArrayRef,
        digits: Option<u32>,
        places: &[usize],
        kept: usize,
    ) -> Result<(), ArrowError> {
        let is_whole = digits.is_some() || values.data_type().is_integer();
        if let Self::Unknown = self {
            *self = match is_whole {
                true => {
                    let greatest = digits.map_or(i128::from(i64::MAX), |_| DECIMAL_MAX - 1);
                    Self::Whole { each: Vec::new(), greatest }
                }
                false => Self::Floats(Vec::new()),
            };
        }
        match self {
            Self::Unknown => {}
            Self::Floats(each) => {
                each.resize(kept, Floats::NONE);
                let floats = cast(values, &DataType::Float64)?;
                let floats = floats.as_primitive::<Float64Type>();
                add_each(each, floats.values(), values, places, Floats::add);
            }
            Self::Whole { each, .. } => {
                each.resize(kept, WholeNumbers::NONE);
                match (digits, values.as_primitive_opt::<Float64Type>()) {
                    (Some(digits), Some(floats)) => {
                        let factor = power(digits);
                        let add = |one: &mut WholeNumbers, value| one.add(units_of(value, factor));
                        add_each(each, floats.values(), values, places, add);
                    }
                    _ => add_whole(each, values, places)?,
                }
            }
        }
        Ok(())
    }

    /// Count, sum, least and greatest of each series.
    fn finish(self) -> Vec<ArrayRef> {
        match self {
            Self::Unknown => Vec::new(),
            Self::Whole { each, greatest } => finished::<_, Int64Type>(
                &each,
                |one| one.count,
                |one| !one.is_unknown && one.sum.abs() <= greatest,
                [|one| i64::try_from(one.sum).unwrap_or_default(), |one| one.min, |one| one.max],
            ),
            Self::Floats(each) => finished::<_, Float64Type>(
                &each,
                |one| one.count,
                // A sum of what is not finite isn't either.
                |one| one.sum.is_finite(),
                [|one| one.sum, |one| one.min, |one| one.max],
            ),
        }
    }
}

/// Counts, and some values of each series, null where there is none or it is not known.
fn finished<A, T: ArrowPrimitiveType>(
    each: &[A],
    count: fn(&A) -> i64,
    is_known: impl Fn(&A) -> bool,
    values: [fn(&A) -> T::Native; 3],
) -> Vec<ArrayRef> {
    let counts: ArrayRef = Arc::new(each.iter().map(count).collect::<Int64Array>());
    let values = values.into_iter().map(|value| -> ArrayRef {
        let is_told = |one: &&A| count(one) > 0 && is_known(one);
        let told = each.iter().map(|one| Some(one).filter(is_told).map(value));
        Arc::new(told.collect::<PrimitiveArray<T>>())
    });
    std::iter::once(counts).chain(values).collect()
}

/// Adds whole numbers; of those that are too large it is noted that the sum isn't known.
fn add_whole(
    each: &mut [WholeNumbers],
    values: &ArrayRef,
    places: &[usize],
) -> Result<(), ArrowError> {
    let whole = cast(values, &DataType::Int64)?;
    let whole = whole.as_primitive::<Int64Type>();
    add_each(each, whole.values(), values, places, WholeNumbers::add);
    // What has no place among these numbers came out as null.
    if whole.null_count() > values.null_count() {
        let is_lost = |row: usize| whole.is_null(row) && values.is_valid(row);
        for (_, place) in places.iter().enumerate().filter(|(row, _)| is_lost(*row)) {
            each.iter_mut().skip(*place).take(1).for_each(|one| one.is_unknown = true);
        }
    }
    Ok(())
}

/// Adds each value that is there to the one at its place; `valid` says which are.
fn add_each<A, T: Copy>(
    each: &mut [A],
    values: &[T],
    valid: &ArrayRef,
    places: &[usize],
    add: impl Fn(&mut A, T),
) {
    let mut to_place = |place: usize, value: T| {
        if let Some(one) = each.get_mut(place) {
            add(one, value);
        }
    };
    let all = places.iter().zip(values);
    match valid.nulls().filter(|nulls| nulls.null_count() > 0) {
        None => all.for_each(|(place, value)| to_place(*place, *value)),
        Some(nulls) => {
            let there = all.zip(nulls.iter()).filter(|(_, is_valid)| *is_valid);
            there.for_each(|((place, value), _)| to_place(*place, *value));
        }
    }
}
