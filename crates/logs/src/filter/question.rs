//! Questions: figures of the entries that pass a filter, as in `error | stats count by host`.
//!
//! Owns what may stand behind a filter's bars. The language is set down in
//! `docs/reference/filters.md`.

use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

use timestrata_engine::{Error, ErrorKind, Result};

use super::{EXPRESSION_BYTES_MAX, Filter, Target, parser};

/// Rows that `top` gives where nobody says how many.
pub(super) const TOP_DEFAULT: u64 = 10;
/// Figures, and groups, of one question at most.
pub(super) const COLUMNS_MAX: usize = 32;

/// What is asked of the entries that pass a filter. In the text stages stand behind bars: `stats`, `top` or
/// `rate`, then `sort` and `limit`.
///
/// ```
/// use timestrata_logs::filter::Question;
///
/// # fn main() -> timestrata_engine::Result<()> {
/// let question: Question = "level>=error | stats count, p95(took) by host | limit 5".parse()?;
/// assert_eq!(question.filter().to_string(), "level>=error");
/// assert!("level>=error | stats".parse::<Question>().is_err());
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    pub(crate) filter: Filter,
    pub(crate) figures: Vec<Figure>,
    pub(crate) groups: Vec<Group>,
    /// The columns that rows are sorted by, and whether the greatest come first. Empty: by the groups.
    pub(crate) order: Vec<(String, bool)>,
    pub(crate) limit: Option<u64>,
}

/// One figure of a group of entries.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Figure {
    pub(crate) function: Function,
    pub(crate) of: Option<Target>,
    /// What its column is called.
    pub(crate) name: String,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Function {
    /// Entries; of a field those that have it.
    Count,
    /// Different values.
    Distinct,
    Sum,
    Mean,
    Min,
    Max,
    /// The number below which so many of a hundred are, about.
    Percentile(f64),
    /// Entries a second, where stretches of so many nanoseconds are told apart.
    Rate(i64),
}

impl Function {
    /// The one of a name; `None` for a name of none.
    pub(super) fn of_name(name: &str) -> Option<Self> {
        Some(match name.to_ascii_lowercase().as_str() {
            "count" => Self::Count,
            "distinct" | "count_distinct" | "uniq" | "dc" => Self::Distinct,
            "sum" => Self::Sum,
            "avg" | "mean" => Self::Mean,
            "min" => Self::Min,
            "max" => Self::Max,
            "median" => Self::Percentile(50.0),
            name => {
                let number = name.strip_prefix('p')?;
                let is_number = number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
                let percent: f64 = number.parse().ok().filter(|_| is_number)?;
                return (0.0..=100.0).contains(&percent).then_some(Self::Percentile(percent));
            }
        })
    }
}

/// What entries are told apart by.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Group {
    /// The stretch of so many nanoseconds in which they are, by the log's clock.
    Time(i64),
    /// The log that has them.
    Log,
    Field(Target),
}

impl Group {
    /// What its column is called.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Time(_) => "time".to_owned(),
            Self::Log => "log".to_owned(),
            Self::Field(target) => name_of(target),
        }
    }
}

/// What a part of an entry is called.
pub(super) fn name_of(target: &Target) -> String {
    match target {
        Target::Anywhere => "*".to_owned(),
        Target::Message => "message".to_owned(),
        Target::Level => "level".to_owned(),
        Target::Timestamp => "timestamp".to_owned(),
        Target::SourceTime => "source_time".to_owned(),
        Target::Field(name) => name.to_string(),
    }
}

impl Question {
    /// Whether a text is a question, and no filter alone: whether stages stand behind it.
    ///
    /// ```
    /// use timestrata_logs::filter::Question;
    ///
    /// assert!(Question::has_stages("error | stats count by host"));
    /// assert!(!Question::has_stages("error \"| stats\""));
    /// ```
    pub fn has_stages(text: &str) -> bool {
        text.len() <= EXPRESSION_BYTES_MAX && parser::has_stages(text)
    }

    /// What entries must have.
    pub fn filter(&self) -> &Filter {
        &self.filter
    }

    /// The names of the columns that answer it: groups first.
    fn columns(&self) -> impl Iterator<Item = String> {
        let groups = self.groups.iter().map(Group::name);
        groups.chain(self.figures.iter().map(|figure| figure.name.clone()))
    }

    /// Refuses columns that nobody could tell apart, and orders by others than there are.
    pub(super) fn checked(self) -> std::result::Result<Self, String> {
        let columns: Vec<String> = self.columns().collect();
        for (place, name) in columns.iter().enumerate() {
            if columns.iter().take(place).any(|other| other.eq_ignore_ascii_case(name)) {
                return Err(format!("two columns are called '{name}': name one with `as`"));
            }
        }
        let is_there = |name: &str| columns.iter().any(|column| column == name);
        match self.order.iter().find(|(name, _)| !is_there(name)) {
            Some((name, _)) => Err(format!(
                "there is no column '{name}' to sort by; there are {}",
                columns.join(", ")
            )),
            None => Ok(self),
        }
    }
}

impl FromStr for Question {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        if text.len() > EXPRESSION_BYTES_MAX {
            let message =
                format!("question: {} bytes; at most {EXPRESSION_BYTES_MAX} are taken", text.len());
            return Err(Error::new(ErrorKind::InvalidArgument, message));
        }
        parser::parse_question(text)
    }
}

impl Display for Function {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count => f.write_str("count"),
            Self::Distinct => f.write_str("distinct"),
            Self::Sum => f.write_str("sum"),
            Self::Mean => f.write_str("avg"),
            Self::Min => f.write_str("min"),
            Self::Max => f.write_str("max"),
            Self::Percentile(percent) => write!(f, "p{percent}"),
            Self::Rate(_) => f.write_str("rate"),
        }
    }
}
