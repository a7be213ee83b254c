//! Detection of a log's format: the one in which most of the first lines can be read.

use timestrata_logs::{Level, NewEntry};

use super::joins::{Joins, is_part_of_trace};
use super::parser::{LineParser, Parsed};
use super::roles::text_of;
use super::{Format, LogFormats, SourceOptions, journal, logfmt};

/// Bytes and lines that are looked at.
pub(super) const SAMPLE_BYTES: usize = 64 << 10;
const LINES_MAX: usize = 100;

/// A format, and what speaks for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guess {
    /// The format.
    pub format: Format,
    /// Why it is this one, in words: `20 of 20 lines are JSON objects`.
    pub why: String,
}

/// Guesses the format of a log from how it begins. It is the one in which most lines are, and at
/// least half of them; of those that tables say only where that is none of the others. Else it is [`Format::Plain`], which any line
/// is in.
///
/// ```
/// use timestrata_ingest::lines::{Format, LogFormats, guess};
///
/// let start = b"level=info msg=started port=80\nlevel=warn msg=\"no route\" id=7\n";
/// let guess = guess(start, LogFormats::known());
/// assert_eq!((guess.format, guess.why.as_str()), (Format::Logfmt, "2 of 2 lines are logfmt"));
/// ```
pub fn guess(sample: &[u8], formats: &LogFormats) -> Guess {
    if journal::is_likely(sample) {
        let why = "it begins with fields of an exported journal".to_owned();
        return Guess { format: Format::Journal, why };
    }
    let lines = heads_of(sample);
    // Of formats with as many lines the last is the strictest.
    let coded = [Format::Logfmt, Format::Syslog, Format::Access, Format::Json];
    let counts = coded.map(|format| (count(&format, &lines), format)).into_iter();
    let (mut count, mut format) =
        counts.max_by_key(|(count, _)| *count).unwrap_or((0, Format::Plain));
    let records = |format: &Format| Joins::records(format, &lines_of(sample)).min(lines.len());
    let mut all = records(&format);
    if count * 2 < all
        && let Some((likely, of_it)) = formats.most_likely(&lines)
        && of_it > count
    {
        (format, count) = (likely, of_it);
        all = records(&format);
    }
    if count > 0 && count * 2 >= all {
        let why = format!("{count} of {all} lines are {}", noun(&format));
        return Guess { format, why };
    }
    let why = match count {
        _ if all == 0 => "there are no lines".to_owned(),
        0 => format!("none of {all} lines is in another format"),
        _ => {
            format!(
                "only {count} of {all} lines are {}, and fewer are anything else",
                noun(&format)
            )
        }
    };
    Guess { format: Format::Plain, why }
}

/// The lines that tell of a format: those that are no part of a trace, if there are such.
fn heads_of(sample: &[u8]) -> Vec<&[u8]> {
    let lines = lines_of(sample);
    let heads: Vec<_> = lines.iter().copied().filter(|line| !is_part_of_trace(line)).collect();
    if heads.is_empty() { lines } else { heads }
}

/// The lines to look at. The last one is left out where it is not whole and there are others.
fn lines_of(sample: &[u8]) -> Vec<&[u8]> {
    let start = sample.get(..SAMPLE_BYTES).unwrap_or(sample);
    let whole = match start.iter().rposition(|byte| *byte == b'\n') {
        Some(end) => start.get(..end).unwrap_or_default(),
        None => start,
    };
    whole
        .split(|byte| *byte == b'\n')
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
        .filter(|line| !line.is_empty())
        .take(LINES_MAX)
        .collect()
}

/// How many lines are in a format.
fn count(format: &Format, lines: &[&[u8]]) -> usize {
    let mut parser = LineParser::new(format.clone(), &SourceOptions::new(i64::MAX));
    let mut entry = NewEntry::default();
    let mut is_in = |line: &&&[u8]| {
        // The first 64 KiB may hold less than a line, which says enough if it is JSON.
        if *format == Format::Json && line.len() >= SAMPLE_BYTES - 1 {
            return line.starts_with(b"{\"");
        }
        let is_read = parser.parse(line, &mut entry) == Parsed::Entry;
        is_read
            && match format {
                Format::Syslog => is_syslog(line, &entry),
                Format::Logfmt => std::str::from_utf8(line).is_ok_and(logfmt::is_likely),
                _ => true,
            }
    };
    lines.iter().filter(|line| is_in(line)).count()
}

/// A line that begins with a time may be any program's; syslog's have a priority, or a host and a program
/// behind the time.
fn is_syslog(line: &[u8], entry: &NewEntry) -> bool {
    let text = |name| text_of(entry.fields.get(name)?);
    let is_host = text("host").is_some_and(|host| Level::of_name(host.as_bytes()).is_none());
    line.starts_with(b"<") || (is_host && text("app").is_some())
}

fn noun(format: &Format) -> &str {
    match format {
        Format::Json => "JSON objects",
        Format::Logfmt => "logfmt",
        Format::Access => "access logs",
        Format::Syslog => "syslog",
        Format::Journal => "an exported journal",
        Format::Plain => "plain text",
        Format::Pattern(pattern) => pattern.noun(),
    }
}
