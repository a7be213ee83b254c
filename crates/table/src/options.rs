//! Options of a new table, and how they are kept in the properties of its stream.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema, SchemaRef};
use timestrata_engine::{
    Error, ErrorKind, Merge, Result, Retention, RunCompression, RunFormat, SERIES_PROPERTY, Store,
    Stream, StreamSpec,
};
use timestrata_values::name::{MODEL_PROPERTY, expect_model};

use super::materialized::Watcher;
use super::time;
use super::views::PLACE_MODEL;

const MODEL: &str = "table";
const INDEX_MODEL: &str = "table-index";
const INDEX_PROPERTY: &str = "index";
const KEY_PROPERTY: &str = "key";
/// The properties that say in which order the columns of a key, or tags, were named: see [`columns_named`].
const KEY_ORDER_PROPERTY: &str = "key_order";
const TAG_ORDER_PROPERTY: &str = "tag_order";
const HANDED_OUT_PROPERTY: &str = "ids";
const HANDED_OUT: &str = "handed-out";
const CREATED_PROPERTY: &str = "created_ns";

/// The column that tells rows apart where a table hands out identities itself.
pub const ID_COLUMN: &str = "id";

/// What a new table is to be. The default: its time column is found, every row is kept, old rows
/// become Parquet files, nothing is thrown away.
///
/// ```
/// use timestrata_engine::{Settings, Store};
/// # use std::sync::Arc;
/// # use arrow_array::{Float64Array, RecordBatch, StringArray, TimestampMillisecondArray};
/// use timestrata_table::{Table, TableOptions, WriteOptions};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let store = Store::memory(Settings::default())?;
/// # let rows = RecordBatch::try_from_iter([
/// #     ("time", Arc::new(TimestampMillisecondArray::from(vec![1_000, 2_000, 3_000])) as _),
/// #     ("room", Arc::new(StringArray::from(vec!["kitchen", "hall", "kitchen"])) as _),
/// #     ("celsius", Arc::new(Float64Array::from(vec![20.5, 18.0, 21.0])) as _),
/// # ])?;
/// // One row a room: the one that is written last.
/// let options = TableOptions { key: vec!["room".to_owned()], ..TableOptions::default() };
/// let rooms = Table::create_for(&store, "rooms", &rows, &options)?;
/// rooms.append(&rows, WriteOptions::default())?;
/// assert_eq!(rooms.view()?.last(10)?.num_rows(), 2);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableOptions {
    /// The time column. `None`: the first column of a time type, those named `timestamp`, `time`,
    /// `ts`, `datetime` or `date` before others.
    pub time: Option<String>,
    /// The upsert key: of the rows that are equal in these columns, the one written last is the
    /// table's. It may have the time column in it or not. Empty, the default: every row is kept.
    pub key: Vec<String>,
    /// Columns that say which series a row belongs to.
    pub tags: Vec<String>,
    /// Rows are told apart by a column `id` of unsigned integers from 1, which rows that come
    /// without one are given. The key must be empty, or just that column.
    pub hand_out_ids: bool,
    /// Files of compacted runs: `Cold` (Parquet, the default) or `Hot` (Arrow, larger, read
    /// without decoding).
    pub run_format: RunFormat,
    /// What may be thrown away by itself. `None`, the default: nothing in a new table, no change
    /// to one that exists.
    pub retention: Option<Retention>,
    /// How compacted Parquet runs are packed. `None`, the default: the usual way in a new table, no change to
    /// one that exists. `Some` also changes a table that exists, for runs that are written from then on.
    pub compression: Option<RunCompression>,
}

impl Default for TableOptions {
    fn default() -> Self {
        Self {
            time: None,
            key: Vec::new(),
            tags: Vec::new(),
            hand_out_ids: false,
            run_format: RunFormat::Cold,
            retention: None,
            compression: None,
        }
    }
}

/// The streams of a new table.
pub(super) struct Specs {
    pub(super) main: StreamSpec,
    /// From a row's identity to its time, where the upsert key lacks the time.
    pub(super) index: Option<StreamSpec>,
}

