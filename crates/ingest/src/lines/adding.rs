//! Adding fields to an entry that does not have them yet, so that no search for an earlier value is needed.

use timestrata_logs::Fields;
use timestrata_values::cbor;

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
