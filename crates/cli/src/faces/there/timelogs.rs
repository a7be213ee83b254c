//! Time logs of a server, page by page: an answer has an end, and a time log may have none.

use std::collections::VecDeque;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ciborium::Value as Cbor;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use timestrata::timelog::{Codec, EntryBatch, TailCursor, Timelog, TimelogOptions, Unit};
use timestrata::{Durability, Settings, Store};

use super::super::{EntriesWanted, TailFrom, TimelogFace, TimelogRetention, TimelogTailFace};
use super::{ServedStore, number, text};
use crate::failure::{Failure, Result};
use crate::output::cell::AsJson;
use crate::output::{Row, TimelogRows};
use crate::ranges::TimeRange;

/// Entries that are asked for at once.
const PAGE_ENTRIES: usize = 10_000;

#[derive(Clone)]
pub(super) struct ServedTimelog {
    store: ServedStore,
    name: String,
    codec: Codec,
    unit: Unit,
}

impl ServedTimelog {
    pub(super) fn open(store: ServedStore, name: &str) -> Result<Self> {
        let said = store.get(&["timelogs", name]).json()?;
        let codec: Codec = text(&said, "codec")?.parse()?;
        let unit: Unit = text(&said, "unit")?.parse()?;
        if codec == Codec::Arrow {
            return Err(Failure::failed(
                format!("time log '{name}' is typed, and a server gives such rows in SQL"),
                format!("ask for them so: timestrata sql URL 'SELECT * FROM \"{name}\"'"),
            ));
        }
        Ok(Self { store, name: name.to_owned(), codec, unit })
    }
}

impl TimelogFace for ServedTimelog {
    fn unit(&self) -> Unit {
        self.unit
    }

    fn codec(&self) -> Codec {
        self.codec
    }

    fn append(&self, batch: EntryBatch) -> Result<()> {
        // A log in memory decodes the entries, and has them in the order of their times.
        let store = Store::memory(Settings::default())?;
        let options =
            TimelogOptions { codec: self.codec, unit: self.unit, ..TimelogOptions::default() };
        let log = Timelog::create(&store, &self.name, options)?;
        log.extend_batch(batch, Durability::Buffered)?;
        let mut body = String::new();
        for entry in log.range(..)? {
            let entry = entry?;
            let value = match self.codec {
                Codec::Cbor => {
                    let value: Cbor = entry.value.decode()?;
                    serde_json::to_string(&AsJson(&value))
                }
                _ => serde_json::to_string(&bytes_as_json(&entry.value)),
            };
            let value = value.map_err(|error| {
                Failure::plain(format!("the value at {} has no JSON: {error}", entry.time))
            })?;
            body.push_str(&format!("{{\"time\":{},\"value\":{value}}}\n", entry.time));
        }
        let request = self.store.server.request("POST", &["timelogs", &self.name, "entries"]);
        request.send("application/x-ndjson", &mut body.as_bytes())?;
        Ok(())
    }

    fn rows(&self, wanted: EntriesWanted) -> Result<Box<dyn TimelogRows>> {
        Ok(Box::new(ServedRows { log: self.clone(), wanted }))
    }

    fn tail(&self, from: &TailFrom) -> Result<Box<dyn TimelogTailFace>> {
        let mut tail = ServedTail { log: self.clone(), from: from.clone(), found: Vec::new() };
        // Says where it begins, and gives what is there by then.
        tail.found = tail.ask(Some("0s"))?;
        Ok(Box::new(tail))
    }

    fn set_retention(&self, change: &TimelogRetention) -> Result<()> {
        let members = retention_members(change);
        let request = self.store.server.request("PUT", &["timelogs", &self.name]);
        request.send_json(&members.into())?;
        Ok(())
    }

    fn delete(&self, range: TimeRange) -> Result<u64> {
        // Without bounds a server would not know that all is meant.
        let from = range.from.or_else(|| range.to.is_none().then_some(i64::MIN));
        let request = self.store.server.request("DELETE", &["timelogs", &self.name, "entries"]);
        number(&with_range(request, TimeRange { from, ..range }).json()?, "entries")
    }
}

/// What a body says of retention: what is null has no bound, what is missing stays.
pub(super) fn retention_members(change: &TimelogRetention) -> Map<String, Value> {
    let mut members = Map::new();
    if change.keep_all || change.age_ns.is_some() {
        let age = change.age_ns.map(|age| format!("{age}ns"));
        members.insert("retention_age".to_owned(), age.into());
    }
    if change.keep_all || change.bytes.is_some() {
        members.insert("retention_bytes".to_owned(), change.bytes.into());
    }
    members
}

/// Entries as they come to a server: asked for again and again, behind those that came. So one that starts anew leaves
/// none out.
struct ServedTail {
    log: ServedTimelog,
    from: TailFrom,
    found: Vec<(Row, TailCursor)>,
}

