//! Logs of a server. Their entries come in the columns that the store has.

use serde_json::{Map, Value};
use timestrata::ErrorKind;
use timestrata::logs::filter::Filter;
use timestrata::logs::{Bucket, Clock, Entries, Facet, FacetsOptions, Level, Query};
use timestrata::timelog::Unit;
use timestrata_client::{ReceivedEntries, Request};

use super::super::{LogsChange, LogsFace, TailFace};
use super::{ServedStore, list, number, text, unlike};
use crate::failure::{Failure, Result};
use crate::output::FoundEntries;
use crate::times::{self, Integers};

#[derive(Clone)]
pub(super) struct ServedLogs {
    store: ServedStore,
    name: String,
}

impl ServedLogs {
    pub(super) fn new(store: ServedStore, name: &str) -> Self {
        Self { store, name: name.to_owned() }
    }

    fn get(&self, what: &str) -> Request<'_> {
        self.store.get(&["logs", &self.name, what])
    }

    /// The same for what a query picks.
    fn asking(&self, what: &str, query: &Query) -> Request<'_> {
        let time = |time: Option<i64>| time.map(|time| times::format(time, Unit::Nano));
        with_filter(self.get(what), &query.filter)
            .with_some("by", query.by.map(|by| by.to_string()))
            .with_some("from", time(query.from))
            .with_some("to", time(query.to))
    }
}

fn with_filter<'a>(request: Request<'a>, filter: &Filter) -> Request<'a> {
    let filter = filter.to_string();
    request.with_some("filter", (!filter.is_empty()).then_some(filter))
}

impl LogsFace for ServedLogs {
    fn search(&self, query: &Query) -> Result<FoundEntries> {
        let limit = query.limit.map_or("none".to_owned(), |limit| limit.to_string());
        let request = self
            .asking("search", query)
            .with("order", if query.newest_first { "desc" } else { "asc" })
            .with("limit", limit)
            .with_some("after", query.after.map(|after| after.to_string()));
        let found = ReceivedEntries::of(request)?;
        Ok(FoundEntries { shown: found.shown(), clock: found.clock(), batches: Box::new(found) })
    }

    fn count(&self, query: &Query) -> Result<u64> {
        number(&self.asking("count", query).json()?, "count")
    }

    fn histogram(&self, query: &Query, step: Option<i64>) -> Result<(i64, Vec<Bucket>)> {
        let request = self.asking("histogram", query);
        let found = request.with_some("step", step.map(|step| format!("{step}ns"))).json()?;
        let step = found.get("step_ns").and_then(Value::as_i64).ok_or_else(|| unlike("step_ns"))?;
        let buckets = list(&found["buckets"], "buckets")?.iter().map(bucket_of);
        Ok((step, buckets.collect::<Result<_>>()?))
    }

    fn facets(&self, query: &Query, options: &FacetsOptions) -> Result<Vec<Facet>> {
        let fields = (!options.fields.is_empty()).then(|| options.fields.join(","));
        let request = self.asking("facets", query).with_some("fields", fields);
        let found = request.with("values", options.values_max.to_string()).json()?;
        list(&found, "facets")?.iter().map(facet_of).collect()
    }

    fn context(&self, timestamp: i64, before: usize, after: usize) -> Result<Vec<Entries>> {
        let request = self
            .get("context")
            .with("timestamp", timestamp.to_string())
            .with("before", before.to_string())
            .with("after", after.to_string());
        match ReceivedEntries::of(request) {
            Ok(found) => Ok(found.collect::<timestrata::Result<_>>()?),
            // Of a log that is there, it is the entry that isn't.
            Err(error) if error.kind() == ErrorKind::NotFound => {
                self.count(&Query { limit: Some(0), to: Some(0), ..Query::default() })?;
                Ok(Vec::new())
            }
            Err(error) => Err(error.into()),
        }
    }

    fn last_timestamp(&self) -> Result<Option<i64>> {
        let by = Some(Clock::Timestamp);
        let query = Query { by, newest_first: true, limit: Some(1), ..Query::default() };
        let mut last = None;
        for entries in self.search(&query)?.batches {
            last = entries?.get(0).map(|entry| entry.timestamp()).or(last);
        }
        Ok(last)
    }

    fn clock(&self) -> Result<Clock> {
        Ok(self.search(&Query { limit: Some(0), ..Query::default() })?.clock)
    }

    fn tail(&self, filter: Filter, after: i64) -> Result<Box<dyn TailFace>> {
        Ok(Box::new(ServedTail { logs: self.clone(), filter, after }))
    }

    fn change(&self, change: &LogsChange) -> Result<()> {
        let LogsChange { clock, keep_all, age_ns, bytes } = *change;
        let mut members = Map::new();
        let mut set = |name: &str, value: Value| members.insert(name.to_owned(), value);
        if let Some(clock) = clock {
            set("clock", clock.to_string().into());
        }
        if keep_all || age_ns.is_some() {
            set("retention_age", age_ns.map(|age| format!("{age}ns")).into());
        }
        if keep_all || bytes.is_some() {
            set("retention_bytes", bytes.into());
        }
        let request = self.store.server.request("PATCH", &["logs", &self.name]);
        request.send_json(&members.into())?;
        Ok(())
    }

    fn delete(&self, query: &Query) -> Result<u64> {
        // Without bounds a server would not know that all is meant.
        let from = query.from.or_else(|| query.to.is_none().then_some(0));
        let time = |time: Option<i64>| time.map(|time| times::format(time, Unit::Nano));
        let request = self.store.server.request("DELETE", &["logs", &self.name, "entries"]);
        let request = request.with_some("from", time(from)).with_some("to", time(query.to));
        number(&request.json()?, "entries")
    }
}

/// A stretch of time of an answer.
fn bucket_of(bucket: &Value) -> Result<Bucket> {
    let start = text(bucket, "start")?;
    let start =
        times::parse(start, Integers::Of(Unit::Nano), Unit::Nano).map_err(Failure::plain)?;
    let of_level = |level: Level| bucket["levels"][level.name()].as_u64().unwrap_or(0);
    Ok(Bucket { start, count: number(bucket, "count")?, levels: Level::ALL.map(of_level) })
}

/// The values of a field of an answer.
fn facet_of(facet: &Value) -> Result<Facet> {
    let values = list(&facet["values"], "values")?.iter();
    let values = values.map(|of| Ok((text(of, "value")?.to_owned(), number(of, "count")?)));
    Ok(Facet {
        field: text(facet, "field")?.to_owned(),
        count: number(facet, "count")?,
        values: values.collect::<Result<_>>()?,
        others: number(facet, "others")?,
    })
}

/// Entries as they arrive at a server: asked for again and again, behind those that came. So one that starts anew
/// leaves none out.
struct ServedTail {
    logs: ServedLogs,
    filter: Filter,
    after: i64,
}

impl TailFace for ServedTail {
    fn next(&mut self) -> Result<Option<Entries>> {
        let request = with_filter(self.logs.get("tail"), &self.filter);
        let found = ReceivedEntries::of(request.with("after", self.after.to_string()));
        let mut found = match found {
            Err(error) if error.kind() == ErrorKind::Cancelled => return Ok(None),
            found => found?,
        };
        let next = found.next_position();
        let entries = found.next().transpose()?;
        self.after = next.ok_or_else(|| unlike("Timestrata-Next"))?;
        Ok(entries)
    }
}
