//! What the rows of a stream are to the model that it belongs to: for those who follow changes.

use timestrata_engine::Stream;
use timestrata_graph::GraphPart;
use timestrata_logs::is_logs;
use timestrata_table::{is_hidden, is_table, is_view, materialized_from};
use timestrata_timelog::is_timelog;
use timestrata_topic::{is_topic, is_topic_part};

/// What the rows of a stream are.
///
/// ```
/// # use timestrata::{Settings, Store, role_of};
/// # use timestrata::timelog::{Timelog, TimelogOptions};
/// # fn main() -> timestrata::Result<()> {
/// let store = Store::memory(Settings::default())?;
/// let door = Timelog::create(&store, "door", TimelogOptions::default())?;
/// door.append(1, b"opened")?;
/// let roles: Vec<_> = store.streams().iter().filter_map(|stream| role_of(stream)).collect();
/// assert_eq!((roles[0].model, roles[0].name.as_str(), roles[0].part), ("timelog", "door", "entries"));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamRole {
    /// The model: `table`, `logs`, `topic`, `graph` or `timelog`; `view` of a view of SQL; `stream` of what belongs to none.
    pub model: &'static str,
    /// The name of the table, the log and so on.
    pub name: String,
    /// What the rows are: `rows` of a table, `entries` of a log or a time log, `records` of a topic or what it remembers beside
    /// these (`state`), `blocks`, `edges` or earlier `versions` of blocks of a graph.
    pub part: &'static str,
    /// Of a topic's records.
    pub partition: Option<u32>,
}

/// What the rows of a stream are. `None` where they only repeat what other rows say: an index of a table, a topic's
/// hash tree, a graph's edges by target, a materialised view.
#[must_use]
pub fn role_of(stream: &Stream) -> Option<StreamRole> {
    let role = |model, name: &str, part| StreamRole {
        model,
        name: name.to_owned(),
        part,
        partition: None,
    };
    let name = stream.name();
    // What belongs to something is called by that, a slash and its own name.
    let (owner, own) = name.rsplit_once('/').unwrap_or((name, ""));
    if is_hidden(stream) || materialized_from(stream).is_some() {
        return None;
    }
    if is_topic_part(stream) {
        let partition = own.parse().ok()?;
        return Some(StreamRole { partition: Some(partition), ..role("topic", owner, "records") });
    }
    match GraphPart::of(stream) {
        Some(GraphPart::Blocks) => return Some(role("graph", name, "blocks")),
        Some(GraphPart::EdgesOut) => return Some(role("graph", owner, "edges")),
        Some(GraphPart::Versions) => return Some(role("graph", owner, "versions")),
        Some(GraphPart::EdgesIn) => return None,
        None => {}
    }
    Some(match stream {
        stream if is_table(stream) => role("table", name, "rows"),
        stream if is_view(stream) => role("view", name, "rows"),
        stream if is_logs(stream) => role("logs", name, "entries"),
        stream if is_timelog(stream) => role("timelog", name, "entries"),
        stream if is_topic(stream) => role("topic", name, "state"),
        _ => role("stream", name, "rows"),
    })
}
