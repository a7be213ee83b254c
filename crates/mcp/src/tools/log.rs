//! `search`, `context`, `histogram` and `facets`: entries of logs.

mod figures;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use timestrata::arrow_schema::{DataType, TimeUnit};
use timestrata::duration_of_text;
use timestrata::logs::{Clock, Entries, Logs, LogsView, Position, Query};
use timestrata::table::parse_time;

use super::arguments;
use crate::asked::Asked;
use crate::entries::entry_json;
use crate::failure::{Failure, Result};
use crate::room::{Cut, Room};
use crate::tool::Tool;

pub(super) use figures::{Facets, Histogram};

/// Entries of an answer where nobody says how many.
const ENTRIES_DEFAULT: usize = 50;
/// Entries on each side of one where nobody says how many.
const AROUND_DEFAULT: u32 = 5;
/// How to get a text whole that was shortened.
const WHOLE: &str = "in SQL, SELECT substr(message, 2000, 8000) of the entry with this timestamp";

/// Which clock times and the order go by.
#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum By {
    /// When entries arrived in the store.
    #[default]
    Timestamp,
    /// When they happened, as their senders say.
    SourceTime,
}

impl From<By> for Clock {
    fn from(by: By) -> Self {
        match by {
            By::Timestamp => Self::Timestamp,
            By::SourceTime => Self::SourceTime,
        }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum Order {
    Asc,
    #[default]
    Desc,
}

/// Which entries of a log are wanted.
#[derive(Debug, Default)]
struct Wanted<'a> {
    filter: Option<&'a str>,
    from: Option<&'a str>,
    to: Option<&'a str>,
    since: Option<&'a str>,
    by: Option<By>,
}

/// What the arguments of a tool say of it.
macro_rules! wanted {
    ($arguments:ident) => {
        Wanted {
            filter: $arguments.filter.as_deref(),
            from: $arguments.from.as_deref(),
            to: $arguments.to.as_deref(),
            since: $arguments.since.as_deref(),
            by: $arguments.by,
        }
    };
}
use wanted;

impl Wanted<'_> {
    fn query(&self, asked: &Asked) -> Result<Query> {
        let filter = self.filter.unwrap_or_default().parse();
        let filter = filter.map_err(|error: timestrata::Error| {
            Failure::new(
                format!("filter: {}", error.message()),
                "for instance: level>=warn \"disk full\" host:web-* status>=500 not debug",
            )
        })?;
        let (from, to) = (time("from", self.from)?, time("to", self.to)?);
        let since = self.since.map(|text| since(text, asked)).transpose()?;
        if since.is_some() && from.is_some() {
            return Err(Failure::new("since and from both say where to begin", "give one of them"));
        }
        Ok(Query {
            filter,
            by: self.by.map(Clock::from),
            from: from.or(since),
            to,
            ..Query::default()
        })
    }
}

fn since(text: &str, asked: &Asked) -> Result<i64> {
    let span = duration_of_text(text).and_then(|span| i64::try_from(span.as_nanos()).ok());
    let span = span
        .ok_or_else(|| refused("since", text, "no span of time", "write 90s, 15m, 12h or 30d"))?;
    Ok(asked.store().wall_ns().saturating_sub(span))
}

fn time(name: &str, text: Option<&str>) -> Result<Option<i64>> {
    let read = |text: &str| {
        parse_time(text, &DataType::Timestamp(TimeUnit::Nanosecond, None)).map_err(|error| {
            refused(name, text, error.message(), "write 2026-05-01T10:00:00Z or 2026-05-01")
        })
    };
    text.map(read).transpose()
}

/// A failure for an argument that isn't what it must be.
fn refused(name: &str, text: &str, why: &str, hint: &str) -> Failure {
    let shown: String = text.chars().take(60).collect();
    Failure::new(format!("{name}={shown:?}: {why}"), hint)
}

