//! Entries of systemd's journal in its export format: `NAME=value` lines up to an empty one. A value
//! with line ends in it, or that is no text, follows behind its name alone: its length in eight
//! bytes, the value, a line end.

mod cutter;

use std::borrow::Cow;

use arrow_schema::TimeUnit;
pub(super) use cutter::{Cutter, GAP_BYTES_MAX, gap};
use hashbrown::{HashMap, HashSet};
use memchr::memchr;
use timestrata_logs::NewEntry;
use timestrata_values::cbor;
use timestrata_values::instant::epoch;

use super::flaw::Flaw;
use super::members::{Members, Repeats};
use super::roles::{self, Role};

/// Bytes of the length of a value.
const LENGTH_BYTES: usize = 8;

/// What a text begins with.
enum JournalStep<'a> {
    /// A field, and how many bytes it takes.
    Field(Field<'a>, usize),
    /// An empty line of so many bytes.
    Gap(usize),
    /// The beginning of a field of which at least so many bytes are needed.
    Unfinished(usize),
    /// Nothing that a journal has.
    Malformed(&'static str),
}

struct Field<'a> {
    name: &'a str,
    value: &'a [u8],
}

/// Reads one entry, without the empty line behind it. Whether all its values are UTF-8: in those that
/// are not, U+FFFD stands for what is none.
pub(super) fn parse(
    text: &[u8],
    members: &mut Members,
    entry: &mut NewEntry,
) -> Result<bool, Flaw> {
    members.clear();
    let mut is_utf8 = true;
    for field in JournalFields(text) {
        let field = field?;
        is_utf8 &= add(members, &field, bare_name(field.name));
    }
    if members.may_repeat(0) {
        members.clear();
        let clashing = clashing(text)?;
        for field in JournalFields(text) {
            let field = field?;
            let bare = bare_name(field.name);
            let is_clashing = clashing.contains(&bare.to_ascii_lowercase());
            add(members, &field, if is_clashing { field.name } else { bare });
        }
        members.settle(0, Repeats::List);
    }
    roles::fill(members, "", entry);
    Ok(is_utf8)
}

/// Whether an input begins as an exported journal does.
pub(super) fn is_likely(start: &[u8]) -> bool {
    const FIRST: [&str; 2] = ["__CURSOR", "__REALTIME_TIMESTAMP"];
    let gaps = start.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
    let start = start.get(gaps..).unwrap_or_default();
    JournalFields(start).map_while(Result::ok).any(|field| FIRST.contains(&field.name))
}

/// The name without the underscores that mark who vouches for a field.
fn bare_name(name: &str) -> &str {
    match name.trim_start_matches('_') {
        "" => name,
        bare => bare,
    }
}

/// Adds a field under a name in lower case. Whether its value is UTF-8.
fn add(members: &mut Members, field: &Field<'_>, name: &str) -> bool {
    // By the whole name: without the underscores it may be anybody's.
    let (role, time) = match field.name {
        "MESSAGE" => (Some(Role::Message(0)), None),
        "PRIORITY" => (Some(Role::Level(0)), None),
        "_SOURCE_REALTIME_TIMESTAMP" => time(0, field.value),
        "__REALTIME_TIMESTAMP" => time(1, field.value),
        _ => (None, None),
    };
    let member = members.begin(&name.to_ascii_lowercase(), role);
    members.set_time(member, time);
    let text = String::from_utf8_lossy(field.value);
    cbor::text(members.out(), &text);
    members.end(member);
    matches!(text, Cow::Borrowed(_))
}

/// A field's role and its time, if it is microseconds: they are not to be told by their size.
fn time(rank: u8, text: &[u8]) -> (Option<Role>, Option<i64>) {
    let time = epoch(text, TimeUnit::Microsecond, TimeUnit::Nanosecond).and_then(Result::ok);
    (time.map(|_| Role::Time(rank)), time)
}

/// Names that fields of several names would have without their underscores.
fn clashing(text: &[u8]) -> Result<HashSet<String>, Flaw> {
    let mut seen: HashMap<String, &str> = HashMap::new();
    let mut clashing = HashSet::new();
    for field in JournalFields(text) {
        let field = field?;
        let bare = bare_name(field.name).to_ascii_lowercase();
        if *seen.entry(bare.clone()).or_insert(field.name) != field.name {
            clashing.insert(bare);
        }
    }
    Ok(clashing)
}

/// The fields of an entry. A flaw is the last of them.
struct JournalFields<'a>(&'a [u8]);

impl<'a> Iterator for JournalFields<'a> {
    type Item = Result<Field<'a>, Flaw>;

    fn next(&mut self) -> Option<Self::Item> {
        let (field, rest) = match step(self.0, true) {
            JournalStep::Gap(bytes) if bytes >= self.0.len() => return None,
            JournalStep::Field(field, bytes) => {
                (Ok(field), self.0.get(bytes..).unwrap_or_default())
            }
            JournalStep::Gap(_) => (Err(Flaw::unread("an empty line within an entry")), &[][..]),
            JournalStep::Unfinished(_) => {
                (Err(Flaw::unread("a value that ends too early")), &[][..])
            }
            JournalStep::Malformed(why) => (Err(Flaw::unread(why)), &[][..]),
        };
        self.0 = rest;
        Some(field)
    }
}

/// What a text begins with. `is_all`: nothing follows it, and it needs no line end.
fn step(text: &[u8], is_all: bool) -> JournalStep<'_> {
    let end = match memchr(b'\n', text) {
        Some(end) => end,
        None if is_all => text.len(),
        None => return JournalStep::Unfinished(text.len() + 1),
    };
    let line = text.get(..end).unwrap_or_default();
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if line.is_empty() {
        return JournalStep::Gap(end + 1);
    }
    let (name, value) = match memchr(b'=', line).and_then(|at| line.split_at_checked(at)) {
        Some((name, value)) => (name, value.get(1..)),
        None => (line, None),
    };
    let Some(name) = name_of(name) else { return JournalStep::Malformed("no NAME=value") };
    match value {
        Some(value) => JournalStep::Field(Field { name, value }, end + 1),
        None => long_value(text, name, end + 1, is_all),
    }
}

/// A value behind its length, which stands at `start`.
fn long_value<'a>(text: &'a [u8], name: &'a str, start: usize, is_all: bool) -> JournalStep<'a> {
    let first = start + LENGTH_BYTES;
    let Some(length) = text.get(start..first).and_then(|length| length.try_into().ok()) else {
        return JournalStep::Unfinished(first);
    };
    let length = usize::try_from(u64::from_le_bytes(length)).ok();
    let Some(end) = length.and_then(|length| first.checked_add(length)) else {
        return JournalStep::Malformed("a value of a length that can't be");
    };
    match (text.get(first..end), text.get(end)) {
        (Some(value), Some(b'\n')) => JournalStep::Field(Field { name, value }, end + 1),
        (Some(value), None) if is_all => JournalStep::Field(Field { name, value }, end + 1),
        (_, Some(_)) => JournalStep::Malformed("a value that does not end where its length says"),
        _ => JournalStep::Unfinished(end.saturating_add(1)),
    }
}

/// A name as the journal allows them, and in lower case too.
fn name_of(name: &[u8]) -> Option<&str> {
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let name = name.strip_suffix(b"\r").unwrap_or(name);
    std::str::from_utf8(name).ok().filter(|_| !name.is_empty() && name.iter().all(is_name))
}
