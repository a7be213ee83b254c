//! `schema`: what a store holds.

use std::collections::BTreeMap;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use timestrata::graph::{Graph, GraphPart};
use timestrata::logs::is_logs;
use timestrata::merkle::{Checkpoint, Note};
use timestrata::sql::{Params, quoted};
use timestrata::topic::{Topic, is_topic};
use timestrata::{Extent, Snapshot, Stream, owner_of};
use timestrata_codeindex::tree_of;

use super::arguments;
use super::sql::{SqlAnswer, rows_of};
use crate::asked::Asked;
use crate::failure::{Failure, Result};
use crate::room::{Cut, Room};
use crate::tool::Tool;

/// Streams of an answer where nobody says how many.
const STREAMS_DEFAULT: usize = 100;
/// Rows that show what a stream is like.
const SAMPLE_ROWS: usize = 3;
/// Of the bytes of an answer, a column has this part; there are so many of a table at most.
const COLUMN_PART: usize = 200;
/// Partitions of a topic that are listed.
const PARTITIONS_MAX: u32 = 50;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SchemaArguments {
    /// Only this stream, in depth, with some of its rows. Default: all of the store.
    name: Option<String>,
    /// Streams wanted at most; default 100.
    limit: Option<u32>,
    /// Only streams whose names come behind this one: the last of an answer that was cut.
    after: Option<String>,
    /// The store as it was: a commit's number, 'pin=NAME' or a time. Default: now.
    at: Option<String>,
}

arguments!(SchemaArguments);

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct SchemaAnswer {
    /// The number of the last commit; with it as 'at', other tools read exactly this state, if it is kept.
    commit: u64,
    /// Each with name, model, rows (of a topic its records, of a graph its blocks, besides edges), first and last
    /// time, and its tables in SQL with name and type of each column.
    streams: Vec<Value>,
    /// What was left out, and how to get it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    cut: Vec<Cut>,
}

pub(super) struct Schema;

impl Tool for Schema {
    const NAME: &'static str = "schema";
    const TITLE: &'static str = "What the store holds";
    const DESCRIPTION: &'static str = "\
List what the store holds: streams of all models with their SQL tables and columns, counts and ranges of time. Call \
it first. With 'name': one stream in depth, with its newest rows, and of a topic its partitions with their offsets. \
Examples: {} and {\"name\": \"app\"}";
    type Arguments = SchemaArguments;
    type Answer = SchemaAnswer;

    fn answer(arguments: SchemaArguments, asked: &Asked) -> Result<SchemaAnswer> {
        let snapshot = asked.snapshot()?;
        let streams = asked.store().streams();
        let (parts, mut known): (Vec<_>, Vec<_>) = streams
            .into_iter()
            .map(|stream| (owner_of(asked.store(), &stream), stream))
            .partition(|(owner, _)| owner.is_some());
        known.sort_by(|(_, a), (_, b)| a.name().cmp(b.name()));
        let names: Vec<String> = known.iter().map(|(_, stream)| stream.name().to_owned()).collect();
        if let Some(name) = &arguments.name {
            known.retain(|(_, stream)| stream.name() == name);
            if known.is_empty() {
                return Err(Failure::new(
                    format!("there is no stream '{name}'"),
                    like(name, &names),
                ));
            }
        }
        if let Some(after) = &arguments.after {
            known.retain(|(_, stream)| stream.name() > after.as_str());
        }
        let mut room = asked.room(arguments.limit, STREAMS_DEFAULT);
        let mut shown = Vec::new();
        for (_, stream) in &known {
            asked.check()?;
            let its = parts.iter().filter(|(owner, _)| owner.as_deref() == Some(stream.name()));
            let its: Vec<Arc<Stream>> = its.map(|(_, part)| Arc::clone(part)).collect();
            let mut one = told(&snapshot, stream, &its, arguments.name.is_some(), asked)?;
            if !room.takes(&mut one) {
                break;
            }
            shown.push(one);
        }
        let cut = room.cuts(
            "streams",
            "call again with 'after': the last name of these; or give a 'name'",
            "ask 'sql'",
        );
        Ok(SchemaAnswer { commit: snapshot.seq().0, streams: shown, cut })
    }
}

/// Names that look like one that isn't there, or what else to do.
fn like(name: &str, names: &[String]) -> String {
    let wanted = name.to_lowercase();
    let is_like = |known: &&String| {
        let known = known.to_lowercase();
        known.contains(&wanted) || wanted.contains(&known)
    };
    let found: Vec<&str> = names.iter().filter(is_like).take(8).map(String::as_str).collect();
    match found.is_empty() {
        true => "leave 'name' out: all that there are are listed then".to_owned(),
        false => format!("there is {}", found.join(", ")),
    }
}

