//! Formats that a table says: a name, a regular expression with named groups, how times are written, and which words are which
//! levels. Those that are known come from `known.toml`; users add their own in files of the same form.
//!
//! ```text
//!   [[format]]                                 2026-11-23 13:09:20,123 - app.db - WARNING - slow query
//!   name = "python"                            |--------- time -------|  logger   level     message
//!   pattern = '(?<time>...) - (?<logger>\S+) - (?<level>[A-Z]+) - (?<message>.*)'
//!   time = "%F %T,%3f"
//! ```

mod file;
mod read;

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, LazyLock, OnceLock};

use regex::{Regex, RegexSet};
use timestrata_engine::{Error, ErrorKind, Result};
use timestrata_logs::Level;
use timestrata_values::time_format::TimeFormat;

use super::Format;

pub(super) use read::{PatternReader, without_colours};

/// A format of lines that a table says.
pub struct Pattern {
    name: String,
    /// What lines of it are, in the plural.
    noun: String,
    text: String,
    times: Vec<TimeFormat>,
    levels: Vec<(String, Level)>,
    /// Made when it is needed first: most are never.
    regex: OnceLock<Regex>,
}

impl Pattern {
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn noun(&self) -> &str {
        &self.noun
    }

    /// Whether the message is all that is behind what the expression finds.
    fn has_message_behind(&self) -> bool {
        self.text.ends_with(MESSAGE)
    }

    /// The expression, which was tried when the table was read.
    fn regex(&self) -> Option<&Regex> {
        if self.regex.get().is_none() {
            let _ = self.regex.set(Regex::new(&anchored(&self.text)).ok()?);
        }
        self.regex.get()
    }
}

/// A line is in a format as a whole, or not. Digits and letters of words are those of ASCII: to know those of all scripts makes each
/// expression ten times as large.
fn anchored(pattern: &str) -> String {
    let pattern = pattern.replace(r"\d", "[0-9]").replace(r"\w", "[0-9A-Za-z_]");
    match pattern.strip_suffix(MESSAGE) {
        Some(head) => format!("^(?:{head})"),
        None => format!("^(?:{pattern})$"),
    }
}

/// How most patterns end. Whatever follows the rest is the message then, so that the expression need not walk over it.
const MESSAGE: &str = "(?<message>.*)";

impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pattern").field("name", &self.name).field("text", &self.text).finish()
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        (&self.name, &self.text) == (&other.name, &other.text)
    }
}

impl Eq for Pattern {}

impl Hash for Pattern {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.name, &self.text).hash(state);
    }
}

/// All formats of lines: those that are read by code of their own, and those that a table says.
///
/// ```
/// use timestrata_ingest::lines::LogFormats;
///
/// # fn main() -> timestrata_engine::Result<()> {
/// let formats = LogFormats::known().with_file(
///     "[[format]]\n\
///      name = 'till'\n\
///      pattern = '(?<time>\\S+ \\S+) till (?<till>\\d+): (?<message>.*)'\n\
///      time = '%d.%m.%Y %H:%M'\n",
///     "formats.toml",
/// )?;
/// assert_eq!(formats.find("till")?.to_string(), "till");
/// assert!(formats.find("tills").is_err());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct LogFormats {
    patterns: Vec<Arc<Pattern>>,
    /// All of them at once, by their place.
    set: Arc<OnceLock<Option<RegexSet>>>,
}

impl LogFormats {
    /// Those that are known without a file.
    #[must_use]
    pub fn known() -> &'static Self {
        static KNOWN: LazyLock<LogFormats> = LazyLock::new(|| {
            // A test reads it as users' files are read, so that it is always one.
            LogFormats::of(file::known_patterns(include_str!("known.toml")).unwrap_or_default())
        });
        &KNOWN
    }

    fn of(patterns: Vec<Pattern>) -> Self {
        let patterns = patterns.into_iter().map(Arc::new).collect();
        Self { patterns, set: Arc::default() }
    }

    /// These and those of a file, which come first: a name that it has too is its own.
    ///
    /// # Errors
    /// `InvalidArgument` for what is no such file: which of its formats is wrong, and what of it.
    pub fn with_file(&self, text: &str, name: &str) -> Result<Self> {
        let own = file::patterns(text, name)?;
        let mut patterns: Vec<Arc<Pattern>> = own.into_iter().map(Arc::new).collect();
        let is_new = |pattern: &&Arc<Pattern>| patterns.iter().all(|own| own.name != pattern.name);
        let known: Vec<_> = self.patterns.iter().filter(is_new).cloned().collect();
        patterns.extend(known);
        Ok(Self { patterns, set: Arc::default() })
    }

    /// Names of all of them.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let coded = Format::CODED.iter().map(Format::name);
        coded.chain(self.patterns.iter().map(|pattern| pattern.name()))
    }

    /// The format of a name, in any case.
    ///
    /// # Errors
    /// `InvalidArgument` for a name that none has; it says those that there are.
    pub fn find(&self, name: &str) -> Result<Format> {
        let is_it = |known: &str| known.eq_ignore_ascii_case(name);
        if let Some(format) = Format::CODED.into_iter().find(|format| is_it(format.name())) {
            return Ok(format);
        }
        if let Some(pattern) = self.patterns.iter().find(|pattern| is_it(&pattern.name)) {
            return Ok(Format::Pattern(Arc::clone(pattern)));
        }
        let shown: String = name.chars().take(40).collect();
        let names = self.names().collect::<Vec<_>>().join(", ");
        let message = format!("format of logs {shown:?}: must be one of {names}");
        Err(Error::new(ErrorKind::InvalidArgument, message))
    }

    /// Which of the formats of tables most lines are in, and how many. Of several the first.
    pub(super) fn most_likely(&self, lines: &[&[u8]]) -> Option<(Format, usize)> {
        let patterns = self.patterns.iter().map(|pattern| anchored(&pattern.text));
        let set = self.set.get_or_init(|| RegexSet::new(patterns).ok()).as_ref()?;
        let mut counts = vec![0_usize; self.patterns.len()];
        for line in lines {
            let text = read::plain_text(line);
            for place in set.matches(&text) {
                if let Some(count) = counts.get_mut(place) {
                    *count += 1;
                }
            }
        }
        let all = self.patterns.iter().zip(counts).rev();
        let (pattern, count) = all.max_by_key(|(_, count)| *count)?;
        (count > 0).then(|| (Format::Pattern(Arc::clone(pattern)), count))
    }
}

impl fmt::Debug for LogFormats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.patterns.iter().map(|pattern| pattern.name())).finish()
    }
}

impl Default for LogFormats {
    fn default() -> Self {
        Self::known().clone()
    }
}
