//! Queries of the command line that take longer than anybody waits.

use std::process::{Command, Stdio};

use crate::runner::{Ran, Runner};

const ENDLESS: &str = "SELECT count(*) FROM range(100000) a CROSS JOIN range(1000000000) b";

fn with_store() -> Runner {
    let runner = Runner::new();
    let file = runner.file("t.csv", "time,x\n2024-05-01T00:00:00Z,1\n");
    runner.ok(&["ingest", "store", "t", &file, "--as", "table", "--time", "time"]);
    runner
}

#[test]
fn a_query_ends_at_its_limit_of_time() {
    let runner = with_store();
    let words = ["longer than 300 ms", "hint: ask for less at once, or allow it more time"];
    runner.fails(&["sql", "store", "--timeout", "300ms", ENDLESS], 1, &words);
    let told =
        runner.ok(&["sql", "store", "--timeout", "1m", "--format", "csv", "SELECT x FROM t"]);
    assert_eq!(told, "x\n1\n");
    runner.fails(
        &["sql", "store", "--timeout", "soon", "SELECT 1"],
        2,
        &["a duration such as '30s'"],
    );
}

#[test]
fn ctrl_c_ends_a_query_and_the_store_is_closed_in_good_order() {
    let runner = with_store();
    let mut command = runner.command(&["sql", "store", "--write", ENDLESS]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let id = child.id().to_string();
    // Once it listens, the signal no longer ends it by itself.
    let listens = || {
        let masks =
            Command::new("grep").args(["SigCgt", &format!("/proc/{id}/status")]).output().unwrap();
        let mask = String::from_utf8_lossy(&masks.stdout).trim().to_owned();
        mask.ends_with(|last: char| last.to_digit(16).is_some_and(|bits| bits & 2 != 0))
    };
    while !listens() {
        assert!(child.try_wait().unwrap().is_none(), "it ended without having listened");
        std::thread::yield_now();
    }
    assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    let ran = Ran::of(&child.wait_with_output().unwrap());
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.err.contains("was given up by whoever asked"), "{ran:?}");
    assert_eq!(runner.ok(&["sql", "store", "--format", "csv", "SELECT x FROM t"]), "x\n1\n");
}
