//! What the command refuses, how it says so, and that an interrupted one leaves a sound store.

use std::io::Write;
use std::process::Command;

use crate::runner::{Runner, Running};

const LOAD: [&str; 10] =
    ["ingest", "store", "rows", "-", "--as", "timelog", "--time", "at", "--batch-rows", "1"];

/// A writer that has the store open, and has committed one row.
fn writer(runner: &Runner) -> Running {
    let mut writer = runner.start(&LOAD);
    writer.stdin().write_all(b"at,n\n1,1\n").unwrap();
    while runner.rows("store", "rows") < 1 {
        assert!(!writer.has_ended(), "the writer ended");
    }
    writer
}

#[test]
fn exit_codes_are_what_the_help_says() {
    let runner = Runner::new();
    let help = runner.ok(&["--help"]);
    assert!(help.contains("Exit codes: 0 done, 1 failed"), "{help}");
    for verb in
        ["ingest", "query", "delete", "logs", "info", "check", "compact", "backup", "completions"]
    {
        let help = runner.ok(&[verb, "--help"]);
        assert!(help.contains("Example"), "{verb}: {help}");
    }
    assert!(runner.ok(&["version"]).starts_with("timestrata "));
    assert!(runner.ok(&["completions", "bash"]).contains("timestrata"));
    runner.fails(&[], 2, &["Usage"]);
    runner.fails(&["dance"], 2, &["dance"]);
    runner.fails(&["query", "store"], 2, &["NAME"]);
    runner.fails(&["info", "store"], 1, &["error: ", "store", "hint: "]);
}

#[test]
fn a_second_writer_is_refused_and_told_who_has_it() {
    let runner = Runner::new();
    let writer = writer(&runner);
    let pid = writer.id().to_string();
    for verb in [vec!["delete", "store", "rows", "--all"], vec!["compact", "store"]] {
        runner.fails(&verb, 1, &[&pid, "hint: close the other writer"]);
    }
    let rows = runner.ok(&["query", "store", "rows", "--format", "csv", "--columns", "n"]);
    assert_eq!(rows, "n\n1\n", "readers are not refused");
    let ran = writer.finish();
    assert_eq!(ran.code, 0, "{ran:?}");
    runner.ok(&["compact", "store"]);
}

#[test]
fn an_interrupted_load_leaves_a_sound_store_with_what_was_committed() {
    let runner = Runner::new();
    let writer = writer(&runner);
    let killed = Command::new("kill").args(["-TERM", &writer.id().to_string()]).status().unwrap();
    assert!(killed.success());
    let ran = writer.finish();
    assert_ne!(ran.code, 0);
    runner.ok(&["check", "store"]);
    assert_eq!(runner.rows("store", "rows"), 1);
    let ran = runner.run_with_stdin(&LOAD, b"at,n\n2,2\n");
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(runner.rows("store", "rows"), 2);
    runner.ok(&["check", "store"]);
}

#[test]
fn a_directory_that_is_no_store_is_left_alone() {
    let runner = Runner::new();
    runner.file("rows.csv", "at,n\n1,1\n");
    let here = runner.path("");
    let here = here.to_str().unwrap();
    let load = ["ingest", here, "rows", "rows.csv", "--as", "timelog", "--time", "at"];
    for verb in [&load[..], &["info", here], &["query", here, "rows"], &["check", here]] {
        runner.fails(verb, 1, &["error: ", "hint: "]);
    }
    let missing: [&[&str]; 6] = [
        &["info", "nowhere"],
        &["query", "nowhere", "rows"],
        &["check", "nowhere"],
        &["compact", "nowhere"],
        &["delete", "nowhere", "rows", "--all"],
        &["backup", "nowhere", "copy"],
    ];
    for verb in missing {
        runner.fails(verb, 1, &["nowhere"]);
        assert!(!runner.path("nowhere").exists(), "{verb:?} made a store");
    }
}

#[test]
fn a_store_without_the_right_to_write_can_be_read() {
    let runner = Runner::new();
    let ran = runner.run_with_stdin(&LOAD, b"at,n\n1,1\n");
    assert_eq!(ran.code, 0, "{ran:?}");
    let store = runner.path("store");
    let chmod = |mode: &str| {
        let status = Command::new("chmod").args(["-R", mode]).arg(&store).status().unwrap();
        assert!(status.success());
    };
    chmod("a-w");
    let read = runner.run(&["query", "store", "rows", "--format", "csv", "--columns", "n"]);
    let checked = runner.run(&["check", "store"]);
    let written = runner.run_with_stdin(&LOAD, b"at,n\n2,2\n");
    chmod("u+w");
    assert_eq!((read.code, read.out.as_str()), (0, "n\n1\n"), "{read:?}");
    assert_eq!(checked.code, 0, "{checked:?}");
    if written.code == 0 {
        println!("skipped in part: this user may write everywhere (root)");
    } else {
        assert_eq!(written.code, 1, "{written:?}");
        assert!(written.err.contains("error: ") && written.err.contains("store"), "{written:?}");
    }
}
