//! A JSON object a line, of any depth, as CBOR.

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

/// Reads a line. `escapes` is memory for text with escapes.
pub(super) fn parse(
    line: &str,
    members: &mut Members,
    escapes: &mut Vec<u8>,
    entry: &mut NewEntry,
) -> Result<(), Flaw> {
    members.clear();
    let jiter = Jiter::with_tape(line.as_bytes(), std::mem::take(escapes));
    let mut reader = Reader { jiter, members };
    let read = reader.line();
    *escapes = reader.jiter.into_tape();
    read?;
    members.settle(0, Repeats::Last);
    roles::fill(members, line, entry);
    match members.repeated() {
        Some(name) => Err(Flaw::repeated(name)),
        None => Ok(()),
    }
}

struct Reader<'a> {
    jiter: Jiter<'a>,
    members: &'a mut Members,
}

impl Reader<'_> {
    /// One object, and nothing else.
    fn line(&mut self) -> Result<(), Flaw> {
        if self.jiter.peek()? != Peek::Object {
            return Err(Flaw::unread("not a JSON object"));
        }
        self.object(1)?;
        Ok(self.jiter.finish()?)
    }

    /// The members of an object.
    fn object(&mut self, depth: usize) -> Result<(), Flaw> {
        let mut name = self.jiter.known_object()?;
        while let Some(known) = name {
            let role = if depth == 1 { Role::of(known) } else { None };
            let member = self.members.begin(known);
            if let Some(role) = role {
                self.members.set_role(member, role);
            }
            let peek = self.jiter.peek()?;
            let may_be_time = matches!(role, Some(Role::Time(_)));
            self.value(peek, depth, may_be_time.then_some(member))?;
            self.members.end(member);
            name = self.jiter.next_key()?;
        }
        Ok(())
    }

    fn list(&mut self, depth: usize) -> Result<u64, Flaw> {
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
    fn value(&mut self, peek: Peek, depth: usize, time_of: Option<usize>) -> Result<(), Flaw> {
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

    fn nested(&mut self, peek: Peek, depth: usize) -> Result<(), Flaw> {
        if depth > DEPTH_MAX {
            return Err(Flaw::unread(format!(
                "more than {DEPTH_MAX} objects and lists in each other"
            )));
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

    fn number(&mut self, peek: Peek, time_of: Option<usize>) -> Result<(), Flaw> {
        let text = self.jiter.known_number_bytes(peek)?;
        // From the digits: a float has too few for nanoseconds.
        if let Some(member) = time_of
            && let Some(time) = time::of_number(text)
        {
            self.members.set_time(member, time);
        }
        if memchr3(b'.', b'e', b'E', text).is_none() {
            cbor::integer(self.members.out(), text);
            return Ok(());
        }
        let value = number::float(text).filter(|value| value.is_finite());
        let value = value.ok_or_else(|| Flaw::unread("a number beyond those of 64 bits"))?;
        cbor::float(self.members.out(), value);
        Ok(())
    }
}

impl From<JiterError> for Flaw {
    fn from(error: JiterError) -> Self {
        Self::unread(format!("not JSON: {} at byte {}", error.error_type, error.index))
    }
}
