//! A text taken apart into the numbers and names of a time.

use crate::instant::{fraction_of, offset_of};

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];
const WEEKDAYS: [&str; 7] =
    ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
/// Letters that names are shortened to, at least.
const SHORT_LETTERS: usize = 3;
/// The longest text that is looked at: a longer one is no time.
const TEXT_BYTES_MAX: usize = 80;
const YEAR_DIGITS: usize = 4;

/// What a text says.
pub(super) struct Parts<'t> {
    pub(super) date: Date,
    /// What stands between date and time of day.
    pub(super) gap: &'t str,
    pub(super) clock: Option<Clock>,
    pub(super) zone: Option<&'t str>,
}

/// A number that may be the year.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Year {
    /// Of at most two digits: it may be a day as well.
    Short(i64),
    /// Of four.
    Long(i64),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Date {
    /// Two numbers, of which either is the month, and the year.
    Numbers { first: i64, second: i64, year: i64, separator: char },
    /// The name of the month between two numbers.
    Named { before: Year, month: i64, behind: Year },
    /// Nothing is left to be told.
    Known { year: i64, month: i64, day: i64 },
    /// Eight digits and nothing else.
    Digits { year: i64, month: i64, day: i64 },
}

/// A time of day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Clock {
    pub(super) seconds: i64,
    pub(super) nanoseconds: u32,
    has_seconds: bool,
    has_fraction: bool,
    is_halved: bool,
}

impl Clock {
    /// As a format of `strftime`.
    pub(super) fn format(self) -> String {
        let (hour, half) = if self.is_halved { ("%I", " %p") } else { ("%H", "") };
        let seconds = if self.has_seconds { ":%S" } else { "" };
        let fraction = if self.has_fraction { "%.f" } else { "" };
        format!("{hour}:%M{seconds}{fraction}{half}")
    }
}

/// Takes a text apart.
pub(super) fn parts(text: &str) -> Option<Parts<'_>> {
    let is_looked_at = text.len() <= TEXT_BYTES_MAX && text.is_ascii();
    let mut rest = Rest(is_looked_at.then_some(text)?);
    rest.weekday();
    let begun = rest.date()?;
    if rest.0.is_empty() {
        let Begun::Date(date) = begun else { return None };
        return Some(Parts { date, gap: "", clock: None, zone: None });
    }
    let before = rest.0;
    rest.gap()?;
    let gap = before.get(..before.len() - rest.0.len())?;
    let clock = rest.clock(begun.is_of_digits())?;
    let date = match begun {
        // Digits with a time behind them are no mere number.
        Begun::Date(Date::Digits { year, month, day }) => Date::Known { year, month, day },
        Begun::Date(date) => date,
        Begun::WithoutYear { month, day } => {
            rest.blanks();
            let (year, YEAR_DIGITS) = rest.number()? else { return None };
            Date::Known { year, month, day }
        }
    };
    Some(Parts { date, gap, clock: Some(clock), zone: rest.zone()? })
}

/// What stands before the time of day.
enum Begun {
    Date(Date),
    /// As `ctime()` writes it: the year comes behind the time of day.
    WithoutYear {
        month: i64,
        day: i64,
    },
}

impl Begun {
    fn is_of_digits(&self) -> bool {
        matches!(self, Self::Date(Date::Digits { .. }))
    }
}

/// What is left of a text.
#[derive(Clone, Copy)]
struct Rest<'t>(&'t str);

