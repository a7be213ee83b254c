//! Which streams are tables, and what of them is shown.

use std::fmt::Debug;
use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef};
use timestrata_engine::{Result, Stream};
use timestrata_graph::GraphPart;
use timestrata_logs::{ShownColumns, is_logs};
use timestrata_table::{is_hidden, is_view};
use timestrata_timelog::{Codec, VALUE_COLUMN, codec_of};
use timestrata_topic::{is_topic, is_topic_part, record_schema};

use crate::error::invalid;

/// Column of a topic's table.
pub(crate) const PARTITION: &str = "partition";

/// A stream as SQL shows it.
///
/// ```
/// # use timestrata_engine::{Settings, Store};
/// # use timestrata_sql::SqlTable;
/// # use timestrata_timelog::{Timelog, TimelogOptions};
/// # fn main() -> timestrata_engine::Result<()> {
/// let store = Store::memory(Settings::default())?;
/// Timelog::create(&store, "door", TimelogOptions::default())?;
/// let stream = store.expect_stream("door")?;
/// let whole = SqlTable::whole(&stream);
/// // A column that isn't there can't be shown.
/// assert!(SqlTable::of_columns("door", &stream, stream.schema().clone(), vec![9]).is_err());
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct SqlTable {
    pub(crate) name: String,
    pub(crate) stream: Arc<Stream>,
    /// The columns shown, text as it is worked with.
    pub(crate) schema: SchemaRef,
    /// For each column shown, the stream's.
    pub(crate) columns: Vec<usize>,
}

impl SqlTable {
    /// All columns of a stream, under its own name.
    pub fn whole(stream: &Arc<Stream>) -> Self {
        let columns: Vec<usize> = (0..stream.schema().fields().len()).collect();
        Self {
            name: stream.name().to_owned(),
            stream: Arc::clone(stream),
            schema: viewed(stream, stream.schema(), &columns),
            columns,
        }
    }

    /// A table whose columns are made of those of its stream, or of other streams.
    fn derived(stream: &Arc<Stream>, schema: SchemaRef) -> Self {
        let (name, columns) = (stream.name().to_owned(), Vec::new());
        Self { name, stream: Arc::clone(stream), schema, columns }
    }

    /// Some columns of a stream, under other names if so wished: `schema` has one field for each
    /// of `columns`, with the type of the stream's.
    ///
    /// # Errors
    /// `InvalidArgument` where they don't fit each other.
    pub fn of_columns(
        name: impl Into<String>,
        stream: &Arc<Stream>,
        schema: SchemaRef,
        columns: Vec<usize>,
    ) -> Result<Self> {
        let name = name.into();
        let stored = stream.schema().fields();
        let fits = schema.fields().len() == columns.len()
            && schema.fields().iter().zip(&columns).all(|(field, column)| {
                stored.get(*column).is_some_and(|known| known.data_type() == field.data_type())
            });
        if !fits {
            let stored = stream.name();
            let message =
                format!("table '{name}' shows columns that stream '{stored}' doesn't have");
            return Err(invalid(message));
        }
        let schema = viewed(stream, &schema, &columns);
        Ok(Self { name, stream: Arc::clone(stream), schema, columns })
    }
}

