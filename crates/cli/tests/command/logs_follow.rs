//! `ingest --as logs --follow`: each line once, through rotation and kills.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "files of other programs, which are written, renamed and cut"
)]

use std::io::Write;
use std::path::Path;
use std::process::Command;

use crate::runner::{Ran, Runner, Running};

fn follow<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&["ingest", "store", "app", "--as", "logs", "--follow"], more].concat()
}

fn append(path: &Path, text: &str) {
    let mut file = std::fs::OpenOptions::new().append(true).create(true).open(path).unwrap();
    file.write_all(text.as_bytes()).unwrap();
}

/// A line that is long enough to know a file again by its first ones.
fn line(number: usize) -> String {
    format!("2024-05-01T10:00:{:02}Z INFO line {number} of a file that is followed\n", number % 60)
}

fn lines(numbers: std::ops::Range<usize>) -> String {
    numbers.map(line).collect()
}

fn signal(following: &Running, name: &str) {
    let id = following.id().to_string();
    assert!(Command::new("kill").args([name, &id]).status().unwrap().success());
}

/// Ends it as Ctrl-C does.
fn stop(following: Running) -> Ran {
    signal(&following, "-INT");
    following.wait_with_stdin_open()
}

/// Follows the file until the log has so many lines, and ends.
fn follow_until(runner: &Runner, rows: u64) {
    let mut following = runner.start(&follow(&["app.log"]));
    runner.await_rows("app", &mut following, rows);
    stop(following);
}

/// The numbers of the lines in the log, in order of themselves.
fn numbers(runner: &Runner) -> Vec<usize> {
    let out = runner.ok(&["logs", "search", "store", "app", "--format", "message"]);
    let number = |line: &str| line.split(' ').nth(1).unwrap().parse::<usize>().unwrap();
    let mut numbers: Vec<usize> = out.lines().map(number).collect();
    numbers.sort_unstable();
    numbers
}

#[test]
fn a_followed_file_goes_on_where_another_start_has_ended() {
    let runner = Runner::new();
    let log = runner.path("app.log");
    append(&log, &lines(0..10));
    let mut following = runner.start(&follow(&["app.log"]));
    runner.await_rows("app", &mut following, 10);
    append(&log, &lines(10..15));
    // A line without an end isn't one yet.
    append(&log, line(15).trim_end());
    runner.await_rows("app", &mut following, 15);
    let ran = stop(following);
    assert_eq!((ran.code, ran.out.as_str()), (0, ""), "{ran:?}");
    assert!(ran.err.contains("app.log: read as plain"), "{ran:?}");
    assert!(ran.err.contains("followed: 15 entries into 'app'"), "{ran:?}");
    let places = runner.ok(&["sql", "store", "SELECT path, format, \"offset\" FROM \"app.files\""]);
    assert!(places.contains("app.log") && places.contains("plain"), "{places}");
    append(&log, "\n");
    append(&log, &lines(16..20));
    let mut following = runner.start(&follow(&["app.log"]));
    runner.await_rows("app", &mut following, 20);
    let ran = stop(following);
    assert!(ran.err.contains("followed: 5 entries"), "{ran:?}");
    assert_eq!(numbers(&runner), (0..20).collect::<Vec<_>>());
}

#[test]
fn each_line_comes_once_through_rotation_and_kills() {
    let runner = Runner::new();
    let log = runner.path("app.log");
    let mut written = 0;
    append(&log, &lines(0..1));
    for round in 0..6 {
        let before = if round == 0 { 0 } else { runner.rows("store", "app") };
        let mut following = runner.start(&follow(&["app.log"]));
        for _ in 0..5 {
            append(&log, &lines(written + 1..written + 400));
            written += 399;
        }
        if round % 2 == 1 {
            // While it is read, or unread in part.
            std::fs::rename(&log, runner.path(&format!("app.log.{round}"))).unwrap();
            append(&log, &lines(written + 1..written + 50));
            written += 49;
        }
        // Killed at its beginning, in the middle of whatever it does, and where all is read.
        let least = [1, before + 1, written as u64 + 1][round % 3];
        runner.await_rows("app", &mut following, least);
        signal(&following, "-KILL");
        following.wait_with_stdin_open();
        runner.ok(&["check", "store"]);
    }
    let mut following = runner.start(&follow(&["app.log"]));
    runner.await_rows("app", &mut following, written as u64 + 1);
    stop(following);
    let numbers = numbers(&runner);
    assert!(numbers.iter().copied().eq(0..=written), "{} of {written}", numbers.len());
}

