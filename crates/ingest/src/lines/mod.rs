//! Log lines of many formats as entries.
//!
//! A [`LineReader`] takes all of a log, a [`LineParser`] one line at a time; [`guess`] tells the
//! format by the first lines. What each format's lines become:
//!
//! | format | message | fields |
//! | --- | --- | --- |
//! | `json` | the first of `message`, `msg`, `log`, `event`, `body` that is text | all other keys, of any depth; a line that is OpenTelemetry's `resourceLogs` is an entry for each record in it |
//! | `logfmt` | as above | all other keys: numbers and truth values where they stay the same text |
//! | `access` | the request | `client`, `ident`, `user`, `status`, `bytes`, `referer`, `user_agent`, `vhost`, `extra` |
//! | `syslog` | the message | `facility`, `host`, `app`, `pid`, `msgid`, `structured_data` |
//! | `journal` | `MESSAGE` | all other fields as text, in lower case |
//! | `plain` | what is behind a time and a level | of klog's lines, `thread` and `caller` |
//! | those of tables, such as `android` or `postgresql` | the group `message` | all other groups: see [`LogFormats`] |
//!
//! Nothing is dropped: a line that is not in its format is the message of an entry (of a table's format, as plain text), with a field
//! `parse_error` that says why. Where fields can't say all of a line (a key is there twice), it has the
//! field `original`; where it is not UTF-8, `original_base64`. A text that has the form of a time, but is
//! none that 64 bits of nanoseconds hold, stays where it was or is the field `time`.
//!
//! Lines come from anybody: none of them makes this module panic, and memory is bounded by
//! [`SourceOptions::line_bytes_max`]. Formats are in a module each, and know nothing of reading; `pieces`
//! cuts an input into lines, `parser` makes each an entry and keeps what can't be read, `parts` cuts what
//! is too long for an entry, `reader` joins them. Objects are gathered in `members`, from which `roles` picks message, time and level.

mod access;
mod adding;
mod buffer;
mod cursor;
mod entry;
mod envelope;
mod flaw;
mod format;
mod guess;
mod joins;
mod journal;
mod json;
mod logfmt;
mod members;
mod options;
mod parser;
mod parts;
mod patterns;
mod pieces;
mod plain;
mod reader;
mod report;
mod roles;
mod syslog;
mod time;
mod wrapped;

pub use entry::read_entry;
pub use format::Format;
pub use guess::{Guess, guess};
pub use json::{JsonFlaw, read_object};
pub use members::{Item, Members};
pub use options::SourceOptions;
pub use parser::{LineParser, Parsed};
pub use patterns::{LogFormats, Pattern};
pub use reader::{LineReader, Place};
pub use report::SourceReport;

#[cfg(test)]
mod tests;