impl ServedTail {
    fn ask(&mut self, wait: Option<&str>) -> Result<Vec<(Row, TailCursor)>> {
        let TailFrom { since, after, late } = self.from;
        let text = |time: i64| time.to_string();
        let request = self
            .log
            .store
            .get(&["timelogs", &self.log.name, "tail"])
            .with("late", late.to_string())
            .with_some("wait", wait.map(str::to_owned))
            .with_some("after", after.map(|after| after.to_string()))
            .with_some("since", since.map(text));
        let mut found = Vec::new();
        let mut lines = request.lines()?;
        while let Some(line) = lines.next_line()? {
            let told: Told = serde_json::from_slice(line).map_err(|error| unread(&error))?;
            let cursor: TailCursor = told.cursor.parse()?;
            if told.time.is_some() {
                found.push((row_of(line, self.log.codec)?, cursor));
            }
            // The last line has nothing else.
            (self.from.after, self.from.since) = (Some(cursor), None);
        }
        Ok(found)
    }
}

/// What a line of a tail has beside its value.
#[derive(Deserialize)]
struct Told {
    cursor: String,
    time: Option<i64>,
}

impl TimelogTailFace for ServedTail {
    fn cursor(&self) -> TailCursor {
        self.from.after.unwrap_or(TailCursor::behind(timestrata::SeqNo(0)))
    }

    fn next(&mut self) -> Result<Vec<(Row, TailCursor)>> {
        if !self.found.is_empty() {
            return Ok(std::mem::take(&mut self.found));
        }
        self.ask(None)
    }
}

fn with_range(
    request: timestrata_client::Request<'_>,
    range: TimeRange,
) -> timestrata_client::Request<'_> {
    let text = |time: Option<i64>| time.map(|time| time.to_string());
    request.with_some("from", text(range.from)).with_some("to", text(range.to))
}

/// The entries of a range.
struct ServedRows {
    log: ServedTimelog,
    wanted: EntriesWanted,
}

impl TimelogRows for ServedRows {
    fn rows(&self) -> Box<dyn Iterator<Item = Result<Row>> + '_> {
        Box::new(Pages {
            of: self,
            range: self.wanted.range,
            left: self.wanted.limit.unwrap_or(usize::MAX),
            page: PAGE_ENTRIES,
            read: VecDeque::new(),
            is_done: false,
        })
    }
}

/// Entries that are read page by page. Where a page ends within a time, those of that time are left to the next one.
struct Pages<'a> {
    of: &'a ServedRows,
    range: TimeRange,
    left: usize,
    page: usize,
    read: VecDeque<Row>,
    is_done: bool,
}

impl Pages<'_> {
    fn read(&mut self) -> Result<()> {
        let ServedRows { log, wanted: EntriesWanted { reverse, .. } } = self.of;
        let request = log
            .store
            .get(&["timelogs", &log.name, "entries"])
            .with("order", if *reverse { "desc" } else { "asc" })
            .with("limit", self.page.to_string());
        let mut entries = 0;
        let mut lines = with_range(request, self.range).lines()?;
        while let Some(line) = lines.next_line()? {
            self.read.push_back(row_of(line, log.codec)?);
            entries += 1;
        }
        self.is_done = entries < self.page || self.read.len() >= self.left;
        let Some(last) = self.read.back().map(Row::time).filter(|_| !self.is_done) else {
            return Ok(());
        };
        self.read.retain(|row| row.time() != last);
        if self.read.is_empty() {
            // All are of one time: they must come at once.
            self.page = self.page.saturating_mul(2);
        }
        match reverse {
            false => self.range.from = Some(last),
            true => self.range.to = Some(last.saturating_add(1)),
        }
        Ok(())
    }
}

impl Iterator for Pages<'_> {
    type Item = Result<Row>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.read.is_empty() && !self.is_done {
            if let Err(failure) = self.read() {
                self.is_done = true;
                self.read.clear();
                return Some(Err(failure));
            }
        }
        self.left = self.left.checked_sub(1)?;
        self.read.pop_front().map(Ok)
    }
}

/// Bytes as requests have them.
fn bytes_as_json(bytes: &[u8]) -> Value {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.into(),
        Err(_) => json!({ "base64": STANDARD.encode(bytes) }),
    }
}

/// An entry of an answer. Members of its value stay in their order.
#[derive(Deserialize)]
struct ServedEntry {
    time: i64,
    value: Cbor,
}

/// An entry of an answer as a row.
fn row_of(line: &[u8], codec: Codec) -> Result<Row> {
    let ServedEntry { time, value } =
        serde_json::from_slice(line).map_err(|error| unread(&error))?;
    let value = match (codec, value) {
        (Codec::Bytes, Cbor::Text(text)) => Cbor::Bytes(text.into_bytes()),
        (_, value) => unpacked(value)?,
    };
    Ok(Row::new(time, value))
}

fn unread(error: &dyn std::fmt::Display) -> Failure {
    Failure::plain(format!("an entry of the server's answer can't be read: {error}"))
}

/// A value as the store has it: what JSON can't say comes as base64.
fn unpacked(value: Cbor) -> Result<Cbor> {
    let (name, text) = match value.as_map().map(Vec::as_slice) {
        Some([(Cbor::Text(name), Cbor::Text(text))]) => (name.as_str(), text),
        _ => return Ok(value),
    };
    let bytes = || STANDARD.decode(text).map_err(|error| unread(&error));
    match name {
        "base64" => bytes().map(Cbor::Bytes),
        "cbor" => ciborium::from_reader(bytes()?.as_slice()).map_err(|error| unread(&error)),
        _ => Ok(value),
    }
}