/// The fields of some columns of a stream, as a scan with views of text gives them.
fn viewed(stream: &Stream, schema: &SchemaRef, columns: &[usize]) -> SchemaRef {
    let fields = schema.fields().iter().zip(columns);
    let fields: Vec<FieldRef> = fields
        .map(|(field, column)| match stream.has_text_views(*column) {
            true => with_type(field, DataType::Utf8View),
            false => Arc::clone(field),
        })
        .collect();
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

fn with_type(field: &FieldRef, data_type: DataType) -> FieldRef {
    Arc::new(Field::clone(field).with_data_type(data_type))
}

/// The columns of a log's table, text as it is worked with; `None` if the stream is something else.
pub(crate) fn logs_schema(stream: &Arc<Stream>) -> Option<SchemaRef> {
    if !is_logs(stream) {
        return None;
    }
    let shown = ShownColumns::of(stream).ok()?.schema();
    let fields = shown.fields().iter().map(|field| match field.data_type() {
        DataType::Utf8 => with_type(field, DataType::Utf8View),
        _ => Arc::clone(field),
    });
    Some(Arc::new(Schema::new(fields.collect::<Vec<_>>())))
}

/// The columns of a time log's table, its values as JSON; `None` if the stream is something else, or has values that aren't
/// documents.
pub(crate) fn values_schema(stream: &Stream) -> Option<SchemaRef> {
    if !matches!(codec_of(stream)?, Codec::Cbor | Codec::Json) {
        return None;
    }
    let fields = stream.schema().fields().iter().enumerate().map(|(column, field)| match column {
        // Bytes that are no document have no JSON.
        VALUE_COLUMN => Arc::new(Field::new(field.name(), DataType::Utf8View, true)),
        _ => Arc::clone(field),
    });
    Some(Arc::new(Schema::new(fields.collect::<Vec<_>>())))
}

/// The columns of a topic's table: its partition, then those of its records.
pub(crate) fn topic_schema(records: &Schema) -> SchemaRef {
    let partition: FieldRef = Arc::new(Field::new(PARTITION, DataType::UInt32, false));
    let fields = std::iter::once(partition).chain(records.fields().iter().cloned());
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

/// A field as it is stored and handed out, and not as it is worked with.
pub(crate) fn plain_field(field: &FieldRef) -> FieldRef {
    match field.data_type() {
        DataType::Utf8View => with_type(field, DataType::Utf8),
        _ => Arc::clone(field),
    }
}

/// As [`plain_field`], for all fields.
pub(crate) fn plain_schema(schema: &Schema) -> SchemaRef {
    Arc::new(Schema::new(schema.fields().iter().map(plain_field).collect::<Vec<_>>()))
}

/// What a model says of a stream.
///
/// ```
/// use timestrata_sql::{Shown, SqlTable};
///
/// /// Hides the streams of one model.
/// fn show(stream: &std::sync::Arc<timestrata_engine::Stream>) -> Shown {
///     match stream.name().starts_with("internal-") {
///         true => Shown::Hidden,
///         false => Shown::Table(SqlTable::whole(stream)),
///     }
/// }
/// ```
#[derive(Debug)]
pub enum Shown {
    /// It is another model's.
    NotMine,
    /// It is of no interest to anyone who asks in SQL.
    Hidden,
    /// It is a table.
    Table(SqlTable),
}

/// A data model, as far as SQL is concerned. The first of the models that says of a stream
/// something else than [`Shown::NotMine`] has it; what is nobody's is shown as it is.
///
/// ```
/// use std::sync::Arc;
///
/// use timestrata_engine::{Settings, Store, Stream};
/// use timestrata_sql::{Shown, Sql, SqlModel, SqlOptions};
/// # use timestrata_timelog::{Timelog, TimelogOptions};
///
/// #[derive(Debug)]
/// struct Private;
///
/// impl SqlModel for Private {
///     fn show(&self, stream: &Arc<Stream>) -> Shown {
///         if stream.name() == "door" { Shown::Hidden } else { Shown::NotMine }
///     }
/// }
///
/// # fn main() -> timestrata_engine::Result<()> {
/// let store = Store::memory(Settings::default())?;
/// Timelog::create(&store, "door", TimelogOptions::default())?;
/// let sql = Sql::with(&store, SqlOptions::default(), vec![Arc::new(Private)], None)?;
/// assert!(sql.tables()?.is_empty());
/// # Ok(())
/// # }
/// ```
pub trait SqlModel: Debug + Send + Sync {
    /// What `stream` is.
    fn show(&self, stream: &Arc<Stream>) -> Shown;
}

/// Tables, typed time logs and streams without a model: all of their columns are as they are shown.
#[derive(Debug)]
pub(crate) struct PlainStreams;

impl SqlModel for PlainStreams {
    fn show(&self, stream: &Arc<Stream>) -> Shown {
        // Each edge is shown once, and blocks as they are now.
        let part = GraphPart::of(stream);
        if is_hidden(stream)
            || is_topic_part(stream)
            || matches!(part, Some(GraphPart::EdgesIn | GraphPart::Versions))
        {
            return Shown::Hidden;
        }
        if is_view(stream) {
            return Shown::Table(SqlTable::derived(stream, Arc::new(Schema::empty())));
        }
        // A topic's own stream says which columns the table of all its partitions has.
        let schema = match is_topic(stream) {
            true => Some(topic_schema(&record_schema())),
            false => logs_schema(stream).or_else(|| values_schema(stream)),
        };
        Shown::Table(match schema {
            Some(schema) => SqlTable::derived(stream, schema),
            None => SqlTable::whole(stream),
        })
    }
}
