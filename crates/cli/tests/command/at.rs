//! `--at`: what reads reads the store as it was.

use std::time::Duration;

use timestrata::timelog::Unit;
use timestrata::values::time;
use timestrata::{Io, Settings, Store};

use crate::runner::Runner;

/// Now, as a time on the command line.
fn time_of_now() -> String {
    time::format(Io::os().clock.wall_ns(), Unit::Nano.to_arrow()).unwrap()
}

/// Rows, entries, records and a function more.
fn write(runner: &Runner, round: u32) {
    runner.file("rows.csv", format!("time,n\n2024-05-0{round}T00:00:00Z,{round}\n"));
    runner.ok(&["ingest", "store", "rows", "rows.csv", "--as", "table"]);
    runner.file("app.jsonl", format!("{{\"message\": \"round {round}\"}}\n"));
    runner.ok(&["ingest", "store", "app", "app.jsonl", "--as", "logs"]);
    runner.file("events.jsonl", format!("{{\"value\": \"round {round}\"}}\n"));
    if round == 1 {
        runner.ok(&["topic", "create", "store", "events"]);
        runner.dir("tree");
    }
    runner.ok(&["produce", "store", "events", "events.jsonl", "--format", "json"]);
    runner.file(&format!("tree/part{round}.py"), format!("def f{round}():\n    pass\n"));
    runner.ok(&["graph", "index", "store", "code", "tree"]);
}

/// What verbs print; behind the pin, and now.
fn shown(runner: &Runner, at: &[&str]) -> Vec<String> {
    let verbs: [&[&str]; 7] = [
        &["query", "store", "rows", "--format", "csv"],
        &["export", "store", "rows", "--format", "csv"],
        &["sql", "store", "SELECT count(*) AS n FROM rows", "--format", "csv"],
        &["logs", "count", "store", "app"],
        &["consume", "store", "events"],
        &["graph", "find", "store", "code", "f2"],
        &["info", "store", "rows", "--json"],
    ];
    let run = |verb: &&[&str]| {
        let ran = runner.run(&[*verb, at].concat());
        ran.out + &ran.err
    };
    verbs.iter().map(run).collect()
}

#[test]
fn every_verb_that_reads_reads_the_store_as_it_was() {
    let runner = Runner::new();
    write(&runner, 1);
    let before = shown(&runner, &[]);
    let store = Store::open(runner.path("store"), Settings::default()).unwrap();
    let seq = store.pin("monday").unwrap();
    store.close().unwrap();
    assert_eq!(shown(&runner, &["--at", &seq.to_string()])[..6], before[..6], "the last commit");
    write(&runner, 2);
    let now = shown(&runner, &[]);
    let then = shown(&runner, &["--at", "pin=monday"]);
    assert_eq!(
        shown(&runner, &["--at", &time_of_now()])[..6],
        now[..6],
        "the last commit by a time"
    );
    for (verb, ((before, then), now)) in before.iter().zip(&then).zip(&now).take(6).enumerate() {
        assert_eq!(before, then, "verb {verb}");
        assert_ne!(before, now, "verb {verb}");
    }
    assert!(then[6].contains("\"rows\":1"), "{}", then[6]);
}

#[test]
fn a_moment_that_is_none_or_is_not_kept_is_said_so() {
    let runner = Runner::new();
    write(&runner, 1);
    let none = Settings { history_min: Duration::ZERO, ..Settings::default() };
    Store::open(runner.path("store"), none).unwrap().close().unwrap();
    let query = ["query", "store", "rows", "--at"];
    let asked = |moment: &str, code: i32, words: &[&str]| {
        runner.fails(&[&query[..], &[moment]].concat(), code, words);
    };
    asked("yesterday", 2, &["number of a commit", "yesterday"]);
    asked("2024-05-01T12:00:00Z", 1, &["as of that time", "history_min"]);
    asked("2100-01-01", 1, &["has not come"]);
    asked("pin=monday", 1, &["monday"]);
    asked("1", 1, &["commit 1", "history_min"]);
    asked("999999", 1, &["has not been made"]);
    runner.fails(&["sql", "store", "--write", "--at", "1", "SELECT 1"], 2, &["--at"]);
    runner.fails(&["consume", "store", "events", "--follow", "--at", "1"], 2, &["--at"]);
}
