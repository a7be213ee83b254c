//! Facets: the most frequent values of fields among the hits.

use hashbrown::HashMap;
use timestrata_engine::Result;

use super::Query;
use super::filtered_scan::{FilteredScan, HitBatch};
use crate::options::{FIELDS, LABELS, LEVEL};
use crate::value::FieldValue;
use crate::{Logs, LogsView, Scalar};

/// Different values of a field that are counted; what else it has is counted together.
const VALUES_COUNTED_MAX: usize = 10_000;
/// Fields that are counted where none are named.
const FIELDS_COUNTED_MAX: usize = 256;
/// Longest value that is counted on its own, in characters.
const VALUE_CHARS_MAX: usize = 256;

/// Which fields, and how many values.
///
/// ```
/// use timestrata_engine::{Settings, Store};
/// use timestrata_logs::{FacetsOptions, Logs, LogsOptions, NewEntry, Query};
///
/// # fn main() -> timestrata_engine::Result<()> {
/// # let store = Store::memory(Settings::default())?;
/// # let app = Logs::create(&store, "app", &LogsOptions::default())?;
/// for status in [200, 200, 404] {
///     let mut entry = NewEntry::new("request");
///     entry.fields.int("status", status);
///     app.write(&entry)?;
/// }
/// let options = FacetsOptions { fields: vec!["status".into()], values_max: 1 };
/// let facets = app.facets(&Query::default(), &options)?;
/// assert_eq!(facets[0].values, [("200".to_owned(), 2)]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FacetsOptions {
    /// Fields, labels, or `level`; empty: all that the hits have at their top.
    pub fields: Vec<String>,
    /// Values of each that are given, the most frequent first. Default 10.
    pub values_max: usize,
}

impl Default for FacetsOptions {
    fn default() -> Self {
        Self { fields: Vec::new(), values_max: 10 }
    }
}

/// The values of one field.
///
/// ```
/// use timestrata_engine::{Settings, Store};
/// use timestrata_logs::{FacetsOptions, Logs, LogsOptions, NewEntry, Query};
///
/// # fn main() -> timestrata_engine::Result<()> {
/// # let store = Store::memory(Settings::default())?;
/// # let app = Logs::create(&store, "app", &LogsOptions::default())?;
/// for user in ["ann", "ann", "bob"] {
///     let mut entry = NewEntry::new("signed in");
///     entry.fields.text("user", user);
///     app.write(&entry)?;
/// }
/// let options = FacetsOptions { values_max: 1, ..FacetsOptions::default() };
/// let facets = app.facets(&Query::default(), &options)?;
/// assert_eq!((facets[0].field.as_str(), facets[0].count, facets[0].others), ("user", 3, 1));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facet {
    /// The field's name.
    pub field: String,
    /// Hits that have it.
    pub count: u64,
    /// Its most frequent values, as text, and how many hits have each. Equally frequent ones are in the
    /// order of their text.
    pub values: Vec<(String, u64)>,
    /// Hits with other values.
    pub others: u64,
}

#[derive(Debug, Default)]
struct Counts {
    values: HashMap<String, u64>,
    /// Hits with values that were one too many to count.
    uncounted: u64,
}

impl Counts {
    fn add(&mut self, value: &str, count: u64) {
        let value = match value.char_indices().nth(VALUE_CHARS_MAX) {
            Some((end, _)) => value.get(..end).unwrap_or(value),
            None => value,
        };
        if let Some(known) = self.values.get_mut(value) {
            *known += count;
        } else if self.values.len() < VALUES_COUNTED_MAX {
            self.values.insert(value.to_owned(), count);
        } else {
            self.uncounted += count;
        }
    }
}

type FacetFields = HashMap<String, Counts>;

impl LogsView {
    /// The values that fields have among the entries that a query wants, whatever its limit; the fields
    /// that most hits have come first, or in the order in which they are named.
    ///
    /// # Errors
    /// As [`search`](Self::search).
    pub fn facets(&self, query: &Query, options: &FacetsOptions) -> Result<Vec<Facet>> {
        let mut columns = vec![LEVEL, LABELS, FIELDS];
        columns.extend(self.layout().promoted.iter().map(|known| known.column));
        let counts = FilteredScan::new(self, query, &columns).fold(
            FacetFields::new,
            |counts, batch| count(counts, batch, &options.fields),
            |all, part| {
                for (name, more) in part {
                    let counts = all.entry(name).or_default();
                    counts.uncounted += more.uncounted;
                    more.values.iter().for_each(|(value, count)| counts.add(value, *count));
                }
            },
        )?;
        let mut facets: Vec<Facet> =
            counts.into_iter().map(|(field, counts)| facet(field, counts, options)).collect();
        let place = |facet: &Facet| {
            let named = options.fields.iter().position(|name| *name == facet.field);
            (named, std::cmp::Reverse(facet.count))
        };
        facets.sort_by(|a, b| place(a).cmp(&place(b)).then_with(|| a.field.cmp(&b.field)));
        Ok(facets)
    }
}

fn facet(field: String, counts: Counts, options: &FacetsOptions) -> Facet {
    let mut values: Vec<(String, u64)> = counts.values.into_iter().collect();
    values.sort_unstable_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    let rest = values.split_off(options.values_max.min(values.len()));
    let others = counts.uncounted + rest.iter().map(|(_, count)| count).sum::<u64>();
    let count = others + values.iter().map(|(_, count)| count).sum::<u64>();
    Facet { field, count, values, others }
}

fn count(counts: &mut FacetFields, batch: &HitBatch<'_>, wanted: &[String]) {
    for row in batch.hits.set_indices() {
        if wanted.is_empty() {
            if let Some(level) = batch.rows.columns.level(row) {
                add(counts, "level", level.name());
            }
            batch.rows.each_field(row, |name, value| add_value(counts, name, value));
            continue;
        }
        for name in wanted {
            if name == "level" {
                if let Some(level) = batch.rows.columns.level(row) {
                    add(counts, name, level.name());
                }
                continue;
            }
            batch.rows.field(row, name, |value| {
                if let Some(value) = value {
                    add_value(counts, name, value);
                }
            });
        }
    }
}

fn add_value(counts: &mut FacetFields, name: &str, value: FieldValue<'_>) {
    match value {
        FieldValue::Scalar(Scalar::Text(text)) => add(counts, name, text),
        value if value.is_null() => {}
        value => add(counts, name, &value.to_text()),
    }
}

fn add(counts: &mut FacetFields, name: &str, value: &str) {
    if let Some(known) = counts.get_mut(name) {
        known.add(value, 1);
    } else if counts.len() < FIELDS_COUNTED_MAX {
        counts.entry(name.to_owned()).or_default().add(value, 1);
    }
}

impl Logs {
    /// See [`LogsView::facets`].
    pub fn facets(&self, query: &Query, options: &FacetsOptions) -> Result<Vec<Facet>> {
        self.snapshot()?.facets(query, options)
    }
}
