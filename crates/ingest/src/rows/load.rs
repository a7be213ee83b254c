//! An input taken into a table, as all faces do it: read in the types that the table expects, begun anew where a
//! value behind the sample asks for other types, and put in as one commit or several.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};
use timestrata_engine::{Error, ErrorKind, Result, Store};
use timestrata_table::{Commits, FoundTime, IngestOptions, Table, ingest};
use timestrata_values::instant::per_second;
use timestrata_values::time::relabeled;

use super::{Format, Input, OnError, ReadOptions, ReadReport, Source, names};

const NS_PER_SECOND: i64 = 1_000_000_000;
/// What the column is called that has the time of the load, unless it is said or the table has one.
const TIME_OF_LOAD: &str = "time";

/// How an input is taken into a table.
///
/// ```
/// use timestrata_engine::{Settings, Store};
/// use timestrata_ingest::rows::{Input, Load};
///
/// let store = Store::memory(Settings::default())?;
/// // Nothing here is a time, so the rows are given one.
/// let load = Load { time_of_load: true, ..Load::default() };
/// let csv = "species,petals\nsetosa,1.4\nvirginica,5.1\n";
/// let loaded = load.take(&store, "iris", Input::Bytes(csv.into()), "iris.csv", &mut |_| {})?;
/// assert_eq!((loaded.report.rows, loaded.time.as_deref()), (2, Some("time")));
/// # Ok::<(), timestrata_engine::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Load {
    /// How the input is read. Types and time column of a table that exists are put in by itself.
    pub read: ReadOptions,
    /// How rows are put in.
    pub ingest: IngestOptions,
    /// Whether each row gets the time of the load, in a column `time` (or the one that `ingest.table` names) that
    /// the input has not.
    pub time_of_load: bool,
}

/// What became of an input.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// The table; `None` if there were no rows and there is none.
    pub table: Option<Table>,
    /// What was read and left out.
    pub report: ReadReport,
    /// The time column.
    pub time: Option<String>,
    /// What had to be told apart in columns, by their names.
    pub notes: Vec<(String, String)>,
}

/// What would become of an input.
///
/// ```
/// use timestrata_engine::{Settings, Store};
/// use timestrata_ingest::rows::{Input, Load};
///
/// let store = Store::memory(Settings::default())?;
/// let csv = "day,price\n01/02/2024,\"1\"\n13/02/2024,2\n";
/// let plan = Load::default().plan(&store, "t", Input::Bytes(csv.into()), "t.csv", &mut |_| {})?;
/// assert_eq!((plan.report.rows, plan.time.as_deref()), (2, Some("day")));
/// assert_eq!(plan.notes, [("day".to_owned(), "day before month".to_owned())]);
/// assert!(plan.refusal.is_none() && store.streams().is_empty());
/// # Ok::<(), timestrata_engine::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Plan {
    /// The form of the input.
    pub format: Format,
    /// What separates the fields of CSV.
    pub delimiter: Option<super::Delimiter>,
    /// The columns that rows would have, the time of the load among them.
    pub columns: SchemaRef,
    /// The time column.
    pub time: Option<String>,
    /// What had to be told apart in columns, by their names.
    pub notes: Vec<(String, String)>,
    /// Columns that the table would be given.
    pub added: Vec<String>,
    /// Columns of the table that would be widened, with their types then.
    pub widened: Vec<(String, DataType)>,
    /// What was read and would be left out.
    pub report: ReadReport,
    /// Why it would be refused.
    pub refusal: Option<String>,
}

impl Load {
    /// Takes an input into the table of a name, made if it is missing. `name` is what messages call the input.
    /// `watch` hears of each batch.
    ///
    /// Where a value behind the sample doesn't fit the type that was inferred, an input that can be read again is looked at as a
    /// whole and begun anew: nothing of it had been committed, unless it is several commits, of which this isn't done.
    ///
    /// # Errors
    /// As [`Source::open`] and [`ingest`].
    pub fn take(
        &self,
        store: &Store,
        table: &str,
        input: Input,
        name: &str,
        watch: &mut dyn FnMut(&ReadReport),
    ) -> Result<Loaded> {
        let mut again = input.again().filter(|_| self.may_begin_anew());
        let mut opened = self.open(store, table, input, name)?;
        // A column that a table gets stays with it, so its type has to be right at once.
        if opened.changes_table
            && let Some(input) = again.take()
        {
            opened = self.open_knowing_all(store, table, input, name)?;
        }
        loop {
            let mut options = self.ingest.clone();
            opened.tell(&mut options);
            let mut batches = opened.batches(watch);
            let done = ingest(store, table, &mut batches, &options);
            drop(batches);
            if done.is_err()
                && opened.source.has_misfit()
                && let Some(input) = again.take()
            {
                opened = self.open_knowing_all(store, table, input, name)?;
                continue;
            }
            let table = done.map_err(|error| opened.explained(error, self))?.table;
            let Opened { source, time, .. } = opened;
            let (report, notes) = (source.report().clone(), source.notes().to_vec());
            return Ok(Loaded { table, report, time, notes });
        }
    }