impl<'t> Rest<'t> {
    /// Takes what is there of these.
    fn take(&mut self, is_taken: impl Fn(char) -> bool) -> &'t str {
        let end = self.0.find(|letter| !is_taken(letter)).unwrap_or(self.0.len());
        let (taken, rest) = self.0.split_at(end);
        self.0 = rest;
        taken
    }

    fn blanks(&mut self) {
        self.take(|letter| letter == ' ');
    }

    /// Takes one of some characters.
    fn one_of(&mut self, letters: &[char]) -> Option<char> {
        let letter = self.0.chars().next().filter(|letter| letters.contains(letter))?;
        self.0 = self.0.get(letter.len_utf8()..)?;
        Some(letter)
    }

    /// A number, and of how many digits.
    fn number(&mut self) -> Option<(i64, usize)> {
        let digits = self.take(|letter| letter.is_ascii_digit());
        Some((digits.parse().ok()?, digits.len()))
    }

    /// A number of one or two digits.
    fn short(&mut self) -> Option<i64> {
        self.number().filter(|(_, digits)| *digits <= 2).map(|(number, _)| number)
    }

    /// The day of the week, which says nothing new.
    fn weekday(&mut self) {
        let mut behind = *self;
        let word = behind.take(|letter| letter.is_ascii_alphabetic());
        if place_of(word, &WEEKDAYS).is_some() {
            behind.one_of(&['.']);
            behind.one_of(&[',']);
            behind.blanks();
            *self = behind;
        }
    }

    fn month(&mut self) -> Option<i64> {
        let word = self.take(|letter| letter.is_ascii_alphabetic());
        self.one_of(&['.']);
        place_of(word, &MONTHS).and_then(|place| i64::try_from(place + 1).ok())
    }

    fn date(&mut self) -> Option<Begun> {
        if self.0.starts_with(|letter: char| letter.is_ascii_alphabetic()) {
            return self.date_from_month();
        }
        let (number, digits) = self.number()?;
        if digits == 8 {
            let (year, month, day) = (number / 10_000, number / 100 % 100, number % 100);
            return Some(Begun::Date(Date::Digits { year, month, day }));
        }
        let first = year_of(number, digits)?;
        let separator = self.one_of(&['/', '.', '-', ' '])?;
        let is_named = self.0.trim_start().starts_with(|letter: char| letter.is_ascii_alphabetic());
        if is_named {
            self.blanks();
            let month = self.month()?;
            self.one_of(&[separator, ','])?;
            self.blanks();
            let behind = self.year()?;
            return Some(Begun::Date(Date::Named { before: first, month, behind }));
        }
        let second = self.short().filter(|_| separator != ' ')?;
        self.one_of(&[separator])?;
        let date = match (first, self.year()?) {
            (Year::Long(year), Year::Short(day)) => Date::Known { year, month: second, day },
            (Year::Short(first), Year::Long(year)) => {
                Date::Numbers { first, second, year, separator }
            }
            // Of three short numbers nobody knows which is the year.
            _ => return None,
        };
        Some(Begun::Date(date))
    }

    /// `Jan 31, 2024`, `Jan-31-1995`, and `Jan 31` with the year somewhere else.
    fn date_from_month(&mut self) -> Option<Begun> {
        let month = self.month()?;
        self.one_of(&[' ', '-', '/'])?;
        self.blanks();
        let day = self.short()?;
        let mut behind = *self;
        behind.one_of(&[',', '-', '/']);
        behind.blanks();
        let (year, digits) = behind.number()?;
        if behind.0.starts_with(':') {
            return Some(Begun::WithoutYear { month, day });
        }
        *self = behind;
        let Year::Long(year) = year_of(year, digits)? else { return None };
        Some(Begun::Date(Date::Known { year, month, day }))
    }

    fn year(&mut self) -> Option<Year> {
        let (number, digits) = self.number()?;
        year_of(number, digits)
    }

    /// What separates the date from the time of day.
    fn gap(&mut self) -> Option<()> {
        if self.one_of(&['T', 't', ':', '_']).is_none() {
            let comma = self.one_of(&[',']);
            let blanks = self.take(|letter| letter == ' ');
            comma.or(blanks.chars().next())?;
        }
        Some(())
    }

    /// `9:15`, `09:15:30.25`, `9:15:30 PM`; without colons where the date is digits too.
    fn clock(&mut self, may_be_digits: bool) -> Option<Clock> {
        let (number, digits) = self.number()?;
        let (hour, minute, second) = match digits {
            4 if may_be_digits => (number / 100, number % 100, None),
            6 if may_be_digits => (number / 10_000, number / 100 % 100, Some(number % 100)),
            1 | 2 => {
                self.one_of(&[':'])?;
                let minute = self.two_digits()?;
                let second = self.one_of(&[':']).map(|_| self.two_digits());
                let second = match second {
                    Some(second) => Some(second?),
                    None => None,
                };
                (number, minute, second)
            }
            _ => return None,
        };
        let fraction = second.and_then(|_| self.one_of(&['.', ',']));
        let nanoseconds = match fraction {
            Some(_) => {
                let digits = self.take(|letter| letter.is_ascii_digit());
                fraction_of(digits.as_bytes()).filter(|(_, is_exact)| *is_exact)?.0
            }
            None => 0,
        };
        let half = self.half();
        let hour = match half {
            Some(half) => (1..=12).contains(&hour).then_some(hour % 12 + 12 * half)?,
            None => hour,
        };
        let seconds = hour * 3_600 + minute * 60 + second.unwrap_or(0);
        // 60 is a leap second: it counts as the first of the minute that follows.
        let is_of_day = hour < 24 && minute < 60 && second.unwrap_or(0) <= 60;
        is_of_day.then_some(Clock {
            seconds,
            nanoseconds,
            has_seconds: second.is_some(),
            has_fraction: fraction.is_some(),
            is_halved: half.is_some(),
        })
    }

    fn two_digits(&mut self) -> Option<i64> {
        self.number().filter(|(_, digits)| *digits == 2).map(|(number, _)| number)
    }

    /// Which half of the day: 0 for `AM`, 1 for `PM`, in any case and with points or without.
    fn half(&mut self) -> Option<i64> {
        let mut behind = *self;
        behind.blanks();
        let word = behind.take(|letter| letter.is_ascii_alphabetic() || letter == '.');
        let half = match word.replace('.', "").to_ascii_lowercase().as_str() {
            "am" => 0,
            "pm" => 1,
            _ => return None,
        };
        *self = behind;
        Some(half)
    }

    /// What is left, if it may be a zone; whether it is one, is told once the time is known.
    fn zone(&mut self) -> Option<Option<&'t str>> {
        let zone = self.0.trim_start();
        let is_zone = |letter: char| letter.is_ascii_alphanumeric() || "+-:/_[]".contains(letter);
        match zone {
            "" => Some(None),
            _ if offset_of(zone.as_bytes()).is_some() || zone.chars().all(is_zone) => {
                Some(Some(zone))
            }
            _ => None,
        }
    }
}

/// The place of a name among others, which may be shortened.
fn place_of(word: &str, names: &[&str]) -> Option<usize> {
    let word = word.to_ascii_lowercase();
    let is_named = |name: &&str| {
        name.starts_with(&word) && (word.len() == SHORT_LETTERS || word.len() == name.len())
    };
    // September is the one month that many shorten to four letters.
    let word_of_four = (word == "sept").then_some("september");
    names.iter().position(|name| is_named(name) || Some(*name) == word_of_four)
}

fn year_of(number: i64, digits: usize) -> Option<Year> {
    match digits {
        1 | 2 => Some(Year::Short(number)),
        YEAR_DIGITS => Some(Year::Long(number)),
        _ => None,
    }
}
