//! Metadata: a JSON object of a sender's as the fields of an entry, and rows of the protocol as what
//! was sent.
//!
//! Each member is a field, so that it can be searched for. What fields can't say is in a field of its
//! own, [`SENT`]: a time beyond nanoseconds of 64 bits, and metadata whose members would not come back.

use std::fmt::Write as _;

use jiter::Jiter;
use timestrata_ingest::lines::{Members, read_object};
use timestrata_logs::{EntryRef, FieldValue, Level, NewEntry, Scalar};
use timestrata_values::cbor;

use super::unread::Unread;

/// The field of what can't be said otherwise: an object that has [`SOURCE_TS`], [`METADATA`], or both.
const SENT: &str = "__sent";
const SOURCE_TS: &str = "source_ts";
const METADATA: &str = "metadata";
/// The same, as paths to them.
const SENT_SOURCE_TS: &str = "__sent.source_ts";
const SENT_METADATA: &str = "__sent.metadata";
const LEVEL: &str = "level";
/// Metadata with more members are one value: each of a log's fields is compared with all others.
const MEMBERS_MAX: usize = 1_000;
const ITEMS_BYTES_KEPT: usize = 64 << 10;
const NS_A_MS: i64 = 1_000_000;
/// Rows have no other version.
const VERSION: u64 = 1;

/// Metadata of a request, until its entry is made.
#[derive(Debug, Default)]
pub(super) struct Metadata {
    is_given: bool,
    members: Members,
    /// What `level` says, if it says one.
    level: Option<Level>,
}

impl Metadata {
    /// Without any, keeping the memory.
    pub(super) fn clear(&mut self) {
        self.is_given = false;
        self.members.clear();
        self.level = None;
    }

    /// Gives back the memory of long ones.
    pub(super) fn shrink(&mut self) {
        self.clear();
        self.members.shrink(ITEMS_BYTES_KEPT, MEMBERS_MAX);
    }

    /// Reads the object that comes next.
    ///
    /// # Errors
    /// For what is no JSON, and for values that can't be kept.
    pub(super) fn read(&mut self, json: &mut Jiter<'_>) -> Result<(), Unread> {
        self.clear();
        self.is_given = true;
        read_object(json, &mut self.members)?;
        let level = self.members.iter().find(|member| member.name == LEVEL);
        self.level = level.and_then(|member| match Scalar::of_item(member.value)? {
            Scalar::Text(level) => Level::of_name(level.as_bytes()),
            _ => None,
        });
        Ok(())
    }

    /// Gives an entry these fields, their level, and the time that its sender says, in milliseconds.
    pub(super) fn place(&self, source_ts: u64, entry: &mut NewEntry) {
        entry.level = self.level;
        entry.source_time =
            i64::try_from(source_ts).ok().and_then(|time| time.checked_mul(NS_A_MS));
        let is_whole = self.must_stay_whole();
        let is_beyond = entry.source_time.is_none();
        if !is_whole {
            for member in self.members.iter() {
                entry.fields.item(member.name, |out| out.extend_from_slice(member.value));
            }
        }
        if !is_whole && !is_beyond {
            return;
        }
        entry.fields.item(SENT, |out| {
            cbor::head(out, cbor::MAP, u64::from(is_whole) + u64::from(is_beyond));
            if is_beyond {
                cbor::text(out, SOURCE_TS);
                cbor::uint(out, source_ts);
            }
            if is_whole {
                cbor::text(out, METADATA);
                self.members.write_map(out);
            }
        });
    }

    /// Whether its members would not come back from fields: an object without any would be none, and
    /// a name may be the one that is used here.
    fn must_stay_whole(&self) -> bool {
        self.is_given
            && (self.members.is_empty()
                || self.members.len() > MEMBERS_MAX
                || self.members.iter().any(|member| member.name.starts_with(SENT)))
    }
}

/// Appends an entry as a row of the protocol.
pub(super) fn write_row(entry: EntryRef<'_>, out: &mut String) {
    let sent = entry.field(SENT).is_some();
    let beyond = sent.then(|| entry.field(SENT_SOURCE_TS)).flatten();
    let whole = sent.then(|| entry.field(SENT_METADATA)).flatten();
    // Memory takes what is written to it.
    let _ = write!(out, "{{\"timestamp\":{},\"source_ts\":", milliseconds(entry.timestamp()));
    match (beyond, entry.source_time()) {
        (Some(number), _) => number.write_json(out),
        (None, Some(time)) => {
            let _ = write!(out, "{}", milliseconds(time));
        }
        // Whoever wrote this by other ways didn't say.
        (None, None) => out.push_str("null"),
    }
    out.push_str(",\"message\":");
    write_text(entry.message(), out);
    out.push_str(",\"metadata\":");
    match whole {
        Some(metadata) => metadata.write_json(out),
        None => write_fields(entry, out),
    }
    let _ = write!(out, ",\"version\":{VERSION}}}");
}

/// Appends the fields that an entry has as an object, null if there are none.
fn write_fields(entry: EntryRef<'_>, out: &mut String) {
    let mut before = '{';
    entry.each_field(|name, value| {
        if name != SENT {
            out.push(before);
            before = ',';
            write_text(name, out);
            out.push(':');
            value.write_json(out);
        }
    });
    out.push_str(if before == '{' { "null" } else { "}" });
}

fn write_text(text: &str, out: &mut String) {
    FieldValue::Scalar(Scalar::Text(text)).write_json(out);
}

fn milliseconds(ns: i64) -> i64 {
    ns.div_euclid(NS_A_MS)
}