impl TableOptions {
    /// The streams that make such a table with these columns.
    ///
    /// # Errors
    /// `InvalidArgument` if there is no time column, a column is missing, or the options
    /// don't go together.
    pub(super) fn specs(&self, store: &Store, name: &str, columns: &Schema) -> Result<Specs> {
        check_name(name)?;
        let wrong =
            |why: String| Error::new(ErrorKind::InvalidArgument, format!("table '{name}': {why}"));
        let time = time::find(columns, self.time.as_deref()).map_err(&wrong)?;
        let time_name = columns.field(time).name().clone();
        let mut key = self.key.clone();
        if self.hand_out_ids {
            if !(key.is_empty() || key == [ID_COLUMN]) {
                return Err(wrong(format!("ids are handed out, so the key can't be {key:?}")));
            }
            key = vec![ID_COLUMN.to_owned()];
        }
        let mut fields = self.fields(columns, time, &key);
        if self.hand_out_ids && columns.index_of(ID_COLUMN).is_err() {
            fields.insert(0, Field::new(ID_COLUMN, DataType::UInt64, false));
        }
        let schema = Schema::new(fields);
        for column in key.iter().chain(&self.tags) {
            schema.index_of(column).map_err(|_| wrong(format!("there is no column '{column}'")))?;
        }
        let mut properties = vec![
            property(MODEL_PROPERTY, MODEL),
            property(CREATED_PROPERTY, store.wall_ns().to_string()),
        ];
        properties.extend(columns_named(KEY_PROPERTY, KEY_ORDER_PROPERTY, &key));
        properties.extend(columns_named(SERIES_PROPERTY, TAG_ORDER_PROPERTY, &self.tags));
        if self.hand_out_ids {
            properties.push(property(HANDED_OUT_PROPERTY, HANDED_OUT));
        }
        let is_indexed = !key.is_empty() && !key.contains(&time_name);
        let index = is_indexed.then(|| index_spec(store, name, &schema, &key, time_name.clone()));
        let index = index.transpose()?;
        properties.extend(index.iter().map(|index| property(INDEX_PROPERTY, &index.name)));
        let merge = if key.is_empty() { Merge::Keep } else { Merge::Latest };
        let others = key.into_iter().filter(|column| *column != time_name);
        let main = StreamSpec {
            key: std::iter::once(time_name.clone()).chain(others).collect(),
            merge,
            run_format: self.run_format,
            retention: self.retention.unwrap_or_default(),
            properties: self.compression.unwrap_or_default().in_properties(properties),
            ..StreamSpec::new(name, Arc::new(schema))
        };
        Ok(Specs { main, index })
    }

    /// The columns as the table has them: the time of a time type, and what tells rows apart
    /// never null.
    fn fields(&self, columns: &Schema, time: usize, key: &[String]) -> Vec<Field> {
        let field = |(index, field): (usize, &Arc<Field>)| {
            let name = field.name();
            if index == time {
                return Field::new(name, time::column_type(field.data_type()), false);
            }
            let is_id = self.hand_out_ids && name == ID_COLUMN;
            let data_type = if is_id { &DataType::UInt64 } else { field.data_type() };
            Field::new(name, data_type.clone(), !key.contains(name))
        };
        columns.fields().iter().enumerate().map(field).collect()
    }
}

fn property(key: &str, value: impl Into<String>) -> (String, String) {
    (key.to_owned(), value.into())
}

/// Properties that name columns, one each. A stream keeps its properties sorted, so one more says the order that the columns
/// were named in, where it is another: for each its place among the sorted ones.
fn columns_named(name: &str, order: &str, columns: &[String]) -> Vec<(String, String)> {
    let mut sorted = columns.to_vec();
    sorted.sort_unstable();
    let mut named: Vec<_> = columns.iter().map(|column| property(name, column)).collect();
    if sorted != columns {
        let places = columns.iter().filter_map(|column| sorted.binary_search(column).ok());
        let places: Vec<String> = places.map(|place| place.to_string()).collect();
        named.push(property(order, places.join(",")));
    }
    named
}

/// The columns that [`columns_named`] has named, in their order; sorted, where an earlier build did not tell it.
fn named_columns(stream: &Stream, name: &str, order: &str) -> Vec<String> {
    let mut sorted: Vec<String> = properties_of(stream, name).map(str::to_owned).collect();
    sorted.sort_unstable();
    let column_at = |place: &str| sorted.get(place.parse::<usize>().ok()?).cloned();
    let told = stream
        .property(order)
        .and_then(|places| places.split(',').map(column_at).collect::<Option<Vec<String>>>());
    match told {
        Some(columns) if are_same(&columns, &sorted) => columns,
        _ => sorted,
    }
}

/// Names that begin with two underscores are the store's own.
pub(super) fn check_name(name: &str) -> Result<()> {
    if name.starts_with("__") {
        return Err(Error::new(
            ErrorKind::InvalidArgument,
            format!("table '{name}': names that begin with two underscores are the store's own"),
        ));
    }
    Ok(())
}

