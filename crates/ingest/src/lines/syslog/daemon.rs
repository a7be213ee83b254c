//! What daemons write: a time, a host, a program, a message. RFC 3164 describes it; nothing rules it.

use timestrata_logs::NewEntry;
use timestrata_values::number;

use super::add_process;
use crate::lines::adding::add_text;
use crate::lines::cursor::Cursor;
use crate::lines::flaw::Flaw;
use crate::lines::time::{self, Calendar, Time};

/// Reads what follows the priority, such as `Mar 27 13:06:56 host app[42]: message`, also with a
/// year, a fraction, or a time such as `2026-03-27T13:06:56.789012+00:00`.
pub(super) fn parse(
    mut rest: Cursor<'_>,
    calendar: &mut Calendar,
    entry: &mut NewEntry,
) -> Result<(), Flaw> {
    let line = rest.rest();
    let time = match line.bytes().next() {
        Some(b'0'..=b'9') => time::of_text(rest.word().as_bytes()).map(Time::At),
        _ => month_and_day(&mut rest, calendar),
    };
    let time = time.ok_or_else(|| Flaw::unread("no time such as Mar 27 13:06:56 in front"))?;
    let text = line.get(..line.len() - rest.rest().len()).unwrap_or_default();
    time.write(text.trim_end(), entry);
    while rest.eat(' ') {}
    let behind_time = rest;
    if !program(&mut rest, entry) {
        let host = rest.word();
        if rest.is_empty() {
            // One word alone says more as a message.
            rest = behind_time;
        } else {
            add_text(&mut entry.fields, "host", host);
            program(&mut rest, entry);
        }
    }
    entry.message.push_str(rest.rest());
    Ok(())
}

fn month_and_day(rest: &mut Cursor<'_>, calendar: &mut Calendar) -> Option<Time> {
    let month = time::month_of(rest.take(3)?.as_bytes())?;
    rest.eat(' ').then_some(())?;
    rest.eat(' ');
    let day = rest.word();
    let day = number::unsigned(day.as_bytes()).filter(|_| day.len() <= 2)?;
    let mut clock = rest.word();
    let mut year = None;
    if clock.len() == 4 {
        year = Some(number::unsigned(clock.as_bytes())?);
        clock = rest.word();
    }
    let (second_of_day, nanoseconds) = time::clock(clock.trim_end_matches(':'))?;
    let seconds = match year {
        Some(year) => time::seconds_at(year, month, day, second_of_day),
        None => calendar.seconds_at(month, day, second_of_day),
    };
    Some(Time::of(seconds, nanoseconds))
}

/// Takes `app: `, `app[42]: `, `app[42] (subject): ` or `app[42] `, if one comes next.
fn program(rest: &mut Cursor<'_>, entry: &mut NewEntry) -> bool {
    let mut behind = *rest;
    let app = behind.until(b" :[");
    let process = if behind.eat('[') { behind.before(b']') } else { None };
    let subject = process.and_then(|_| subject(&mut behind));
    let has_colon = behind.eat(':');
    let is_end = behind.eat(' ') || behind.is_empty();
    // A colon within a word is no end of a name: there are addresses.
    let is_program = process.is_some() || (has_colon && is_end);
    if app.is_empty() || !is_program || process.is_some_and(|process| process.contains(' ')) {
        return false;
    }
    add_text(&mut entry.fields, "app", app);
    if let Some(process) = process {
        add_process(&mut entry.fields, process);
    }
    if let Some(subject) = subject {
        add_text(&mut entry.fields, "subject", subject);
    }
    *rest = behind;
    true
}

/// Takes ` (com.apple.example[7])`, which macOS has behind a process that speaks of another, if a colon follows.
fn subject<'a>(rest: &mut Cursor<'a>) -> Option<&'a str> {
    let text = rest.rest().strip_prefix(" (")?;
    let (subject, _) = text.split_once("): ")?;
    let mut behind = *rest;
    behind.take(subject.len() + 3)?;
    (!subject.contains(' ')).then_some(())?;
    *rest = behind;
    Some(subject)
}
