//! Views: queries under a name, each kept as the properties of a stream of that name. So a view is as durable as a table, is in backups and in
//! the store as it was, and no table can have its name.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use arrow_schema::{DataType, Field, Schema, SchemaRef};
use timestrata_engine::{Error, ErrorKind, Merge, Result, Store, Stream, StreamSpec};
use timestrata_io::sync::Mutex;
use timestrata_values::name::{self, MODEL_PROPERTY, expect_model};

use super::handle::Changing;
use super::materialized::{Buckets, Watched, Watcher};
use super::options::{check_name, is_table};

const MODEL: &str = "view";
const QUERY_PROPERTY: &str = "query";
/// The property of a materialised view that names its table.
const TABLE_PROPERTY: &str = "table";
/// The model of the stream that says how far a materialised view has come.
pub(super) const PLACE_MODEL: &str = "view-place";
/// Bytes of a view's query. The manifest has it, and is read whole.
const QUERY_BYTES_MAX: usize = 64 << 10;

/// Whether a stream is a view's.
pub fn is_view(stream: &Stream) -> bool {
    stream.property(MODEL_PROPERTY) == Some(MODEL)
}

/// The query of a view; `None` of a stream that is none.
pub fn view_query(stream: &Stream) -> Option<&str> {
    stream.property(QUERY_PROPERTY).filter(|_| is_view(stream))
}

/// Makes a view, durably: `query` under a name. With `replaces` it takes the place of a view of that name.
///
/// ```
/// use timestrata_engine::{Settings, Store};
/// use timestrata_table::{create_view, drop_view, view_query};
///
/// # fn main() -> timestrata_engine::Result<()> {
/// let store = Store::memory(Settings::default())?;
/// create_view(&store, "recent", "SELECT * FROM trades LIMIT 10", false)?;
/// let view = store.expect_stream("recent")?;
/// assert_eq!(view_query(&view), Some("SELECT * FROM trades LIMIT 10"));
/// drop_view(&store, "recent")?;
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// `AlreadyExists` where the name is taken, `TooLarge` for a query of more than 64 KiB, `InvalidArgument` for a name that can't be.
pub fn create_view(store: &Store, name: &str, query: &str, replaces: bool) -> Result<()> {
    check(name, query)?;
    let changing = store.model_state::<Changing>();
    let _changing = changing.0.lock();
    let properties = properties_of(query);
    let is_plain = |stream: &Arc<Stream>| is_view(stream) && materialized_from(stream).is_none();
    if let Some(view) = store.stream(name).filter(|stream| replaces && is_plain(stream)) {
        store.alter_stream_properties(view.id(), properties)?;
        return Ok(());
    }
    // There are no rows: a stream has a key in any case.
    let key = Schema::new(vec![Field::new("time", DataType::Int64, false)]);
    let spec = StreamSpec { properties, ..StreamSpec::new(name, Arc::new(key)) };
    store.create_stream(spec).map(drop)
}

/// Held while materialised views of a store are brought up to date or dropped: by one at a time of all who have it open in this process.
///
/// ```
/// # fn main() -> timestrata_engine::Result<()> {
/// let store = timestrata_engine::Store::memory(timestrata_engine::Settings::default())?;
/// let folding = store.model_state::<timestrata_table::FoldLock>();
/// let _folding = folding.0.lock();
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Default)]
pub struct FoldLock(pub Mutex<()>);

/// A view whose rows are kept.
///
/// ```
/// use std::sync::Arc;
///
/// use arrow_schema::{DataType, Field, Schema};
/// use timestrata_table::{Buckets, MaterializedView};
///
/// let state = vec![Field::new("g0", DataType::Int64, false), Field::new("s0", DataType::Int64, true)];
/// let view = MaterializedView {
///     name: "hours".to_owned(),
///     query: "SELECT time_bucket('1 hour', time), count(*) FROM trades GROUP BY 1".to_owned(),
///     table: "trades".to_owned(),
///     state: Arc::new(Schema::new(state)),
///     buckets: Buckets { width: 3_600_000, origin: 0 },
/// };
/// assert_eq!(view.buckets.first_from(1), 3_600_000);
/// ```
#[derive(Debug, Clone)]
pub struct MaterializedView {
    /// Its name.
    pub name: String,
    /// Its query.
    pub query: String,
    /// The table that it is of.
    pub table: String,
    /// The columns of its rows, the first of which is their bucket.
    pub state: SchemaRef,
    /// Its buckets, in units of the table's times.
    pub buckets: Buckets,
}

