//! Time logs of a server, page by page: an answer has an end, and a time log may have none.

use std::collections::VecDeque;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ciborium::Value as Cbor;
use serde::Deserialize;
use serde_json::{Value, json};
use timestrata::timelog::{Codec, EntryBatch, Timelog, TimelogOptions, Unit};
use timestrata::{Durability, Settings, Store};

use super::super::{EntriesWanted, TimelogFace};
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

    fn delete(&self, range: TimeRange) -> Result<u64> {
        // Without bounds a server would not know that all is meant.
        let from = range.from.or_else(|| range.to.is_none().then_some(i64::MIN));
        let request = self.store.server.request("DELETE", &["timelogs", &self.name, "entries"]);
        number(&with_range(request, TimeRange { from, ..range }).json()?, "entries")
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