/// A log as it is, read for a call.
fn view(name: &str, asked: &Asked) -> Result<LogsView> {
    let logs = Logs::open(asked.store(), name);
    let logs =
        logs.map_err(|error| Failure::of_name(error, "logs", &Logs::names(asked.store())))?;
    Ok(logs.snapshot()?.for_query(&asked.query))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SearchArguments {
    /// The log.
    name: String,
    /// What entries must have; default: all entries.
    filter: Option<String>,
    /// First time wanted.
    from: Option<String>,
    /// First time not wanted any more.
    to: Option<String>,
    /// Only what is not older than this, instead of 'from': 90s, 15m, 12h, 30d.
    since: Option<String>,
    /// Which clock times and the order go by; default: the log's own.
    by: Option<By>,
    /// desc (default): newest first.
    order: Option<Order>,
    /// Entries wanted at most; default 50.
    limit: Option<u32>,
    /// Go on behind an entry: the 'next' of an answer that was cut.
    after: Option<String>,
    /// How long it may take, such as '10s'.
    timeout: Option<String>,
    /// The store as it was: a commit's number, 'pin=NAME' or a time. Default: now.
    at: Option<String>,
}

arguments!(SearchArguments, timeout);

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct EntriesAnswer {
    /// Each with timestamp, message and, where it has them, source_time, level, labels, fields.
    entries: Vec<Value>,
    /// For 'after', if there are more.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
    /// What was left out, and how to get it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    cut: Vec<Cut>,
}

pub(super) struct Search;

impl Tool for Search {
    const NAME: &'static str = "search";
    const TITLE: &'static str = "Search a log";
    const DESCRIPTION: &'static str = "\
Find entries of a log, newest first. A filter: words that must all be there (message, fields or labels, in any case); \
\"a phrase\"; dis* (a beginning); /time ?out/i (a regular expression); level>=warn; field:word or field:5*; \
bytes>1000; user=ada; field:* (is there); not, and, or, (). 'histogram' and 'facets' count instead: ask them first \
where there may be many. Example: {\"name\": \"app\", \"filter\": \"level>=error disk not host:web-1\", \"since\": \"2h\", \
\"limit\": 20}";
    type Arguments = SearchArguments;
    type Answer = EntriesAnswer;

    fn answer(arguments: SearchArguments, asked: &Asked) -> Result<EntriesAnswer> {
        let SearchArguments { name, order, limit, after, .. } = &arguments;
        let mut query = wanted!(arguments).query(asked)?;
        query.newest_first = order.unwrap_or_default() == Order::Desc;
        query.after = after.as_deref().map(position).transpose()?;
        let mut room = asked.room(*limit, ENTRIES_DEFAULT);
        // One too many is asked for, to know whether there are more.
        query.limit = Some(room.items_max().saturating_add(1));
        let (mut entries, mut next) = (Vec::new(), None);
        let hits = view(name, asked)?.search(&query)?;
        let by = hits.clock();
        for batch in hits {
            if !take(&batch?, by, &mut room, &mut entries) {
                break;
            }
        }
        let cut = room.cuts(
            "entries",
            "call again with 'after' as 'next' says, or narrow the filter or the range",
            WHOLE,
        );
        if room.is_full() {
            next =
                entries.last().and_then(|entry| Some(entry.get("position")?.as_str()?.to_owned()));
        }
        without_positions(&mut entries);
        Ok(EntriesAnswer { entries, next, cut })
    }
}

/// Puts the entries of a batch in; `false` once one has no room.
fn take(batch: &Entries, by: Clock, room: &mut Room, entries: &mut Vec<Value>) -> bool {
    for entry in batch.iter() {
        let mut shown = entry_json(&entry, by);
        if !room.takes(&mut shown) {
            return false;
        }
        entries.push(shown);
    }
    true
}

/// Only the last one's is of use, and that is told apart.
fn without_positions(entries: &mut [Value]) {
    for members in entries.iter_mut().filter_map(Value::as_object_mut) {
        members.remove("position");
    }
}

fn position(text: &str) -> Result<Position> {
    text.parse().map_err(|error: timestrata::Error| {
        Failure::from(error).hinting("give what the 'next' of an earlier answer says")
    })
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ContextArguments {
    /// The log.
    name: String,
    /// The entry's timestamp with all its digits, as 'search' gives it.
    timestamp: String,
    /// Entries before it; default 5.
    before: Option<u32>,
    /// Entries behind it; default 5.
    after: Option<u32>,
    /// The store as it was: a commit's number, 'pin=NAME' or a time. Default: now.
    at: Option<String>,
}

arguments!(ContextArguments);

pub(super) struct Context;

impl Tool for Context {
    const NAME: &'static str = "context";
    const TITLE: &'static str = "Entries around one";
    const DESCRIPTION: &'static str = "\
Show an entry of a log with those that arrived right before and behind it, whatever they hold, oldest first. \
Example: {\"name\": \"app\", \"timestamp\": \"2026-05-01T10:00:00.123456789Z\", \"before\": 20, \"after\": 5}";
    type Arguments = ContextArguments;
    type Answer = EntriesAnswer;

    fn answer(arguments: ContextArguments, asked: &Asked) -> Result<EntriesAnswer> {
        let ContextArguments { name, timestamp, before, after, .. } = &arguments;
        let hint = "give the timestamp of an entry with all nine digits behind the second, as 'search' does";
        let wanted = match timestamp.parse() {
            Ok(nanoseconds) => nanoseconds,
            Err(_) => time("timestamp", Some(timestamp))?.unwrap_or_default(),
        };
        let most = u32::try_from(asked.bounds.items_max).unwrap_or(u32::MAX);
        let around = |asked: &Option<u32>| asked.unwrap_or(AROUND_DEFAULT).min(most) as usize;
        let found = view(name, asked)?.context(wanted, around(before), around(after))?;
        if found.is_empty() {
            return Err(Failure::new(format!("log '{name}' has no entry of {timestamp}"), hint));
        }
        let mut room = asked.room(None, usize::MAX);
        let mut entries = Vec::new();
        for batch in &found {
            if !take(batch, Clock::Timestamp, &mut room, &mut entries) {
                break;
            }
        }
        without_positions(&mut entries);
        let cut =
            room.cuts("entries", "ask for fewer before it, or for those around a later one", WHOLE);
        Ok(EntriesAnswer { entries, next: None, cut })
    }
}
