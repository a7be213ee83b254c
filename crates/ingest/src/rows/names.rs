//! Names of columns: which are allowed, and which suggest that a column holds times.

use arrow_schema::{Field, TimeUnit};
use timestrata_engine::Result;
use timestrata_values::time::{NAMES, is_time};

use super::report::{invalid, shorten};

/// Columns of an input, at most.
const COLUMNS_MAX: usize = 16_384;
/// Bytes of a column's name, at most.
const NAME_BYTES_MAX: usize = 1_024;
/// How the names of the engine's own columns begin.
const RESERVED_PREFIX: &str = "__";
/// Last words of the names of numbers that are times.
const TIME_WORDS: [&str; 7] = ["timestamp", "time", "ts", "datetime", "date", "at", "epoch"];
/// First words of such names.
const TIME_FIRST_WORDS: [&str; 2] = ["ts", "timestamp"];

/// Refuses more columns than a table can have.
pub(super) fn check_count(input: &str, columns: usize) -> Result<()> {
    if columns > COLUMNS_MAX {
        return Err(invalid(input, format!("there are {columns} columns, at most {COLUMNS_MAX}")));
    }
    Ok(())
}

/// Refuses names that no table can have, and the same name twice.
pub(super) fn check<'a>(input: &str, names: impl ExactSizeIterator<Item = &'a str>) -> Result<()> {
    check_count(input, names.len())?;
    let mut seen = std::collections::HashMap::new();
    for (at, name) in names.into_iter().enumerate() {
        let place = at + 1;
        let shown = shorten(name.as_bytes());
        let problem = if name.is_empty() {
            Some("has no name".to_owned())
        } else if name.len() > NAME_BYTES_MAX {
            Some(format!("has a name of {} bytes: at most {NAME_BYTES_MAX}", name.len()))
        } else if name.starts_with(RESERVED_PREFIX) {
            Some(format!("is called '{shown}': names that begin with '__' are the store's own"))
        } else if name.chars().any(char::is_control) {
            Some(format!("is called '{shown}': names hold no control characters"))
        } else {
            let earlier = seen.insert(name, place);
            earlier.map(|earlier| format!("is called '{shown}', as is column {earlier}"))
        };
        if let Some(problem) = problem {
            return Err(invalid(input, format!("column {place} {problem}; rename it")));
        }
    }
    Ok(())
}

/// The lower-case words of a name: `createdAt` is `created`, `at`.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut after_lower = false;
    for letter in name.chars() {
        let is_new = !letter.is_alphanumeric() || (after_lower && letter.is_uppercase());
        if is_new && words.last().is_some_and(|word| !word.is_empty()) {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| letter.is_alphanumeric()) {
            word.extend(letter.to_lowercase());
        }
        after_lower = letter.is_lowercase();
    }
    words.retain(|word| !word.is_empty());
    words
}

fn unit_of(word: &str) -> Option<TimeUnit> {
    match word {
        "s" | "sec" | "secs" | "seconds" => Some(TimeUnit::Second),
        "ms" | "millis" | "milliseconds" => Some(TimeUnit::Millisecond),
        "us" | "micros" | "microseconds" => Some(TimeUnit::Microsecond),
        "ns" | "nanos" | "nanoseconds" => Some(TimeUnit::Nanosecond),
        _ => None,
    }
}

/// How many names are preferred for the time column.
pub(super) const PREFERRED: usize = NAMES.len();

/// Where a name stands among those that are preferred for the time column.
pub(super) fn preferred_for_time(name: &str) -> Option<usize> {
    NAMES.iter().position(|preferred| name.eq_ignore_ascii_case(preferred))
}

/// Whether numbers of this name may be times, and in which unit if it says so:
/// `ts`, `pickup_time`, `createdAt`, `exch_ts_ms`.
pub(super) fn says_time(name: &str) -> Option<Option<TimeUnit>> {
    let mut words = words(name);
    let unit = words.last().and_then(|word| unit_of(word));
    if unit.is_some() {
        words.pop();
    }
    let last = words.last()?;
    let first = words.first()?;
    let says = TIME_WORDS.contains(&last.as_str()) || TIME_FIRST_WORDS.contains(&first.as_str());
    says.then_some(unit)
}

/// The column that is the time: of those that hold times, a preferred name, else the first.
pub(super) fn time_column<'a>(fields: impl Iterator<Item = &'a Field>) -> Option<&'a str> {
    fields
        .filter(|field| is_time(field.data_type()))
        .min_by_key(|field| preferred_for_time(field.name()).unwrap_or(PREFERRED))
        .map(|field| field.name().as_str())
}

#[cfg(test)]
mod tests {
    use arrow_schema::DataType;

    use super::*;

    #[test]
    fn names_say_whether_numbers_may_be_times() {
        let says = [
            "timestamp",
            "Time",
            "TS",
            "DateTime",
            "date",
            "pickup_time",
            "createdAt",
            "ts_event",
            "epoch",
            "load-timestamp",
        ];
        for name in says {
            assert_eq!(says_time(name), Some(None), "{name}");
        }
        assert_eq!(says_time("exch_ts_ms"), Some(Some(TimeUnit::Millisecond)));
        assert_eq!(says_time("local_ts_ns"), Some(Some(TimeUnit::Nanosecond)));
        for name in ["volume", "year", "time_spent", "ms", "", "__", "status", "timer", "format"] {
            assert_eq!(says_time(name), None, "{name}");
        }
    }

    #[test]
    fn preferred_names_come_first_and_else_the_first_time() {
        let time = DataType::Timestamp(TimeUnit::Microsecond, None);
        let pick = |names: &[&str]| {
            let fields: Vec<Field> =
                names.iter().map(|name| Field::new(*name, time.clone(), true)).collect();
            time_column(fields.iter()).map(str::to_owned)
        };
        assert_eq!(pick(&["a", "date", "ts", "b"]).as_deref(), Some("ts"));
        assert_eq!(pick(&["a", "DateTime"]).as_deref(), Some("DateTime"));
        assert_eq!(pick(&["b", "a"]).as_deref(), Some("b"));
        assert_eq!(pick(&[]), None);
    }

    #[test]
    fn names_that_no_table_can_have_are_refused() {
        let long = "x".repeat(10_000);
        for names in [&["a", "a"][..], &[""], &["__op"], &[&long], &["a\nb"]] {
            let error = check("in", names.iter().copied()).unwrap_err();
            assert!(error.to_string().len() < 300, "{error}");
        }
        check("in", ["a", "A", "_b"].into_iter()).unwrap();
        check_count("in", COLUMNS_MAX + 1).unwrap_err();
    }
}