/// What a stream tells of itself; of one that can't be read, why, so that the others are told nevertheless.
fn told(
    snapshot: &Snapshot,
    stream: &Stream,
    parts: &[Arc<Stream>],
    is_deep: bool,
    asked: &Asked,
) -> Result<Value> {
    let read = outline(snapshot, stream, parts, asked).and_then(|mut one| {
        if is_deep {
            deepen(&mut one, stream, asked)?;
        }
        Ok(one)
    });
    read.or_else(|failure| {
        asked.check()?;
        Ok(json!({ "name": stream.name(), "model": stream.property("model"), "error": failure.text() }))
    })
}

/// What all streams tell of themselves.
fn outline(
    snapshot: &Snapshot,
    stream: &Stream,
    parts: &[Arc<Stream>],
    asked: &Asked,
) -> Result<Value> {
    let extent = Extent::of(asked.store(), snapshot, stream)?;
    let mut one = json!({
        "name": stream.name(),
        "model": stream.property("model").unwrap_or("stream"),
        "rows": extent.rows,
    });
    let mut set = |name: &str, value: Value| {
        if let Some(members) = one.as_object_mut() {
            members.insert(name.to_owned(), value);
        }
    };
    for (name, value) in [("first", extent.first), ("last", extent.last)] {
        if let Some(value) = value {
            set(name, value.into());
        }
    }
    if let Some(edges) = extent.edges {
        set("edges", edges.into());
    }
    let edges = parts.iter().filter(|part| GraphPart::of(part) == Some(GraphPart::EdgesOut));
    let tables = std::iter::once(stream.name()).chain(edges.map(|part| part.name()));
    let tables = tables.map(|table| table_json(table, asked)).collect::<Result<Vec<_>>>()?;
    set("tables", tables.into());
    Ok(one)
}

/// A table as a query names it, with its columns.
fn table_json(table: &str, asked: &Asked) -> Result<Value> {
    let query = format!("SELECT * FROM {} LIMIT 0", quoted(table));
    let schema = asked.sql().query_blocking(&query, Params::none())?.schema();
    let most = asked.bounds.bytes_max / COLUMN_PART;
    let columns = schema.fields().iter().take(most);
    let columns: Vec<Value> =
        columns.map(|field| json!([field.name(), field.data_type().to_string()])).collect();
    let mut one = json!({ "table": quoted(table), "columns": columns });
    if let (Some(more), Some(members)) =
        (schema.fields().len().checked_sub(most).filter(|more| *more > 0), one.as_object_mut())
    {
        members.insert("more_columns".to_owned(), more.into());
    }
    Ok(one)
}

/// What one stream tells of itself where it alone is asked for.
fn deepen(one: &mut Value, stream: &Stream, asked: &Asked) -> Result<()> {
    let Some(members) = one.as_object_mut() else { return Ok(()) };
    let mut set = |name: &str, value: Value| members.insert(name.to_owned(), value);
    let properties: BTreeMap<&str, &str> = stream
        .spec()
        .properties
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    set("properties", json!(properties));
    if is_topic(stream) {
        // Of the first ones; how many there are stands among the properties.
        set("partitions", partitions(stream.name(), asked)?);
    }
    let is_graph = GraphPart::of(stream) == Some(GraphPart::Blocks);
    if is_graph {
        let view = Graph::open(asked.store(), stream.name())?.view_at(asked.snapshot()?);
        if let Some(tree) = tree_of(&view)? {
            set("sources", tree.into());
        }
    }
    // The newest rows; those of a graph are in no order that says anything.
    let lead = stream.schema().field(stream.lead_column()).name().clone();
    let order = match is_logs(stream) || !(is_graph || is_topic(stream)) {
        true => format!(" ORDER BY {} DESC", quoted(&lead)),
        false => String::new(),
    };
    let query = format!("SELECT * FROM {}{order}", quoted(stream.name()));
    // Columns and properties have the rest of the answer.
    let room = Room::new(SAMPLE_ROWS, asked.bounds.bytes_max / 2);
    let SqlAnswer { columns, rows, .. } = rows_of(&query, room, asked)?;
    let names: Vec<String> = columns.into_iter().map(|(name, _)| name).collect();
    set("sample", json!({ "columns": names, "rows": rows }));
    Ok(())
}

/// Offsets of a topic's partitions, and how many records the last checkpoint of each has.
fn partitions(name: &str, asked: &Asked) -> Result<Value> {
    let topic = Topic::open(asked.store(), name)?;
    let mut all = Vec::new();
    for partition in 0..topic.partitions().min(PARTITIONS_MAX) {
        asked.check()?;
        let offsets = topic.offsets(partition)?;
        let note = topic.last_checkpoint(partition)?;
        let signed =
            note.and_then(|note| Note::parse(&note).ok()?.text().parse::<Checkpoint>().ok());
        all.push(json!({
            "partition": partition,
            "start": offsets.start,
            "end": offsets.end,
            "checkpoint": signed.map(|checkpoint| checkpoint.size),
        }));
    }
    Ok(all.into())
}
