//! `key=value` pairs, as Go's and many other loggers write them.

use std::borrow::Cow;

use timestrata_logs::NewEntry;
use timestrata_values::cbor;

use super::adding::bare;
use super::cursor::Cursor;
use super::flaw::{Flaw, shown};
use super::members::Members;
use super::roles::{self, Role};
use super::time;

/// A value as it stands in a line.
#[derive(Debug, Clone, PartialEq)]
enum LogfmtValue<'a> {
    /// There is a key alone.
    None,
    /// Without quotes.
    Bare(&'a str),
    /// What was between quotes.
    Quoted(Cow<'a, str>),
}

/// Reads a line.
pub(super) fn parse(line: &str, members: &mut Members, entry: &mut NewEntry) -> Result<(), Flaw> {
    members.clear();
    let mut has_pair = false;
    for pair in Pairs(Cursor::new(line)) {
        let (key, value) = pair?;
        has_pair |= value != LogfmtValue::None;
        add(members, key, &value);
    }
    if !has_pair {
        return Err(Flaw::unread("no key=value"));
    }
    roles::fill_once(members, line, entry)
}

/// Whether a line is most likely meant so: nothing but pairs, and at least two.
pub(super) fn is_likely(line: &str) -> bool {
    let mut pairs = 0;
    for pair in Pairs(Cursor::new(line)) {
        match pair {
            Ok((_, value)) if value != LogfmtValue::None => pairs += 1,
            _ => return false,
        }
    }
    pairs >= 2
}

fn add(members: &mut Members, key: &str, value: &LogfmtValue<'_>) {
    let role = Role::of(key);
    let member = members.begin(key, role);
    match value {
        LogfmtValue::None => cbor::bool(members.out(), true),
        LogfmtValue::Quoted(text) => cbor::text(members.out(), text),
        LogfmtValue::Bare(text) => {
            // From the digits: a float has too few for nanoseconds.
            if let Some(Role::Time(_)) = role {
                members.set_time(member, time::of_number(text.as_bytes()));
            }
            bare(members.out(), text);
        }
    }
    members.end(member);
}

/// Keys with their values, from the front of a text on. A flaw is the last of them.
struct Pairs<'a>(Cursor<'a>);

impl<'a> Iterator for Pairs<'a> {
    type Item = Result<(&'a str, LogfmtValue<'a>), Flaw>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.0.eat(' ') || self.0.eat('\t') {}
        if self.0.is_empty() {
            return None;
        }
        let pair = self.pair();
        if pair.is_err() {
            self.0 = Cursor::new("");
        }
        Some(pair)
    }
}

impl<'a> Pairs<'a> {
    fn pair(&mut self) -> Result<(&'a str, LogfmtValue<'a>), Flaw> {
        let key = self.0.until(b" \t=\"");
        if key.is_empty() {
            return Err(Flaw::unread("a value without a key"));
        }
        if self.0.rest().starts_with('"') {
            return Err(Flaw::unread(format!("a quote behind the key {}", shown(key))));
        }
        if !self.0.eat('=') {
            return Ok((key, LogfmtValue::None));
        }
        if !self.0.rest().starts_with('"') {
            return Ok((key, LogfmtValue::Bare(self.0.until(b" \t"))));
        }
        let quoted = self.0.quoted().ok_or_else(|| Flaw::unread("a quote that does not end"))?;
        if !self.0.is_empty() && !self.0.rest().starts_with([' ', '\t']) {
            return Err(Flaw::unread(format!("no space behind the value of {}", shown(key))));
        }
        Ok((key, LogfmtValue::Quoted(unescaped(quoted))))
    }
}

/// Text between quotes with what its escapes stand for. Others than `\" \\ \n \r \t` and `\uXXXX` stay
/// as they are.
fn unescaped(text: &str) -> Cow<'_, str> {
    let Some((start, mut rest)) = text.split_once('\\') else { return Cow::Borrowed(text) };
    let mut out = String::with_capacity(text.len());
    out.push_str(start);
    loop {
        let mut letters = rest.chars();
        let (shown, behind) = match letters.next() {
            Some('n') => ('\n', letters.as_str()),
            Some('r') => ('\r', letters.as_str()),
            Some('t') => ('\t', letters.as_str()),
            Some(same @ ('"' | '\\')) => (same, letters.as_str()),
            Some('u') => code_point(letters.as_str()).unwrap_or(('\\', rest)),
            _ => ('\\', rest),
        };
        out.push(shown);
        let Some((before, next)) = behind.split_once('\\') else {
            out.push_str(behind);
            return Cow::Owned(out);
        };
        out.push_str(before);
        rest = next;
    }
}

/// The character of `XXXX`, and what is behind it.
fn code_point(text: &str) -> Option<(char, &str)> {
    let (digits, rest) = text.split_at_checked(4)?;
    let is_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    let number = u32::from_str_radix(digits, 16).ok().filter(|_| is_hex)?;
    Some((char::from_u32(number)?, rest))
}
