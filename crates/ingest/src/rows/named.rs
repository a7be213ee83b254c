//! Options of reading by their names, as text: one set of names and values for all who take them from somewhere
//! else than a program's source.

use std::str::FromStr;

use arrow_schema::TimeUnit;
use timestrata_engine::{Error, ErrorKind, Result};
use timestrata_values::time_format::TimeFormat;

use super::Load;

/// Bytes that rows of a sample are thought to have, on the whole.
const SAMPLE_ROW_BYTES: usize = 200;
/// Bytes of a sample, at most.
const SAMPLE_BYTES_MAX: usize = 1 << 30;

impl Load {
    /// Names of the options that [`set`](Self::set) takes.
    pub const OPTIONS: [&'static str; 14] = [
        "delimiter",
        "quote",
        "header",
        "null_text",
        "sample_rows",
        "time_unit",
        "time_format",
        "decimal",
        "thousands",
        "comment",
        "skip_lines",
        "encoding",
        "fill_short_rows",
        "time_of_load",
    ];

    /// Sets an option of reading by its name: that of the field, but for `header` and `time_of_load`. What null is written as
    /// may be set more than once.
    ///
    /// ```
    /// use timestrata_ingest::rows::Load;
    ///
    /// let mut load = Load::default();
    /// load.set("delimiter", "tab")?;
    /// load.set("null_text", "nil")?;
    /// load.set("sample_rows", "all")?;
    /// assert!(load.set("quote", "<>").is_err() && load.set("colour", "red").is_err());
    /// # Ok::<(), timestrata_engine::Error>(())
    /// ```
    ///
    /// # Errors
    /// `InvalidArgument` for a value that means nothing, and for a name of no option.
    pub fn set(&mut self, name: &str, value: &str) -> Result<()> {
        let read = &mut self.read;
        match name {
            "delimiter" => read.delimiter = Some(value.parse()?),
            "quote" => read.quote = Some(character(name, value)?),
            "header" => read.has_header = truth(name, value)?,
            "null_text" => read.null_text.get_or_insert_default().push(value.to_owned()),
            "sample_rows" => {
                read.sample_rows = sample_rows(value)?;
                let bytes = read.sample_rows.saturating_mul(SAMPLE_ROW_BYTES);
                if read.sample_rows != usize::MAX {
                    read.sample_bytes = read.sample_bytes.max(bytes).min(SAMPLE_BYTES_MAX);
                }
            }
            "time_unit" => read.time_unit = Some(unit(value)?),
            "time_format" => read.time_format = Some(time_format(value)?),
            "decimal" => read.decimal = Some(character(name, value)?),
            "thousands" => read.thousands = Some(any_character(name, value)?),
            "comment" => read.comment = Some(character(name, value)?),
            "skip_lines" => read.skip_lines = number(name, value)?,
            "encoding" => read.encoding = Some(value.parse()?),
            "fill_short_rows" => read.fill_short_rows = truth(name, value)?,
            "time_of_load" => self.time_of_load = truth(name, value)?,
            _ => {
                let known = Self::OPTIONS.join(", ");
                return Err(invalid(format!("no option is called '{name}': there are {known}")));
            }
        }
        Ok(())
    }
}

fn invalid(message: String) -> Error {
    Error::new(ErrorKind::InvalidArgument, message)
}

fn refuse(name: &str, value: &str, why: &str) -> Error {
    invalid(format!("{name} '{value}': it must be {why}"))
}

fn character(name: &str, value: &str) -> Result<u8> {
    match value.as_bytes() {
        [byte] if byte.is_ascii() && !matches!(byte, b'\r' | b'\n') => Ok(*byte),
        _ => Err(refuse(name, value, "one ASCII character that ends no line")),
    }
}

fn any_character(name: &str, value: &str) -> Result<char> {
    let mut characters = value.chars();
    match (characters.next(), characters.next()) {
        (Some(character), None) => Ok(character),
        _ => Err(refuse(name, value, "one character")),
    }
}

fn truth(name: &str, value: &str) -> Result<bool> {
    value.parse().map_err(|_| refuse(name, value, "true or false"))
}

fn number<T: FromStr>(name: &str, value: &str) -> Result<T> {
    value.parse().map_err(|_| refuse(name, value, "a whole number"))
}

fn sample_rows(value: &str) -> Result<usize> {
    match value {
        "all" => Ok(usize::MAX),
        _ => match value.parse() {
            Ok(rows) if rows > 0 => Ok(rows),
            _ => Err(refuse("sample_rows", value, "a number of rows, from 1, or 'all'")),
        },
    }
}

fn unit(value: &str) -> Result<TimeUnit> {
    match value {
        "s" => Ok(TimeUnit::Second),
        "ms" => Ok(TimeUnit::Millisecond),
        "us" => Ok(TimeUnit::Microsecond),
        "ns" => Ok(TimeUnit::Nanosecond),
        _ => Err(refuse("time_unit", value, "s, ms, us or ns")),
    }
}

/// A format that says all that a time needs. Names of zones are passed over by the parser, so times would be altered
/// without a word.
fn time_format(value: &str) -> Result<TimeFormat> {
    let format = TimeFormat::new(value)?;
    if value.contains("%Z") {
        let why = "without %Z: names of zones are not read in a format, offsets are (%z)";
        return Err(refuse("time_format", value, why));
    }
    let has_year = ["%Y", "%y", "%G", "%g", "%F", "%D", "%x", "%c", "%s", "%+", "%v", "%C"];
    if !has_year.iter().any(|year| value.contains(year)) {
        return Err(refuse("time_format", value, "one with a year (%Y)"));
    }
    Ok(format)
}
