//! Times as text and as numbers, down to nanoseconds. Pure, and strict: a text that does not have exactly
//! one of the accepted forms is not a time.

use arrow_schema::TimeUnit;

const NS_PER_SECOND: i128 = 1_000_000_000;
const SECONDS_PER_DAY: i64 = 86_400;
/// Digits of a fraction that nanoseconds hold.
const FRACTION_DIGITS_MAX: usize = 9;

/// A point in time, or a day, as it was written.
///
/// ```
/// use arrow_schema::TimeUnit;
/// use timestrata_values::Instant;
///
/// let at = Instant::parse(b"2024-05-01T10:00:00.25+02:00").unwrap();
/// assert_eq!(at.to_unit(TimeUnit::Millisecond), Ok(1_714_550_400_250));
/// assert!(at.to_unit(TimeUnit::Second).is_err()); // which would lose a quarter of one
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Instant {
    /// Seconds since 1970-01-01 UTC, rounded down.
    pub seconds: i64,
    /// Nanoseconds on top.
    pub nanoseconds: u32,
    /// Whether it is a day without a time of day.
    pub is_date: bool,
}

/// Why a time can't be kept in a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unfit {
    /// It has digits beyond the unit's.
    TooFine,
    /// The unit doesn't reach that far.
    OutOfRange,
}

impl Instant {
    /// Reads `YYYY-MM-DD` (or with slashes), behind which may stand a space or `T`,
    /// `HH:MM[:SS[.fraction]]` and a zone: `Z`, `UTC`, `+HH`, `+HHMM` or `+HH:MM`. Without a
    /// zone it is UTC.
    pub fn parse(text: &[u8]) -> Option<Self> {
        let [y0, y1, y2, y3, first, m0, m1, second, d0, d1, rest @ ..] = text else {
            return None;
        };
        if first != second || !matches!(first, b'-' | b'/') {
            return None;
        }
        let year = two_digits(*y0, *y1)? * 100 + two_digits(*y2, *y3)?;
        let days = days_of(year, two_digits(*m0, *m1)?, two_digits(*d0, *d1)?)?;
        let midnight = days * SECONDS_PER_DAY;
        match rest {
            [] => Some(Self { seconds: midnight, nanoseconds: 0, is_date: true }),
            [b' ' | b'T' | b't', time @ ..] => {
                let (of_day, nanoseconds) = time_of_day(time)?;
                Some(Self { seconds: midnight + of_day, nanoseconds, is_date: false })
            }
            _ => None,
        }
    }

    /// Days since 1970-01-01, if it is a day.
    pub fn days(self) -> Option<i32> {
        i32::try_from(self.seconds / SECONDS_PER_DAY).ok().filter(|_| self.is_date)
    }

    /// As a number of `unit`s; only where that is exact.
    pub fn to_unit(self, unit: TimeUnit) -> Result<i64, Unfit> {
        let per_second = per_second(unit);
        let step = 1_000_000_000 / u32::try_from(per_second).unwrap_or(1);
        if !self.nanoseconds.is_multiple_of(step) {
            return Err(Unfit::TooFine);
        }
        let whole = i128::from(self.seconds) * i128::from(per_second);
        i64::try_from(whole + i128::from(self.nanoseconds / step)).map_err(|_| Unfit::OutOfRange)
    }
}

