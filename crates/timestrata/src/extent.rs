//! How much there is of what people know by one name: of a stream, or of a topic or a graph, whose own stream
//! holds none of its records or only its blocks.

use arrow_array::cast::AsArray;
use arrow_array::types::TimestampNanosecondType;
use arrow_cast::display::array_value_to_string;
use arrow_schema::TimeUnit;
use timestrata_engine::{KeyRange, LeadKey, Result, Row, Snapshot, Store, Stream};
use timestrata_graph::GraphPart;
use timestrata_logs::is_logs;
use timestrata_table::time_array;
use timestrata_timelog::Unit;
use timestrata_topic::{is_topic, record_streams};
use timestrata_values::time;

/// Where the time of a record is.
const RECORD_TIME: &str = "timestamp";

/// Rows, and from when to when.
///
/// ```
/// use timestrata::timelog::{Timelog, TimelogOptions};
/// use timestrata::{Extent, Settings, Store};
///
/// # fn main() -> timestrata::Result<()> {
/// let store = Store::memory(Settings::default())?;
/// let door = Timelog::create(&store, "door", TimelogOptions::default())?;
/// door.append(1_700_000_000_000, b"opened")?;
/// let stream = store.expect_stream("door")?;
/// let extent = Extent::of(&store, &store.snapshot()?, &stream)?;
/// assert_eq!((extent.rows, extent.first.as_deref()), (1, Some("2023-11-14T22:13:20.000Z")));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Extent {
    /// Rows of a stream, records of a topic, blocks of a graph.
    pub rows: u64,
    /// Of a graph.
    pub edges: Option<u64>,
    /// The smallest leading key, as text; the time of a topic's first record; nothing of a graph.
    pub first: Option<String>,
    /// The same at the other end.
    pub last: Option<String>,
}

impl Extent {
    /// What a snapshot has of a stream that nobody owns, or of the model whose own stream it is.
    ///
    /// # Errors
    /// What reading may fail with.
    pub fn of(store: &Store, snapshot: &Snapshot, stream: &Stream) -> Result<Self> {
        if is_topic(stream) {
            return Self::of_topic(store, snapshot, stream);
        }
        if GraphPart::of(stream) == Some(GraphPart::Blocks) {
            return Self::of_graph(store, snapshot, stream);
        }
        let shown = |key| key_shown(stream, key);
        Ok(Self {
            rows: snapshot.count(stream.id(), &KeyRange::ALL)?,
            edges: None,
            first: snapshot.min_key(stream.id(), &KeyRange::ALL)?.map(shown),
            last: snapshot.max_key(stream.id(), &KeyRange::ALL)?.map(shown),
        })
    }

    /// Records of all partitions, and the times of those that are first and last in theirs.
    fn of_topic(store: &Store, snapshot: &Snapshot, topic: &Stream) -> Result<Self> {
        let (mut rows, mut first, mut last) = (0, None::<i64>, None::<i64>);
        for name in record_streams(topic) {
            let Some(records) = store.stream(&name) else { continue };
            rows += snapshot.count(records.id(), &KeyRange::ALL)?;
            let earliest = snapshot.first(records.id(), &KeyRange::ALL)?.as_ref().and_then(time_of);
            let latest = snapshot.last(records.id(), &KeyRange::ALL)?.as_ref().and_then(time_of);
            first = first.into_iter().chain(earliest).min();
            last = last.into_iter().chain(latest).max();
        }
        let shown = |ns| time_shown(ns, TimeUnit::Nanosecond);
        Ok(Self { rows, edges: None, first: first.map(shown), last: last.map(shown) })
    }

    /// Blocks, and the edges between them. Neither has a time.
    fn of_graph(store: &Store, snapshot: &Snapshot, graph: &Stream) -> Result<Self> {
        let edges = store.stream(&GraphPart::EdgesOut.stream_name(graph.name()));
        let edges = edges.map(|edges| snapshot.count(edges.id(), &KeyRange::ALL));
        let rows = snapshot.count(graph.id(), &KeyRange::ALL)?;
        Ok(Self { rows, edges: Some(edges.transpose()?.unwrap_or(0)), ..Self::default() })
    }
}

fn time_of(record: &Row) -> Option<i64> {
    let times = record.batch.column_by_name(RECORD_TIME)?;
    let times = times.as_primitive_opt::<TimestampNanosecondType>()?;
    times.values().get(record.index).copied()
}

/// A leading key as text: a time in its column's zone, or in UTC.
fn key_shown(stream: &Stream, key: LeadKey) -> String {
    let LeadKey::Time(time) = key else { return key.to_string() };
    let unit = match stream.property("unit") {
        Some(unit) => unit.parse::<Unit>().ok().map(Unit::to_arrow),
        None => is_logs(stream).then_some(TimeUnit::Nanosecond),
    };
    if let Some(unit) = unit {
        return time_shown(time, unit);
    }
    let data_type = stream.schema().field(stream.lead_column()).data_type().clone();
    let shown = time_array(&data_type, vec![time]).ok();
    // The calendar ends before the numbers do.
    shown.and_then(|time| array_value_to_string(&time, 0).ok()).unwrap_or_else(|| time.to_string())
}

fn time_shown(at: i64, unit: TimeUnit) -> String {
    time::format(at, unit).unwrap_or_else(|| at.to_string())
}
