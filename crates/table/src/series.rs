//! Which series a table has, and since when and until when.
//!
//! Compacted runs keep how many rows each series has in a few blocks, its first time and its last. Only of rows that are
//! not compacted, and of blocks that a range or a delete has a part of, times and tags are read.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int64Array, RecordBatch, UInt32Array, UInt64Array};
use arrow_cast::cast;
use arrow_schema::{DataType, Field, FieldRef, Schema};
use arrow_select::concat::concat;
use arrow_select::take::take;
use hashbrown::HashMap;
use timestrata_engine::{KeyRange, Merge, Result, ScanSpec, Share};

use super::series_keys::{Keys, Maker};
use super::view::TableView;
use super::write::unmade;

/// Columns behind the tags.
const TOLD: [&str; 3] = ["first", "last", "count"];

/// The columns of what [`series`] gives.
pub(super) fn schema(view: &TableView, tags: &[usize]) -> Schema {
    let fields = tags.iter().map(|tag| Arc::new(view.schema().field(*tag).clone()));
    let mut fields: Vec<FieldRef> = fields.collect();
    let time = view.schema().field(view.stream().lead_column()).data_type();
    let types = [time, time, &DataType::UInt64];
    for (name, data_type) in TOLD.into_iter().zip(types) {
        let mut name = name.to_owned();
        while fields.iter().any(|field| *field.name() == name) {
            name.push('_');
        }
        fields.push(Arc::new(Field::new(name, data_type.clone(), false)));
    }
    Schema::new(fields)
}

/// The series of the rows in `range`, in the order of their tags.
pub(super) fn series(view: &TableView, tags: &[usize], range: &KeyRange) -> Result<RecordBatch> {
    let mut found = Found::new(view, tags)?;
    let (snapshot, id) = (view.snapshot(), view.stream().id());
    let known = snapshot.aggregates(id, &[*range], tags, &[])?;
    for piece in &known.pieces {
        let (first, last) = (as_numbers(&piece.first)?, as_numbers(&piece.last)?);
        found.add(&piece.series, |row| {
            let rows = u64::try_from(piece.rows.value(row)).unwrap_or_default();
            Extent { first: first.value(row), last: last.value(row), rows }
        })?;
    }
    let columns = std::iter::once(view.stream().lead_column()).chain(tags.iter().copied());
    let is_any_order = view.stream().spec().merge == Merge::Keep;
    let spec = ScanSpec {
        range: *range,
        columns: Some(columns.collect()),
        any_order: is_any_order.then_some(Share::WHOLE),
        without: known.blocks,
        ..ScanSpec::default()
    };
    for batch in snapshot.scan(id, &spec)? {
        let batch = batch?;
        let [times, tags @ ..] = batch.columns() else { continue };
        let times = as_numbers(times)?;
        found.add(tags, |row| Extent {
            first: times.value(row),
            last: times.value(row),
            rows: 1,
        })?;
    }
    found.sorted(view, tags)
}

fn as_numbers(times: &ArrayRef) -> Result<Int64Array> {
    let numbers = cast(times, &DataType::Int64).map_err(unmade)?;
    Ok(numbers.as_primitive::<Int64Type>().clone())
}

/// What is known of a series.
#[derive(Debug, Clone, Copy)]
struct Extent {
    first: i64,
    last: i64,
    rows: u64,
}

/// Series as they were met.
struct Found {
    maker: Maker,
    places: HashMap<Box<[u8]>, usize>,
    extents: Vec<Extent>,
    /// The tags of each, column by column, in the order of their places.
    tags: Vec<Vec<ArrayRef>>,
}

impl Found {
    fn new(view: &TableView, tags: &[usize]) -> Result<Self> {
        let fields: Vec<_> = tags.iter().map(|tag| view.schema().field(*tag)).collect();
        let (places, extents) = (HashMap::new(), Vec::new());
        Ok(Self {
            maker: Maker::new(&fields)?,
            places,
            extents,
            tags: vec![Vec::new(); tags.len()],
        })
    }

    /// Adds rows, or what several come to.
    fn add(&mut self, tags: &[ArrayRef], extent: impl Fn(usize) -> Extent) -> Result<()> {
        let keys = self.maker.keys(tags)?;
        let rows = tags.first().map_or(0, |tags| tags.len());
        let mut new = Vec::new();
        let mut before: Option<(usize, usize)> = None;
        for row in 0..rows {
            let same = before.filter(|(other, _)| keys.get(*other) == keys.get(row));
            let place = same.map_or_else(|| self.place(&keys, row, &mut new), |(_, place)| place);
            before = Some((row, place));
            let Extent { first, last, rows } = extent(row);
            if let Some(known) = self.extents.get_mut(place) {
                known.first = known.first.min(first);
                known.last = known.last.max(last);
                known.rows += rows;
            }
        }
        let new = UInt32Array::from(new);
        for (all, column) in self.tags.iter_mut().zip(tags).filter(|_| !new.is_empty()) {
            all.push(take(column, &new, None).map_err(unmade)?);
        }
        Ok(())
    }

    fn place(&mut self, keys: &Keys, row: usize, new: &mut Vec<u32>) -> usize {
        let key = keys.get(row);
        if let Some(place) = self.places.get(key) {
            return *place;
        }
        let place = self.extents.len();
        self.places.insert(key.into(), place);
        self.extents.push(Extent { first: i64::MAX, last: i64::MIN, rows: 0 });
        // Batches have fewer rows.
        new.push(u32::try_from(row).unwrap_or(u32::MAX));
        place
    }

    fn sorted(self, view: &TableView, tags: &[usize]) -> Result<RecordBatch> {
        let schema = Arc::new(schema(view, tags));
        if self.extents.is_empty() {
            return Ok(RecordBatch::new_empty(schema));
        }
        let mut order: Vec<(Box<[u8]>, usize)> = self.places.into_iter().collect();
        order.sort_unstable();
        let order: Vec<usize> = order.into_iter().map(|(_, place)| place).collect();
        // Fewer than there are rows in memory.
        let places = order.iter().map(|place| u32::try_from(*place).unwrap_or(u32::MAX));
        let places = UInt32Array::from_iter_values(places);
        let mut columns = Vec::with_capacity(schema.fields().len());
        for parts in &self.tags {
            let parts: Vec<&dyn arrow_array::Array> = parts.iter().map(AsRef::as_ref).collect();
            columns.push(take(&concat(&parts).map_err(unmade)?, &places, None).map_err(unmade)?);
        }
        let extents = || order.iter().filter_map(|place| self.extents.get(*place));
        let ends: [Vec<i64>; 2] =
            [extents().map(|one| one.first).collect(), extents().map(|one| one.last).collect()];
        for (ends, field) in ends.into_iter().zip(schema.fields().iter().skip(tags.len())) {
            let ends: ArrayRef = Arc::new(Int64Array::from(ends));
            columns.push(cast(&ends, field.data_type()).map_err(unmade)?);
        }
        columns.push(Arc::new(UInt64Array::from_iter_values(extents().map(|one| one.rows))));
        RecordBatch::try_new(schema, columns).map_err(unmade)
    }
}
