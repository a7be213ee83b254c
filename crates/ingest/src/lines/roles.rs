//! Members of a line that have a place of their own in an entry: its message, its time, its level.

use minicbor::Decoder;
use timestrata_logs::{Level, NewEntry, Scalar};

use super::flaw::Flaw;
use super::members::{Item, Members, Repeats};
use super::time;

/// What a member is in an entry, with its rank: of several that can be read, the least one is it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Message(u8),
    Time(u8),
    Level(u8),
}

impl Role {
    /// Of the names that logging libraries and collectors use (ECS, Serilog, hclog, OpenTelemetry, Google Cloud), and that the journal has in JSON.
    pub(super) fn of(name: &str) -> Option<Self> {
        Some(match name {
            "message" => Self::Message(0),
            "msg" => Self::Message(1),
            "log" => Self::Message(2),
            "event" => Self::Message(3),
            "body" => Self::Message(4),
            "MESSAGE" => Self::Message(5),
            "@m" => Self::Message(6),
            "@mt" => Self::Message(7),
            "@message" => Self::Message(8),
            "textPayload" => Self::Message(9),
            "Body" => Self::Message(10),
            "timestamp" => Self::Time(0),
            "time" => Self::Time(1),
            "ts" => Self::Time(2),
            "@timestamp" => Self::Time(3),
            "datetime" => Self::Time(4),
            "date" => Self::Time(5),
            "_SOURCE_REALTIME_TIMESTAMP" => Self::Time(6),
            "__REALTIME_TIMESTAMP" => Self::Time(7),
            "@t" => Self::Time(8),
            "timeUnixNano" => Self::Time(9),
            "Timestamp" => Self::Time(10),
            "observedTimeUnixNano" => Self::Time(11),
            "level" => Self::Level(0),
            "severity" => Self::Level(1),
            "lvl" => Self::Level(2),
            "loglevel" => Self::Level(3),
            "levelname" => Self::Level(4),
            "PRIORITY" => Self::Level(5),
            "log.level" => Self::Level(6),
            "@l" => Self::Level(7),
            "@level" => Self::Level(8),
            "severityText" => Self::Level(9),
            "SeverityText" => Self::Level(10),
            _ => return None,
        })
    }
}

/// Where some have their time, level and message in an object: mongod; ECS; Rust's tracing, Google Cloud and OpenTelemetry.
const TIME_PATHS: [(&str, &str); 1] = [("t", "$date")];
const LEVEL_PATHS: [(&str, &str); 1] = [("log", "level")];
const MESSAGE_PATHS: [(&str, &str); 5] = [
    ("fields", "message"),
    ("jsonPayload", "message"),
    ("jsonPayload", "msg"),
    ("body", "stringValue"),
    ("Body", "stringValue"),
];

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
    let objects: Vec<Item<'_>> = match (message.is_some(), time.is_some(), level.is_some()) {
        (true, true, true) => Vec::new(),
        _ => members.iter().filter(|item| is_object(item.value)).collect(),
    };
    let within = |paths: &[(&str, &str)]| {
        let at_path = |(name, key): &(&str, &str)| {
            nested(objects.iter().find(|item| item.name == *name)?.value, key)
        };
        paths.iter().find_map(at_path)
    };
    for (index, item) in members.iter().enumerate() {
        if !taken.contains(&Some(index)) {
            entry.fields.add(item.name, |out| out.extend_from_slice(item.value));
        }
    }
    // What lies deeper stays where it is, too.
    let time = time.map(|(.., time)| time);
    entry.source_time = time.or_else(|| time_of(within(&TIME_PATHS)?));
    let level = level.map(|(.., level)| level);
    let deeper = || level_of(within(&LEVEL_PATHS)?, || false);
    entry.level = level.or_else(deeper).or_else(|| level_of_mongod(members));
    let message = message.map(|(.., text)| text);
    entry.message.push_str(match message.or_else(|| text_of(within(&MESSAGE_PATHS)?)) {
        Some(text) => text,
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

/// Whether a value is an object: CBOR says so in its first three bits.
fn is_object(item: &[u8]) -> bool {
    item.first().is_some_and(|first| first >> 5 == 5)
}

/// The value that an object has at a key.
fn nested<'a>(item: &'a [u8], key: &str) -> Option<&'a [u8]> {
    let mut reader = Decoder::new(item);
    let count = reader.map().ok()??;
    for _ in 0..count {
        let name = reader.str().ok()?;
        let start = reader.position();
        reader.skip().ok()?;
        if name == key {
            return item.get(start..reader.position());
        }
    }
    None
}

/// The level of a line of mongod, which has a letter for it, and a context and a component beside it.
fn level_of_mongod(members: &Members) -> Option<Level> {
    // It begins with its time, and has few members.
    members.iter().next().filter(|first| first.name == "t" && is_object(first.value))?;
    let text = |name: &str| {
        members.iter().find(|item| item.name == name).and_then(|item| text_of(item.value))
    };
    text("c").and(text("ctx"))?;
    Some(match text("s")? {
        "F" => Level::Fatal,
        "E" => Level::Error,
        "W" => Level::Warn,
        "I" => Level::Info,
        "D1" | "D2" | "D3" => Level::Debug,
        "D4" | "D5" => Level::Trace,
        _ => return None,
    })
}