/// The stream from identities to times. What is left of one that no table names (a crash came
/// between the two) is used again.
fn index_spec(
    store: &Store,
    table: &str,
    columns: &Schema,
    key: &[String],
    time_name: String,
) -> Result<StreamSpec> {
    let (fields, key) = super::identity::index_columns(columns, key, &time_name)?;
    let used = |wanted: &String| {
        let names =
            |stream: &Arc<Stream>| properties_of(stream, INDEX_PROPERTY).any(|name| name == wanted);
        store.streams().iter().any(names)
    };
    let numbered = (2_u64..).map(|number| format!("__index/{table}/{number}"));
    let mut names = std::iter::once(format!("__index/{table}")).chain(numbered);
    let name = names.find(|name| !used(name)).unwrap_or_default();
    Ok(StreamSpec {
        key,
        merge: Merge::Latest,
        properties: vec![property(MODEL_PROPERTY, INDEX_MODEL)],
        ..StreamSpec::new(name, Arc::new(Schema::new(fields)))
    })
}

fn properties_of<'a>(stream: &'a Stream, wanted: &'a str) -> impl Iterator<Item = &'a str> {
    let properties = stream.spec().properties.iter();
    properties.filter(move |(key, _)| key == wanted).map(|(_, value)| value.as_str())
}

/// Whether a stream is a table's main one.
pub fn is_table(stream: &Stream) -> bool {
    stream.property(MODEL_PROPERTY) == Some(MODEL)
}

/// Whether a stream serves a table or a view, and is not to be shown on its own.
pub fn is_hidden(stream: &Stream) -> bool {
    matches!(stream.property(MODEL_PROPERTY), Some(INDEX_MODEL | PLACE_MODEL))
}

/// What is known of a table from the spec of its stream.
#[derive(Debug, Clone)]
pub(super) struct Definition {
    pub(super) key: Vec<String>,
    pub(super) tags: Vec<String>,
    pub(super) hands_out_ids: bool,
    pub(super) index: Option<String>,
    pub(super) created_ns: Option<i64>,
    /// Its materialised views.
    pub(super) watchers: Vec<Watcher>,
}

impl Definition {
    /// # Errors
    /// `InvalidArgument` if the stream is no table.
    pub(super) fn of(stream: &Stream) -> Result<Self> {
        expect_model(stream, "table", MODEL)?;
        let key = named_columns(stream, KEY_PROPERTY, KEY_ORDER_PROPERTY);
        let merge = if key.is_empty() { Merge::Keep } else { Merge::Latest };
        let known = |column: &String| stream.schema().index_of(column).is_ok();
        if stream.spec().merge != merge || !key.iter().all(known) {
            let message = format!(
                "stream '{}' is called a table, but its key or merge rule are another's",
                stream.name()
            );
            return Err(Error::new(ErrorKind::InvalidArgument, message));
        }
        Ok(Self {
            key,
            tags: named_columns(stream, SERIES_PROPERTY, TAG_ORDER_PROPERTY),
            hands_out_ids: stream.property(HANDED_OUT_PROPERTY) == Some(HANDED_OUT),
            index: stream.property(INDEX_PROPERTY).map(str::to_owned),
            created_ns: stream.property(CREATED_PROPERTY).and_then(|ns| ns.parse().ok()),
            watchers: Watcher::all(stream),
        })
    }

    /// An error if a table that exists is not what was asked for.
    pub(super) fn check_wanted(&self, stream: &Stream, wanted: &TableOptions) -> Result<()> {
        let time = stream.schema().field(stream.lead_column()).name();
        let differs = |what: &str, is: &dyn std::fmt::Debug, wanted: &dyn std::fmt::Debug| {
            let name = stream.name();
            let message =
                format!("table '{name}' exists with {what} {is:?}; {wanted:?} was asked for");
            Err(Error::new(ErrorKind::AlreadyExists, message))
        };
        if let Some(wanted) = wanted.time.as_ref().filter(|wanted| *wanted != time) {
            return differs("time column", time, wanted);
        }
        if !wanted.key.is_empty() && wanted.key != self.key {
            return differs("key", &self.key, &wanted.key);
        }
        if !wanted.tags.is_empty() && !are_same(&wanted.tags, &self.tags) {
            return differs("tags", &self.tags, &wanted.tags);
        }
        Ok(())
    }
}

/// Whether both name the same columns.
fn are_same(one: &[String], other: &[String]) -> bool {
    let sorted = |names: &[String]| {
        let mut names = names.to_vec();
        names.sort_unstable();
        names
    };
    sorted(one) == sorted(other)
}

/// The schema of a stream, for callers that add columns to it.
pub(super) fn with_fields(schema: &SchemaRef, fields: Vec<Arc<Field>>) -> SchemaRef {
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}
