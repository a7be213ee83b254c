//! RFC 5424: a header of fixed parts, named data, a message.

use timestrata_logs::NewEntry;
use timestrata_values::cbor;

use super::add_process;
use crate::lines::adding::{DASH, add_text, add_unless_dash};
use crate::lines::cursor::Cursor;
use crate::lines::flaw::Flaw;
use crate::lines::members::{Members, Repeats};
use crate::lines::time;

/// Stands before messages that are declared to be UTF-8.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// Reads what follows the priority, such as
/// `1 2003-10-11T22:14:15.003Z host app 42 ID47 [origin ip="10.0.0.1"] message`.
pub(super) fn parse(
    mut rest: Cursor<'_>,
    members: &mut Members,
    entry: &mut NewEntry,
) -> Result<(), Flaw> {
    let header: [&str; 6] = std::array::from_fn(|_| rest.word());
    if header.contains(&"") {
        return Err(Flaw::unread("a part of the header is missing"));
    }
    let [_version, time, host, app, process, id] = header;
    if time != DASH {
        match time::of_text(time.as_bytes()) {
            Some(ns) => entry.source_time = Some(ns),
            None => add_text(&mut entry.fields, "time", time),
        }
    }
    add_unless_dash(&mut entry.fields, "host", host);
    add_unless_dash(&mut entry.fields, "app", app);
    if process != DASH {
        add_process(&mut entry.fields, process);
    }
    add_unless_dash(&mut entry.fields, "msgid", id);
    if !rest.eat('-') {
        data(&mut rest, members, entry)?;
    }
    if !rest.is_empty() && !rest.eat(' ') {
        return Err(Flaw::unread("no space before the message"));
    }
    rest.eat(BYTE_ORDER_MARK);
    entry.message.push_str(rest.rest());
    Ok(())
}

/// Elements such as `[origin ip="10.0.0.1" ip="10.0.0.2"]`, in an object by their names. What is
/// named more than once is a list.
fn data(rest: &mut Cursor<'_>, members: &mut Members, entry: &mut NewEntry) -> Result<(), Flaw> {
    const FIELD: &str = "structured_data";
    members.clear();
    let member = members.begin(FIELD, None);
    let elements = members.open();
    if !rest.rest().starts_with('[') {
        return Err(Flaw::unread("no structured data"));
    }
    while rest.eat('[') {
        element(rest, members)?;
    }
    members.close_object(elements, Repeats::List);
    members.end(member);
    for item in members.iter() {
        entry.fields.add(item.name, |out| out.extend_from_slice(item.value));
    }
    Ok(())
}

fn element(rest: &mut Cursor<'_>, members: &mut Members) -> Result<(), Flaw> {
    let malformed = || Flaw::unread("malformed structured data");
    let name = Some(rest.until(b" ]=\"")).filter(|name| !name.is_empty()).ok_or_else(malformed)?;
    let member = members.begin(name, None);
    let parameters = members.open();
    while rest.eat(' ') {
        let name = rest.until(b" ]=\"");
        if name.is_empty() || !rest.eat('=') {
            return Err(malformed());
        }
        let parameter = members.begin(name, None);
        unescape(rest.quoted().ok_or_else(malformed)?, members.out());
        members.end(parameter);
    }
    if !rest.eat(']') {
        return Err(malformed());
    }
    members.close_object(parameters, Repeats::List);
    members.end(member);
    Ok(())
}

/// A backslash is dropped before a quote, a bracket and a backslash, and nowhere else.
fn unescape(text: &str, out: &mut Vec<u8>) {
    if !text.contains('\\') {
        return cbor::text(out, text);
    }
    let mut plain = String::with_capacity(text.len());
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        let is_escape = letter == '\\' && letters.as_str().starts_with(['"', '\\', ']']);
        plain.push(if is_escape { letters.next().unwrap_or(letter) } else { letter });
    }
    cbor::text(out, &plain);
}
