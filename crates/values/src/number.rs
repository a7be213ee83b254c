//! Numbers and truth values as text. Exact: a float is the nearest one to what is written.

/// Digits that an `i64` always holds.
const DIGITS_SAFE: usize = 18;
/// Powers of ten that a float holds exactly.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];
/// Whole numbers of so many digits are floats exactly.
const EXACT_DIGITS: usize = 15;
/// Integers up to here are floats exactly.
const FLOAT_INTEGER_MAX: i64 = 1 << 53;

/// A decimal integer with or without a sign, if `i64` holds it.
pub fn integer(text: &[u8]) -> Option<i64> {
    let (is_negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    };
    if digits.is_empty() {
        return None;
    }
    if digits.len() > DIGITS_SAFE {
        return std::str::from_utf8(text).ok()?.parse().ok();
    }
    let mut value = 0i64;
    for byte in digits {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value * 10 + i64::from(digit);
    }
    Some(if is_negative { -value } else { value })
}

/// A decimal integer without a sign, if `i64` holds it.
pub fn unsigned(text: &[u8]) -> Option<i64> {
    text.first().filter(|first| first.is_ascii_digit()).and_then(|_| integer(text))
}

/// A decimal number, with or without a sign, a point, an exponent; or `nan`, `inf`, `infinity`
/// in any case.
pub fn float(text: &[u8]) -> Option<f64> {
    if let Some(value) = short_float(text) {
        return Some(value);
    }
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// Most numbers have few enough digits that one division of two exact floats gives the nearest.
fn short_float(text: &[u8]) -> Option<f64> {
    let (is_negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    if digits.is_empty() || digits.len() > DIGITS_SAFE {
        return None;
    }
    let (mut value, mut point) = (0i64, None);
    for (at, byte) in digits.iter().enumerate() {
        let digit = byte.wrapping_sub(b'0');
        if digit <= 9 {
            value = value * 10 + i64::from(digit);
        } else if *byte == b'.' && point.is_none() {
            point = Some(at);
        } else {
            return None;
        }
    }
    let decimals = point.map_or(0, |point| digits.len() - point - 1);
    if value > FLOAT_INTEGER_MAX || (point.is_some() && digits.len() == 1) {
        return None;
    }
    #[expect(clippy::cast_precision_loss, reason = "not above 2^53: exact")]
    let value = value as f64 / POWERS.get(decimals)?;
    Some(if is_negative { -value } else { value })
}

/// `true` or `false` in any case.
pub fn boolean(text: &[u8]) -> Option<bool> {
    if text.eq_ignore_ascii_case(b"true") {
        Some(true)
    } else if text.eq_ignore_ascii_case(b"false") {
        Some(false)
    } else {
        None
    }
}

/// Whether it looks like a number and begins as one: not by `+`, which telephone numbers do.
pub fn is_number(text: &[u8]) -> bool {
    !text.starts_with(b"+") && float(text).is_some()
}

/// Whether there is nothing but digits, behind a `-` at most.
pub fn is_whole(text: &[u8]) -> bool {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    !digits.is_empty() && digits.iter().all(u8::is_ascii_digit)
}

/// Whether a whole number has zeros in front, as identifiers have.
pub fn has_leading_zeros(text: &[u8]) -> bool {
    matches!(text.strip_prefix(b"-").unwrap_or(text), [b'0', _, ..])
}

/// Whether a float in place of this text would be another number: it is a whole one of too many digits.
pub fn loses_digits(text: &[u8]) -> bool {
    // The length alone tells it of nearly all.
    text.len() > EXACT_DIGITS && is_whole(text) && !is_float_exactly(text)
}

/// Whether a whole number (digits, behind a `-` at most) is a float to its last digit, or is written as one is
/// that has so few digits: `100000000000000000000000` is the nearest to no other number of one digit.
fn is_float_exactly(text: &[u8]) -> bool {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    if digits.len() <= EXACT_DIGITS {
        return true;
    }
    let Some(value) = float(digits).filter(|value| value.is_finite()) else { return false };
    let digits = String::from_utf8_lossy(digits);
    let digits = digits.trim_start_matches('0');
    let exact = format!("{value:.0}");
    let shortest = format!("{value:e}");
    let shortest: String =
        shortest.chars().take_while(|c| *c != 'e').filter(|c| *c != '.').collect();
    exact == digits || shortest.trim_end_matches('0') == digits.trim_end_matches('0')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn whole_numbers_are_floats_to_the_last_digit_or_not() {
        for text in ["0", "-123456789012345", "9007199254740992", "100000000000000000000000"] {
            assert!(!loses_digits(text.as_bytes()), "{text}");
        }
        for text in ["9007199254740993", "-9007199254740993", "123456789012345678901234567890"] {
            assert!(loses_digits(text.as_bytes()), "{text}");
        }
    }

    proptest! {
        #[test]
        fn floats_are_those_of_the_standard_library(
            whole in -99_999_999i64..99_999_999, decimals in "[0-9]{0,14}", point in any::<bool>()
        ) {
            let text = if point { format!("{whole}.{decimals}") } else { whole.to_string() };
            let expected: f64 = text.parse().unwrap();
            prop_assert_eq!(float(text.as_bytes()).unwrap().to_bits(), expected.to_bits());
        }

        #[test]
        fn any_text_gives_what_the_standard_library_gives(text in "[-+.0-9eEinfaNt ]{0,24}") {
            let same = |a: Option<f64>, b: Option<f64>| a.map(f64::to_bits) == b.map(f64::to_bits);
            prop_assert!(same(float(text.as_bytes()), text.parse().ok()));
            prop_assert_eq!(integer(text.as_bytes()), text.parse().ok());
        }

        #[test]
        fn integers_are_those_of_the_standard_library(value in any::<i64>()) {
            prop_assert_eq!(integer(value.to_string().as_bytes()), Some(value));
        }
    }

    #[test]
    fn the_ends_of_the_range_are_reached_and_not_passed() {
        assert_eq!(integer(b"-9223372036854775808"), Some(i64::MIN));
        assert_eq!(integer(b"9223372036854775807"), Some(i64::MAX));
        assert_eq!(integer(b"9223372036854775808"), None);
        assert_eq!(float(b"-0.0").map(f64::to_bits), Some((-0.0f64).to_bits()));
        assert_eq!(float(b"."), None);
        assert_eq!(integer(b"-"), None);
    }
}