/// A decimal number of `from` since 1970-01-01 UTC, as a number of `unit`s; only where that is
/// exact. `None` for what is no plain decimal number.
pub fn epoch(text: &[u8], from: TimeUnit, unit: TimeUnit) -> Option<Result<i64, Unfit>> {
    let (whole, fraction) = match text.iter().position(|byte| *byte == b'.') {
        Some(point) => (text.get(..point)?, text.get(point + 1..)?),
        None => (text, &b""[..]),
    };
    let ticks = crate::number::integer(whole)?;
    if fraction.is_empty() {
        return Some(rescale(ticks, from, unit));
    }
    let step = NS_PER_SECOND / i128::from(per_second(from));
    let (billionths, is_exact) = fraction_of(fraction)?;
    let scaled = step * i128::from(billionths);
    if !is_exact || scaled % NS_PER_SECOND != 0 {
        return Some(Err(Unfit::TooFine));
    }
    let part = scaled / NS_PER_SECOND;
    let nanoseconds = i128::from(ticks) * step + if whole.starts_with(b"-") { -part } else { part };
    let to = NS_PER_SECOND / i128::from(per_second(unit));
    Some(match nanoseconds % to {
        0 => i64::try_from(nanoseconds / to).map_err(|_| Unfit::OutOfRange),
        _ => Err(Unfit::TooFine),
    })
}

/// A number of `from` as a number of `unit`s; only where that is exact.
pub fn rescale(ticks: i64, from: TimeUnit, unit: TimeUnit) -> Result<i64, Unfit> {
    let (from, to) = (per_second(from), per_second(unit));
    if to >= from {
        return ticks.checked_mul(to / from).ok_or(Unfit::OutOfRange);
    }
    let step = from / to;
    if ticks % step == 0 { Ok(ticks / step) } else { Err(Unfit::TooFine) }
}

/// The unit of numbers since 1970, by the magnitude of the largest: seconds reach to the year
/// 5138, milliseconds and microseconds as far, each a thousand times as large.
pub fn unit_of_magnitude(largest: u64) -> TimeUnit {
    match largest {
        0..100_000_000_000 => TimeUnit::Second,
        100_000_000_000..100_000_000_000_000 => TimeUnit::Millisecond,
        100_000_000_000_000..100_000_000_000_000_000 => TimeUnit::Microsecond,
        _ => TimeUnit::Nanosecond,
    }
}

/// Days of 1900 to 2100, as numbers of eight digits.
const DAY_MIN: i64 = 19_000_101;
const DAY_MAX: i64 = 21_001_231;

/// The unit of numbers from the least to the greatest, by their magnitude; or why it can't be told.
pub fn unit_of_all(least: i64, greatest: i64) -> Result<TimeUnit, String> {
    let is_day = |number: i64| {
        (DAY_MIN..=DAY_MAX).contains(&number)
            && days_of(number / 10_000, number / 100 % 100, number % 100).is_some()
    };
    if is_day(least) && is_day(greatest) {
        return Err(format!(
            "{least} looks like a day, which is written {}-{:02}-{:02} here: as a number it would be one of \
             seconds since 1970",
            least / 10_000,
            least / 100 % 100,
            least % 100
        ));
    }
    let unit = unit_of_magnitude(greatest.unsigned_abs().max(least.unsigned_abs()));
    let of_least = unit_of_magnitude(least.unsigned_abs());
    let is_plausible = |number: i64, unit: TimeUnit| {
        let step = per_second(unit);
        (PLAUSIBLE_MIN_S * step..PLAUSIBLE_MAX_S.saturating_mul(step)).contains(&number)
    };
    if unit != of_least && is_plausible(least, of_least) && is_plausible(greatest, unit) {
        return Err(format!(
            "{least} and {greatest} are times of several units: bring them to one"
        ));
    }
    Ok(unit)
}

/// A number is a plausible time, without being declared one, from 1990 ...
pub const PLAUSIBLE_MIN_S: i64 = 631_152_000;
/// ... up to 2100.
pub const PLAUSIBLE_MAX_S: i64 = 4_102_444_800;

/// How many digits behind the point of a second a unit has.
pub fn digits(unit: TimeUnit) -> usize {
    per_second(unit).ilog10() as usize
}

/// How many of a unit are a second.
pub fn per_second(unit: TimeUnit) -> i64 {
    match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1_000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => 1_000_000_000,
    }
}

fn digit(byte: u8) -> Option<i64> {
    let value = byte.wrapping_sub(b'0');
    (value < 10).then_some(i64::from(value))
}

