//! `logs tail`: each entry once and in order, beside a process that writes, and an end in good order.

use std::process::Command;

use timestrata::logs::{Logs, LogsOptions, NewEntry};
use timestrata::{Settings, Store};

use crate::logs::{json_lines, write};
use crate::runner::Runner;
use crate::tailing::Tail;

#[test]
fn a_tail_sees_what_another_process_writes_and_ends_in_good_order() {
    let runner = Runner::new();
    let entries: Vec<_> = (0..30).map(|number| NewEntry::new(format!("old {number}"))).collect();
    write(&runner, &entries);
    // This process is the one that writes, beside the command.
    let store = Store::open(runner.path("store"), Settings::default()).unwrap();
    let logs = Logs::create(&store, "app", &LogsOptions::default()).unwrap();
    let tails: [&[&str]; 2] = [
        &["logs", "tail", "store", "app", "--last", "2", "--format", "message"],
        &["logs", "tail", "store", "app", "old", "--last", "2", "--format", "message"],
    ];
    for (verb, is_filtered) in tails.iter().zip([false, true]) {
        let mut tail = Tail::start(&runner, verb);
        let last_two = [tail.line(), tail.line()];
        assert!(last_two.iter().all(|line| line.starts_with("old ")), "{last_two:?}");
        for number in 0..500 {
            logs.write(&NewEntry::new(format!("new {number}"))).unwrap();
        }
        logs.write(&NewEntry::new("old again")).unwrap();
        if !is_filtered {
            (0..500).for_each(|number| assert_eq!(tail.line(), format!("new {number}")));
        }
        assert_eq!(tail.line(), "old again");
        assert_eq!(tail.end("-INT"), Some(0), "Ctrl-C");
    }
    let mut tail = Tail::start(&runner, &["tail", "store", "app", "--last", "1"]);
    assert!(tail.line().ends_with(" -     old again"), "the verb for topics knows logs");
    assert_eq!(tail.end("-TERM"), Some(0));
    let keyed = ["tail", "store", "app", "--format", "keyed"];
    runner.fails(&keyed, 2, &["'app' is a log"]);
}

#[test]
fn a_tail_goes_on_behind_an_entry_and_leaves_none_out() {
    let runner = Runner::new();
    write(&runner, &[NewEntry::new("a"), NewEntry::new("b"), NewEntry::new("c")]);
    let all = json_lines(&runner.ok(&["logs", "search", "store", "app", "--format", "json"]));
    let first = all[0]["timestamp"].as_str().unwrap();
    let after = ["logs", "tail", "store", "app", "--format", "message", "--after", first];
    let mut tail = Tail::start(&runner, &after);
    assert_eq!([tail.line(), tail.line()], ["b", "c"]);
    assert_eq!(tail.end("-INT"), Some(0));
    runner.fails(&["logs", "tail", "store", "none"], 1, &["no log 'none'"]);
}

#[test]
fn a_tail_ends_when_nobody_reads_it_any_more_though_nothing_arrives() {
    let runner = Runner::new();
    write(&runner, &[NewEntry::new("only one")]);
    let line = format!(
        "'{}' logs tail store app --format message | head -1; echo \"${{PIPESTATUS[0]}}\"",
        env!("CARGO_BIN_EXE_timestrata")
    );
    let mut bash = Command::new("bash");
    let output = bash.args(["-c", &line]).current_dir(runner.path("")).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "only one\n0\n");
    assert!(output.stderr.is_empty(), "{output:?}");
}
