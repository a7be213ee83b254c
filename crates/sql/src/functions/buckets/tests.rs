use datafusion::arrow::array::types::IntervalMonthDayNano;

use super::*;

const HOUR: i64 = 3_600;

fn local(interval: IntervalMonthDayNano, zone: &str) -> Buckets {
    let step = Step::new(interval, TimeUnit::Second).unwrap();
    Buckets::local(step, zone, TimeUnit::Second).unwrap()
}

fn days(days: i32) -> IntervalMonthDayNano {
    IntervalMonthDayNano::new(0, days, 0)
}

fn hours(hours: i64) -> IntervalMonthDayNano {
    IntervalMonthDayNano::new(0, 0, hours * HOUR * 1_000_000_000)
}

fn at(text: &str) -> i64 {
    text.parse::<chrono::DateTime<chrono::Utc>>().unwrap().timestamp()
}

#[test]
fn local_days_are_as_long_as_the_clock_has_them() {
    for (zone, time, start, length) in [
        ("Europe/Berlin", "2024-07-01T10:00:00Z", "2024-06-30T22:00:00Z", 24),
        ("Europe/Berlin", "2024-03-31T12:00:00Z", "2024-03-30T23:00:00Z", 23),
        ("Europe/Berlin", "2024-10-27T12:00:00Z", "2024-10-26T22:00:00Z", 25),
        // Midnight isn't there: the day begins at one.
        ("America/Sao_Paulo", "2018-11-04T12:00:00Z", "2018-11-04T03:00:00Z", 23),
        // Midnight is there twice: the day begins with the first.
        ("America/Havana", "2024-11-03T05:30:00Z", "2024-11-03T04:00:00Z", 25),
        // A day that was left out.
        ("Pacific/Apia", "2011-12-30T08:00:00Z", "2011-12-29T10:00:00Z", 24),
        ("Pacific/Apia", "2011-12-30T10:00:00Z", "2011-12-30T10:00:00Z", 24),
        ("+05:30", "2024-01-01T20:00:00Z", "2024-01-01T18:30:00Z", 24),
    ] {
        let start = at(start);
        let expected = Some((start, Some(start + length * HOUR)));
        assert_eq!(local(days(1), zone).at(at(time)), expected, "{zone} {time}");
    }
}

#[test]
fn an_hour_that_is_passed_twice_is_two_and_longer_buckets_go_by_the_clock() {
    let berlin = local(hours(1), "Europe/Berlin");
    for hour in 0..30 {
        let time = at("2024-10-26T20:00:00Z") + hour * HOUR;
        assert_eq!(berlin.at(time + 1_800), Some((time, Some(time + HOUR))));
    }
    // From midnight to six there are seven hours.
    let six = local(hours(6), "Europe/Berlin");
    let midnight = at("2024-10-26T22:00:00Z");
    assert_eq!(six.at(midnight + 5 * HOUR), Some((midnight, Some(midnight + 7 * HOUR))));
}

#[test]
fn buckets_of_any_zone_lie_one_behind_the_other() {
    let months = IntervalMonthDayNano::new(1, 0, 0);
    for zone in [
        "Europe/Berlin",
        "America/St_Johns",
        "America/Sao_Paulo",
        "Pacific/Apia",
        "Australia/Lord_Howe",
        "Africa/Casablanca",
    ] {
        for interval in [hours(1), hours(5), days(1), days(7), months] {
            let buckets = local(interval, zone);
            for year in ["1988-01-01T00:00:00Z", "2011-11-01T00:00:00Z"] {
                let mut time = at(year);
                for _ in 0..2_000 {
                    let (start, Some(end)) = buckets.at(time).unwrap() else { panic!() };
                    assert!(start <= time && time < end, "{zone} {time} {start} {end}");
                    for within in [start, end - 1] {
                        assert_eq!(buckets.at(within), Some((start, Some(end))), "{zone} {within}");
                    }
                    assert_eq!(buckets.next(start), Some(end));
                    assert_eq!(buckets.at(end).map(|(next, _)| next), Some(end), "{zone} {end}");
                    time = end + 977;
                }
            }
        }
    }
}

#[test]
fn steps_from_a_start_meet_the_first_row() {
    let step = Step::Width(10);
    let buckets = Buckets::Plain { step, origin: 0 };
    assert_eq!(buckets.first_from(3, 47), Some(7));
    assert_eq!(buckets.first_from(7, 47), Some(7));
    assert_eq!(buckets.first_from(-3, 47), Some(-3));
}
