//! Tokens made and revoked by the command, beside a server of the same store.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use serde_json::Value;

use crate::runner::Runner;

fn create(runner: &Runner, scope: &str) -> (String, String) {
    let ran = runner.run(&["token", "create", "store", "--name", "tests", "--scope", scope]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let id = ran.err.split(['n', ' ', ';']).find(|word| word.len() == 16).unwrap().to_owned();
    (id, ran.out.trim().to_owned())
}

fn status(url: &str, token: Option<&str>) -> u16 {
    let agent: ureq::Agent =
        ureq::Agent::config_builder().http_status_as_error(false).build().into();
    let mut request = agent.get(url);
    if let Some(token) = token {
        request = request.header("authorization", format!("Bearer {token}"));
    }
    request.call().unwrap().status().as_u16()
}

#[test]
fn a_token_is_private_listed_and_revoked_and_the_store_stays_sound() {
    let runner = Runner::new();
    let (id, secret) = create(&runner, "write:logs-*");
    assert!(secret.starts_with("timestrata_") && secret.len() == 54, "{}", secret.len());
    let file = format!("store/tokens/{id}.json");
    let mode = runner.path(&file).metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o600);
    let kept: Value = serde_json::from_str(&runner.read(&file)).unwrap();
    assert!(!kept.to_string().contains(&secret[11..]));
    assert_eq!(kept["scram_sha_256"]["iterations"], 4096);
    let listed = runner.ok(&["token", "list", "store"]);
    assert!(listed.contains(&id) && listed.contains("write:logs-*") && listed.contains("never"));
    let line: Value =
        serde_json::from_str(&runner.ok(&["token", "list", "store", "--json"])).unwrap();
    assert_eq!((&line["id"], &line["has_expired"]), (&id.clone().into(), &false.into()));
    runner.ok(&["check", "store"]);
    runner.ok(&["backup", "store", "copy"]);
    assert!(!runner.path("copy/tokens").exists(), "a backup is for other hands than a server's");
    runner.ok(&["token", "revoke", "store", &id]);
    assert!(!runner.ok(&["token", "list", "store"]).contains(&id));
    runner.fails(&["token", "revoke", "store", &id], 1, &["no token"]);
}

#[test]
fn what_is_no_token_or_no_store_is_refused_and_nothing_is_made() {
    let runner = Runner::new();
    let create = ["token", "create", "store", "--name", "a", "--scope"];
    runner.fails(&[&create[..], &["reads"]].concat(), 1, &["scope \"reads\"", "write:logs-*"]);
    runner.fails(&[&create[..], &["read", "--expires", "x"]].concat(), 1, &["expires=x"]);
    runner.fails(&create[..5], 2, &["--scope"]);
    assert!(!runner.path("store").exists());
    runner.dir("other");
    runner.file("other/notes", "mine");
    let other = ["token", "create", "other", "--name", "a", "--scope", "read"];
    runner.fails(&other, 1, &["not a store"]);
    assert!(!runner.path("other/tokens").exists());
    runner.fails(&["token", "list", "none"], 1, &["there is no store"]);
}

#[test]
fn a_server_of_other_machines_starts_by_a_token_and_says_no_token_in_its_log() {
    let runner = Runner::new();
    let serve = ["serve", "store", "--listen", "0.0.0.0:0", "--set", "log.level=trace"];
    runner.fails(&serve, 1, &["timestrata token create"]);
    let (id, secret) = create(&runner, "read");
    let mut child = runner.command(&serve).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap());
    let mut told = String::new();
    let port = loop {
        let mut line = String::new();
        assert!(lines.read_line(&mut line).unwrap() > 0, "{told}");
        told += &line;
        if let Some(address) = line.trim().strip_prefix("listening on http://0.0.0.0:") {
            break address.to_owned();
        }
    };
    // Read as it comes: a server whose pipe is full answers nobody.
    let rest = std::thread::spawn(move || {
        let mut rest = String::new();
        lines.read_to_string(&mut rest).map(|_| rest)
    });
    let url = format!("http://127.0.0.1:{port}/tables");
    assert_eq!((status(&url, None), status(&url, Some(&secret))), (401, 200));
    let (guess, (_, beside)) = ("timestrata_guessed-by-somebody", create(&runner, "read"));
    assert_eq!((status(&url, Some(guess)), status(&url, Some(&beside))), (401, 200));
    runner.ok(&["token", "revoke", "store", &id]);
    let revoked = || status(&url, Some(&secret)) == 401;
    assert!((0..100_000).any(|_| revoked()), "a revoked token goes on opening the door");
    assert!(
        std::process::Command::new("kill").arg(child.id().to_string()).status().unwrap().success()
    );
    told += &rest.join().unwrap().unwrap();
    assert!(child.wait().unwrap().success());
    assert!(told.contains("\"status\":401"), "{told}");
    for token in [secret.as_str(), guess, &beside] {
        assert!(!told.contains(token) && !told.contains(&token[11..]), "a token is in the log");
    }
}
