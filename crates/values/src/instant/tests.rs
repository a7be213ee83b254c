use super::*;

fn micros(text: &str) -> Option<i64> {
    Instant::parse(text.as_bytes())?.to_unit(TimeUnit::Microsecond).ok()
}

#[test]
fn times_of_every_accepted_form_are_read() {
    let second = 1_000_000;
    for (text, expected) in [
        ("1970-01-01", 0),
        ("1970/01/02", 86_400 * second),
        ("1969-12-31T23:59:59Z", -second),
        ("2013-01-01T06:00:00Z", 1_357_020_000 * second),
        ("2013-01-01t06:00:00z", 1_357_020_000 * second),
        ("2013-01-01 06:00", 1_357_020_000 * second),
        ("2013-01-01 06:00:00.5", 1_357_020_000 * second + 500_000),
        ("2013-01-01 06:00:00.000001000", 1_357_020_000 * second + 1),
        ("2013-01-01 07:00:00+01", 1_357_020_000 * second),
        ("2013-01-01 07:30:00+0130", 1_357_020_000 * second),
        ("2013-01-01T01:00:00-05:00", 1_357_020_000 * second),
        ("2013-01-01 06:00:00 UTC", 1_357_020_000 * second),
        ("2013-01-01T01:00-05:00", 1_357_020_000 * second),
        ("2016-12-31T23:59:60Z", 1_483_228_800 * second),
        ("0000-03-01", -62_162_035_200 * second),
        ("9999-12-31T23:59:59.999999Z", 253_402_300_799 * second + 999_999),
    ] {
        assert_eq!(micros(text), Some(expected), "{text}");
    }
}

#[test]
fn what_is_nearly_a_time_is_none() {
    for text in [
        "",
        "2013",
        "2013-1-1",
        "2013-13-01",
        "2013-02-29",
        "2013-00-01",
        "2013-01-00",
        "2013-01/01",
        "2013-01-01T",
        "2013-01-01T24:00",
        "2013-01-01T06:60",
        "2013-01-01T06",
        "2013-01-01T06:00:61",
        "2013-01-01T06:00:00.",
        "2013-01-01T06:00:00.1234567891",
        "2013-01-01T06:00:00+",
        "2013-01-01T06:00:00+24:00",
        "2013-01-01T06:00:00X",
        "2013-01-01T06:00:00[Europe/Berlin]",
        "2013-01-01T06:00:00ZZ",
        "2013-01-01 06:00:00.1.1",
        "20130101T060000Z",
        "-2013-01-01",
        "2013-01-01  06:00",
        "٢٠١٣-01-01",
    ] {
        assert_eq!(Instant::parse(text.as_bytes()), None, "{text}");
    }
}

#[test]
fn units_that_can_not_keep_a_time_say_so() {
    let parse = |text: &str| Instant::parse(text.as_bytes()).unwrap();
    let fine = parse("2024-01-01T00:00:00.000000001Z");
    assert_eq!(fine.to_unit(TimeUnit::Microsecond), Err(Unfit::TooFine));
    assert_eq!(parse("2263-01-01").to_unit(TimeUnit::Nanosecond), Err(Unfit::OutOfRange));
    assert_eq!(parse("1676-01-01").to_unit(TimeUnit::Nanosecond), Err(Unfit::OutOfRange));
    let first = parse("1677-09-21T00:12:43.145224192Z");
    assert_eq!(first.to_unit(TimeUnit::Nanosecond), Ok(i64::MIN));
}

#[test]
fn numbers_are_scaled_exactly_or_not_at_all() {
    use TimeUnit::{Microsecond as Us, Millisecond as Ms, Nanosecond as Ns, Second as S};
    for (text, from, unit, expected) in [
        ("1", S, Us, Some(Ok(1_000_000))),
        ("-1.5", S, Ms, Some(Ok(-1_500))),
        ("-0.5", S, Ms, Some(Ok(-500))),
        ("1.25", Ms, Us, Some(Ok(1_250))),
        ("1.0", Ns, Ns, Some(Ok(1))),
        ("1.5", Ns, Ns, Some(Err(Unfit::TooFine))),
        ("1.0000001", S, Us, Some(Err(Unfit::TooFine))),
        ("1500", Ms, S, Some(Err(Unfit::TooFine))),
        ("-2000", Ms, S, Some(Ok(-2))),
        ("9223372036854775807", S, Ns, Some(Err(Unfit::OutOfRange))),
        ("9223372036854775807", Ns, Ns, Some(Ok(i64::MAX))),
        ("1e9", S, Us, None),
        ("x", S, Us, None),
        (".5", S, Us, None),
        ("1.", S, S, Some(Ok(1))),
        ("1.-5", S, S, None),
    ] {
        assert_eq!(epoch(text.as_bytes(), from, unit), expected, "{text} {from:?} {unit:?}");
    }
}
