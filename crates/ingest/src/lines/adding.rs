//! Adding fields to an entry that does not have them yet, so that no search for an earlier value is needed.

use std::fmt::{self, Write};

use timestrata_logs::Fields;
use timestrata_values::cbor;
use timestrata_values::number;

/// What some formats have in place of a value that is not known.
pub(super) const DASH: &str = "-";

/// Adds a text to fields that don't have this name yet.
pub(super) fn add_text(fields: &mut Fields, name: &str, value: &str) {
    fields.add(name, |out| cbor::text(out, value));
}

/// The same, unless the text is the dash that stands for none.
pub(super) fn add_unless_dash(fields: &mut Fields, name: &str, value: &str) {
    if value != DASH {
        add_text(fields, name, value);
    }
}

/// Adds a whole number to fields that don't have this name yet.
pub(super) fn add_int(fields: &mut Fields, name: &str, value: i64) {
    fields.add(name, |out| cbor::int(out, value));
}

/// Adds a text to fields that don't have this name yet, as a number or a truth value where it is one.
pub(super) fn add_bare(fields: &mut Fields, name: &str, text: &str) {
    fields.add(name, |out| bare(out, text));
}

/// A value without quotes is a number or a truth value only where that, written again, is the same
/// text: a version 1.10 and an identifier 007 stay what they are.
pub(super) fn bare(out: &mut Vec<u8>, text: &str) {
    match text {
        "true" => return cbor::bool(out, true),
        "false" => return cbor::bool(out, false),
        _ => {}
    }
    let may_be_number = text.starts_with(|first: char| first == '-' || first.is_ascii_digit());
    if !may_be_number {
        return cbor::text(out, text);
    }
    let bytes = text.as_bytes();
    if let Some(value) = number::integer(bytes).filter(|value| is_written(value, text)) {
        cbor::int(out, value);
    } else if let Some(value) = text.parse::<u64>().ok().filter(|value| is_written(value, text)) {
        cbor::uint(out, value);
    } else if let Some(value) = number::float(bytes).filter(|value| is_written(value, text)) {
        cbor::float(out, value);
    } else {
        cbor::text(out, text);
    }
}

/// Whether a number is written as this text.
fn is_written(value: &impl fmt::Debug, text: &str) -> bool {
    let mut rest = Rest(text);
    write!(rest, "{value:?}").is_ok() && rest.0.is_empty()
}

/// What is left of a text of which all was written that is before it.
struct Rest<'a>(&'a str);

impl fmt::Write for Rest<'_> {
    fn write_str(&mut self, written: &str) -> fmt::Result {
        self.0 = self.0.strip_prefix(written).ok_or(fmt::Error)?;
        Ok(())
    }
}
