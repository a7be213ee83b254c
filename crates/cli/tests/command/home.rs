//! Paths that begin with `~`, as they come where no shell has seen to it.
//!
//! `timestrata info '~/x.store'` looked for a directory of that name, and `ingest` made one.

use crate::runner::{Ran, Runner};

fn at_home(runner: &Runner, arguments: &[&str]) -> Ran {
    let mut command = runner.command(arguments);
    Ran::of(&command.env("HOME", runner.path("home")).output().unwrap())
}

#[test]
fn a_tilde_leads_home_wherever_a_path_is_taken() {
    let runner = Runner::new();
    runner.dir("home");
    runner.file("home/rows.csv", "time,x\n2024-05-01,2\n");
    for arguments in [
        &["ingest", "~/s", "t", "~/rows.csv", "--as", "table"][..],
        &["query", "~/s", "t", "--format", "csv"],
        &["export", "~/s", "t", "--format", "csv", "--output=~/out.csv"],
        &["backup", "~/s", "~/copy"],
        &["check", "~/copy"],
    ] {
        let ran = at_home(&runner, arguments);
        assert_eq!(ran.code, 0, "{arguments:?}: {ran:?}");
    }
    assert!(runner.path("home/out.csv").exists());
    let serve = ["serve", "~/s", "--listen", "127.0.0.1:0", "--token-file=~/none"];
    let ran = at_home(&runner, &serve);
    assert!(ran.err.contains("home/none"), "{ran:?}");
    assert!(!runner.path("~").exists());
    // Only a shell knows the folders of others.
    assert_eq!(at_home(&runner, &["ingest", "~s", "t", "~/rows.csv", "--as", "table"]).code, 0);
    assert!(runner.path("~s").exists());
}
