//! Views: queries under a name, each kept as the properties of a stream of that name. So a view is as durable as a table, is in backups and in
//! the store as it was, and no table can have its name.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema};
use timestrata_engine::{Error, ErrorKind, Result, Store, Stream, StreamSpec};
use timestrata_values::name::{self, MODEL_PROPERTY, expect_model};

use super::handle::Changing;
use super::options::check_name;

const MODEL: &str = "view";
const QUERY_PROPERTY: &str = "query";
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
    check_name(name)?;
    if query.len() > QUERY_BYTES_MAX {
        let bytes = query.len();
        let message = format!(
            "view '{name}': its query has {bytes} bytes, at most {QUERY_BYTES_MAX} are taken"
        );
        return Err(Error::new(ErrorKind::TooLarge, message));
    }
    let changing = store.model_state::<Changing>();
    let _changing = changing.0.lock();
    let properties = vec![
        (MODEL_PROPERTY.to_owned(), MODEL.to_owned()),
        (QUERY_PROPERTY.to_owned(), query.to_owned()),
    ];
    if let Some(view) = store.stream(name).filter(|stream| replaces && is_view(stream)) {
        store.alter_stream_properties(view.id(), properties)?;
        return Ok(());
    }
    // There are no rows: a stream has a key in any case.
    let key = Schema::new(vec![Field::new("time", DataType::Int64, false)]);
    let spec = StreamSpec { properties, ..StreamSpec::new(name, Arc::new(key)) };
    store.create_stream(spec).map(drop)
}

/// Removes a view, durably.
///
/// # Errors
/// `NotFound` if there is none, `InvalidArgument` if the name is another kind of stream's.
pub fn drop_view(store: &Store, name: &str) -> Result<()> {
    let changing = store.model_state::<Changing>();
    let _changing = changing.0.lock();
    let stream = store.stream(name).ok_or_else(|| name::not_found(store, "view", name))?;
    expect_model(&stream, "view", MODEL)?;
    store.drop_stream(name)
}
