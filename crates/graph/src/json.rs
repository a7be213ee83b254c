//! JSON that is looked at but not kept.

use serde_json::Value;

/// Why a text is no JSON object; `None` if it is one.
pub(super) fn refuse_object(text: &str) -> Option<String> {
    match serde_json::from_str(text) {
        Ok(Value::Object(_)) => None,
        Ok(_) => Some("it is another JSON value".to_owned()),
        Err(error) => Some(error.to_string()),
    }
}
