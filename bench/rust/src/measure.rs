//! One line of the report.

use serde::{Deserialize, Serialize};

/// A figure, what it is held against, and what was hoped for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measure {
    /// Which suite it belongs to.
    pub suite: String,
    /// What was measured; unique in its suite.
    pub name: String,
    /// Unit of both values.
    pub unit: String,
    /// The figure.
    pub value: f64,
    /// What it is held against.
    pub against: String,
    /// The figure of that.
    pub against_value: f64,
    /// Above 1: better than what it is held against.
    pub ratio: f64,
    /// The least `ratio` hoped for; none where the figure is only told.
    pub aim: Option<f64>,
    /// How it was measured: counts, sizes, shape of the data.
    pub note: String,
}

/// Which of two values is the better one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    /// Rates.
    Higher,
    /// Times and sizes.
    Lower,
}

impl Measure {
    /// A figure without anything to hold it against yet.
    pub fn new(name: impl Into<String>, unit: &str, value: f64) -> Self {
        Self {
            suite: "engine".to_owned(),
            name: name.into(),
            unit: unit.to_owned(),
            value: short(value),
            against: "-".to_owned(),
            against_value: short(value),
            ratio: 1.0,
            aim: None,
            note: String::new(),
        }
    }

    /// Holds it against another figure of the same unit.
    #[must_use]
    pub fn against(mut self, what: impl Into<String>, value: f64, better: Better) -> Self {
        let ratio = match better {
            Better::Higher => self.value / value,
            Better::Lower => value / self.value,
        };
        self.against = what.into();
        self.against_value = short(value);
        self.ratio = if ratio.is_finite() { short(ratio) } else { 0.0 };
        self
    }

    /// The least ratio hoped for.
    #[must_use]
    pub fn aim(mut self, ratio: f64) -> Self {
        self.aim = Some(short(ratio));
        self
    }

    /// How it was measured.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.note = note.into();
        self
    }

    /// Whether the aim is reached; true where there is none.
    pub fn is_reached(&self) -> bool {
        self.aim.is_none_or(|aim| self.ratio >= aim)
    }
}

/// A number with a space before each group of three digits, for names.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

/// Four digits: more would claim a precision that no benchmark has.
pub(crate) fn short(value: f64) -> f64 {
    format!("{value:.3e}").parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_above_one_is_always_the_better_figure() {
        let rate = Measure::new("rate", "rows/s", 20.0).against("other", 10.0, Better::Higher);
        let time = Measure::new("time", "us", 5.0).against("other", 10.0, Better::Lower);
        assert_eq!((rate.ratio, time.ratio), (2.0, 2.0));
    }

    #[test]
    fn an_aim_is_reached_from_its_own_value_on() {
        let measure = Measure::new("rate", "rows/s", 5.0).against("other", 10.0, Better::Higher);
        assert!(measure.clone().aim(0.5).is_reached());
        assert!(!measure.clone().aim(0.501).is_reached());
        assert!(measure.is_reached());
    }
}
