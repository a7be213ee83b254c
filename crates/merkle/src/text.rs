//! What the textual standards share: numbers written one way, base64, and names of keys.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::TextError;

/// A number in decimal, as only one text can be it: no sign, no zeros before it.
pub(crate) fn decimal(what: &'static str, text: &str) -> Result<u64, TextError> {
    let number = text.parse().ok().filter(|number: &u64| number.to_string() == text);
    number.ok_or_else(|| TextError::new(what, "a decimal number without a sign", quoted(text)))
}

pub(crate) fn base64(what: &'static str, text: &str) -> Result<Vec<u8>, TextError> {
    STANDARD.decode(text).map_err(|_| TextError::new(what, "base64", quoted(text)))
}

pub(crate) fn to_base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// How much of a wrong text an error repeats.
const QUOTED_CHARS_MAX: usize = 80;

/// A text within an error: quoted, and cut where it is long.
pub(crate) fn quoted(text: &str) -> String {
    match text.char_indices().nth(QUOTED_CHARS_MAX) {
        None => format!("{text:?}"),
        Some((end, _)) => format!("{:?}...", text.get(..end).unwrap_or_default()),
    }
}

/// The lines of a text that ends its last one, without their ends. `None` if it doesn't, and for no
/// text.
pub(crate) fn lines(text: &str) -> Option<impl Iterator<Item = &str>> {
    text.strip_suffix('\n').map(|text| text.split('\n'))
}
