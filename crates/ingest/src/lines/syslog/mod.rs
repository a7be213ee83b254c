//! Syslog: as RFC 5424 asks for it, and as daemons have written it since before RFC 3164.

mod daemon;
mod structured;

use timestrata_logs::{Fields, Level, NewEntry};
use timestrata_values::number;

use super::adding::{add_int, add_text};
use super::cursor::Cursor;
use super::flaw::Flaw;
use super::members::Members;
use super::time::Calendar;

/// Facilities by their numbers (RFC 5424, 6.2.1), as `syslog.conf` names them.
const FACILITIES: [&str; 24] = [
    "kern", "user", "mail", "daemon", "auth", "syslog", "lpr", "news", "uucp", "cron", "authpriv",
    "ftp", "ntp", "audit", "alert", "clock", "local0", "local1", "local2", "local3", "local4",
    "local5", "local6", "local7",
];

/// Reads a line.
pub(super) fn parse(
    line: &str,
    calendar: &mut Calendar,
    members: &mut Members,
    entry: &mut NewEntry,
) -> Result<(), Flaw> {
    let mut rest = Cursor::new(line);
    if rest.eat('<') {
        let priority = rest.before(b'>').and_then(|priority| read_priority(priority, entry));
        priority.ok_or_else(|| Flaw::unread("no priority from <0> to <191>"))?;
        if has_version(rest) {
            return structured::parse(rest, members, entry);
        }
    }
    daemon::parse(rest, calendar, entry)
}

/// The facility and the level: eight times the one plus the other.
fn read_priority(priority: &str, entry: &mut NewEntry) -> Option<()> {
    let number = u64::try_from(written_integer(priority)?).ok()?;
    let facility = FACILITIES.get(usize::try_from(number / 8).ok()?)?;
    add_text(&mut entry.fields, "facility", facility);
    entry.level = Level::of_syslog(number % 8);
    Some(())
}

/// Whether a version comes next, as it does since RFC 5424.
fn has_version(mut rest: Cursor<'_>) -> bool {
    let version = rest.before(b' ').unwrap_or_default();
    version.len() <= 3 && written_integer(version).is_some_and(|version| version > 0)
}

/// A process is known by a number, to some systems by a name.
fn add_process(fields: &mut Fields, process: &str) {
    match written_integer(process) {
        Some(number) => add_int(fields, "pid", number),
        None => add_text(fields, "pid", process),
    }
}

/// A number that is written as it always is: without a sign and without zeros in front.
fn written_integer(text: &str) -> Option<i64> {
    let is_usual = text == "0" || !text.starts_with('0');
    number::unsigned(text.as_bytes()).filter(|_| is_usual)
}
