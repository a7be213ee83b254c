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
mod tests {
    use proptest::prelude::*;
    use timestrata_models::logs::FieldValue;

    use super::*;

    fn item(text: &str) -> Result<Vec<u8>> {
        let mut json = Jiter::new(text.as_bytes());
        let mut out = Vec::new();
        let peek = json.peek()?;
        value(&mut json, peek, 0, &mut out)?;
        json.finish()?;
        Ok(out)
    }

    /// A text that was taken in, written again.
    fn again(text: &str) -> String {
        let item = item(text).unwrap();
        minicbor::decode::Decoder::new(&item).skip().unwrap();
        let mut out = String::new();
        FieldValue::Item(&item).write_json(&mut out);
        out
    }

    #[test]
    fn values_come_back_as_they_were() {
        let long = format!("[{}0]", "1,".repeat(300));
        let wide: Vec<_> = (0..300).map(|name| format!("\"{name}\":[]")).collect();
        let wide = format!("{{{}}}", wide.join(","));
        for text in [
            "{}",
            "[]",
            "null",
            r#"{"a":[1,"x",{"b":null}],"c":true,"d":false,"":"\n\"\u0001"}"#,
            "[0,-1,9223372036854775807,-9223372036854775808,18446744073709551615]",
            "[-18446744073709551616,18446744073709551616,-18446744073709551617]",
            "[123456789012345678901234567890123456789012345678901234567890]",
            "[-123456789012345678901234567890123456789012345678901234567890]",
            "[1.0,0.1,1e300,-0.0,5e-324]",
            &long,
            &wide,
        ] {
            assert_eq!(again(text), text);
        }
        assert_eq!(again("-0"), "-0.0");
        assert_eq!(again(" [ 1E2 , \"\\u00fc\\ud83d\\ude00\" ] "), "[100.0,\"ü😀\"]");
        let digits = "9".repeat(4_300);
        assert_eq!(again(&digits), digits);
    }

    /// Kept as it came, an object within metadata could not be read by Python any more: no map of CBOR
    /// may have a name twice.
    #[test]
    fn of_a_name_that_is_there_twice_the_last_value_counts_at_any_depth() {
        for (text, expected) in [
            (r#"{"a":1,"a":2}"#, r#"{"a":2}"#),
            (r#"{"a":{"b":1,"c":[],"b":{}},"d":0}"#, r#"{"a":{"c":[],"b":{}},"d":0}"#),
            (r#"[{"x":1,"\u0078":[2,{"x":1,"x":2}]},3]"#, r#"[{"x":[2,{"x":2}]},3]"#),
            (r#"{"":1,"a":1,"a":2,"":2,"a":3}"#, r#"{"":2,"a":3}"#),
        ] {
            assert_eq!(again(text), expected);
        }
        for count in [15, 16, 17, 300] {
            let names = |from: usize| (from..count).map(|name| format!("\"{name}\":{name}"));
            let twice = names(0).chain(["\"7\":\"last\"".to_owned()]).collect::<Vec<_>>().join(",");
            let value: serde_json::Value =
                serde_json::from_str(&again(&format!("{{{twice}}}"))).unwrap();
            assert_eq!((value.as_object().unwrap().len(), &value["7"]), (count, &"last".into()));
        }
    }

    #[test]
    fn what_can_not_be_kept_is_refused() {
        let refused = |text: &str| match item(text).unwrap_err() {
            Unread::Json(error) => error.error_type.to_string(),
            Unread::Unfit(why) => why.to_owned(),
        };
        assert_eq!(refused("1e400"), "number out of range");
        assert_eq!(refused(&"9".repeat(4_301)), "number out of range");
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(item(&nested(DEPTH_MAX)).is_ok());
        assert!(refused(&nested(DEPTH_MAX + 1)).contains("128"));
        assert!(refused(&"[".repeat(1 << 20)).contains("128"));
        for text in ["", "{", "[1,]", "{\"a\" 1}", "{1:2}", "nul", "NaN", "-", "01", "1.", "'a'"] {
            assert!(item(text).is_err(), "{text}");
        }
        for text in ["\"\\ud800\"", "\"a", "\"\n\"", "\"\\x\""] {
            assert!(item(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_a_panic(text in r#"[\[\]{},:"\\0-9a-fnrtul.eE+ -]{0,40}"#) {
            if let Ok(item) = item(&text) {
                minicbor::decode::Decoder::new(&item).skip().unwrap();
                let known: serde_json::Value = serde_json::from_str(&text).unwrap();
                let mut out = String::new();
                FieldValue::Item(&item).write_json(&mut out);
                let own: serde_json::Value = serde_json::from_str(&out).unwrap();
                prop_assert_eq!(own, known);
            }
        }
    }
}
