//! Entries on their way to stdout.

use std::io::{self, Write};

use clap::ValueEnum;
use timestrata::logs::filter::Filter;
use timestrata::logs::{Clock, EntryRef};

use super::line::Lines;
use crate::failure::{Failure, Result};
use crate::output::Form;
use crate::terminal::{Look, escape_json, push_visible};

/// Bytes that are written at once.
const WRITE_BYTES: usize = 1 << 16;

/// How entries are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum EntryFormat {
    /// A line each, for people: time, level, message, then labels and fields as key=value.
    Text,
    /// A JSON object a line, with all that an entry has.
    Json,
    /// The message alone; as it is where stdout is no terminal.
    Message,
}

impl Form for EntryFormat {
    const DEFAULT: &'static str = "text";
    const JSON: Self = Self::Json;
}

/// Prints entries in one form.
pub(super) struct Printer {
    form: EntryFormat,
    look: Look,
    lines: Lines,
    buffer: String,
}

impl Printer {
    /// `by` is the clock whose time comes first in a line, `filter` what is marked in it.
    pub(super) fn new(form: EntryFormat, by: Clock, filter: &Filter) -> Self {
        let look = Look::of_stdout();
        Self { form, look, lines: Lines::new(by, look, filter.clone()), buffer: String::new() }
    }

    /// Prints one, at the latest with the next [`flush`](Self::flush).
    pub(super) fn entry(&mut self, entry: &EntryRef<'_>) -> Result<()> {
        match self.form {
            EntryFormat::Text => self.lines.push(entry, &mut self.buffer),
            EntryFormat::Json => {
                let start = self.buffer.len();
                entry.write_json(&mut self.buffer);
                escape_json(&mut self.buffer, start);
                self.buffer.push('\n');
            }
            EntryFormat::Message => {
                match self.look.is_terminal {
                    true => push_visible(entry.message(), &mut self.buffer),
                    false => self.buffer.push_str(entry.message()),
                }
                self.buffer.push('\n');
            }
        }
        if self.buffer.len() >= WRITE_BYTES { self.flush() } else { Ok(()) }
    }

    /// Prints one with a mark before it, which only text has.
    pub(super) fn marked(&mut self, mark: &str, entry: &EntryRef<'_>) -> Result<()> {
        if self.form == EntryFormat::Text {
            self.buffer.push_str(mark);
        }
        self.entry(entry)
    }

    /// Hands on what was printed.
    pub(super) fn flush(&mut self) -> Result<()> {
        let mut out = io::stdout().lock();
        let written = out.write_all(self.buffer.as_bytes()).and_then(|()| out.flush());
        self.buffer.clear();
        written.map_err(Failure::output)
    }
}
