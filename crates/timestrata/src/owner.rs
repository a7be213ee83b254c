//! Whose a stream is: a model's own, which has the model's name; a part of one, which nobody touches by
//! itself; or nobody's. For faces that know streams by name alone.

use std::sync::Arc;

use timestrata_engine::{
    Error, ErrorKind, PurgeReport, Result, RunningQuery, Store, Stream, StreamId,
};

use timestrata_graph::{Graph, GraphPart};
use timestrata_logs::{Logs, is_logs};
use timestrata_table::{
    Table, drop_view, is_hidden, is_table, is_view, materialized_from, place_of,
};
use timestrata_topic::{Topic, is_topic, is_topic_part};

/// What a stream belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Owner {
    model: &'static str,
    name: String,
}

/// Removes what has this name with all that belongs to it, durably: a topic, a graph, a table, a view, a log, a
/// time log, or a plain stream.
///
/// # Errors
/// `NotFound` if there is nothing of that name, `InvalidArgument` for a part of a topic, a graph or a
/// table that is there, which is named: without the part it would be broken.
pub fn drop_by_name(store: &Store, name: &str) -> Result<()> {
    let stream = store.expect_stream(name)?;
    if is_topic(&stream) {
        return Topic::drop(store, name);
    }
    if GraphPart::of(&stream) == Some(GraphPart::Blocks) {
        return Graph::drop(store, name);
    }
    if is_table(&stream) {
        return Table::drop(store, name);
    }
    if is_view(&stream) {
        return drop_view(store, name);
    }
    if is_logs(&stream) {
        return Logs::drop(store, name);
    }
    match owner(store, &stream) {
        None => store.drop_stream(name),
        Some(Owner { model, name: owner }) => {
            let message =
                format!("stream '{name}' is a part of {model} '{owner}': it goes with the {model}");
            Err(Error::new(ErrorKind::InvalidArgument, message))
        }
    }
}

/// Erases what has been deleted and replaced in what has these names, with all that belongs to it, or in the whole store where there are none:
/// [`Store::purge`], which says what that is. A topic's hashes stay, so that every proof can still be made.
///
/// ```
/// use timestrata::timelog::{Timelog, TimelogOptions};
/// use timestrata::{Settings, Store, purge_by_name};
///
/// # fn main() -> timestrata::Result<()> {
/// let store = Store::memory(Settings::default())?;
/// let door = Timelog::create(&store, "door", TimelogOptions::default())?;
/// door.append(1, b"opened")?;
/// door.delete_range(..)?;
/// assert!(purge_by_name(&store, &["door"])?.still_read.is_empty());
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// `NotFound` if there is nothing of a name, `InvalidArgument` for a part of something, which is named; as [`Store::purge`].
pub fn purge_by_name(store: &Store, names: &[&str]) -> Result<PurgeReport> {
    match names.is_empty() {
        true => store.purge(None),
        false => store.purge(Some(&streams_of(store, names)?)),
    }
}

/// The same until nobody waits for it any more: [`Store::purge_for`].
///
/// # Errors
/// As [`purge_by_name`]; `Cancelled` and `TimedOut` where the query has ended.
pub fn purge_by_name_for(
    store: &Store,
    names: &[&str],
    query: &RunningQuery,
) -> Result<PurgeReport> {
    match names.is_empty() {
        true => store.purge_for(None, query),
        false => store.purge_for(Some(&streams_of(store, names)?), query),
    }
}

/// The streams of what has these names, with all that belongs to it.
fn streams_of(store: &Store, names: &[&str]) -> Result<Vec<StreamId>> {
    let mut ids = Vec::new();
    for name in names {
        let stream = store.expect_stream(name)?;
        if let Some(Owner { model, name: owner }) = owner(store, &stream) {
            let message =
                format!("stream '{name}' is a part of {model} '{owner}': purge the {model}");
            return Err(Error::new(ErrorKind::InvalidArgument, message));
        }
        let streams = store.streams();
        let parts = streams.iter().filter(|part| owner_of(store, part).as_deref() == Some(name));
        ids.extend(parts.map(|part| part.id()).chain([stream.id()]));
    }
    Ok(ids)
}

/// The name of the topic, graph or table that a stream is a part of, and that is there; `None` for what people
/// know by its own name, and for what nobody owns.
#[must_use]
pub fn owner_of(store: &Store, stream: &Stream) -> Option<String> {
    owner(store, stream).map(|owner| owner.name)
}

/// What a stream is a part of. One whose owner is gone is nobody's.
fn owner(store: &Store, stream: &Stream) -> Option<Owner> {
    if is_hidden(stream) {
        let streams = store.streams();
        let is_place = |view: &&Arc<Stream>| {
            materialized_from(view).is_some() && place_of(view.name()) == stream.name()
        };
        if let Some(view) = streams.iter().find(is_place) {
            return Some(Owner { model: "view", name: view.name().to_owned() });
        }
        let has_it = |table: &Stream| table.property("index") == Some(stream.name());
        let table = streams.iter().find(|table| is_table(table) && has_it(table))?;
        return Some(Owner { model: "table", name: table.name().to_owned() });
    }
    let (name, _) = stream.name().rsplit_once('/')?;
    let found = store.stream(name)?;
    let model = match GraphPart::of(stream) {
        Some(_) if GraphPart::of(&found) == Some(GraphPart::Blocks) => "graph",
        None if is_topic_part(stream) && is_topic(&found) => "topic",
        _ => return None,
    };
    Some(Owner { model, name: name.to_owned() })
}
