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

/// A span ends once each of its series has a block's rows, on average, over this: 4,096 as a rule.
const SPAN_SHARE: usize = 8;
/// With fewer rows a series than a block's over this, on average of a run, nothing is kept: beside 1,024 rows it is a
/// hundredth of what they take at most.
const KEPT_SHARE: usize = 32;
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
    /// Rows of a block, of which rows that are enough are a share.
    block_rows: usize,
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
    /// Nothing yet of a run of this stream with so many rows a block; `None` for streams of which nothing is added up.
    pub(in crate::run) fn of(stream: &Stream, block_rows: usize) -> Option<Self> {
        AggregatedColumns::of(stream).map(|columns| Self::new(columns, block_rows))
    }

    fn new(columns: AggregatedColumns, block_rows: usize) -> Self {
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
            block_rows,
            rows_added: 0,
        }
    }

    /// The same with spans of so many blocks, whatever they have of rows: to hold against what is kept.
    pub(in crate::run) fn again(columns: &AggregatedColumns, entry: &RunAggregates) -> Self {
        let ends = entry.spans.iter().map(|(blocks, _)| *blocks).collect();
        Self { ends: Some(ends), ..Self::new(columns.clone(), 0) }
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
        let keys = parts_as::<Int64Type>(&block.parts(self.columns.lead)?)?;
        let added = BlockSeries::new(numbered, places, &keys);
        self.add_keys(&added);
        for (column, numbers) in self.columns.numbers.iter().zip(&mut self.numbers) {
            let digits = decimals.iter().find(|(decimal, _)| decimal == column);
            let digits = digits.map(|(_, digits)| *digits);
            numbers.add(&block.parts(*column)?, digits, &added, self.rows.len())?;
        }
        self.span.blocks += 1;
        self.span.rows += block.rows() as u64;
        let is_over = match &self.ends {
            Some(ends) => ends.get(self.spans.len()) == Some(&self.span.blocks),
            None => self.span.rows >= self.rows_of(self.span.known.len(), SPAN_SHARE),
        };
        if is_over {
            self.end_span();
        }
        Ok(true)
    }

    /// Rows of so many series, if each has a share of a block's.
    fn rows_of(&self, series: usize, share: usize) -> u64 {
        series as u64 * (self.block_rows / share).max(1) as u64
    }

    /// Whether it is little beside the rows.
    fn is_worth_keeping(&self) -> bool {
        self.ends.is_some() || self.rows_of(self.rows.len(), KEPT_SHARE) <= self.rows_added
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

    /// Adds the rows of a block.
    fn add_keys(&mut self, added: &BlockSeries) {
        for (keys, place) in added.keys.iter().zip(&added.places) {
            let place = *place as usize;
            let slots = (self.rows.get_mut(place), self.firsts.get_mut(place));
            if let ((Some(rows), Some(first)), Some(last)) = (slots, self.lasts.get_mut(place)) {
                *rows += keys.count;
                *first = (*first).min(keys.first);
                *last = (*last).max(keys.last);
            }
        }
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
}

/// Of one block; the sum wraps around.
#[derive(Debug, Clone, Copy)]
struct WholeOfBlock {
    sum: i64,
    min: i64,
    max: i64,
}

impl WholeOfBlock {
    const NONE: Self = Self { sum: 0, min: i64::MAX, max: i64::MIN };

    fn add(&mut self, value: i64) {
        self.sum = self.sum.wrapping_add(value);
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    /// Whether the sum of so many can't have wrapped.
    fn is_sum(&self, count: i64) -> bool {
        let greatest = self.min.unsigned_abs().max(self.max.unsigned_abs());
        count == 0 || u128::from(greatest) * u128::from(count.unsigned_abs()) <= i64::MAX as u128
    }
}

#[derive(Debug, Clone, Copy)]
struct Floats {
    count: i64,
    of_each: FloatsOfBlock,
}

impl Floats {
    const NONE: Self = Self { count: 0, of_each: FloatsOfBlock::NONE };
}

#[derive(Debug, Clone, Copy)]
struct FloatsOfBlock {
    sum: f64,
    min: f64,
    max: f64,
}

impl FloatsOfBlock {
    const NONE: Self = Self { sum: 0.0, min: f64::INFINITY, max: f64::NEG_INFINITY };

    fn add(&mut self, value: f64) {
        self.add_other(&Self { sum: value, min: value, max: value });
    }

    fn add_other(&mut self, other: &Self) {
        self.sum += other.sum;
        self.min = if other.min < self.min { other.min } else { self.min };
        self.max = if other.max > self.max { other.max } else { self.max };
    }
}

/// The keys of a series in one block, where they are in order.
#[derive(Debug, Clone, Copy)]
struct KeysOfBlock {
    count: i64,
    first: i64,
    last: i64,
}

/// The series of a block.
struct BlockSeries {
    /// Of each row.
    ids: Vec<u32>,
    /// Of each series.
    keys: Vec<KeysOfBlock>,
    /// The place of each among all that are kept.
    places: Vec<u32>,
}

/// Columns of numbers are taken in the parts that they came in: to join them took a fortieth of the instructions of a compaction.
impl BlockSeries {
    fn new(numbered: Numbered, places: Vec<u32>, keys: &[PrimitiveArray<Int64Type>]) -> Self {
        let mut series = Self { ids: numbered.ids, keys: Vec::new(), places };
        let none = (0, i64::MIN);
        let ends = series.each(numbered.firsts.len(), keys, none, |(count, last), key| {
            *count += 1;
            *last = key;
        });
        let keys_of = |(count, last)| KeysOfBlock { count, first: last, last };
        series.keys = ends.into_iter().map(keys_of).collect();
        // Series are numbered as they come, so their first rows rise.
        let mut each = series.keys.iter_mut().zip(numbered.firsts).peekable();
        let mut begin = 0;
        for part in keys {
            let end = begin + part.len();
            while let Some((one, row)) = each.next_if(|(_, row)| *row < end) {
                one.first = part.values().get(row - begin).copied().unwrap_or(one.first);
            }
            begin = end;
        }
        series
    }

    /// What the values of each of so many series come to, those that are there.
    fn each<A: Copy, T: ArrowPrimitiveType>(
        &self,
        series: usize,
        parts: &[PrimitiveArray<T>],
        none: A,
        add: impl Fn(&mut A, T::Native),
    ) -> Vec<A> {
        let mut each = vec![none; series];
        for (ids, values) in self.by_parts(parts) {
            let mut add_to = |id: u32, value: T::Native| {
                if let Some(one) = each.get_mut(id as usize) {
                    add(one, value);
                }
            };
            let all = ids.iter().zip(values.values());
            match values.nulls().filter(|nulls| nulls.null_count() > 0) {
                None => all.for_each(|(id, value)| add_to(*id, *value)),
                Some(nulls) => {
                    let there = all.zip(nulls.iter()).filter(|(_, is_valid)| *is_valid);
                    there.for_each(|((id, value), _)| add_to(*id, *value));
                }
            }
        }
        each
    }

    /// Each part, and the series of its rows.
    fn by_parts<'a, T: ArrowPrimitiveType>(
        &'a self,
        parts: &'a [PrimitiveArray<T>],
    ) -> impl Iterator<Item = (&'a [u32], &'a PrimitiveArray<T>)> {
        let mut rest = self.ids.as_slice();
        parts.iter().map(move |part| {
            let (ids, behind) = rest.split_at_checked(part.len()).unwrap_or((rest, &[]));
            rest = behind;
            (ids, part)
        })
    }

    /// How many values of each series there are.
    fn counts<T: ArrowPrimitiveType>(&self, parts: &[PrimitiveArray<T>]) -> Vec<i64> {
        match parts.iter().all(|part| part.null_count() == 0) {
            true => self.keys.iter().map(|keys| keys.count).collect(),
            false => self.each(self.keys.len(), parts, 0, |count, _| *count += 1),
        }
    }

    /// Adds whole numbers, of which `whole` makes what was stored.
    fn add_whole<T: ArrowPrimitiveType>(
        &self,
        kept: &mut [WholeNumbers],
        parts: &[PrimitiveArray<T>],
        whole: impl Fn(T::Native) -> i64,
    ) {
        let (series, counts) = (self.keys.len(), self.counts(parts));
        let none = WholeOfBlock::NONE;
        let of_block = self.each(series, parts, none, |one, value| one.add(whole(value)));
        let are_sums = of_block.iter().zip(&counts).all(|(one, count)| one.is_sum(*count));
        let sums: Vec<i128> = match are_sums {
            true => of_block.iter().map(|one| i128::from(one.sum)).collect(),
            false => self.each(series, parts, 0, |sum, value| *sum += i128::from(whole(value))),
        };
        for (((one, sum), count), place) in of_block.iter().zip(sums).zip(counts).zip(&self.places)
        {
            let Some(kept) = kept.get_mut(*place as usize) else { continue };
            kept.count += count;
            kept.sum += sum;
            kept.min = kept.min.min(one.min);
            kept.max = kept.max.max(one.max);
        }
    }

    /// Adds floats.
    fn add_floats(&self, kept: &mut [Floats], parts: &[PrimitiveArray<Float64Type>]) {
        let none = FloatsOfBlock::NONE;
        let of_block = self.each(self.keys.len(), parts, none, FloatsOfBlock::add);
        for ((one, count), place) in of_block.iter().zip(self.counts(parts)).zip(&self.places) {
            if let Some(kept) = kept.get_mut(*place as usize) {
                kept.count += count;
                kept.of_each.add_other(one);
            }
        }
    }
}

/// Parts of a column as numbers of one type; what has no place among these is null.
fn parts_as<T: ArrowPrimitiveType>(
    parts: &[&ArrayRef],
) -> Result<Vec<PrimitiveArray<T>>, ArrowError> {
    let cast = |part: &&ArrayRef| Ok(cast(part, &T::DATA_TYPE)?.as_primitive::<T>().clone());
    parts.iter().map(cast).collect()
}

impl Numbers {
    /// Adds the values of a block, now that so many series are kept.
    fn add(
        &mut self,
        parts: &[&ArrayRef],
        digits: Option<u32>,
        added: &BlockSeries,
        kept: usize,
    ) -> Result<(), ArrowError> {
        if let Self::Unknown = self {
            let are_integers = parts.iter().all(|part| part.data_type().is_integer());
            *self = match digits.is_some() || are_integers {
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
                added.add_floats(each, &parts_as(parts)?);
            }
            Self::Whole { each, .. } => {
                each.resize(kept, WholeNumbers::NONE);
                match digits.map(power) {
                    Some(factor)
                        if parts.iter().all(|part| part.data_type() == &DataType::Float64) =>
                    {
                        let floats = parts_as::<Float64Type>(parts)?;
                        added.add_whole(each, &floats, |value| units_of(value, factor));
                    }
                    _ => add_integers(each, parts, added)?,
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
                |one| one.of_each.sum.is_finite(),
                [|one| one.of_each.sum, |one| one.of_each.min, |one| one.of_each.max],
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

/// Adds whole numbers; where some are too large it is noted that the sum isn't known.
fn add_integers(
    kept: &mut [WholeNumbers],
    parts: &[&ArrayRef],
    added: &BlockSeries,
) -> Result<(), ArrowError> {
    let whole = parts_as::<Int64Type>(parts)?;
    // Those are counted too that have no place among these numbers, which came out as null.
    let with_lost = whole.iter().zip(parts).map(|(whole, values)| {
        PrimitiveArray::<Int64Type>::try_new(whole.values().clone(), values.nulls().cloned())
    });
    added.add_whole(kept, &with_lost.collect::<Result<Vec<_>, _>>()?, |value| value);
    for ((ids, whole), values) in added.by_parts(&whole).zip(parts) {
        if whole.null_count() == values.null_count() {
            continue;
        }
        let is_lost = |row: usize| whole.is_null(row) && values.is_valid(row);
        for (_, id) in ids.iter().enumerate().filter(|(row, _)| is_lost(*row)) {
            let place = added.places.get(*id as usize).map(|place| *place as usize);
            if let Some(kept) = place.and_then(|place| kept.get_mut(place)) {
                kept.is_unknown = true;
            }
        }
    }
    Ok(())
}
