//! Lines of Go's `klog` and C++'s `glog`: `I1123 13:09:20.123456 1234 file.go:12] message`.

use timestrata_logs::{Level, NewEntry};
use timestrata_values::number;

use crate::lines::adding::{add_int, add_text};
use crate::lines::cursor::Cursor;
use crate::lines::time::{self, Calendar, Time};

/// Whether a line looks like one of these.
pub(super) fn is_one(line: &str) -> bool {
    let [level, date @ .., b' '] = line.as_bytes().get(..6).unwrap_or_default() else {
        return false;
    };
    b"IWEF".contains(level) && date.iter().all(u8::is_ascii_digit)
}

/// Reads a line, if it is one of these.
pub(super) fn parse(line: &str, calendar: &mut Calendar, entry: &mut NewEntry) -> Option<()> {
    let mut rest = Cursor::new(line);
    let level = match rest.take(1)? {
        "I" => Level::Info,
        "W" => Level::Warn,
        "E" => Level::Error,
        "F" => Level::Fatal,
        _ => return None,
    };
    let month = number::unsigned(rest.take(2)?.as_bytes())?;
    let day = number::unsigned(rest.take(2)?.as_bytes())?;
    rest.eat(' ').then_some(())?;
    let (second_of_day, nanoseconds) = time::clock(rest.word())?;
    while rest.eat(' ') {}
    let thread = number::unsigned(rest.word().as_bytes())?;
    let caller = rest.before(b']').filter(|caller| !caller.contains(' '))?;
    let seconds = calendar.seconds_at(month, day, second_of_day);
    let Time::At(time) = Time::of(seconds, nanoseconds) else { return None };
    rest.eat(' ');
    entry.source_time = Some(time);
    entry.level = Some(level);
    entry.message.push_str(rest.rest());
    add_int(&mut entry.fields, "thread", thread);
    add_text(&mut entry.fields, "caller", caller);
    Some(())
}
