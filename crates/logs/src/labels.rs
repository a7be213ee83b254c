//! Labels: where entries come from, as a few keys with few values each.

use std::collections::BTreeMap;
use std::fmt;

use timestrata_engine::{Error, ErrorKind, Result};

/// Most labels of an entry.
pub const LABELS_MAX: usize = 16;
/// Longest key, in bytes.
const KEY_BYTES_MAX: usize = 64;
/// Longest value, in bytes.
const VALUE_BYTES_MAX: usize = 256;

/// Labels of an entry, such as service and host: sorted by key, each key once. What has many
/// values is a field, and no label.
///
/// ```
/// use timestrata_logs::Labels;
///
/// # fn main() -> timestrata_engine::Result<()> {
/// let mut labels = Labels::default();
/// labels.set("service", "api")?.set("host", "web-1")?;
/// assert_eq!(labels.to_string(), r#"{"host":"web-1","service":"api"}"#);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Labels(BTreeMap<String, String>);

impl Labels {
    /// Sets a label; one that is set again keeps its last value.
    ///
    /// # Errors
    /// `InvalidArgument` for a key that isn't 1 to 64 of `A-Z a-z 0-9 . _ -`, a value of more than
    /// 256 bytes or with control characters, and more than [`LABELS_MAX`] labels.
    pub fn set(&mut self, key: &str, value: &str) -> Result<&mut Self> {
        let is_plain =
            |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
        if !(1..=KEY_BYTES_MAX).contains(&key.len()) || !key.bytes().all(is_plain) {
            return refuse(key, &format!("a key is 1 to {KEY_BYTES_MAX} of A-Z a-z 0-9 . _ -"));
        }
        if value.len() > VALUE_BYTES_MAX || value.chars().any(char::is_control) {
            let bytes = value.len();
            let why = format!(
                "its value has {bytes} bytes; at most {VALUE_BYTES_MAX} are taken, without control \
                 characters (what has many or long values is a field)"
            );
            return refuse(key, &why);
        }
        if self.0.len() == LABELS_MAX && !self.0.contains_key(key) {
            return refuse(key, &format!("an entry has at most {LABELS_MAX} labels"));
        }
        self.0.insert(key.to_owned(), value.to_owned());
        Ok(self)
    }

    /// Without any.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The value of a label.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str)
    }

    /// The value of a label, which is all that is left of them.
    pub(super) fn take(mut self, key: &str) -> Option<String> {
        self.0.remove(key)
    }

    /// Keys and values, sorted by key.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value.as_str()))
    }

    /// Appends them as a JSON object, sorted by key.
    pub(super) fn write(&self, out: &mut String) {
        use fmt::Write as _;
        // Memory takes what is written to it.
        let _ = write!(out, "{self}");
    }

    /// Reads what [`Display`](fmt::Display) writes, which is how a stream keeps labels.
    ///
    /// # Errors
    /// `InvalidData` for what is no JSON object of texts.
    pub fn parse(text: &str) -> Result<Self> {
        serde_json::from_str(text).map(Self).map_err(|error| {
            let message = format!("labels of an entry: {error}");
            Error::new(ErrorKind::InvalidData, message).caused_by(error)
        })
    }
}

/// As a JSON object, sorted by key.
impl fmt::Display for Labels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Only text is written, which can't fail.
        f.write_str(&serde_json::to_string(&self.0).map_err(|_| fmt::Error)?)
    }
}

fn refuse<T>(key: &str, why: &str) -> Result<T> {
    let shown: String = key.chars().take(40).collect();
    Err(Error::new(ErrorKind::InvalidArgument, format!("label {shown:?}: {why}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_sorted_and_read_back() {
        let mut labels = Labels::default();
        labels.set("service", "a \"b\"").unwrap().set("host", "x").unwrap();
        labels.set("host", "y").unwrap();
        assert_eq!(Labels::parse(&labels.to_string()).unwrap(), labels);
        assert_eq!((labels.get("host"), labels.get("zone")), (Some("y"), None));
    }

    #[test]
    fn what_is_no_label_is_refused_by_name() {
        let mut labels = Labels::default();
        for (key, value) in [("", "x"), ("a b", "x"), ("a", "x\ny"), ("a", &"x".repeat(257))] {
            let error = labels.set(key, value).unwrap_err().to_string();
            assert!(error.contains(&format!("label {key:?}")), "{error}");
        }
        for index in 0..LABELS_MAX {
            labels.set(&format!("k{index}"), "").unwrap();
        }
        assert!(labels.set("one", "more").unwrap_err().to_string().contains("at most 16"));
    }
}
