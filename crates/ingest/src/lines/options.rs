//! Options for reading lines of logs.

use timestrata_logs::MESSAGE_BYTES_MAX;

use super::{Format, LogFormats};
use crate::Encoding;

/// Most bytes that are ever held of a line.
const LINE_BYTES_CAP: usize = 256 << 20;
/// Every character fits into as many.
const BYTES_MIN: usize = 4;
/// What is wrong with a line fits into as many, and some of the line.
const FIELDS_BYTES_MIN: usize = 1 << 10;

/// How lines are read.
#[derive(Debug, Clone)]
pub struct SourceOptions {
    /// How text is written in bytes: without it as UTF-8, or as a mark at the beginning says. In the place of bytes that are
    /// none of a named one there is U+FFFD.
    pub encoding: Option<Encoding>,
    /// Formats that it may be where it is guessed.
    pub formats: LogFormats,
    /// The format; guessed from the first lines where it is not said.
    pub format: Option<Format>,
    /// The year of times that are written without one. Without it the first gets the latest year that does not take it beyond
    /// `reference_time` (and the 14 hours that a clock may be ahead), and each other one that which is nearest to the one before.
    pub year: Option<i32>,
    /// The latest time that lines are expected to have: the date of their file, or now. Nanoseconds
    /// since 1970-01-01 UTC.
    pub reference_time: i64,
    /// Whether lines that go on with a trace, or are indented behind a line with a time, belong to the entry before. Default: yes.
    pub joins_lines: bool,
    /// A longer line is not taken apart, but cut. At most 256 MiB; default 16 MiB.
    pub line_bytes_max: usize,
    /// A longer message is cut into parts, and so is a line that has longer fields. Default 1 MiB, as a
    /// log takes them; of less than 1 KiB, fields have 1 KiB.
    pub message_bytes_max: usize,
}

impl SourceOptions {
    /// The usual ones, for lines that are not later than `reference_time` (see there).
    pub fn new(reference_time: i64) -> Self {
        Self {
            encoding: None,
            formats: LogFormats::default(),
            format: None,
            year: None,
            reference_time,
            joins_lines: true,
            line_bytes_max: 16 << 20,
            message_bytes_max: MESSAGE_BYTES_MAX,
        }
    }

    pub(super) fn line_bytes(&self) -> usize {
        self.line_bytes_max.clamp(BYTES_MIN, LINE_BYTES_CAP)
    }

    pub(super) fn message_bytes(&self) -> usize {
        self.message_bytes_max.clamp(BYTES_MIN, LINE_BYTES_CAP)
    }

    pub(super) fn fields_bytes(&self) -> usize {
        self.message_bytes().max(FIELDS_BYTES_MIN)
    }
}
