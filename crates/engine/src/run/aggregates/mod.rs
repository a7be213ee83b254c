//! What the rows of a cold run come to, series by series, beside the rows: who asks for counts, sums, means or extremes
//! by series over all of the rows of some blocks reads a few kilobytes instead.
//!
//! ```text
//!    blocks      0  1  2  3  4  5  6 | 7  8  9 10 11 12 13 | 14 15 ..
//!    spans       SYM000  rows 4,102, first, last; price: count, sum, min, max; volume: ..
//!                SYM001  ..          | SYM000 ..           | ..
//! ```
//!
//! A span is as many blocks as give each of its series enough rows that what is kept of it is little beside them. A range
//! that begins or ends within a span reads the rows of that span.

mod builder;
mod file;

pub(super) use builder::AggregatesBuilder;
pub(super) use file::{KeptAggregates, encode};

use std::ops::Range;

use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef};
use timestrata_format::manifest::Merge;
use timestrata_format::{FORMAT_VERSION, RunAggregates};

use super::cold;
use crate::{LeadKind, Stream};

/// Behind the columns that tell series apart: rows, first key, last key;
const OF_ROWS: usize = 3;
/// and of each number: count, sum, least, greatest.
const OF_NUMBER: usize = 4;

/// What is added up of a stream's runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AggregatedColumns {
    /// Columns whose values tell series apart.
    pub(super) series: Vec<usize>,
    pub(super) lead: usize,
    /// Columns of numbers.
    pub(super) numbers: Vec<usize>,
}

impl AggregatedColumns {
    /// Those of a stream that keeps all rows by time and says which columns tell series apart; `None` for others.
    pub(super) fn of(stream: &Stream) -> Option<Self> {
        let series = stream.series_columns().to_vec();
        let is_summable = !series.is_empty()
            && stream.spec().merge == Merge::Keep
            && stream.lead_kind() == LeadKind::Time;
        let fields = stream.schema().fields().iter().enumerate();
        let is_other = |column: usize| !series.contains(&column) && column != stream.lead_column();
        let numbers = fields.filter(|(_, field)| is_number(field.data_type()));
        let numbers =
            numbers.map(|(column, _)| column).filter(|column| is_other(*column)).collect();
        is_summable.then_some(Self { series, lead: stream.lead_column(), numbers })
    }

    /// Those that an entry names, of a run whose leading key is in this column.
    fn named(entry: &RunAggregates, lead: usize) -> Self {
        let column = |column: &u32| usize::try_from(*column).unwrap_or(usize::MAX);
        let (series, numbers) = (entry.series.iter().map(column), entry.numbers.iter().map(column));
        Self { series: series.collect(), lead, numbers: numbers.collect() }
    }

    /// The columns that their file has, where a run's own are these and some numbers are stored as decimal ones.
    fn in_file(&self, schema: &Schema, decimals: &[(usize, u32)]) -> Option<SchemaRef> {
        let fields = schema.fields();
        let series = self.series.iter().map(|column| fields.get(*column).cloned());
        let mut all: Vec<FieldRef> = series.collect::<Option<_>>()?;
        let lead = fields.get(self.lead)?;
        let mut add = |name: &str, data_type: &DataType, nullable: bool| {
            let mut name = name.to_owned();
            // A column that tells series apart may have any name.
            while all.iter().any(|other| *other.name() == name) {
                name.push('_');
            }
            all.push(Field::new(name, data_type.clone(), nullable).into());
        };
        add("rows", &DataType::Int64, false);
        add("first", lead.data_type(), false);
        add("last", lead.data_type(), false);
        for column in &self.numbers {
            let field = fields.get(*column)?;
            let digits = decimals.iter().find(|(decimal, _)| decimal == column);
            let data_type = match digits {
                Some((_, digits)) => cold::decimal_type(*digits)?,
                None if field.data_type().is_floating() => DataType::Float64,
                None => DataType::Int64,
            };
            let name = field.name();
            add(&format!("{name}.count"), &DataType::Int64, false);
            add(&format!("{name}.sum"), &data_type, true);
            add(&format!("{name}.min"), &data_type, true);
            add(&format!("{name}.max"), &data_type, true);
        }
        Some(SchemaRef::new(Schema::new(all)))
    }
}

/// What a run's metadata says of aggregates that lie at this place in its file.
pub(super) fn entry(
    columns: &AggregatedColumns,
    spans: Vec<(u32, u32)>,
    place: Range<u64>,
) -> RunAggregates {
    // A stream has far fewer columns than 2^32.
    let number = |column: &usize| u32::try_from(*column).unwrap_or(u32::MAX);
    RunAggregates {
        format_version: FORMAT_VERSION,
        offset: place.start,
        length: place.end - place.start,
        series: columns.series.iter().map(number).collect(),
        numbers: columns.numbers.iter().map(number).collect(),
        spans,
    }
}

fn is_number(data_type: &DataType) -> bool {
    data_type.is_integer() || matches!(data_type, DataType::Float32 | DataType::Float64)
}
