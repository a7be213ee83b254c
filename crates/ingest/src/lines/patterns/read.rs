//! Reading a line by the pattern of its format.

use std::borrow::Cow;
use std::sync::Arc;

use regex::CaptureLocations;
use timestrata_logs::{Level, NewEntry};
use timestrata_values::number;
use timestrata_values::time_format::WrittenTime;

use super::Pattern;
use crate::lines::adding::{DASH, add_bare, add_text};
use crate::lines::flaw::Flaw;
use crate::lines::time::{Calendar, Time};

/// What a group of a pattern is in an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Group {
    Time,
    /// Whole milliseconds, where they are written apart.
    Milliseconds,
    /// The offset of the time from UTC, or a zone's name.
    Zone,
    Level,
    Message,
    Field(String),
}

/// Reads lines of one pattern.
#[derive(Debug)]
pub(in crate::lines) struct PatternReader {
    pattern: Arc<Pattern>,
    groups: Vec<(usize, Group)>,
    found: Option<CaptureLocations>,
}

impl PatternReader {
    pub(in crate::lines) fn new(pattern: &Arc<Pattern>) -> Self {
        let regex = pattern.regex();
        let named = regex.into_iter().flat_map(|regex| regex.capture_names().enumerate());
        let group = |(place, name): (usize, Option<&str>)| {
            Some((
                place,
                match name? {
                    "time" => Group::Time,
                    "millisecond" => Group::Milliseconds,
                    "zone" => Group::Zone,
                    "level" => Group::Level,
                    "message" => Group::Message,
                    other => Group::Field(other.to_owned()),
                },
            ))
        };
        let groups = named.filter_map(group).collect();
        let found = regex.map(regex::Regex::capture_locations);
        Self { pattern: Arc::clone(pattern), groups, found }
    }

    /// Whether a line is in the format.
    pub(in crate::lines) fn fits(&self, line: &str) -> bool {
        self.pattern.regex().is_some_and(|regex| regex.is_match(&without_colours(line)))
    }

    /// Makes `entry` what a line says.
    pub(in crate::lines) fn parse(
        &mut self,
        line: &str,
        calendar: &mut Calendar,
        entry: &mut NewEntry,
    ) -> Result<(), Flaw> {
        let line = &*without_colours(line);
        let Self { pattern, groups, found } = self;
        let (Some(regex), Some(found)) = (pattern.regex(), found) else {
            return Err(Flaw::unread("its format is none"));
        };
        let Some(head) = regex.captures_read(found, line) else {
            return Err(Flaw::unread(format!("not in the format {}", pattern.name)));
        };
        if pattern.has_message_behind() {
            entry.message.push_str(line.get(head.end()..).unwrap_or_default());
        }
        let text = |place: usize| found.get(place).and_then(|(from, to)| line.get(from..to));
        let of = |group: &Group| {
            groups.iter().filter(|(_, other)| other == group).find_map(|(place, _)| text(*place))
        };
        if let Some(time) = of(&Group::Time) {
            let written = Written {
                time,
                milliseconds: of(&Group::Milliseconds),
                zone: of(&Group::Zone).map(str::trim).filter(|zone| !zone.is_empty()),
            };
            written.read_into(pattern, calendar, entry);
        }
        for (place, group) in groups.iter() {
            let Some(text) = text(*place) else { continue };
            match group {
                Group::Level => add_level(pattern, text, entry),
                Group::Message => entry.message.push_str(text),
                Group::Field(name) if !text.is_empty() && text != DASH => {
                    add_bare(&mut entry.fields, name, text);
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// A time as it stands in a line.
struct Written<'a> {
    time: &'a str,
    milliseconds: Option<&'a str>,
    zone: Option<&'a str>,
}

impl Written<'_> {
    /// Makes it the time of an entry; what is none, or is in a zone that is not known, is its field `time`.
    fn read_into(&self, pattern: &Pattern, calendar: &mut Calendar, entry: &mut NewEntry) {
        let written = pattern.times.iter().find_map(|format| format.read(self.time));
        let time = written.and_then(|written| self.at(written, calendar));
        match time {
            Some(Time::At(ns)) => entry.source_time = Some(ns),
            _ => {
                let parts = [Some(self.time), self.milliseconds, self.zone];
                let parts: Vec<&str> = parts.into_iter().flatten().collect();
                add_text(&mut entry.fields, "time", &parts.join(" "));
            }
        }
    }

    fn at(&self, written: WrittenTime, calendar: &mut Calendar) -> Option<Time> {
        let (seconds, nanoseconds) = match written {
            WrittenTime::At { seconds, nanoseconds } => (seconds, nanoseconds),
            WrittenTime::InYear { month, day, second_of_day, nanoseconds } => {
                (calendar.seconds_at(month, day, second_of_day)?, nanoseconds)
            }
        };
        let milliseconds = match self.milliseconds {
            Some(text) => u32::try_from(number::unsigned(text.as_bytes())?).ok()?,
            None => 0,
        };
        let nanoseconds = milliseconds.checked_mul(1_000_000)?.checked_add(nanoseconds)?;
        let offset = match self.zone {
            Some(zone) => offset_of(zone)?,
            None => 0,
        };
        let whole = i64::from(nanoseconds / 1_000_000_000);
        Some(Time::of(Some(seconds + whole - offset), nanoseconds % 1_000_000_000))
    }
}

/// Seconds that a zone is ahead of UTC: of its offset, or UTC's names. What others are called differs from place to place.
fn offset_of(zone: &str) -> Option<i64> {
    if matches!(zone, "Z" | "z" | "UTC" | "GMT") {
        return Some(0);
    }
    let sign = match zone.as_bytes().first()? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let digits: String = zone.get(1..)?.chars().filter(|letter| *letter != ':').collect();
    let (hours, minutes) = match digits.len() {
        2 => (digits.as_str(), "0"),
        4 => digits.split_at_checked(2)?,
        _ => return None,
    };
    let part = |text: &str| number::unsigned(text.as_bytes());
    Some(sign * (part(hours)? * 3_600 + part(minutes)? * 60))
}

/// A word that is no level is a field of that name.
fn add_level(pattern: &Pattern, word: &str, entry: &mut NewEntry) {
    let own = pattern.levels.iter().find(|(known, _)| known == word).map(|(_, level)| *level);
    match own.or_else(|| Level::of_name(word.as_bytes())) {
        Some(level) => entry.level = Some(level),
        None if word.is_empty() => {}
        None => add_text(&mut entry.fields, "level", word),
    }
}

/// A line as text, without what colours it.
pub(super) fn plain_text(line: &[u8]) -> String {
    without_colours(&String::from_utf8_lossy(line)).into_owned()
}

/// Without the escape sequences (`ESC [ ... letter`) by which a terminal shows colours.
pub(in crate::lines) fn without_colours(line: &str) -> Cow<'_, str> {
    const BEGIN: &str = "\u{1b}[";
    if !line.contains(BEGIN) {
        return Cow::Borrowed(line);
    }
    let mut plain = String::with_capacity(line.len());
    let mut pieces = line.split(BEGIN);
    plain.push_str(pieces.next().unwrap_or_default());
    for piece in pieces {
        let end = piece.find(|letter: char| !letter.is_ascii_digit() && letter != ';');
        match end.and_then(|end| piece.get(end..)?.strip_prefix(['m', 'K'])) {
            Some(rest) => plain.push_str(rest),
            // It is something else.
            None => {
                plain.push_str(BEGIN);
                plain.push_str(piece);
            }
        }
    }
    Cow::Owned(plain)
}
