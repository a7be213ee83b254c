//! What tags of CBOR mean, as JSON: numbers as numbers, times and names of things as text, arrays as lists.
//!
//! Where the content isn't what a tag has, by its document, the content is written as if it had no tag.

use std::fmt::Write as _;
use std::net::{Ipv4Addr, Ipv6Addr};

use chrono::{DateTime, SecondsFormat};
use minicbor::Decoder;
use minicbor::data::Type;
use minicbor::decode::Error;

use super::json::{comma, goes_on, tagged_whole, write_float, write_item, write_text};

const POSITIVE: u64 = 2;
const NEGATIVE: u64 = 3;
const DECIMAL: u64 = 4;
/// A list of a name, what the object is made of, and what else it takes to make it.
pub(super) const OBJECT: u64 = 27;
const RATIONAL: u64 = 30;
const UUID: u64 = 37;
const ARRAY: u64 = 40;
const IPV4: u64 = 52;
const IPV6: u64 = 54;
const TIME: u64 = 1001;
const DURATION: u64 = 1002;
/// Keys of times and durations: seconds, and parts of one.
const SECONDS: i64 = 1;
const PARTS: [(i64, u32); 3] = [(-3, 1_000_000), (-6, 1_000), (-9, 1)];
const NANOSECONDS: u32 = 1_000_000_000;
/// Zeros that a decimal number is written with; one that needs more has an exponent.
const ZEROS_MAX: usize = 40;
/// Dimensions of an array.
const DIMENSIONS_MAX: usize = 64;

/// Appends what is behind a tag, which is read first.
pub(super) fn write_tagged(
    decoder: &mut Decoder<'_>,
    depth: usize,
    out: &mut String,
) -> Result<(), Error> {
    let tag = decoder.clone().tag()?.as_u64();
    if matches!(tag, POSITIVE | NEGATIVE) {
        if let Some(whole) = tagged_whole(decoder)? {
            // Memory takes what is written to it.
            let _ = write!(out, "{whole}");
        }
        return Ok(());
    }
    decoder.tag()?;
    let mut content = decoder.clone();
    let mut text = String::new();
    let is_written = match tag {
        OBJECT => return write_object(decoder, depth, out),
        DECIMAL => decimal(&mut content, &mut text),
        RATIONAL => rational(&mut content, &mut text),
        UUID => uuid(&mut content, &mut text),
        IPV4 | IPV6 => address(&mut content, tag == IPV4, &mut text),
        64..=87 => numbers(&mut content, tag, &mut text),
        ARRAY => array(&mut content, &mut text),
        TIME => time(&mut content, &mut text),
        DURATION => duration(&mut content, &mut text),
        _ => None,
    };
    if is_written.is_none() {
        return write_item(decoder, depth, out);
    }
    decoder.set_position(content.position());
    out.push_str(&text);
    Ok(())
}

/// An object is what it is made of.
fn write_object(decoder: &mut Decoder<'_>, depth: usize, out: &mut String) -> Result<(), Error> {
    if !matches!(decoder.datatype()?, Type::Array | Type::ArrayIndef) {
        return write_item(decoder, depth, out);
    }
    let mut left = decoder.array()?;
    let mut place = 0;
    while goes_on(decoder, &mut left)? {
        match place {
            1 => write_item(decoder, depth + 1, out)?,
            _ => decoder.skip()?,
        }
        place += 1;
    }
    if place < 2 {
        out.push_str("null");
    }
    Ok(())
}

/// A whole number of any size, as decimal digits.
fn whole(decoder: &mut Decoder<'_>) -> Option<String> {
    match decoder.datatype().ok()? {
        Type::Tag => tagged_whole(decoder).ok()?.map(|whole| whole.to_string()),
        _ => Some(decoder.int().ok()?.to_string()),
    }
}

/// The list of two that is next.
fn pair(decoder: &mut Decoder<'_>) -> Option<()> {
    (decoder.array().ok()? == Some(2)).then_some(())
}