/// The number of two digits.
pub fn two_digits(tens: u8, ones: u8) -> Option<i64> {
    let (tens, ones) = (tens.wrapping_sub(b'0'), ones.wrapping_sub(b'0'));
    (tens < 10 && ones < 10).then(|| i64::from(tens) * 10 + i64::from(ones))
}

/// Days from 1970-01-01 to a day of the Gregorian calendar, if there is such a day.
pub fn days_of(year: i64, month: i64, day: i64) -> Option<i64> {
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if is_leap => 29,
        2 => 28,
        _ => return None,
    };
    if day < 1 || day > days {
        return None;
    }
    Some(first_of_month(year, month) + day - 1)
}

/// Days from 1970-01-01 to the first of a month from 1 to 12.
///
/// By the arithmetic of eras of 400 years (Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms").
pub fn first_of_month(year: i64, month: i64) -> i64 {
    // Years from March on, so that the leap day is the last of one.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * month + 2) / 5;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// Year, month and day of a number of days from 1970-01-01.
pub fn date_of(days: i64) -> (i64, i64, i64) {
    // Years from March on, as above.
    let days = days + 719_468;
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (year, month) = match month {
        0..10 => (year, month + 3),
        _ => (year + 1, month - 9),
    };
    (era * 400 + year, month, day)
}

/// Seconds since midnight UTC, and nanoseconds.
fn time_of_day(text: &[u8]) -> Option<(i64, u32)> {
    let [h0, h1, b':', m0, m1, rest @ ..] = text else { return None };
    let (hour, minute) = (two_digits(*h0, *h1)?, two_digits(*m0, *m1)?);
    let (second, rest) = match rest {
        [b':', s0, s1, rest @ ..] => (two_digits(*s0, *s1)?, rest),
        _ => (0, rest),
    };
    // 60 is a leap second: it counts as the first of the minute that follows.
    if hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let (nanoseconds, zone) = match rest {
        [b'.', rest @ ..] => {
            let digits = rest.iter().position(|byte| !byte.is_ascii_digit());
            let (fraction, zone) = rest.split_at_checked(digits.unwrap_or(rest.len()))?;
            let (billionths, is_exact) = fraction_of(fraction)?;
            (is_exact.then_some(billionths)?, zone)
        }
        _ => (0, rest),
    };
    Some((hour * 3_600 + minute * 60 + second - offset_of(zone)?, nanoseconds))
}

/// Billionths, from the digits behind a point, and whether these are all.
pub fn fraction_of(digits: &[u8]) -> Option<(u32, bool)> {
    if digits.is_empty() {
        return None;
    }
    let (kept, rest) = digits.split_at(digits.len().min(FRACTION_DIGITS_MAX));
    let mut billionths = 0;
    for byte in kept {
        billionths = billionths * 10 + u32::try_from(digit(*byte)?).ok()?;
    }
    for _ in kept.len()..FRACTION_DIGITS_MAX {
        billionths *= 10;
    }
    let is_number = rest.iter().all(u8::is_ascii_digit);
    is_number.then(|| (billionths, rest.iter().all(|byte| *byte == b'0')))
}

/// Seconds that a zone is ahead of UTC.
pub fn offset_of(zone: &[u8]) -> Option<i64> {
    let zone = zone.strip_prefix(b" ").unwrap_or(zone);
    let (sign, hours, minutes) = match zone {
        [] | [b'Z' | b'z'] => return Some(0),
        _ if zone.eq_ignore_ascii_case(b"UTC") => return Some(0),
        [sign, h0, h1] => (sign, two_digits(*h0, *h1)?, 0),
        [sign, h0, h1, m0, m1] | [sign, h0, h1, b':', m0, m1] => {
            (sign, two_digits(*h0, *h1)?, two_digits(*m0, *m1)?)
        }
        _ => return None,
    };
    if hours > 23 || minutes > 59 {
        return None;
    }
    let seconds = hours * 3_600 + minutes * 60;
    match sign {
        b'+' => Some(seconds),
        b'-' => Some(-seconds),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
