//! Requests to a web server: the common and the combined format of Apache httpd and nginx.
//!
//! Of all formats the one with the most lines. Nothing is allocated for one, and the minute that
//! it shares with the line before is read once.

use timestrata_logs::{Fields, Level, NewEntry};
use timestrata_values::instant::{offset_of, two_digits};
use timestrata_values::number;

use super::adding::{DASH, add_int, add_text, add_unless_dash};
use super::cursor::Cursor;
use super::flaw::Flaw;
use super::time::{self, Time};

/// Bytes of `17/May/2015:10:05:03 +0000`.
const TIME_BYTES: usize = 26;
const NO_TIME: &str = "no time such as [17/May/2015:10:05:03 +0000]";

/// The minute of the last line, which the next one most likely shares.
#[derive(Debug, Default)]
pub(super) struct LastMinute {
    /// As it was written, with the seconds at 0.
    text: [u8; TIME_BYTES],
    /// Seconds since 1970 at its begin. `None` if there is no such day.
    start: Option<i64>,
}

/// Reads lines such as
/// `10.0.0.1 - ann [17/May/2015:10:05:03 +0000] "GET / HTTP/1.1" 200 5 "http://x/" "curl/8"`.
pub(super) fn parse(line: &str, last: &mut LastMinute, entry: &mut NewEntry) -> Result<(), Flaw> {
    let mut rest = Cursor::new(line);
    who(&mut rest, &mut entry.fields)?;
    let text = rest.take(TIME_BYTES).ok_or_else(|| Flaw::unread(NO_TIME))?;
    if !(rest.eat(']') && rest.eat(' ')) {
        return Err(Flaw::unread(NO_TIME));
    }
    time(text, last).ok_or_else(|| Flaw::unread(NO_TIME))?.write(text, entry);
    let request = rest.quoted().ok_or_else(|| Flaw::unread("no request in quotes"))?;
    entry.message.push_str(request);
    entry.level = Some(answer(&mut rest, &mut entry.fields)?);
    said_by_client(&mut rest, &mut entry.fields)
}

/// The client and who it says it is, up to the bracket before the time.
fn who(rest: &mut Cursor<'_>, fields: &mut Fields) -> Result<(), Flaw> {
    let missing = || Flaw::unread("no client, identity and user before the time");
    let mut client = rest.before(b' ').filter(|client| !client.is_empty()).ok_or_else(missing)?;
    let mut identity = rest.before(b' ').ok_or_else(missing)?;
    // In Debian's `vhost_combined` the host that was asked and its port stand before the client.
    if identity != DASH && has_port(client) {
        add_text(fields, "vhost", client);
        client = identity;
        identity = rest.before(b' ').ok_or_else(missing)?;
    }
    // Names of users may hold spaces.
    let user = rest.before(b'[').and_then(|user| user.strip_suffix(' ')).ok_or_else(missing)?;
    add_unless_dash(fields, "client", client);
    add_unless_dash(fields, "ident", identity);
    add_unless_dash(fields, "user", user);
    Ok(())
}

fn has_port(host: &str) -> bool {
    host.rsplit_once(':').is_some_and(|(_, port)| number::unsigned(port.as_bytes()).is_some())
}

/// `None` for what does not have the form of a time.
fn time(text: &str, last: &mut LastMinute) -> Option<Time> {
    let mut minute: [u8; TIME_BYTES] = text.as_bytes().try_into().ok()?;
    let [.., b':', s0, s1, b' ', _, _, _, _, _] = &mut minute else { return None };
    let second = two_digits(*s0, *s1).filter(|second| *second <= 60)?;
    (*s0, *s1) = (b'0', b'0');
    if minute != last.text {
        *last = LastMinute { text: minute, start: start_of_minute(&minute)? };
    }
    Some(Time::of(last.start.map(|start| start + second), 0))
}

/// `Some(None)` if there is no such day.
fn start_of_minute(text: &[u8; TIME_BYTES]) -> Option<Option<i64>> {
    let (date, rest) = text.split_first_chunk::<11>()?;
    let [d0, d1, b'/', month @ .., b'/', y0, y1, y2, y3] = date else { return None };
    let (clock, zone) = rest.strip_prefix(b":")?.split_at_checked(8)?;
    let second_of_day = time::second_of_day(clock)? - offset_of(zone)?;
    let year = two_digits(*y0, *y1)? * 100 + two_digits(*y2, *y3)?;
    let (month, day) = (time::month_of(month)?, two_digits(*d0, *d1)?);
    Some(time::seconds_at(year, month, day, second_of_day))
}

/// The status and the bytes of the answer; how bad it is.
fn answer(rest: &mut Cursor<'_>, fields: &mut Fields) -> Result<Level, Flaw> {
    let missing = || Flaw::unread("no status and number of bytes behind the request");
    let status = if rest.eat(' ') { rest.word() } else { "" };
    let status =
        number::unsigned(status.as_bytes()).filter(|_| status.len() == 3).ok_or_else(missing)?;
    add_int(fields, "status", status);
    let bytes = rest.word();
    if bytes != DASH {
        add_int(fields, "bytes", number::unsigned(bytes.as_bytes()).ok_or_else(missing)?);
    }
    Ok(match status {
        500.. => Level::Error,
        400.. => Level::Warn,
        _ => Level::Info,
    })
}

/// What the client said of itself, and what else a server was told to write.
fn said_by_client(rest: &mut Cursor<'_>, fields: &mut Fields) -> Result<(), Flaw> {
    let open = || Flaw::unread("a quote that does not end");
    let start = *rest;
    if rest.rest().starts_with('"') {
        let referer = rest.quoted().ok_or_else(open)?;
        if rest.eat(' ') && rest.rest().starts_with('"') {
            add_unless_dash(fields, "referer", referer);
            add_unless_dash(fields, "user_agent", rest.quoted().ok_or_else(open)?);
            rest.eat(' ');
        } else {
            *rest = start;
        }
    }
    if !rest.is_empty() {
        add_text(fields, "extra", rest.rest());
    }
    Ok(())
}