fn decimal(decoder: &mut Decoder<'_>, out: &mut String) -> Option<()> {
    pair(decoder)?;
    let exponent = decoder.i64().ok()?;
    let whole = whole(decoder)?;
    let (sign, digits) = match whole.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", whole.as_str()),
    };
    out.push_str(sign);
    let behind = usize::try_from(exponent.unsigned_abs()).ok()?;
    if exponent < 0 && behind <= digits.len() + ZEROS_MAX {
        let zeros = (behind + 1).saturating_sub(digits.len());
        let digits = format!("{}{digits}", "0".repeat(zeros));
        let (before, after) = digits.split_at_checked(digits.len() - behind)?;
        let _ = write!(out, "{before}.{after}");
    } else if exponent == 0 {
        out.push_str(digits);
    } else {
        let _ = write!(out, "{digits}E{exponent}");
    }
    Some(())
}

fn rational(decoder: &mut Decoder<'_>, out: &mut String) -> Option<()> {
    pair(decoder)?;
    let above = whole(decoder)?;
    let below = whole(decoder)?;
    write_text(&format!("{above}/{below}"), out);
    Some(())
}

fn uuid(decoder: &mut Decoder<'_>, out: &mut String) -> Option<()> {
    let bytes: [u8; 16] = decoder.bytes().ok()?.try_into().ok()?;
    let mut text = String::with_capacity(36);
    for (place, byte) in bytes.iter().enumerate() {
        if matches!(place, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        let _ = write!(text, "{byte:02x}");
    }
    write_text(&text, out);
    Some(())
}

/// An address, one with the length of its network and its zone, or a network.
fn address(decoder: &mut Decoder<'_>, is_v4: bool, out: &mut String) -> Option<()> {
    if decoder.datatype().ok()? == Type::Bytes {
        write_text(&address_text(decoder.bytes().ok()?, is_v4)?, out);
        return Some(());
    }
    let length = decoder.array().ok()?.filter(|length| (2..=3).contains(length))?;
    let text = if decoder.datatype().ok()? == Type::Bytes {
        let mut text = address_text(decoder.bytes().ok()?, is_v4)?;
        let network = match decoder.datatype().ok()? {
            Type::Null => decoder.null().map(|()| None).ok()?,
            _ => Some(decoder.u8().ok()?),
        };
        if length == 3 {
            let _ = write!(text, "%{}", decoder.str().ok()?);
        }
        if let Some(network) = network {
            let _ = write!(text, "/{network}");
        }
        text
    } else {
        let network = decoder.u8().ok()?;
        // Its zeros at the end are left out.
        let mut bytes = decoder.bytes().ok()?.to_vec();
        let width = if is_v4 { 4 } else { 16 };
        bytes.resize(bytes.len().max(width), 0);
        format!("{}/{network}", address_text(&bytes, is_v4)?)
    };
    write_text(&text, out);
    Some(())
}

fn address_text(bytes: &[u8], is_v4: bool) -> Option<String> {
    Some(match is_v4 {
        true => Ipv4Addr::from(<[u8; 4]>::try_from(bytes).ok()?).to_string(),
        false => Ipv6Addr::from(<[u8; 16]>::try_from(bytes).ok()?).to_string(),
    })
}

/// Seconds and nanoseconds of a time or of a duration.
fn seconds(decoder: &mut Decoder<'_>) -> Option<(i64, u32)> {
    let mut left = decoder.map().ok()?;
    let (mut seconds, mut nanoseconds) = (None, 0);
    while goes_on(decoder, &mut left).ok()? {
        let key = decoder.i64().ok()?;
        if key == SECONDS {
            seconds = Some(decoder.i64().ok()?);
        } else if let Some((_, unit)) = PARTS.iter().find(|(part, _)| *part == key) {
            nanoseconds = decoder.u32().ok()?.checked_mul(*unit)?;
        } else if key < 0 {
            // What may be left out, such as a zone's name.
            decoder.skip().ok()?;
        } else {
            return None;
        }
    }
    (nanoseconds < NANOSECONDS).then_some((seconds?, nanoseconds))
}

fn time(decoder: &mut Decoder<'_>, out: &mut String) -> Option<()> {
    let (seconds, nanoseconds) = seconds(decoder)?;
    let time = DateTime::from_timestamp(seconds, nanoseconds)?;
    write_text(&time.to_rfc3339_opts(SecondsFormat::AutoSi, true), out);
    Some(())
}

fn duration(decoder: &mut Decoder<'_>, out: &mut String) -> Option<()> {
    let (seconds, nanoseconds) = seconds(decoder)?;
    let all = i128::from(seconds) * i128::from(NANOSECONDS) + i128::from(nanoseconds);
    let sign = if all < 0 { "-" } else { "" };
    let all = all.unsigned_abs();
    let (whole, part) = (all / u128::from(NANOSECONDS), all % u128::from(NANOSECONDS));
    let _ = write!(out, "{sign}{whole}");
    if part > 0 {
        let part = format!("{part:09}");
        let _ = write!(out, ".{}", part.trim_end_matches('0'));
    }
    Some(())
}

/// The numbers of an array, as JSON each.
fn each_number(decoder: &mut Decoder<'_>, tag: u64) -> Option<Vec<String>> {
    let bytes = decoder.bytes().ok()?;
    // Of a tag's bits: is it a float, has it a sign, do small ends come first, how wide is it.
    let (is_float, is_signed, is_little) = (tag & 0x10 != 0, tag & 0x08 != 0, tag & 0x04 != 0);
    let width = 1_usize << ((tag & 0x03) + u64::from(is_float));
    if width > 8 || (width == 2 && is_float) || !bytes.len().is_multiple_of(width) {
        return None;
    }
    let number = |bytes: &[u8]| -> Option<String> {
        let mut wide = [0; 8];
        // The bytes as a number of 64 bits, small ends first.
        for (place, byte) in bytes.iter().enumerate() {
            let at = if is_little || width == 1 { place } else { width - 1 - place };
            *wide.get_mut(at)? = *byte;
        }
        let bits = u64::from_le_bytes(wide);
        if is_float {
            let value = match width {
                4 => f64::from(f32::from_bits(u32::try_from(bits).ok()?)),
                _ => f64::from_bits(bits),
            };
            let mut text = String::new();
            write_float(value, &mut text);
            return Some(text);
        }
        let unused = 64 - 8 * u32::try_from(width).ok()?;
        Some(match is_signed {
            true => (bits.cast_signed() << unused >> unused).to_string(),
            false => bits.to_string(),
        })
    };
    bytes.chunks(width).map(number).collect()
}

fn numbers(decoder: &mut Decoder<'_>, tag: u64, out: &mut String) -> Option<()> {
    let numbers = each_number(decoder, tag)?;
    let _ = write!(out, "[{}]", numbers.join(","));
    Some(())
}

/// An array of several dimensions: lists of lists.
fn array(decoder: &mut Decoder<'_>, out: &mut String) -> Option<()> {
    pair(decoder)?;
    let dimensions = decoder.array().ok()??;
    let mut shape = Vec::new();
    for _ in 0..dimensions {
        shape.push(usize::try_from(decoder.u64().ok()?).ok()?);
    }
    let tag = decoder.tag().ok()?.as_u64();
    let numbers = (64..=87).contains(&tag).then(|| each_number(decoder, tag))??;
    let all = shape.iter().try_fold(1_usize, |all, length| all.checked_mul(*length))?;
    // Without numbers there may be ever so many empty lists.
    if all != numbers.len() || shape.len() > DIMENSIONS_MAX || numbers.is_empty() {
        let _ = write!(out, "[{}]", numbers.join(","));
        return Some(());
    }
    write_shaped(&shape, &numbers, out);
    Some(())
}

fn write_shaped(shape: &[usize], numbers: &[String], out: &mut String) {
    let Some((length, rest)) = shape.split_first() else {
        out.push_str(numbers.first().map_or("null", String::as_str));
        return;
    };
    out.push('[');
    let mut is_first = true;
    for part in numbers.chunks(numbers.len().checked_div(*length).unwrap_or(1).max(1)) {
        comma(&mut is_first, out);
        write_shaped(rest, part, out);
    }
    out.push(']');
}

#[cfg(test)]
mod tests {
    use super::super::{element, member, write_json};

    fn json(hex: &str) -> String {
        let digits: Vec<_> = hex.chars().filter(|digit| !digit.is_whitespace()).collect();
        let byte = |pair: &[char]| u8::from_str_radix(&pair.iter().collect::<String>(), 16);
        let item: Vec<u8> = digits.chunks(2).map(|pair| byte(pair).unwrap()).collect();
        let mut out = String::new();
        write_json(&item, &mut out).unwrap();
        out
    }

    #[test]
    fn what_is_tagged_is_written_as_people_would() {
        let written = [
            ("c4 82 20 0f", "1.5"),
            ("c4 82 22 38 63", "-0.100"),
            ("c4 82 19 03e8 01", "1E1000"),
            ("c4 82 00 c2 49 010000000000000000", "18446744073709551616"),
            ("c4 82 38 63 01", "1E-100"),
            ("d8 1e 82 20 03", r#""-1/3""#),
            (
                "d8 25 50 12345678123456781234567812345678",
                r#""12345678-1234-5678-1234-567812345678""#,
            ),
            ("d8 34 44 0a000001", r#""10.0.0.1""#),
            ("d8 34 82 08 41 0a", r#""10.0.0.0/8""#),
            ("d8 34 82 44 0a010203 08", r#""10.1.2.3/8""#),
            ("d8 36 50 20010db8000000000000000000000001", r#""2001:db8::1""#),
            ("d8 36 83 50 fe800000000000000000000000000001 f6 64 65746830", r#""fe80::1%eth0""#),
            ("d9 03e9 a2 01 1a 65920080 28 19 01f4", r#""2024-01-01T00:00:00.000000500Z""#),
            ("d9 03e9 a2 01 00 29 63 555443", r#""1970-01-01T00:00:00Z""#),
            ("d9 03ea a2 01 20 25 1a 0007a120", "-0.5"),
            ("d9 03ea a1 01 19 0e10", "3600"),
            ("d9 03ec 6a 323032342d30312d3031", r#""2024-01-01""#),
            ("d9 a7f8 82 01 02", "[1,2]"),
            ("d8 45 44 01000200", "[1,2]"),
            ("d8 41 44 00010002", "[1,2]"),
            ("d8 48 42 ff01", "[-1,1]"),
            ("d8 4f 48 feffffffffffffff", "[-2]"),
            ("d8 56 48 000000000000f83f", "[1.5]"),
            ("d8 55 44 0000c03f", "[1.5]"),
            ("d8 28 82 82 02 01 d8 40 42 0708", "[[7],[8]]"),
            ("d8 28 82 80 d8 40 41 07", "7"),
            ("d8 1b 82 65 7475706c65 82 01 02", "[1,2]"),
            ("d8 1b 83 65 6465717565 81 01 05", "[1]"),
            ("d8 1b 81 65 7475706c65", "null"),
        ];
        for (hex, expected) in written {
            assert_eq!(json(hex), expected, "{hex}");
        }
    }

    #[test]
    fn content_that_a_tag_does_not_have_is_written_as_it_is() {
        let written = [
            ("c4 82 61 61 01", r#"["a",1]"#),
            ("d8 25 41 00", r#""AA==""#),
            ("d8 45 41 00", r#""AA==""#),
            ("d8 53 50 00000000000000000000000000000000", r#""AAAAAAAAAAAAAAAAAAAAAA==""#),
            ("d9 03e9 a1 02 01", r#"{"2":1}"#),
            ("d9 03e9 a1 01 1b 7fffffffffffffff", r#"{"1":9223372036854775807}"#),
            ("d8 34 83 01 02 03", "[1,2,3]"),
            ("d8 1b 01", "1"),
            ("d8 ff 01", "1"),
        ];
        for (hex, expected) in written {
            assert_eq!(json(hex), expected, "{hex}");
        }
    }

    #[test]
    fn what_lies_in_an_object_is_found_in_what_it_is_made_of() {
        let pair = b"\xd8\x1b\x82\x65tuple\x82\x01\x61x";
        assert_eq!(element(pair, -1), Some(&b"\x61x"[..]));
        let order = b"\xd8\x1b\x82\x65Order\xa1\x65price\x07";
        assert_eq!(member(order, "price"), Some(&b"\x07"[..]));
    }
}
