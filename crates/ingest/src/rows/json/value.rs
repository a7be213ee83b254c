//! A JSON value as it is written: keys in their order, numbers as their text, so that none is rounded.

use std::fmt;

use jiter::{Jiter, JiterError, JsonErrorType, Peek};

use super::records::DEPTH_MAX;

/// A value of a sample, or of a row that does not fit.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Json {
    Null,
    Boolean(bool),
    /// The text of a number.
    Number(String),
    Text(String),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Boolean(value) => value.fmt(f),
            Self::Number(text) | Self::Text(text) => f.write_str(text),
            Self::List(_) => f.write_str("[...]"),
            Self::Object(_) => f.write_str("{...}"),
        }
    }
}

impl Json {
    /// The one value that a text is; or why it is none.
    pub(super) fn parse(text: &[u8]) -> Result<Self, String> {
        let mut jiter = Jiter::new(text);
        let parsed = jiter.peek().and_then(|peek| value(&mut jiter, peek, 0));
        let parsed = parsed.and_then(|value| jiter.finish().map(|()| value));
        parsed.map_err(|error| match error.error_type {
            jiter::JiterErrorType::JsonError(kind) => {
                format!("{kind} at byte {}", error.index)
            }
            kind @ jiter::JiterErrorType::WrongType { .. } => {
                format!("{kind} at byte {}", error.index)
            }
        })
    }
}

fn value(jiter: &mut Jiter<'_>, peek: Peek, depth: usize) -> Result<Json, JiterError> {
    if depth > DEPTH_MAX {
        let index = jiter.current_index();
        let error_type = jiter::JiterErrorType::JsonError(JsonErrorType::RecursionLimitExceeded);
        return Err(JiterError { error_type, index });
    }
    Ok(match peek {
        Peek::Null => {
            jiter.known_null()?;
            Json::Null
        }
        Peek::True | Peek::False => Json::Boolean(jiter.known_bool(peek)?),
        Peek::String => Json::Text(jiter.known_str()?.to_owned()),
        Peek::Array => {
            let mut items = Vec::new();
            let mut next = jiter.known_array()?;
            while let Some(peek) = next {
                items.push(value(jiter, peek, depth + 1)?);
                next = jiter.array_step()?;
            }
            Json::List(items)
        }
        Peek::Object => {
            let mut entries = Vec::new();
            let mut key = jiter.known_object()?.map(str::to_owned);
            while let Some(name) = key {
                let peek = jiter.peek()?;
                entries.push((name, value(jiter, peek, depth + 1)?));
                key = jiter.next_key()?.map(str::to_owned);
            }
            Json::Object(entries)
        }
        _ => {
            let text = jiter.known_number_bytes(peek)?;
            Json::Number(String::from_utf8_lossy(text).into_owned())
        }
    })
}
