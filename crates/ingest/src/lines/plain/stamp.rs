//! Times that lines begin with.

use timestrata_values::number;

use crate::lines::cursor::Cursor;
use crate::lines::time::{self, Time};

/// Bytes of `2026-11-23`.
const DATE_BYTES: usize = 10;
const WEEKDAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
/// What zones are called where offsets are not written. What a name means differs from place to
/// place, so a time in one of these is not read, rather than read as if it were UTC.
const ZONES: [&str; 29] = [
    "ACDT", "ACST", "AEDT", "AEST", "AKDT", "AKST", "AWST", "BST", "CDT", "CEST", "CET", "CST",
    "EDT", "EEST", "EET", "EST", "HKT", "HST", "IST", "JST", "KST", "MDT", "MSK", "MST", "NZDT",
    "NZST", "PDT", "PST", "SGT",
];

/// The time with which a line begins, and what follows it. Brackets around it are taken off with it.
pub(super) fn take(line: &str) -> Option<(i64, &str)> {
    let inner = line.strip_prefix('[');
    let text = inner.unwrap_or(line);
    let (time, rest) = match text.as_bytes().first()? {
        b'0'..=b'9' => date_first(text)?,
        _ => weekday_first(text)?,
    };
    match inner {
        Some(_) => Some((time, rest.strip_prefix(']')?)),
        None => Some((time, rest)),
    }
}

/// `2026-11-23 13:09:20`, also with slashes, with `T`, with a fraction behind a point or a comma, with
/// a zone.
fn date_first(text: &str) -> Option<(i64, &str)> {
    let bytes = text.as_bytes();
    if !matches!(bytes.get(DATE_BYTES), Some(b' ' | b'T' | b't')) {
        return None;
    }
    let mut end = DATE_BYTES + 1;
    end += run(bytes, end, |byte| byte.is_ascii_digit() || byte == b':');
    end -= usize::from(bytes.get(end - 1) == Some(&b':'));
    if let Some(b'.' | b',') = bytes.get(end) {
        let digits = run(bytes, end + 1, |byte| byte.is_ascii_digit());
        end += if digits > 0 { 1 + digits } else { 0 };
    }
    let (zone, name) = zone_at(text.get(end..)?)?;
    let (time, rest) = text.split_at_checked(end + zone)?;
    let rest = rest.get(name..)?;
    is_boundary(rest).then_some((time::of_text(time.as_bytes())?, rest))
}

/// `Mon Nov 23 13:09:20 2026`, also with a fraction, and with `UTC` before the year.
fn weekday_first(text: &str) -> Option<(i64, &str)> {
    let mut rest = Cursor::new(text);
    WEEKDAYS.contains(&rest.word()).then_some(())?;
    let month = time::month_of(rest.word().as_bytes())?;
    rest.eat(' ');
    let day = number::unsigned(rest.word().as_bytes())?;
    let (second_of_day, nanoseconds) = time::clock(rest.word())?;
    let mut behind = rest;
    if behind.word() == "UTC" {
        rest = behind;
    }
    let year = number::unsigned(rest.take(4)?.as_bytes())?;
    let seconds = time::seconds_at(year, month, day, second_of_day);
    match Time::of(seconds, nanoseconds) {
        Time::At(ns) if is_boundary(rest.rest()) => Some((ns, rest.rest())),
        _ => None,
    }
}

/// How many bytes of a zone belong to a time that ends here, and how many behind them name UTC.
/// `None` if it is in a zone of another name.
fn zone_at(text: &str) -> Option<(usize, usize)> {
    let spaces = usize::from(text.starts_with(' '));
    let zone = text.get(spaces..)?;
    let is_digit = |at: usize| zone.as_bytes().get(at).is_some_and(u8::is_ascii_digit);
    if zone.starts_with(['+', '-']) && is_digit(1) && is_digit(2) {
        let minutes = if zone.as_bytes().get(3) == Some(&b':') { 4 } else { 3 };
        let has_minutes = is_digit(minutes) && is_digit(minutes + 1);
        let length = if has_minutes { minutes + 2 } else { 3 };
        // A number behind a space may be anything else.
        return Some(if spaces == 0 || has_minutes { (spaces + length, 0) } else { (0, 0) });
    }
    let end = zone.find(|letter: char| !letter.is_ascii_alphabetic()).unwrap_or(zone.len());
    let name = zone.get(..end)?;
    match name {
        "Z" | "z" if spaces == 0 => Some((0, name.len())),
        "UTC" | "GMT" => Some((0, spaces + name.len())),
        _ if ZONES.contains(&name) => None,
        _ => Some((0, 0)),
    }
}

/// Bytes of a kind from a place on.
fn run(text: &[u8], start: usize, is_kind: impl Fn(u8) -> bool) -> usize {
    text.iter().skip(start).take_while(|byte| is_kind(**byte)).count()
}

/// Whether what is before this text has ended.
fn is_boundary(text: &str) -> bool {
    text.is_empty() || text.starts_with([' ', '\t', ']', ':', ',', ';', '|', ')'])
}
