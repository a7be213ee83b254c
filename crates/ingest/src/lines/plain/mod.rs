//! Lines of any text. A time at the beginning, and a level behind it, are taken off; the rest is the message.

mod klog;
mod stamp;

use timestrata_logs::{Level, NewEntry};

use super::time::Calendar;

/// What may stand around a level.
const SPACES: [char; 2] = [' ', '\t'];

/// Reads a line, such as `[2016-12-19 20:44:59,210] WARN Broker 1 is gone`. Any line can be read.
pub(super) fn parse(line: &str, calendar: &mut Calendar, entry: &mut NewEntry) {
    if klog::parse(line, calendar, entry).is_some() {
        return;
    }
    let Some((time, rest)) = stamp::take(line) else { return entry.message.push_str(line) };
    entry.source_time = Some(time);
    let rest = rest.strip_prefix([':', ',', ';']).unwrap_or(rest).trim_start_matches(SPACES);
    let message = match level(rest) {
        Some((level, message)) => {
            entry.level = Some(level);
            message
        }
        None => rest,
    };
    entry.message.push_str(message);
}

/// Whether a line begins with a time, as far as a glance tells: to read it takes as long as all else that is done with a line.
pub(super) fn has_time(line: &str) -> bool {
    let inner = line.strip_prefix('[').unwrap_or(line).as_bytes();
    let is_date = match inner.split_first_chunk::<4>() {
        Some((year, [b'-' | b'/', ..])) => year.iter().all(u8::is_ascii_digit),
        _ => false,
    };
    is_date || stamp::take(line).is_some() || klog::is_one(line)
}

/// A level, and what follows it: in capitals, in brackets, or before a colon. Another word is one of
/// a sentence.
fn level(text: &str) -> Option<(Level, &str)> {
    let text = without_separator(text);
    let (open, close) = match text.as_bytes().first()? {
        b'[' => ("[", "]"),
        b'<' => ("<", ">"),
        b'(' => ("(", ")"),
        _ => ("", ""),
    };
    let inner = text.strip_prefix(open)?.trim_start_matches(SPACES);
    let end = inner.find(|letter: char| !letter.is_ascii_alphabetic()).unwrap_or(inner.len());
    let (word, rest) = inner.split_at_checked(end)?;
    let behind = if close.is_empty() { rest } else { rest.trim_start_matches(SPACES) };
    let behind = behind.strip_prefix(close)?;
    let (has_colon, behind) = match behind.strip_prefix(':') {
        Some(behind) => (true, behind),
        None => (false, behind),
    };
    let is_marked = !open.is_empty() || has_colon || word.bytes().all(|b| b.is_ascii_uppercase());
    let is_whole = behind.is_empty() || behind.starts_with(SPACES);
    let level = Level::of_name(word.as_bytes()).filter(|_| is_marked && is_whole)?;
    Some((level, without_separator(behind.trim_start_matches(SPACES))))
}

/// Without a dash or a bar that stands alone in front.
fn without_separator(text: &str) -> &str {
    let rest = text.strip_prefix(['-', '|']).filter(|rest| rest.starts_with(SPACES));
    rest.map_or(text, |rest| rest.trim_start_matches(SPACES))
}
