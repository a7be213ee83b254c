//! A JSON object, of any depth, as CBOR: as a line of a log, and as what others keep in an entry.

use jiter::{Jiter, JiterError, Peek};
use memchr::memchr3;
use timestrata_logs::NewEntry;
use timestrata_values::cbor;
use timestrata_values::number;

use super::flaw::Flaw;
use super::members::{Members, Repeats};
use super::roles::{self, Role};
use super::time;

/// Objects and lists in each other.
const DEPTH_MAX: usize = 128;

/// Why JSON is not taken as it is.
#[derive(Debug)]
pub enum JsonFlaw {
    /// It is none.
    Malformed(JiterError),
    /// It has more than 128 objects and lists in each other.
    TooDeep,
    /// It has a number with a fraction beyond those of 64 bits.
    NumberOutOfRange,
}

/// Reads the object that comes next, each name in it once: of several with one name the last counts, at
/// any depth. Whole numbers keep all of their digits, and zero its sign.
///
/// ```
/// use jiter::Jiter;
/// use timestrata_ingest::lines::{Members, read_object};
///
/// let mut members = Members::default();
/// read_object(&mut Jiter::new(br#"{"user":7,"tags":["a"],"user":8}"#), &mut members).unwrap();
/// let names: Vec<&str> = members.iter().map(|item| item.name).collect();
/// assert_eq!(names, ["tags", "user"]);
/// ```
///
/// # Errors
/// For what can't be kept; `members` may have anything then.
pub fn read_object(jiter: &mut Jiter<'_>, members: &mut Members) -> Result<(), JsonFlaw> {
    members.clear();
    let mut reader = Reader { jiter, members, is_line: false };
    reader.object(1)?;
    members.settle(0, Repeats::Last);
    Ok(())
}

/// Reads a line. `escapes` is memory for text with escapes.
pub(super) fn parse(
    line: &str,
    members: &mut Members,
    escapes: &mut Vec<u8>,
    entry: &mut NewEntry,
) -> Result<(), Flaw> {
    members.clear();
    // Python's `json` writes these, and many lines have them: no reason to take the line for text.
    let jiter = Jiter::with_tape(line.as_bytes(), std::mem::take(escapes));
    let mut jiter = jiter.with_allow_inf_nan();
    let read = Reader { jiter: &mut jiter, members, is_line: true }.line();
    *escapes = jiter.into_tape();
    read?;
    roles::fill_once(members, line, entry)
}

struct Reader<'a, 'j> {
    jiter: &'a mut Jiter<'j>,
    members: &'a mut Members,
    /// Whether some members have places of their own in an entry; and a zero has no sign then.
    is_line: bool,
}

impl Reader<'_, '_> {
    /// One object, and nothing else.
    fn line(&mut self) -> Result<(), Flaw> {
        if self.jiter.peek().map_err(JsonFlaw::from)? != Peek::Object {
            return Err(Flaw::unread("not a JSON object"));
        }
        self.object(1)?;
        Ok(self.jiter.finish().map_err(JsonFlaw::from)?)
    }

    /// The members of an object.
    fn object(&mut self, depth: usize) -> Result<(), JsonFlaw> {
        let mut name = self.jiter.known_object()?;
        while let Some(known) = name {
            let role = if depth == 1 && self.is_line { Role::of(known) } else { None };
            let member = self.members.begin(known, role);
            let peek = self.jiter.peek()?;
            let may_be_time = matches!(role, Some(Role::Time(_)));
            self.value(peek, depth, may_be_time.then_some(member))?;
            self.members.end(member);
            name = self.jiter.next_key()?;
        }
        Ok(())
    }

    fn list(&mut self, depth: usize) -> Result<u64, JsonFlaw> {
        let mut items = 0;
        let mut next = self.jiter.known_array()?;
        while let Some(peek) = next {
            self.value(peek, depth, None)?;
            items += 1;
            next = self.jiter.array_step()?;
        }
        Ok(items)
    }

    /// `time_of` is the member whose time a number is, if it is one.
    fn value(&mut self, peek: Peek, depth: usize, time_of: Option<usize>) -> Result<(), JsonFlaw> {
        match peek {
            Peek::String => {
                let text = self.jiter.known_str()?;
                cbor::text(self.members.out(), text);
            }
            Peek::Null => {
                self.jiter.known_null()?;
                cbor::null(self.members.out());
            }
            Peek::True | Peek::False => {
                let value = self.jiter.known_bool(peek)?;
                cbor::bool(self.members.out(), value);
            }
            Peek::Object | Peek::Array => self.nested(peek, depth + 1)?,
            _ => self.number(peek, time_of)?,
        }
        Ok(())
    }

    fn nested(&mut self, peek: Peek, depth: usize) -> Result<(), JsonFlaw> {
        if depth > DEPTH_MAX {
            return Err(JsonFlaw::TooDeep);
        }
        let open = self.members.open();
        if peek == Peek::Object {
            self.object(depth)?;
            self.members.close_object(open, Repeats::Last);
        } else {
            let items = self.list(depth)?;
            self.members.close_list(open, items);
        }
        Ok(())
    }

    fn number(&mut self, peek: Peek, time_of: Option<usize>) -> Result<(), JsonFlaw> {
        let text = self.jiter.known_number_bytes(peek)?;
        if let [b'N' | b'I', ..] | [b'-', b'I', ..] = text {
            // No number that JSON has: as the word it is.
            let word = std::str::from_utf8(text).unwrap_or("NaN");
            cbor::text(self.members.out(), word);
            return Ok(());
        }
        // From the digits: a float has too few for nanoseconds.
        if let Some(member) = time_of {
            self.members.set_time(member, time::of_number(text));
        }
        let is_signed_zero = !self.is_line && text == b"-0";
        if !is_signed_zero && memchr3(b'.', b'e', b'E', text).is_none() {
            cbor::integer(self.members.out(), text);
            return Ok(());
        }
        let value = number::float(text).filter(|value| value.is_finite());
        cbor::float(self.members.out(), value.ok_or(JsonFlaw::NumberOutOfRange)?);
        Ok(())
    }
}

impl From<JiterError> for JsonFlaw {
    fn from(error: JiterError) -> Self {
        Self::Malformed(error)
    }
}

impl From<JsonFlaw> for Flaw {
    fn from(flaw: JsonFlaw) -> Self {
        match flaw {
            JsonFlaw::Malformed(JiterError { error_type, index }) => {
                Self::unread(format!("not JSON: {error_type} at byte {index}"))
            }
            JsonFlaw::TooDeep => {
                Self::unread(format!("more than {DEPTH_MAX} objects and lists in each other"))
            }
            JsonFlaw::NumberOutOfRange => Self::unread("a number beyond those of 64 bits"),
        }
    }
}
