//! Members of a line that have a place of their own in an entry: its message, its time, its level.

use timestrata_logs::{Level, NewEntry, Scalar};

use super::flaw::Flaw;
use super::members::{Members, Repeats};
use super::time;

/// What a member is in an entry, with its rank: of several that can be read, the least one is it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Message(u8),
    Time(u8),
    Level(u8),
}

impl Role {
    /// Of the names that logging libraries use, and that the journal has in JSON.
    pub(super) fn of(name: &str) -> Option<Self> {
        Some(match name {
            "message" => Self::Message(0),
            "msg" => Self::Message(1),
            "log" => Self::Message(2),
            "event" => Self::Message(3),
            "body" => Self::Message(4),
            "MESSAGE" => Self::Message(5),
            "timestamp" => Self::Time(0),
            "time" => Self::Time(1),
            "ts" => Self::Time(2),
            "@timestamp" => Self::Time(3),
            "datetime" => Self::Time(4),
            "date" => Self::Time(5),
            "_SOURCE_REALTIME_TIMESTAMP" => Self::Time(6),
            "__REALTIME_TIMESTAMP" => Self::Time(7),
            "level" => Self::Level(0),
            "severity" => Self::Level(1),
            "lvl" => Self::Level(2),
            "loglevel" => Self::Level(3),
            "levelname" => Self::Level(4),
            "PRIORITY" => Self::Level(5),
            _ => return None,
        })
    }
}

/// What was found for a role: the rank, the member's number, what it says.
type FoundRole<T> = Option<(u8, usize, T)>;

/// Moves the members of a line to their places in an entry: those with a role that can be read as
/// such, and all others to its fields. Where that leaves nothing to search, the line is the message.
pub(super) fn fill(members: &Members, line: &str, entry: &mut NewEntry) {
    let (mut message, mut time, mut level) = (None, None, None);
    for (index, item) in members.iter().enumerate() {
        match item.role {
            Some(Role::Message(rank)) => offer(&mut message, rank, index, || text_of(item.value)),
            Some(Role::Time(rank)) => {
                offer(&mut time, rank, index, || item.time.or_else(|| time_of(item.value)));
            }
            Some(Role::Level(rank)) => {
                let is_of_node = || item.name == "level" && is_of_node(members);
                offer(&mut level, rank, index, || level_of(item.value, is_of_node));
            }
            None => {}
        }
    }
    let taken = [at(&message), at(&time), at(&level)];
    for (index, item) in members.iter().enumerate() {
        if !taken.contains(&Some(index)) {
            entry.fields.add(item.name, |out| out.extend_from_slice(item.value));
        }
    }
    entry.source_time = time.map(|(.., time)| time);
    entry.level = level.map(|(.., level)| level);
    entry.message.push_str(match message {
        Some((.., text)) => text,
        None if entry.fields.is_empty() => line,
        None => "",
    });
}

/// The same, with each name once: the last value of several counts.
pub(super) fn fill_once(
    members: &mut Members,
    line: &str,
    entry: &mut NewEntry,
) -> Result<(), Flaw> {
    members.settle(0, Repeats::Last);
    fill(members, line, entry);
    members.repeated().map_or(Ok(()), |name| Err(Flaw::repeated(name)))
}

fn offer<T>(found: &mut FoundRole<T>, rank: u8, index: usize, read: impl FnOnce() -> Option<T>) {
    if found.as_ref().is_none_or(|(known, ..)| rank < *known)
        && let Some(value) = read()
    {
        *found = Some((rank, index, value));
    }
}

fn at<T>(found: &FoundRole<T>) -> Option<usize> {
    found.as_ref().map(|(_, index, _)| *index)
}

pub(super) fn text_of(item: &[u8]) -> Option<&str> {
    match Scalar::of_item(item)? {
        Scalar::Text(text) => Some(text),
        _ => None,
    }
}

fn time_of(item: &[u8]) -> Option<i64> {
    time::of_text(text_of(item)?.as_bytes())
}

/// The level of a name or a number, which may also be text. From 10 on a number is one of Python's, unless
/// `is_of_node` says that it is one of Node's, which are ten more for the same level.
fn level_of(item: &[u8], is_of_node: impl Fn() -> bool) -> Option<Level> {
    match Scalar::of_item(item)? {
        Scalar::Text(text) => {
            let number = || Level::of_number(text.parse().ok()?);
            Level::of_name(text.as_bytes()).or_else(number)
        }
        Scalar::Int(number @ 10..=60) if is_of_node() => Some(Level::of_python(number - 10)),
        Scalar::Int(number) => Level::of_number(number),
        _ => None,
    }
}

/// Whether a line is one that pino or bunyan wrote, which say at each level whose it is.
fn is_of_node(members: &Members) -> bool {
    let is = |name: &str, is_kind: fn(&Scalar<'_>) -> bool| {
        let mut named = members.iter().filter(|item| item.name == name);
        named.any(|item| Scalar::of_item(item.value).as_ref().is_some_and(is_kind))
    };
    is("pid", |pid| matches!(pid, Scalar::Int(_)))
        && is("hostname", |host| matches!(host, Scalar::Text(_)))
}