    /// What would be made of an input. It is read to its end, and nothing is written.
    ///
    /// # Errors
    /// As [`Source::open`]; a row that would be refused is none, but told.
    pub fn plan(
        &self,
        store: &Store,
        table: &str,
        input: Input,
        name: &str,
        watch: &mut dyn FnMut(&ReadReport),
    ) -> Result<Plan> {
        let mut again = input.again().filter(|_| self.may_begin_anew());
        let mut opened = self.open(store, table, input, name)?;
        let refusal = loop {
            let first = opened.batches(watch).find_map(Result::err);
            match again.take().filter(|_| first.is_some() && opened.source.has_misfit()) {
                Some(input) => opened = self.open_knowing_all(store, table, input, name)?,
                None => break first,
            }
        };
        let refusal = refusal.map(|error| opened.explained(error, self).to_string());
        let mut options = self.ingest.clone();
        opened.tell(&mut options);
        let no_time = opened.expected.is_none().then(|| options.refuses(table, &opened.columns()));
        let widened = opened.source.widened();
        let widened =
            widened.iter().map(|column| (column.name().clone(), column.data_type().clone()));
        Ok(Plan {
            format: opened.source.format(),
            delimiter: opened.source.delimiter(),
            columns: opened.columns(),
            time: opened.time.clone(),
            notes: opened.source.notes().to_vec(),
            added: opened.added(),
            widened: widened.collect(),
            report: opened.source.report().clone(),
            refusal: refusal.or(no_time.flatten().map(|error| error.to_string())),
        })
    }

    /// Whether nothing of an input stays where it is begun anew, and a value that doesn't fit isn't to be left out.
    fn may_begin_anew(&self) -> bool {
        self.ingest.commits == Commits::One && self.read.on_error == OnError::Fail
    }

    fn open(&self, store: &Store, table: &str, input: Input, name: &str) -> Result<Opened> {
        let (read, expected) = self.expecting(store, table)?;
        let opened = Opened::new(Source::open(input, name, &read)?, expected, self, store)?;
        Ok(Opened { is_sampled: true, ..opened })
    }

    fn open_knowing_all(
        &self,
        store: &Store,
        table: &str,
        input: Input,
        name: &str,
    ) -> Result<Opened> {
        let (read, expected) = self.expecting(store, table)?;
        let source = Source::open_knowing_all(input, name, &read)?;
        Opened::new(source, expected, self, store)
    }

    /// How the input is read, and what the table is that exists.
    fn expecting(&self, store: &Store, table: &str) -> Result<(ReadOptions, Option<Existing>)> {
        let mut read = self.read.clone();
        let mut existing = None;
        if let Some(stream) = store.stream(table) {
            let table = Table::open(store, stream.name())?;
            let declared = read.time.take();
            read.expect_of(&table, self.ingest.write.on_mismatch)?;
            let schema = read.schema.clone().unwrap_or_else(|| Arc::new(Schema::empty()));
            existing = read.time.clone().map(|time| Existing { schema, time });
            read.time = declared.or(read.time);
        }
        if self.time_of_load {
            read.time = None;
        }
        Ok((read, existing))
    }
}

/// A table that exists.
struct Existing {
    schema: SchemaRef,
    time: String,
}

/// An input whose columns are known.
struct Opened {
    source: Source,
    expected: Option<Existing>,
    /// The time column.
    time: Option<String>,
    /// The column that each row gets, and its value.
    added_time: Option<(Field, i64)>,
    /// Whether a table that exists would be given columns, of types that were inferred.
    changes_table: bool,
    /// Whether there may be types that more rows would have changed.
    is_sampled: bool,
}

impl Opened {
    fn new(source: Source, expected: Option<Existing>, load: &Load, store: &Store) -> Result<Self> {
        let added_time = match load.time_of_load {
            true => Some(time_of_load(&source, expected.as_ref(), load, store)?),
            false => None,
        };
        let found = source.time_column().map(str::to_owned);
        let time = added_time.as_ref().map(|(field, _)| field.name().clone()).or(found);
        let (changes_table, is_sampled) = (false, false);
        let opened = Self { source, expected, time, added_time, changes_table, is_sampled };
        let changes_table = !opened.added().is_empty();
        Ok(Self { changes_table, ..opened })
    }

    /// Columns that a table which exists has not.
    fn added(&self) -> Vec<String> {
        let Some(Existing { schema, .. }) = &self.expected else { return Vec::new() };
        let columns = self.source.schema();
        let names = columns.fields().iter().map(|field| field.name());
        names.filter(|name| schema.index_of(name).is_err()).cloned().collect()
    }

