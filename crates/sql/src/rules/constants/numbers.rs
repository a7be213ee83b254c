//! Numbers by their decimal digits.

use std::collections::HashMap;

/// Digits that every whole number of 64 bits has room for.
const WHOLE_DIGITS: usize = 18;

/// A number: some digits, of which the last so many are behind the point (or, if that is negative, lack
/// so many zeros at their end).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DecimalNumber {
    digits: i128,
    scale: i32,
}

impl DecimalNumber {
    pub(super) fn new(digits: i128, scale: i32) -> Self {
        Self { digits, scale }
    }

    pub(super) fn negated(self) -> Self {
        Self { digits: -self.digits, ..self }
    }

    /// Digits, maybe a point, maybe an exponent, maybe a sign; `None` for what is longer than 128 bits.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (number, exponent) = match text.split_once(['e', 'E']) {
            Some((number, exponent)) => (number, exponent.parse::<i32>().ok()?),
            None => (text, 0),
        };
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let mut digits: i128 = format!("{whole}{fraction}").parse().ok()?;
        let mut scale = i32::try_from(fraction.len()).ok()?.checked_sub(exponent)?;
        // One form for one number.
        while digits != 0 && digits % 10 == 0 {
            (digits, scale) = (digits / 10, scale.checked_sub(1)?);
        }
        Some(Self { digits, scale })
    }

    /// The number in steps of that many digits behind the point, rounded down, and whether it is so exactly.
    /// What no 128 bits hold is the most that they do.
    pub(super) fn at_scale(self, scale: i32) -> (i128, bool) {
        let power = |digits: u32| 10_i128.checked_pow(digits);
        let by = scale.saturating_sub(self.scale);
        match (self.digits, by) {
            (0, _) => (0, true),
            (digits, 0..) => match power(by.unsigned_abs()).and_then(|p| digits.checked_mul(p)) {
                Some(steps) => (steps, true),
                None => (if digits < 0 { i128::MIN } else { i128::MAX }, true),
            },
            (digits, _) => match power(by.unsigned_abs()) {
                Some(power) => (digits.div_euclid(power), digits.rem_euclid(power) == 0),
                None => (if digits < 0 { -1 } else { 0 }, false),
            },
        }
    }
}

/// The numbers of a statement of which the parser makes floats: what was written, by the float. A float
/// keeps 15 digits, a decimal up to 38.
#[derive(Debug, Default)]
pub(crate) struct LongNumbers(HashMap<u64, Option<String>>);

impl LongNumbers {
    /// Those of a statement's text. What stands in quotes or comments is taken along, which does no harm.
    pub(crate) fn of(sql: &str) -> Self {
        let mut found: HashMap<u64, Option<String>> = HashMap::new();
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == '_';
        for word in sql.split(|c| !is_part(c)) {
            // Whole numbers are kept exactly as long as 64 bits hold them.
            let is_float = word.contains(['.', 'e', 'E']) || word.len() > WHOLE_DIGITS;
            let is_number = word.starts_with(|c: char| c.is_ascii_digit() || c == '.');
            let Some(value) = word.parse::<f64>().ok().filter(|_| is_float && is_number) else {
                continue;
            };
            let known = found.get(&value.to_bits());
            let is_same = known.is_none_or(|known| {
                known.as_deref().and_then(DecimalNumber::parse) == DecimalNumber::parse(word)
            });
            found.insert(value.to_bits(), is_same.then(|| word.to_owned()));
        }
        Self(found)
    }

    /// What was written for a float: `None` if nothing was that is known, `Some(None)` if several numbers were.
    pub(super) fn text_of(&self, value: f64) -> Option<Option<&str>> {
        self.0.get(&value.abs().to_bits()).map(Option::as_deref)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_on_the_grid_or_between_two_points_of_it() {
        let number = |text| DecimalNumber::parse(text).unwrap();
        assert_eq!(number("17.519").at_scale(3), (17_519, true));
        assert_eq!(number("17.519").at_scale(2), (1_751, false));
        assert_eq!(number("17.519").negated().at_scale(2), (-1_752, false));
        assert_eq!(number("1.5e3").at_scale(0), (1_500, true));
        assert_eq!(number("1e-60").at_scale(10), (0, false));
        assert_eq!(number("1e60").at_scale(10), (i128::MAX, true));
        assert_eq!(number("2.50"), number("2.5"));
    }

    #[test]
    fn what_was_written_is_known_unless_two_numbers_are_one_float() {
        let long = LongNumbers::of("SELECT 0.12345678901234567890 WHERE x > 2.50 OR x < 2.5");
        let float = 0.123_456_789_012_345_68;
        assert_eq!(long.text_of(float), Some(Some("0.12345678901234567890")));
        assert_eq!(long.text_of(-2.5), Some(Some("2.5")));
        let twice = LongNumbers::of("0.1 + 0.10000000000000000001");
        assert_eq!(twice.text_of(0.1), Some(None));
        assert_eq!(twice.text_of(0.2), None);
    }
}
