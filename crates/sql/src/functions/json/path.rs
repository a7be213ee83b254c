//! Documents, which are JSON text or CBOR items, and what lies in them at the end of a path.

use jiter::{Jiter, Peek};
use timestrata_values::cbor;

/// One step of a path.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum PathStep {
    /// Into an object, by name.
    Key(String),
    /// Into a list, by its place: from 0 on, or from -1 back from the end.
    Index(i64),
}

/// A document, or a value in one.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Document<'a> {
    Json(&'a str),
    Cbor(&'a [u8]),
}

impl<'a> Document<'a> {
    /// Of bytes: JSON if they begin as JSON does, else CBOR. Objects, lists and texts of the two begin differently.
    pub(crate) fn of_bytes(bytes: &'a [u8]) -> Self {
        let begins_as_json = match bytes.trim_ascii_start().first() {
            Some(b'{' | b'[' | b'"' | b'-' | b'0'..=b'9') => true,
            _ => matches!(bytes.trim_ascii(), b"true" | b"false" | b"null"),
        };
        match std::str::from_utf8(bytes) {
            Ok(text) if begins_as_json => Self::Json(text),
            _ => Self::Cbor(bytes),
        }
    }

    /// What lies at the end of a path. `None` if nothing does, and for what is no document.
    pub(crate) fn at(self, path: &[PathStep]) -> Option<Self> {
        match self {
            Self::Json(json) => json_at(json, path).map(Self::Json),
            Self::Cbor(item) => {
                let found = path.iter().try_fold(item, |item, step| match step {
                    PathStep::Key(name) => cbor::member(item, name),
                    PathStep::Index(index) => cbor::element(item, *index),
                });
                found.map(Self::Cbor)
            }
        }
    }
}

/// The text of a value in JSON text, without blanks around it.
fn json_at<'a>(json: &'a str, path: &[PathStep]) -> Option<&'a str> {
    let mut jiter = Jiter::new(json.as_bytes());
    let mut peek = jiter.peek().ok()?;
    for step in path {
        peek = match step {
            PathStep::Key(name) => enter_object(&mut jiter, peek, name)?,
            PathStep::Index(index) => enter_list(&mut jiter, peek, *index)?,
        };
    }
    let start = jiter.current_index();
    jiter.known_skip(peek).ok()?;
    let end = jiter.current_index();
    if path.is_empty() {
        jiter.finish().ok()?;
    }
    json.get(start..end)
}

fn enter_object(jiter: &mut Jiter<'_>, peek: Peek, name: &str) -> Option<Peek> {
    if peek != Peek::Object {
        return None;
    }
    let mut is_it = jiter.known_object().ok()?? == name;
    while !is_it {
        jiter.next_skip().ok()?;
        is_it = jiter.next_key().ok()?? == name;
    }
    jiter.peek().ok()
}

fn enter_list(jiter: &mut Jiter<'_>, peek: Peek, index: i64) -> Option<Peek> {
    if peek != Peek::Array {
        return None;
    }
    let place = match usize::try_from(index) {
        Ok(place) => place,
        Err(_) => {
            let length = list_length(&mut jiter.clone())?;
            length.checked_sub(usize::try_from(index.unsigned_abs()).ok()?)?
        }
    };
    let mut element = jiter.known_array().ok()??;
    for _ in 0..place {
        jiter.known_skip(element).ok()?;
        element = jiter.array_step().ok()??;
    }
    Some(element)
}

/// How many elements the list has that comes next.
fn list_length(jiter: &mut Jiter<'_>) -> Option<usize> {
    let mut next = jiter.known_array().ok()?;
    let mut length = 0;
    while let Some(element) = next {
        jiter.known_skip(element).ok()?;
        length += 1;
        next = jiter.array_step().ok()?;
    }
    Some(length)
}

/// How many elements a list has, or members an object, of which this is the text; `None` for anything else.
pub(super) fn length(json: &str) -> Option<usize> {
    let mut jiter = Jiter::new(json.as_bytes());
    match jiter.peek().ok()? {
        Peek::Array => list_length(&mut jiter),
        Peek::Object => {
            let mut length = 0;
            let mut is_there = jiter.known_object().ok()?.is_some();
            while is_there {
                jiter.next_skip().ok()?;
                length += 1;
                is_there = jiter.next_key().ok()?.is_some();
            }
            Some(length)
        }
        _ => None,
    }
}
