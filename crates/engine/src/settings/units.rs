//! Sizes and durations as people write them.

use std::time::Duration;

const SIZE_UNITS: [(&str, u64); 9] = [
    ("B", 1),
    ("KB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
];

const DURATION_UNITS: [(&str, u64); 7] = [
    ("ns", 1),
    ("us", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
    ("d", 86_400_000_000_000),
];

/// The bytes that a text such as `64MiB`, `1.5GB` or `4096` names; `None` for what names none.
pub fn size_of_text(text: &str) -> Option<u64> {
    scaled(text, "B", &SIZE_UNITS)
}

/// The time that a text such as `100ms`, `2s`, `1.5h` or `30d` names; `None` for what names none. Without
/// a unit nobody knows what is meant.
pub fn duration_of_text(text: &str) -> Option<Duration> {
    scaled(text, "", &DURATION_UNITS).map(Duration::from_nanos)
}

/// Bytes in the largest unit in which they are whole.
pub(super) fn shown_size(bytes: u64) -> String {
    let binary = SIZE_UNITS.iter().filter(|(_, scale)| scale.is_power_of_two());
    largest_whole(bytes, binary).unwrap_or_else(|| "0".to_owned())
}

/// A duration in the largest unit in which it is whole.
pub(super) fn shown_duration(duration: Duration) -> String {
    let nanoseconds = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
    largest_whole(nanoseconds, DURATION_UNITS.iter()).unwrap_or_else(|| "0s".to_owned())
}

/// A number in the largest of some units, from the least on, in which it is whole; nothing is in none.
fn largest_whole<'a>(
    value: u64,
    units: impl Iterator<Item = &'a (&'static str, u64)>,
) -> Option<String> {
    let whole = units.filter(|(_, scale)| value > 0 && value.is_multiple_of(*scale)).last();
    whole.map(|(unit, scale)| format!("{}{unit}", value / scale))
}

/// A number with a unit, exactly: whole numbers, or decimals that come out whole.
fn scaled(text: &str, unit_default: &str, units: &[(&str, u64)]) -> Option<u64> {
    let text = text.trim();
    let split = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at_checked(split)?;
    let unit = if unit.is_empty() { unit_default } else { unit };
    let (_, scale) = units.iter().find(|(known, _)| known.eq_ignore_ascii_case(unit))?;
    let (whole, fraction) = number.trim().split_once('.').unwrap_or((number.trim(), ""));
    let digits_only = |part: &str| part.bytes().all(|b| b.is_ascii_digit() || b == b'_');
    if whole.is_empty() || !digits_only(whole) || !digits_only(fraction) || fraction.len() > 12 {
        return None;
    }
    let digits: String = whole.chars().chain(fraction.chars()).filter(|c| *c != '_').collect();
    let decimals = fraction.chars().filter(|c| *c != '_').count();
    let value = digits.parse::<u128>().ok()?.checked_mul(u128::from(*scale))?;
    let divisor = 10_u128.checked_pow(u32::try_from(decimals).ok()?)?;
    if value % divisor != 0 {
        return None;
    }
    u64::try_from(value / divisor).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_exact_or_refused() {
        assert_eq!(size_of_text("64MiB"), Some(64 << 20));
        assert_eq!(size_of_text(" 1.5 kb "), Some(1_500));
        assert_eq!(size_of_text("4_096"), Some(4_096));
        for wrong in ["", "MiB", "-1", "1.0000001KiB", "1XB", "99999999TiB", "0x10"] {
            assert_eq!(size_of_text(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn values_are_shown_in_the_largest_unit_in_which_they_are_whole() {
        for (bytes, expected) in
            [(64 << 20, "64MiB"), (1 << 30, "1GiB"), (1_000, "1000B"), (0, "0")]
        {
            assert_eq!(shown_size(bytes), expected);
        }
        for (ms, expected) in [(1_000, "1s"), (1_500, "1500ms"), (7 * 86_400_000, "7d")] {
            assert_eq!(shown_duration(Duration::from_millis(ms)), expected);
        }
        assert_eq!(shown_duration(Duration::ZERO), "0s");
    }

    #[test]
    fn durations_need_a_unit() {
        assert_eq!(duration_of_text("100ms"), Some(Duration::from_millis(100)));
        assert_eq!(duration_of_text("1.5h"), Some(Duration::from_secs(5_400)));
        for wrong in ["5", "", "s", "1.5ns", "-1s"] {
            assert_eq!(duration_of_text(wrong), None, "{wrong}");
        }
    }
}
