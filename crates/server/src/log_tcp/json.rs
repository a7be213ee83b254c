//! JSON values as CBOR items (RFC 8949), appended to memory. Whole numbers keep all their digits.

use std::collections::HashSet;
use std::ops::Range;

use jiter::{Jiter, JiterError, Peek};
use minicbor::Encoder;
use minicbor::data::{IanaTag, Int};
use num_bigint::{BigInt, Sign};

/// How deep values are taken in.
const DEPTH_MAX: usize = 128;
const ARRAY: u8 = 0x80;
const MAP: u8 = 0xa0;
/// Items and members up to this number are told in the byte that a list or an object begins with.
const SHORT_MAX: u64 = 23;
/// Names among which one that is there twice is looked for pair by pair.
const PAIRS_MAX: usize = 16;

/// Why a text is not taken.
#[derive(Debug)]
pub(super) enum Unread {
    /// It is no JSON.
    Json(JiterError),
    /// It is JSON, but cannot be kept as it is.
    Unfit(&'static str),
}

impl From<JiterError> for Unread {
    fn from(error: JiterError) -> Self {
        Self::Json(error)
    }
}

type Result<T> = std::result::Result<T, Unread>;

/// Where a member of an object lies among what was appended.
#[derive(Debug, Clone)]
pub(super) struct Member {
    /// Its name's item and its value's.
    pub(super) item: Range<usize>,
    /// The text of its name.
    pub(super) name: Range<usize>,
    /// The item of its value.
    pub(super) value: Range<usize>,
}

/// Appends the value that comes next, of which `peek` is the beginning. `depth` is the number of
/// lists and objects around it.
///
/// # Errors
/// For what is no JSON, is nested too deeply, or is a number beyond those of 64 bits with a fraction.
/// What was appended until then stays.
pub(super) fn value(
    json: &mut Jiter<'_>,
    peek: Peek,
    depth: usize,
    out: &mut Vec<u8>,
) -> Result<()> {
    match peek {
        Peek::String => text(json.known_str()?, out),
        Peek::Object => {
            let head = open(depth, out)?;
            let mut inner = Vec::new();
            members(json, depth + 1, &mut inner, out)?;
            close(MAP, head, inner.len() as u64, out);
        }
        Peek::Array => {
            let head = open(depth, out)?;
            let mut items = 0;
            let mut peek = json.known_array()?;
            while let Some(known) = peek {
                value(json, known, depth + 1, out)?;
                items += 1;
                peek = json.array_step()?;
            }
            close(ARRAY, head, items, out);
        }
        Peek::True | Peek::False => {
            let truth = json.known_bool(peek)?;
            encode(out, |encoder| encoder.bool(truth).map(drop));
        }
        Peek::Null => {
            json.known_null()?;
            encode(out, |encoder| encoder.null().map(drop));
        }
        _ => number(json.known_number_bytes(peek)?, out)?,
    }
    Ok(())
}

/// Appends the members of the object that comes next, each name once: of several with the same name the
/// last counts, as in most that read JSON. Readers of CBOR take no name twice. `list` is empty, and
/// tells then where each member lies.
///
/// # Errors
/// As [`value`].
pub(super) fn members(
    json: &mut Jiter<'_>,
    depth: usize,
    list: &mut Vec<Member>,
    out: &mut Vec<u8>,
) -> Result<()> {
    let mut name = json.known_object()?;
    while let Some(known) = name {
        let start = out.len();
        text(known, out);
        let at = out.len();
        let name_range = at - known.len()..at;
        let peek = json.peek()?;
        value(json, peek, depth, out)?;
        list.push(Member { item: start..out.len(), name: name_range, value: at..out.len() });
        name = json.next_key()?;
    }
    if is_any_twice(list, out) {
        leave_the_last(list, out);
    }
    Ok(())
}

fn name_of<'a>(member: &Member, out: &'a [u8]) -> &'a [u8] {
    out.get(member.name.clone()).unwrap_or_default()
}

