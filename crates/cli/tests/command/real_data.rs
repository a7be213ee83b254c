//! Real files go in whole. Skipped, with a message, where the shared data is absent.

use crate::runner::{Runner, shared_data};

#[test]
fn a_year_of_hourly_weather_goes_in_and_out() {
    let Some(weather) = shared_data("flights/weather.csv") else { return };
    let runner = Runner::new();
    let file = weather.to_str().unwrap();
    runner.ok(&["ingest", "store", "weather", file, "--as", "timelog", "--time", "time_hour"]);
    assert_eq!(runner.rows("store", "weather"), 26_115);
    let july = ["--from", "2013-07-01", "--to", "2013-08-01"];
    let query = ["query", "store", "weather", "--format", "csv", "--columns", "time,origin,temp"];
    let rows = runner.ok(&[&query[..], &july].concat());
    let times: Vec<&str> =
        rows.lines().skip(1).map(|line| line.split(',').next().unwrap()).collect();
    assert!(times.is_sorted() && times.len() > 2000, "{}", times.len());
    assert!(times.iter().all(|time| time.starts_with("2013-07")));
    runner.ok(&["check", "store"]);
}

#[test]
fn packed_quotes_keep_every_digit_of_their_nanoseconds() {
    let Some(quotes) = shared_data("market/spot_btcusdt_20240808_quotes.csv.gz") else { return };
    let runner = Runner::new();
    let load = ["ingest", "store", "quotes", quotes.to_str().unwrap(), "--as", "timelog"];
    runner.ok(&[&load[..], &["--time", "local_ts_ns", "--log-unit", "ns"]].concat());
    assert_eq!(runner.rows("store", "quotes"), 28_040);
    let query = ["query", "store", "quotes", "--limit", "1", "--format", "json"];
    let first = runner.ok(&[&query[..], &["--columns", "time,local_ts_ns,bid"]].concat());
    let expected = r#"{"time":"2024-08-08T23:54:14.087891268Z","local_ts_ns":1723161254087891268,"bid":61837.63}"#;
    assert_eq!(first.trim_end(), expected);
}

#[test]
fn nested_status_reports_go_in_as_they_are() {
    let Some(status) = shared_data("logs/nginxplus_json_logs.ndjson") else { return };
    let runner = Runner::new();
    let load = ["ingest", "store", "status", status.to_str().unwrap(), "--as", "timelog"];
    runner.ok(&[&load[..], &["--time", "timestamp"]].concat());
    assert_eq!(runner.rows("store", "status"), 500);
    let query = ["query", "store", "status", "--limit", "1", "--format", "json"];
    let first = runner.ok(&[&query[..], &["--columns", "requests"]].concat());
    assert_eq!(first.trim_end(), r#"{"requests":{"total":18853899,"current":2}}"#);
}
