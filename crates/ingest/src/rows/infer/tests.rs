use super::*;

fn inferred(name: &str, values: &[&str]) -> String {
    let mut seen = Seen::default();
    values.iter().for_each(|value| seen.add(value.as_bytes(), None));
    seen.data_type(name, Role::default()).to_string()
}

#[test]
fn a_column_takes_the_narrowest_type_that_holds_its_values() {
    for (values, expected) in [
        (&[][..], "Utf8"),
        (&["true", "FALSE"], "Boolean"),
        (&["1", "-7", "0"], "Int64"),
        (&["01234", "99999"], "Utf8"),
        (&["007", "1.5"], "Utf8"),
        (&["1", "2.5", "1e9", "nan", "-inf"], "Float64"),
        (&["1", "true"], "Utf8"),
        (&["18446744073709551616", "1"], "Utf8"),
        (&["18446744073709551616", "0.5"], "Utf8"),
        (&["1e400", "0.5"], "Utf8"),
        (&["123456789012345678901234567890", "0.5"], "Utf8"),
        (&["9007199254740993", "0.5"], "Utf8"),
        (&["9007199254740992", "0.5"], "Float64"),
        (&["+4930123"], "Utf8"),
        (&["2024-02-29", "1969/12/31"], "Date32"),
        (&["2023-02-29"], "Utf8"),
        (&["2024-01-01", "2024-01-01 10:00"], "Timestamp(µs, \"UTC\")"),
        (&["2024-01-01T10:00:00.000000Z"], "Timestamp(µs, \"UTC\")"),
        (&["2024-01-01T10:00:00.000000001+02:00"], "Timestamp(ns, \"UTC\")"),
        (&["2024-01-01", "x"], "Utf8"),
        (&["-", "."], "Utf8"),
        (&["31.01.2024", "01.02.2024"], "Date32"),
        (&["1/2/2024", "1/31/2024"], "Date32"),
        (&["Jan 1 2000", "Feb 1 2000"], "Date32"),
        (&["1/31/2024 10:15 PM", "2/1/2024 9:05 AM"], "Timestamp(µs, \"UTC\")"),
        (&["2024-01-31 10:00 Europe/Berlin"], "Timestamp(µs, \"UTC\")"),
        // Nothing tells the day from the month, or one text contradicts the other.
        (&["1/2/2024", "3/4/2024"], "Utf8"),
        (&["13/1/2024", "1/13/2024"], "Utf8"),
        (&["1.2.3", "10.0.0"], "Utf8"),
    ] {
        assert_eq!(inferred("x", values), expected, "{values:?}");
    }
}

#[test]
fn numbers_are_times_by_name_and_magnitude_together() {
    let (micro, nano) = ("Timestamp(µs, \"UTC\")", "Timestamp(ns, \"UTC\")");
    for (name, values, expected) in [
        ("timestamp", &["1700000000", "1700000001"][..], micro),
        ("ts", &["1700000000000"], micro),
        ("exch_ts_ms", &["1723161255342"], micro),
        ("local_ts_ns", &["1723161254087891268"], nano),
        ("time", &["1700000000.25"], micro),
        ("time", &["1700000000.1234567"], nano),
        // Flights leave at 5:17, and are in the air for 227 minutes.
        ("dep_time", &["517", "2359"], "Int64"),
        ("air_time", &["227"], "Int64"),
        ("date", &["2013", "2014"], "Int64"),
        ("date", &["192607", "202312"], "Int64"),
        ("date", &["20240131", "20240201"], "Date32"),
        ("date", &["20240131", "20241301"], "Int64"),
        ("id", &["20240131", "20240201"], "Int64"),
        ("volume", &["1700000000"], "Int64"),
        ("price", &["1700000000.5"], "Float64"),
        ("time", &["1700000000", "5"], "Int64"),
    ] {
        assert_eq!(inferred(name, values), expected, "{name} {values:?}");
    }
}

#[test]
fn what_is_declared_a_time_is_one() {
    let mut seen = Seen::default();
    seen.add(b"5", None);
    let role = Role { is_time: true, unit: Some(TimeUnit::Nanosecond) };
    assert_eq!(seen.data_type("x", role).to_string(), "Timestamp(ns, \"UTC\")");
    assert_eq!(seen.epoch_unit("x", role), TimeUnit::Nanosecond);
    assert_eq!(seen.epoch_unit("x", Role::default()), TimeUnit::Second);
}