fn is_any_twice(list: &[Member], out: &[u8]) -> bool {
    if list.len() > PAIRS_MAX {
        let mut seen = HashSet::with_capacity(list.len());
        return !list.iter().all(|member| seen.insert(name_of(member, out)));
    }
    let mut rest = list;
    while let Some((member, others)) = rest.split_first() {
        if others.iter().any(|other| name_of(other, out) == name_of(member, out)) {
            return true;
        }
        rest = others;
    }
    false
}

/// Takes out all members but the last of each name.
fn leave_the_last(list: &mut Vec<Member>, out: &mut Vec<u8>) {
    let Some(mut end) = list.first().map(|member| member.item.start) else { return };
    let mut seen = HashSet::with_capacity(list.len());
    let mut is_last: Vec<bool> =
        list.iter().rev().map(|member| seen.insert(name_of(member, out))).collect();
    list.retain(|_| is_last.pop().unwrap_or(true));
    for Member { item, name, value } in list {
        out.copy_within(item.clone(), end);
        let by = item.start - end;
        for range in [&mut *item, name, value] {
            *range = range.start - by..range.end - by;
        }
        end = item.end;
    }
    out.truncate(end);
}

/// Appends a text.
pub(super) fn text(text: &str, out: &mut Vec<u8>) {
    encode(out, |encoder| encoder.str(text).map(drop));
}

/// Appends a whole number.
pub(super) fn unsigned(number: u64, out: &mut Vec<u8>) {
    encode(out, |encoder| encoder.u64(number).map(drop));
}

/// Appends what an object of so many members begins with.
pub(super) fn map(members: u64, out: &mut Vec<u8>) {
    encode(out, |encoder| encoder.map(members).map(drop));
}

/// Appends a number as it is written in JSON.
fn number(digits: &[u8], out: &mut Vec<u8>) -> Result<()> {
    let digits = std::str::from_utf8(digits).unwrap_or_default();
    // Below zero there is no whole zero.
    if digits == "-0" || digits.bytes().any(|byte| matches!(byte, b'.' | b'e' | b'E')) {
        let number: f64 = digits.parse().unwrap_or(f64::INFINITY);
        if number.is_infinite() {
            return Err(Unread::Unfit("number out of range"));
        }
        encode(out, |encoder| encoder.f64(number).map(drop));
        return Ok(());
    }
    if let Some(number) = digits.parse().ok().and_then(|number: i128| Int::try_from(number).ok()) {
        encode(out, |encoder| encoder.int(number).map(drop));
        return Ok(());
    }
    // The parser of JSON takes no more digits than can be read and written at once.
    let number: BigInt = digits.parse().map_err(|_| Unread::Unfit("number out of range"))?;
    let (tag, bytes) = match number.sign() {
        // Negative ones count from -1 on.
        Sign::Minus => (IanaTag::NegBignum, (BigInt::from(-1) - number).to_bytes_be().1),
        _ => (IanaTag::PosBignum, number.to_bytes_be().1),
    };
    encode(out, |encoder| encoder.tag(tag)?.bytes(&bytes).map(drop));
    Ok(())
}

/// Begins a list or an object: leaves a byte for what tells its length.
fn open(depth: usize, out: &mut Vec<u8>) -> Result<usize> {
    if depth >= DEPTH_MAX {
        return Err(Unread::Unfit("nested more than 128 deep"));
    }
    out.push(0);
    Ok(out.len() - 1)
}

/// Ends it: most lengths fit into the byte that was left.
fn close(kind: u8, head: usize, length: u64, out: &mut Vec<u8>) {
    if length <= SHORT_MAX {
        if let Some(byte) = out.get_mut(head) {
            *byte = kind | length as u8;
        }
        return;
    }
    let mut long = Vec::new();
    encode(&mut long, |encoder| match kind {
        MAP => encoder.map(length).map(drop),
        _ => encoder.array(length).map(drop),
    });
    out.splice(head..=head, long);
}

type Encoded = std::result::Result<(), minicbor::encode::Error<std::convert::Infallible>>;

/// Memory takes what is written to it.
fn encode(out: &mut Vec<u8>, write: impl FnOnce(&mut Encoder<&mut Vec<u8>>) -> Encoded) {
    let written = write(&mut Encoder::new(out));
    debug_assert!(written.is_ok(), "an encoder into memory failed");
}

#[cfg(test)]
mod tests;
