//! What a line asks for.

use jiter::{Jiter, JiterError, Peek};
use timestrata_logs::NewEntry;

use super::metadata::Metadata;
use super::refusal::Refusal;
use super::unread::Unread;

/// What a line asks for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Request {
    /// To keep the entry that was made of it.
    Write,
    /// The entries that arrived from one time to another, both included, in milliseconds.
    Read { start: u64, end: u64 },
}

/// A whole number, as a line may have it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Number {
    #[default]
    Missing,
    Is(u64),
    /// A fraction, one below zero, of more than 64 bits, or no number at all.
    Invalid,
}

#[derive(Debug, Default)]
enum Action {
    #[default]
    Missing,
    Write,
    Read,
    Unknown(String),
}

/// What a line has that means something.
#[derive(Debug, Default)]
struct Members {
    action: Action,
    source_ts: Number,
    start_ts: Number,
    end_ts: Number,
    has_message: bool,
}

/// Reads a line. `entry` is empty, and is the entry to be kept where that is what it asks for.
///
/// # Errors
/// What the line is refused with; `entry` may have anything then.
pub(super) fn parse(
    line: &[u8],
    bytes_max: usize,
    metadata: &mut Metadata,
    entry: &mut NewEntry,
) -> Result<Request, Refusal> {
    metadata.clear();
    let mut json = Jiter::new(line);
    let members = match read(&mut json, metadata, entry) {
        Ok(members) => members,
        Err(Unread::Json(error)) => return Err(Refusal::InvalidJson(error.description(&json))),
        Err(Unread::Unfit(why)) => return Err(Refusal::InvalidJson(why.to_owned())),
    };
    match members.action {
        Action::Missing => Err(Refusal::MissingAction),
        Action::Unknown(given) => Err(Refusal::UnknownAction(given)),
        Action::Write => {
            members.check_write(bytes_max, metadata, entry)?;
            Ok(Request::Write)
        }
        Action::Read => members.range(),
    }
}

/// Reads the members of the object that a line must be. One that is there twice counts as it is last.
fn read(
    json: &mut Jiter<'_>,
    metadata: &mut Metadata,
    entry: &mut NewEntry,
) -> Result<Members, Unread> {
    let mut members = Members::default();
    if json.peek()? != Peek::Object {
        json.next_skip()?;
        json.finish()?;
        return Err(Unread::Unfit("a request must be an object"));
    }
    let mut name = json.known_object()?;
    while let Some(known) = name {
        // Null is what isn't there.
        match known {
            "action" => {
                members.action = match optional_text(json, "action must be a string")? {
                    None => Action::Missing,
                    Some("write") => Action::Write,
                    Some("read") => Action::Read,
                    Some(other) => Action::Unknown(other.to_owned()),
                }
            }
            "message" => {
                entry.message.clear();
                let text = optional_text(json, "message must be a string")?;
                members.has_message = text.is_some();
                entry.message.push_str(text.unwrap_or_default());
            }
            "metadata" => match json.peek()? {
                Peek::Object => metadata.read(json)?,
                Peek::Null => {
                    json.known_null()?;
                    metadata.clear();
                }
                _ => return Err(Unread::Unfit("metadata must be an object")),
            },
            "source_ts" => members.source_ts = number(json)?,
            "start_ts" => members.start_ts = number(json)?,
            "end_ts" => members.end_ts = number(json)?,
            // What later versions of a client may say besides.
            _ => json.next_skip()?,
        }
        name = json.next_key()?;
    }
    json.finish()?;
    Ok(members)
}

fn optional_text<'a>(
    json: &'a mut Jiter<'_>,
    otherwise: &'static str,
) -> Result<Option<&'a str>, Unread> {
    match json.peek()? {
        Peek::String => Ok(Some(json.known_str()?)),
        Peek::Null => {
            json.known_null()?;
            Ok(None)
        }
        _ => Err(Unread::Unfit(otherwise)),
    }
}

/// A whole number, or a text of its digits.
fn number(json: &mut Jiter<'_>) -> Result<Number, JiterError> {
    let peek = json.peek()?;
    match peek {
        Peek::Null => {
            json.known_null()?;
            Ok(Number::Missing)
        }
        Peek::String => Ok(Number::of_digits(json.known_str()?.as_bytes())),
        _ if peek.is_num() => Ok(Number::of_digits(json.known_number_bytes(peek)?)),
        _ => {
            json.known_skip(peek)?;
            Ok(Number::Invalid)
        }
    }
}

impl Number {
    /// Digits alone: no sign, no fraction, no exponent, no space.
    fn of_digits(digits: &[u8]) -> Self {
        let number = digits.iter().try_fold(0_u64, |number, byte| {
            let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
            number.checked_mul(10)?.checked_add(digit)
        });
        match number {
            Some(number) if !digits.is_empty() => Self::Is(number),
            _ => Self::Invalid,
        }
    }
}

impl Members {
    /// Makes the entry whole, unless something is missing or too long.
    fn check_write(
        &self,
        bytes_max: usize,
        metadata: &Metadata,
        entry: &mut NewEntry,
    ) -> Result<(), Refusal> {
        let source_ts = match self.source_ts {
            Number::Missing => return Err(Refusal::MissingSourceTs),
            _ if !self.has_message => return Err(Refusal::MissingMessage),
            Number::Invalid => return Err(Refusal::InvalidSourceTs),
            Number::Is(source_ts) => source_ts,
        };
        if entry.message.len() > bytes_max {
            return Err(Refusal::MessageTooLarge { bytes_max });
        }
        metadata.place(source_ts, entry);
        // Each entry that is written with others must be one that is taken.
        match entry.fields.bytes() {
            bytes if bytes > bytes_max => Err(Refusal::WriteLogError(format!(
                "metadata of {bytes} bytes, as they are kept; at most {bytes_max} are taken"
            ))),
            _ => Ok(()),
        }
    }

    fn range(&self) -> Result<Request, Refusal> {
        match (self.start_ts, self.end_ts) {
            (Number::Missing, _) => Err(Refusal::MissingStartTs),
            (_, Number::Missing) => Err(Refusal::MissingEndTs),
            (Number::Invalid, _) => Err(Refusal::InvalidStartTs),
            (_, Number::Invalid) => Err(Refusal::InvalidEndTs),
            (Number::Is(start), Number::Is(end)) => Ok(Request::Read { start, end }),
        }
    }
}

#[cfg(test)]
mod tests;
