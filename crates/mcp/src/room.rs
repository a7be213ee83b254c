//! What an answer may hold, and what of it was cut.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

/// A text keeps this much where it has to be shortened.
const TEXT_BYTES_MAX: usize = 2_000;
/// Where even so too much is left, each text keeps this much.
const TEXT_BYTES_MIN: usize = 120;

/// Something of an answer is missing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Cut {
    /// What is missing, and for which bound.
    what: String,
    /// How to get it.
    more: String,
}

impl Cut {
    pub(crate) fn new(what: impl Into<String>, more: impl Into<String>) -> Self {
        Self { what: what.into(), more: more.into() }
    }
}

/// The room of one answer, for items that are put in one after the other.
#[derive(Debug)]
pub(crate) struct Room {
    items_max: usize,
    bytes_max: usize,
    items: usize,
    bytes: usize,
    shortened: usize,
    is_full: Option<&'static str>,
}

impl Room {
    pub(crate) fn new(items_max: usize, bytes_max: usize) -> Self {
        Self { items_max, bytes_max, items: 0, bytes: 0, shortened: 0, is_full: None }
    }

    /// Whether an item goes in, with its long texts shortened. After one that didn't, none does.
    ///
    /// One that is too large by itself goes in if shorter texts make it fit, so that who pages gets on.
    pub(crate) fn takes(&mut self, item: &mut Value) -> bool {
        if self.is_full.is_some() {
            return false;
        }
        if self.items >= self.items_max {
            self.is_full = Some("limit");
            return false;
        }
        let mut shortened = shorten(item, TEXT_BYTES_MAX);
        if bytes_of(item) > self.bytes_max {
            shortened += shorten(item, TEXT_BYTES_MIN);
        }
        let bytes = bytes_of(item);
        if self.bytes + bytes > self.bytes_max {
            self.is_full = Some("bytes");
            return false;
        }
        self.items += 1;
        self.bytes += bytes;
        self.shortened += shortened;
        true
    }

    pub(crate) fn items_max(&self) -> usize {
        self.items_max
    }

    /// Whether something didn't go in.
    pub(crate) fn is_full(&self) -> bool {
        self.is_full.is_some()
    }

    /// Why an item didn't go in, for the end of a sentence; `None` if all did.
    fn why(&self) -> Option<String> {
        self.is_full.map(|bound| match bound {
            "limit" => format!("the limit of {}", self.items_max),
            _ => format!("the bound of {} bytes an answer", self.bytes_max),
        })
    }

    /// What was cut of items of this name in the plural; `more` says how to get those behind, `whole` how to get
    /// texts whole.
    pub(crate) fn cuts(&self, items: &str, more: &str, whole: &str) -> Vec<Cut> {
        let full = self.why().map(|why| {
            Cut::new(format!("there are more {items} than these {}, for {why}", self.items), more)
        });
        let shortened = (self.shortened > 0).then(|| {
            let what = format!("{} long texts end with [+N bytes], which were cut", self.shortened);
            Cut::new(what, whole)
        });
        full.into_iter().chain(shortened).collect()
    }
}

fn bytes_of(item: &Value) -> usize {
    item.to_string().len() + 1
}

/// Shortens texts of more than `most` bytes; gives how many there were.
fn shorten(item: &mut Value, most: usize) -> usize {
    match item {
        Value::String(text) => usize::from(shorten_text(text, most)),
        Value::Array(items) => items.iter_mut().map(|item| shorten(item, most)).sum(),
        Value::Object(members) => members.values_mut().map(|item| shorten(item, most)).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

/// Shortens a text of more than `most` bytes.
pub(crate) fn shorten_text(text: &mut String, most: usize) -> bool {
    if text.len() <= most {
        return false;
    }
    let end = text.floor_char_boundary(most);
    let dropped = text.len() - end;
    text.truncate(end);
    text.push_str(&format!("[+{dropped} bytes]"));
    true
}

#[cfg(test)]
mod tests;