#[test]
fn a_file_that_is_copied_and_cut_loses_nothing_that_its_copy_has() {
    let runner = Runner::new();
    let log = runner.path("app.log");
    append(&log, &lines(0..10));
    let mut following = runner.start(&follow(&["app.log"]));
    runner.await_rows("app", &mut following, 10);
    std::fs::copy(&log, runner.path("app.log.1")).unwrap();
    // What was written behind what was read, and before the cut.
    append(&runner.path("app.log.1"), &lines(10..12));
    std::fs::File::options().write(true).open(&log).unwrap().set_len(0).unwrap();
    runner.await_rows("app", &mut following, 12);
    append(&log, &lines(12..15));
    runner.await_rows("app", &mut following, 15);
    let ran = stop(following);
    assert!(ran.err.contains("app.log: was cut"), "{ran:?}");
    assert_eq!(numbers(&runner), (0..15).collect::<Vec<_>>());
}

#[test]
fn what_was_rotated_away_and_packed_meanwhile_is_read_to_its_end() {
    let runner = Runner::new();
    let log = runner.path("app.log");
    append(&log, &lines(0..10));
    follow_until(&runner, 10);
    append(&log, &lines(10..20));
    let packed = std::fs::File::create(runner.path("app.log.1.gz")).unwrap();
    let mut packed = flate2::write::GzEncoder::new(packed, flate2::Compression::default());
    packed.write_all(&std::fs::read(&log).unwrap()).unwrap();
    packed.finish().unwrap();
    std::fs::remove_file(&log).unwrap();
    append(&log, &lines(20..25));
    for _ in 0..2 {
        // The second time there is nothing more.
        follow_until(&runner, 25);
    }
    assert_eq!(numbers(&runner), (0..25).collect::<Vec<_>>());
}

#[test]
fn a_file_that_has_the_number_of_one_that_is_gone_is_another_one() {
    let runner = Runner::new();
    let log = runner.path("app.log");
    append(&log, &lines(0..10));
    follow_until(&runner, 10);
    append(&log, &lines(10..20));
    std::fs::copy(&log, runner.path("app.log.1")).unwrap();
    // Written anew in place: the number stays, whatever the file system does with those of files that are gone. It is
    // longer than what was read before.
    std::fs::write(&log, lines(20..45)).unwrap();
    follow_until(&runner, 45);
    assert_eq!(numbers(&runner), (0..45).collect::<Vec<_>>());
}

#[test]
fn a_file_that_was_seen_is_known_before_anything_of_it_was_read() {
    let runner = Runner::new();
    let log = runner.path("app.log");
    append(&log, "");
    let mut following = runner.start(&follow(&["app.log"]));
    runner.await_rows("app.files", &mut following, 1);
    signal(&following, "-KILL");
    following.wait_with_stdin_open();
    append(&log, &lines(0..5));
    std::fs::rename(&log, runner.path("app.log.1")).unwrap();
    append(&log, &lines(5..8));
    let mut following = runner.start(&follow(&["app.log"]));
    runner.await_rows("app", &mut following, 8);
    stop(following);
    assert_eq!(numbers(&runner), (0..8).collect::<Vec<_>>());
}

#[test]
fn a_pattern_takes_files_that_come_later() {
    let runner = Runner::new();
    runner.dir("logs");
    append(&runner.path("logs/a.log"), &lines(0..5));
    append(&runner.path("logs/other.txt"), &lines(100..101));
    let mut following = runner.start(&follow(&["logs/*.log"]));
    runner.await_rows("app", &mut following, 5);
    append(&runner.path("logs/b.log"), &lines(5..8));
    runner.await_rows("app", &mut following, 8);
    append(&runner.path("logs/a.log"), &lines(8..10));
    runner.await_rows("app", &mut following, 10);
    stop(following);
    assert_eq!(numbers(&runner), (0..10).collect::<Vec<_>>());
}

#[test]
fn what_can_not_be_followed_is_refused() {
    let runner = Runner::new();
    runner.dir("logs");
    for path in ["-", "logs", "*/a.log"] {
        runner.fails(&follow(&[path]), 2, &["can't be followed", "patterns such as"]);
    }
    runner.fails(&follow(&["a.log", "--skip-lines", "2"]), 2, &["--skip-lines"]);
    let served = ["ingest", "http://127.0.0.1:1", "app", "--as", "logs", "--follow", "a.log"];
    runner.fails(&served, 2, &["--follow", "a store's directory"]);
    assert!(!runner.path("store").exists());
}
