use arrow_schema::TimeUnit;
use proptest::prelude::*;

use super::*;

fn at(text: &str) -> Option<Instant> {
    Instant::parse(text.as_bytes())
}

#[test]
fn times_as_people_write_them_are_read() {
    use DateOrder::{DayFirst, Digits, MonthFirst, YearFirst};
    let afternoon = "2024-01-31T22:15:00";
    for (text, order, expected) in [
        ("31.01.2024", DayFirst, "2024-01-31"),
        ("1/31/2024", MonthFirst, "2024-01-31"),
        ("2024-1-5", DayFirst, "2024-01-05"),
        ("2024.01.05", MonthFirst, "2024-01-05"),
        ("Jan 1 2000", DayFirst, "2000-01-01"),
        ("January 31, 2024", DayFirst, "2024-01-31"),
        ("Jan-1-1995", MonthFirst, "1995-01-01"),
        ("1-Jan-2003", MonthFirst, "2003-01-01"),
        ("31 January 2024", YearFirst, "2024-01-31"),
        ("Sept. 3, 2024", DayFirst, "2024-09-03"),
        ("2024-Jan-31", DayFirst, "2024-01-31"),
        ("19-Sep-03", DayFirst, "2003-09-19"),
        ("19-Sep-03", YearFirst, "2019-09-03"),
        ("19-Sep-70", DayFirst, "1970-09-19"),
        ("20240131", Digits, "2024-01-31"),
        ("31/01/2024 10:15 PM", DayFirst, afternoon),
        ("1/31/2024 10:15:00 p.m.", MonthFirst, afternoon),
        ("31.01.2024, 22:15", DayFirst, afternoon),
        ("31/Jan/2024:22:15:00 +0000", DayFirst, afternoon),
        ("Wed, 31 Jan 2024 23:15:00 +0100", DayFirst, afternoon),
        ("Wed Jan 31 22:15:00 2024", DayFirst, afternoon),
        ("20240131T221500Z", DayFirst, afternoon),
        ("2024-01-31 23:15 Europe/Berlin", DayFirst, afternoon),
        ("2024-07-31T23:15[Europe/Berlin]", DayFirst, "2024-07-31T21:15:00"),
        ("2024-01-31 22:15:00,5", DayFirst, "2024-01-31T22:15:00.5"),
        ("12/31/2024 12:00 AM", MonthFirst, "2024-12-31T00:00:00"),
        ("12/31/2024 12:30 pm", MonthFirst, "2024-12-31T12:30:00"),
        ("1/1/2024 9:05 GMT", DayFirst, "2024-01-01T09:05:00"),
    ] {
        assert_eq!(read(text, order), Some(at(expected).unwrap()), "{text}");
    }
}

#[test]
fn what_is_no_time_or_not_one_alone_is_none() {
    for text in [
        "1.2.3",
        "13/02/0007",
        "10.0.0.1",
        "1/2",
        "01/02/03",
        "2024",
        "202401",
        "0/1/2024",
        "31/31/2024",
        "1/1/20245",
        "30 Feb 2024",
        "Jan 2000",
        "soon",
        "",
        "10:15",
        "1/1/2024 25:00",
        "1/1/2024 10:60",
        "1/1/2024 13:00 PM",
        "1/1/2024 10:15 EST",
        "1/1/2024 10:15 Nowhere/City",
        "1-2-2024-3",
        // Clocks showed this time twice, and the next one never.
        "2024-10-27 02:30 Europe/Berlin",
        "2024-03-31 02:30 Europe/Berlin",
        "31\u{ff0f}01/2024",
        "Mon",
        "May",
        "20240131 1015 x",
        "2024-01-31T10:15:00.1234567891",
    ] {
        assert_eq!(DateOrders::of(text), None, "{text}");
    }
}

#[test]
fn the_order_is_what_all_texts_leave() {
    let only = |texts: &[&str]| {
        let all = texts.iter().map(|text| DateOrders::of(text).unwrap());
        all.fold(DateOrders::ANY, DateOrders::and).only()
    };
    assert_eq!(only(&["01/02/2024", "13/02/2024"]), Some(DateOrder::DayFirst));
    assert_eq!(only(&["01/02/2024", "02/13/2024"]), Some(DateOrder::MonthFirst));
    assert_eq!(only(&["01/02/2024", "02/03/2024"]), None);
    assert_eq!(only(&["13/02/2024", "02/13/2024"]), None);
    assert_eq!(only(&["19-Sep-03", "31-Dec-99"]), Some(DateOrder::DayFirst));
    assert_eq!(only(&["19-Sep-03"]), None);
    assert_eq!(only(&["20240131", "Jan 1 2024"]), Some(DateOrder::Digits));
    assert!(only(&["Jan 1 2024", "2024-1-5"]).is_some());
}

#[test]
fn a_format_that_is_proposed_reads_the_text() {
    for (text, order) in [
        ("1/2/2024", DateOrder::DayFirst),
        ("1.2.2024 10:15", DateOrder::MonthFirst),
        ("1-2-2024, 10:15:30", DateOrder::DayFirst),
        ("1/2/2024 10:15:30.25 PM", DateOrder::MonthFirst),
    ] {
        let format = format_of(text, order).unwrap();
        let format = crate::time_format::TimeFormat::new(&format).unwrap();
        let Some(crate::time_format::WrittenTime::At { seconds, nanoseconds }) = format.read(text)
        else {
            panic!("{text} is not read as {format}");
        };
        let known = read(text, order).unwrap();
        assert_eq!((known.seconds, known.nanoseconds), (seconds, nanoseconds), "{text}");
    }
    assert_eq!(format_of("Jan 1 2000", DateOrder::DayFirst), None);
}

proptest! {
    #[test]
    fn any_text_is_a_time_or_none(text in "[0-9A-Za-z/.:, +-]{0,30}") {
        for order in DateOrder::ALL {
            if let Some(instant) = read(&text, order) {
                prop_assert!(instant.to_unit(TimeUnit::Second).is_ok() || instant.nanoseconds > 0);
                prop_assert!(DateOrders::of(&text).is_some());
            }
        }
    }

    #[test]
    fn days_come_back_in_the_order_in_which_they_were_written(
        days in -25_000i64..40_000, clock in 0i64..86_400
    ) {
        let (year, month, day) = crate::instant::date_of(days);
        let (hour, minute, second) = (clock / 3_600, clock / 60 % 60, clock % 60);
        let written = format!("{day}/{month}/{year:04} {hour}:{minute:02}:{second:02}");
        let found = read(&written, DateOrder::DayFirst).map(|found| found.seconds);
        prop_assert_eq!(found, Some(days * SECONDS_PER_DAY + clock));
    }
}