    /// The columns that rows have.
    fn columns(&self) -> SchemaRef {
        with_column(&self.source.schema(), self.added_time.as_ref().map(|(field, _)| field))
    }

    /// Tells an ingest what is known of the rows.
    fn tell(&self, options: &mut IngestOptions) {
        options.spelling = self.spelling();
        options.widened = self.source.widened();
        options.found_time = match (&self.time, self.source.format()) {
            (Some(time), _) => FoundTime::Column(time.clone()),
            // Rows of a program, which has types of its own: they are as those that are appended.
            (None, Format::ArrowStream) if self.may_have_times() => FoundTime::Unknown,
            (None, _) => FoundTime::Missing(self.source.spoils_time()),
        };
        if let Some((field, _)) = &self.added_time {
            options.table.time = Some(field.name().clone());
        }
    }

    /// Whether a column of whole numbers, or of text, is called as the time is.
    fn may_have_times(&self) -> bool {
        let schema = self.source.schema();
        let is_one = |data_type: &DataType| {
            matches!(
                data_type,
                DataType::Int64 | DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View
            )
        };
        schema.fields().iter().any(|field| {
            is_one(field.data_type()) && names::preferred_for_time(field.name()).is_some()
        })
    }

    fn spelling(&self) -> super::Spelling {
        self.source.spelling()
    }

    /// The rows as they go in.
    fn batches<'a>(
        &'a mut self,
        watch: &'a mut dyn FnMut(&ReadReport),
    ) -> impl Iterator<Item = Result<RecordBatch>> + 'a {
        let schema = self.columns();
        let (source, added_time) = (&mut self.source, &self.added_time);
        std::iter::from_fn(move || {
            let batch = source.next();
            watch(source.report());
            let batch = match (batch?, added_time) {
                (Ok(batch), Some((field, time))) => with_time(&batch, &schema, field, *time),
                (batch, _) => batch,
            };
            Some(batch)
        })
    }

    /// An error, with what can be done about a value behind the sample that has another type.
    fn explained(&self, error: Error, load: &Load) -> Error {
        if !self.is_sampled || !self.source.has_misfit() || error.kind() != ErrorKind::InvalidData {
            return error;
        }
        let why = match load.ingest.commits {
            Commits::One => "what comes as a stream is read once only: give it as a file",
            Commits::Every(_) => "some of it may be committed already",
        };
        let larger = self.spelling().option("sample_rows", "all");
        let message = format!(
            "{}; or have the column's type found from more rows ({larger}): {why}",
            error.message()
        );
        let explained = Error::new(error.kind(), message);
        match error.path() {
            Some(path) => explained.at(path),
            None => explained,
        }
    }
}

/// The column that gives each row the time of the load, and that time.
fn time_of_load(
    source: &Source,
    expected: Option<&Existing>,
    load: &Load,
    store: &Store,
) -> Result<(Field, i64)> {
    let declared = load.ingest.table.time.as_deref();
    let name = expected.map(|table| table.time.as_str()).or(declared).unwrap_or(TIME_OF_LOAD);
    if source.schema().index_of(name).is_ok() {
        let spelling = source.spelling();
        let (of_load, other) = (spelling.switch("time_of_load"), spelling.option("time", "NAME"));
        let message = format!(
            "there is a column '{name}' already, so {of_load} can't make one: leave that out, or give the time \
             another name ({other})"
        );
        return Err(Error::new(ErrorKind::InvalidArgument, message));
    }
    let utc = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
    let known = expected.and_then(|table| table.schema.field_with_name(name).ok());
    let data_type = known.map_or(utc, |field| field.data_type().clone());
    let DataType::Timestamp(unit, _) = data_type else {
        let message = format!("column '{name}' is no column of times");
        return Err(Error::new(ErrorKind::InvalidArgument, message));
    };
    // In the table's unit, rounded down.
    let now = store.wall_ns().div_euclid(NS_PER_SECOND / per_second(unit));
    Ok((Field::new(name, data_type, false), now))
}

fn with_column(schema: &SchemaRef, first: Option<&Field>) -> SchemaRef {
    match first {
        None => Arc::clone(schema),
        Some(field) => {
            let first = std::iter::once(Arc::new(field.clone()));
            Arc::new(Schema::new(first.chain(schema.fields().iter().cloned()).collect::<Vec<_>>()))
        }
    }
}

fn with_time(
    batch: &RecordBatch,
    schema: &SchemaRef,
    field: &Field,
    time: i64,
) -> Result<RecordBatch> {
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![time; batch.num_rows()]));
    let times = relabeled(&numbers, field.data_type())?;
    let columns = std::iter::once(times).chain(batch.columns().iter().cloned()).collect();
    RecordBatch::try_new(Arc::clone(schema), columns).map_err(|cause| {
        Error::new(ErrorKind::InvalidData, "the time of the load could not be put to the rows")
            .caused_by(cause)
    })
}
