//! What a column is to these clients, and which kind a column of text is by its values.
//!
//! The kinds, and what makes a value one of them, are that server's, not those of files: of the columns that a body
//! brings before there is a table, all values count, and a column in which two kinds meet is text.

use super::times;

/// What a column is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Id,
    Integer,
    Float,
    Text,
    Boolean,
    Timestamp,
}

impl Kind {
    /// As `/schema` says it.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Id => "Id",
            Self::Integer => "Integer",
            Self::Float => "Float",
            Self::Text => "String",
            Self::Boolean => "Boolean",
            Self::Timestamp => "Timestamp",
        }
    }

    fn of_text(text: &str) -> Self {
        if text.trim().is_empty() {
            Self::Text
        } else if times::is_timestamp(text) {
            Self::Timestamp
        } else if text.eq_ignore_ascii_case("true") || text.eq_ignore_ascii_case("false") {
            Self::Boolean
        } else if text.parse::<i64>().is_ok() {
            Self::Integer
        } else if text.parse::<f64>().is_ok() {
            Self::Float
        } else {
            Self::Text
        }
    }

    /// The one that holds values of both.
    fn merged(self, other: Self) -> Self {
        match (self, other) {
            (one, other) if one == other => one,
            (Self::Integer, Self::Float) | (Self::Float, Self::Integer) => Self::Float,
            _ => Self::Text,
        }
    }
}

/// What the values of a column have shown so far.
#[derive(Debug, Default)]
pub(super) struct Seen {
    kind: Option<Kind>,
    /// Whether one that is a whole number is no time.
    has_other: bool,
    /// Whether a time has digits behind the microseconds.
    is_fine: bool,
}

impl Seen {
    pub(super) fn add(&mut self, text: &str) {
        // Nothing makes another kind of it.
        if self.kind == Some(Kind::Text) {
            return;
        }
        let kind = Kind::of_text(text);
        self.kind = Some(self.kind.map_or(kind, |before| before.merged(kind)));
        match kind {
            Kind::Timestamp => {
                self.is_fine |= times::instant(text).is_some_and(|at| at.nanoseconds % 1_000 != 0);
            }
            Kind::Integer => self.has_other |= times::instant(text).is_none(),
            _ => {}
        }
    }

    /// The kind of all values; text where there is none.
    pub(super) fn kind(&self) -> Kind {
        self.kind.unwrap_or(Kind::Text)
    }

    /// Whether times have to be kept in nanoseconds.
    pub(super) fn is_fine(&self) -> bool {
        self.is_fine
    }

    /// Whether a column of this name can be the time of a table: its values are written as times, or it is called
    /// like one and all its numbers count seconds or milliseconds since 1970.
    pub(super) fn may_be_time(&self, name: &str) -> bool {
        let name = name.to_lowercase();
        match self.kind() {
            Kind::Timestamp => true,
            Kind::Integer => !self.has_other && (name.contains("time") || name.contains("date")),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind_of(values: &[&str]) -> Kind {
        let mut seen = Seen::default();
        values.iter().for_each(|value| seen.add(value));
        seen.kind()
    }

    #[test]
    fn two_kinds_in_a_column_make_it_text_but_whole_numbers_among_others_floats() {
        assert_eq!(kind_of(&["1", "-2", "+3", "007"]), Kind::Integer);
        assert_eq!(kind_of(&["1", "2.5", "1e3"]), Kind::Float);
        assert_eq!(kind_of(&["true", "FALSE", "True"]), Kind::Boolean);
        assert_eq!(kind_of(&["2024-01-01", "2024-01-01T00:00:00Z"]), Kind::Timestamp);
        assert_eq!(kind_of(&["1704067200", "1704067201"]), Kind::Timestamp);
        for mixed in [&["1", "true"][..], &["1", ""], &["2024-01-01", "1.5"], &["true", "x"], &[]] {
            assert_eq!(kind_of(mixed), Kind::Text, "{mixed:?}");
        }
        // Seconds since 1970 beside milliseconds: the first is a timestamp, the second a whole number.
        assert_eq!(kind_of(&["1704067200", "1704067201000"]), Kind::Text);
        // What 64 bits don't hold is a float.
        assert_eq!(kind_of(&["9223372036854775808"]), Kind::Float);
    }

    #[test]
    fn whole_numbers_are_the_time_only_under_a_name_and_in_a_range_of_times() {
        let numbers = |values: &[&str]| {
            let mut seen = Seen::default();
            values.iter().for_each(|value| seen.add(value));
            seen
        };
        assert!(numbers(&["1704067200000"]).may_be_time("Event_Time"));
        assert!(!numbers(&["1704067200000"]).may_be_time("ts"));
        // Numbers that count something else.
        assert!(!numbers(&["1704067200000", "35"]).may_be_time("response_time_ms"));
        assert!(!numbers(&["1.5"]).may_be_time("uptime"));
    }
}
