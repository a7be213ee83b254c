//! `timelog`: made, changed, and followed by one place after the other, of a directory and of a server.

use serde_json::Value;
use timestrata::timelog::{Codec, Timelog, TimelogOptions};
use timestrata::{Settings, Store};

use crate::runner::Runner;
use crate::serve::Server;
use crate::tailing::Tail;

#[test]
fn a_tail_of_a_time_log_sees_what_another_process_writes_and_ends_in_good_order() {
    let runner = Runner::new();
    let store = Store::open(runner.path("store"), Settings::default()).unwrap();
    let options = TimelogOptions { codec: Codec::Cbor, ..TimelogOptions::default() };
    let log = Timelog::create(&store, "door", options).unwrap();
    for time in [1_000, 2_000, 2_000, 3_000] {
        log.append_value(time, &format!("old {time}")).unwrap();
    }
    let mut last = Tail::start(&runner, &["timelog", "tail", "store", "door", "--last", "3"]);
    assert_eq!(last.line(), "1970-01-01T00:00:02.000Z \"old 2000\"");
    assert_eq!(last.line(), "1970-01-01T00:00:02.000Z \"old 2000\"");
    assert_eq!(last.line(), "1970-01-01T00:00:03.000Z \"old 3000\"");
    let late = ["timelog", "tail", "store", "door", "--late", "--since", "2999", "--json"];
    let mut late = Tail::start(&runner, &late);
    let text = "{\"time\":\"1970-01-01T00:00:03.000Z\",\"value\":\"old 3000\"}";
    assert_eq!(late.line(), text);
    log.append_value(5, &"late").unwrap();
    log.append_value(4_000, &[1, 2]).unwrap();
    assert_eq!(last.line(), "1970-01-01T00:00:04.000Z [1,2]");
    assert!(late.line().contains("late") && late.line().contains("[1,2]"));
    assert_eq!((last.end("-INT"), late.end("-TERM")), (Some(0), Some(0)));
    let mut known = Tail::start(&runner, &["tail", "store", "door", "--last", "1"]);
    assert_eq!(known.line(), "1970-01-01T00:00:04.000Z [1,2]");
    assert_eq!(known.end("-INT"), Some(0));
    runner.fails(&["tail", "store", "door", "--format", "keyed"], 2, &["'door' is a time log"]);
}

#[test]
fn a_tail_of_a_time_log_goes_on_behind_a_place_and_leaves_none_out() {
    let runner = Runner::new();
    runner.file("a.jsonl", "{\"at\":1,\"n\":1}\n{\"at\":2,\"n\":2}\n{\"at\":2,\"n\":3}\n");
    let server = Server::start(&runner);
    for store in ["own", server.url.as_str()] {
        let ingest = [
            "ingest",
            store,
            "door",
            "a.jsonl",
            "--as",
            "timelog",
            "--time",
            "at",
            "--time-unit",
            "ms",
        ];
        runner.ok(&ingest);
        let all = ["timelog", "tail", store, "door", "--since", "0", "--json", "--cursor"];
        let mut tail = Tail::start(&runner, &all);
        let lines: Vec<Value> =
            (0..3).map(|_| serde_json::from_str(&tail.line()).unwrap()).collect();
        assert_eq!(tail.end("-INT"), Some(0));
        for (row, line) in lines.iter().enumerate().take(2) {
            let place = line["cursor"].as_str().unwrap();
            let rest = ["timelog", "tail", store, "door", "--json", "--after", place];
            let mut tail = Tail::start(&runner, &rest);
            let next: Value = serde_json::from_str(&tail.line()).unwrap();
            assert_eq!(next["n"], lines[row + 1]["n"], "{store} behind {place}");
            assert_eq!(tail.end("-INT"), Some(0));
        }
        let mut last = Tail::start(&runner, &["timelog", "tail", store, "door", "--last", "1"]);
        assert!(last.line().ends_with("\"n\":3}"));
        assert_eq!(last.end("-INT"), Some(0));
        runner.fails(&["timelog", "tail", store, "none"], 1, &["none"]);
        runner.fails(
            &["timelog", "tail", store, "door", "--after", "x"],
            2,
            &["no place of a tail"],
        );
    }
}

#[test]
fn a_time_log_is_made_with_what_it_may_lose_and_refuse_and_that_is_changed() {
    let runner = Runner::new();
    let server = Server::start(&runner);
    for store in ["own", server.url.as_str()] {
        let create = [
            "timelog",
            "create",
            store,
            "door",
            "--unit",
            "s",
            "--retention-age",
            "30d",
            "--min-ts",
            "2020-01-01",
        ];
        runner.ok(&create);
        runner.ok(&create);
        runner.fails(&["timelog", "create", store, "door", "--unit", "us"], 1, &["door"]);
        runner.file("early.jsonl", "{\"at\":\"2019-12-31\",\"n\":1}\n");
        let early = ["ingest", store, "door", "early.jsonl", "--as", "timelog", "--time", "at"];
        runner.fails(&early, 1, &["min_ts"]);
        let told = |runner: &Runner| {
            let store = Store::open(runner.path("own"), Settings::default()).unwrap();
            Timelog::open(&store, "door").unwrap().retention().unwrap()
        };
        runner.ok(&["timelog", "set", store, "door", "--retention-bytes", "1000000"]);
        if store == "own" {
            let day_ns = 86_400 * 1_000_000_000;
            let retention = told(&runner);
            assert_eq!((retention.age_ns, retention.bytes), (Some(30 * day_ns), Some(1_000_000)));
        }
        runner.ok(&["timelog", "set", store, "door", "--keep-all"]);
        if store == "own" {
            let retention = told(&runner);
            assert_eq!((retention.age_ns, retention.bytes), (None, None));
        }
        runner.fails(&["timelog", "set", store, "door"], 2, &["nothing to set"]);
    }
}