/// Makes a materialised view, durably and without rows: whoever keeps it up to date writes them, and to the stream [`place_of`] how far he has come.
///
/// # Errors
/// As [`create_view`], and `InvalidArgument` for a table that is kept within a number of bytes.
pub fn create_materialized_view(store: &Store, view: &MaterializedView) -> Result<()> {
    let MaterializedView { name, query, .. } = view;
    check(name, query)?;
    let changing = store.model_state::<Changing>();
    let _changing = changing.0.lock();
    let table = store.expect_stream(&view.table)?;
    expect_model(&table, "table", "table")?;
    if table.spec().retention.bytes.is_some() {
        let table = table.name();
        let message = format!(
            "table '{table}' is kept within a number of bytes, and so can't have a materialised view: keep it by age"
        );
        return Err(Error::new(ErrorKind::InvalidArgument, message));
    }
    if store.stream(name).is_some() {
        let message = format!("there is a stream '{name}' already");
        return Err(Error::new(ErrorKind::AlreadyExists, message));
    }
    // First: between the two the table is only stricter than it must be.
    store.model_state::<Watched>().0.store(true, Ordering::SeqCst);
    let mut watched = Watcher::without(&table, name);
    watched.push(Watcher::property(name, view.buckets));
    store.alter_stream_properties(table.id(), watched)?;
    let mut properties = properties_of(query);
    properties.push((TABLE_PROPERTY.to_owned(), view.table.clone()));
    let rows = StreamSpec { properties, ..StreamSpec::new(name, Arc::clone(&view.state)) };
    let columns = vec![
        Field::new("time", DataType::Int64, false),
        Field::new("folded", DataType::UInt64, false),
        Field::new("horizon", DataType::Int64, true),
    ];
    let place = StreamSpec {
        merge: Merge::Latest,
        properties: vec![(MODEL_PROPERTY.to_owned(), PLACE_MODEL.to_owned())],
        ..StreamSpec::new(place_of(name), Arc::new(Schema::new(columns)))
    };
    store.create_streams(&[place, rows]).map(drop)
}

/// The table of a materialised view; `None` of other streams.
pub fn materialized_from(stream: &Stream) -> Option<&str> {
    stream.property(TABLE_PROPERTY).filter(|_| is_view(stream))
}

/// The stream that says how far a materialised view has come: one row, with the time 0. `folded` is the commit up to which the table's changes are in the
/// view, `horizon` the time before which rows could have expired then.
pub fn place_of(view: &str) -> String {
    format!("__view/{view}")
}

/// The name by which a materialised view follows the changes of its store.
pub fn follower_of(view: &str) -> String {
    format!("view {view}")
}

fn check(name: &str, query: &str) -> Result<()> {
    check_name(name)?;
    if query.len() > QUERY_BYTES_MAX {
        let bytes = query.len();
        let message = format!(
            "view '{name}': its query has {bytes} bytes, at most {QUERY_BYTES_MAX} are taken"
        );
        return Err(Error::new(ErrorKind::TooLarge, message));
    }
    Ok(())
}

fn properties_of(query: &str) -> Vec<(String, String)> {
    vec![
        (MODEL_PROPERTY.to_owned(), MODEL.to_owned()),
        (QUERY_PROPERTY.to_owned(), query.to_owned()),
    ]
}

/// Removes a view, durably, with its rows if it has some.
///
/// # Errors
/// `NotFound` if there is none, `InvalidArgument` if the name is another kind of stream's.
pub fn drop_view(store: &Store, name: &str) -> Result<()> {
    // Who folds it would follow on.
    let folding = store.model_state::<FoldLock>();
    let _folding = folding.0.lock();
    let changing = store.model_state::<Changing>();
    let _changing = changing.0.lock();
    let stream = store.stream(name).ok_or_else(|| name::not_found(store, "view", name))?;
    expect_model(&stream, "view", MODEL)?;
    let Some(table) = materialized_from(&stream) else { return store.drop_stream(name) };
    store.drop_streams(&[name, &place_of(name)])?;
    match store.remove_follower(&follower_of(name)) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    match store.stream(table).filter(|table| is_table(table)) {
        Some(table) => {
            store.alter_stream_properties(table.id(), Watcher::without(&table, name)).map(drop)
        }
        None => Ok(()),
    }
}
