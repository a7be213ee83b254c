//! Files of secrets that others could read or change.

use std::fs::Permissions;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::process::Stdio;

use crate::runner::Runner;

// Of what the store tells when it is opened nothing is asked here.
const SERVE: [&str; 8] = [
    "serve",
    "store",
    "--listen",
    "127.0.0.1:0",
    "--token-file",
    "tokens",
    "--set",
    "log.level=error",
];
const TOKEN: &str = "a-token-of-32-letters-0123456789\n";
/// A user who isn't the one that runs the tests.
const STRANGER: u32 = 54_321;

fn is_root() -> bool {
    nix::unistd::geteuid().is_root()
}

fn tokens(mode: u32) -> Runner {
    let runner = Runner::new();
    runner.file("tokens", TOKEN);
    runner.set_mode("tokens", mode);
    runner
}

/// What it tells until it listens.
fn told_until_it_listens(runner: &Runner) -> String {
    let mut child = runner.command(&SERVE).stderr(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stderr.take().unwrap()).lines().map(|line| line.unwrap());
    let mut is_listening = false;
    let told: Vec<String> = lines
        .take_while(|line| {
            is_listening = line.contains("listening on http://");
            !is_listening
        })
        .collect();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(is_listening, "it never listened: {told:?}");
    told.join("\n")
}

#[test]
fn a_token_file_that_others_could_change_is_refused_and_nothing_is_made() {
    for mode in [0o660, 0o602, 0o666] {
        let runner = tokens(mode);
        let mode = format!("mode {mode:04o}");
        runner.fails(
            &SERVE,
            1,
            &["the token file", "changed by others", &mode, "chmod 600 tokens"],
        );
        assert!(!runner.path("store").exists());
    }
}

#[test]
fn a_private_token_file_is_taken_without_a_word() {
    for mode in [0o600, 0o400, 0o640] {
        assert_eq!(told_until_it_listens(&tokens(mode)), "");
    }
}

#[test]
fn a_token_file_that_all_may_read_is_refused_or_told_of_where_root_hands_it_out() {
    for mode in [0o644, 0o444] {
        let runner = tokens(mode);
        if is_root() {
            let told = told_until_it_listens(&runner);
            assert!(
                told.starts_with("warning: the token file can be read by every user"),
                "{told}"
            );
        } else {
            runner.fails(&SERVE, 1, &["read by every user", "chmod 600 tokens"]);
        }
    }
}

#[test]
fn what_a_link_leads_to_is_judged() {
    let runner = Runner::new();
    runner.file("elsewhere", TOKEN);
    runner.set_mode("elsewhere", 0o622);
    symlink("elsewhere", runner.path("tokens")).unwrap();
    runner.fails(&SERVE, 1, &["changed by others", "0622"]);
    runner.set_mode("elsewhere", 0o600);
    assert_eq!(told_until_it_listens(&runner), "");
}

#[test]
fn another_user_s_token_file_is_refused() {
    if !is_root() {
        println!("skipped: only root can give a file away");
        return;
    }
    let runner = tokens(0o600);
    chown(runner.path("tokens"), Some(STRANGER), None).unwrap();
    runner.fails(&SERVE, 1, &["belongs to another user (54321)"]);
}

#[test]
fn a_signing_key_that_others_could_change_signs_nothing() {
    let runner = Runner::new();
    runner.ok(&["topic", "create", "store", "payments"]);
    runner.ok(&["keygen", "key", "--name", "example.org/events"]);
    runner.set_mode("key", 0o606);
    let checkpoint = ["checkpoint", "store", "payments", "--key", "key"];
    runner.fails(&checkpoint, 1, &["the signing key", "changed by others", "chmod 600 key"]);
    runner.set_mode("key", 0o600);
    assert!(runner.ok(&checkpoint).starts_with("example.org/events"));
}

impl Runner {
    pub(crate) fn set_mode(&self, name: &str, mode: u32) {
        std::fs::set_permissions(self.path(name), Permissions::from_mode(mode)).unwrap();
    }
}
