//! Adding fields to an entry that does not have them yet, so that no search for an earlier value is needed.

use timestrata_logs::Fields;
use timestrata_values::cbor;

/// Adds a text to fields that don't have this name yet.
pub(super) fn add_text(fields: &mut Fields, name: &str, value: &str) {
    fields.add(name, |out| cbor::text(out, value));
}

/// Adds a whole number to fields that don't have this name yet.
pub(super) fn add_int(fields: &mut Fields, name: &str, value: i64) {
    fields.add(name, |out| cbor::int(out, value));
}
