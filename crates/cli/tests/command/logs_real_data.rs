//! Real logs go in whole, and what is found in them is what `grep` finds in their files. Skipped, with a
//! message, where the shared data is absent.

use std::path::Path;
use std::process::Command;

use crate::runner::{Runner, shared_data};

/// A store whose log `app` has a real file; and that file.
fn loaded(name: &str, told: &str) -> Option<(Runner, String)> {
    let file = shared_data(&format!("logs/{name}"))?;
    let file = file.to_str().unwrap().to_owned();
    let runner = Runner::new();
    let said = runner.told(&["ingest", "store", "app", &file, "--as", "logs"]);
    assert!(said.contains(told), "{said}");
    assert_eq!(runner.rows("store", "app"), grep(&["-c", "", &file]), "{said}");
    Some((runner, file))
}

/// The number that `grep` prints.
fn grep(arguments: &[&str]) -> u64 {
    let output = Command::new("grep").args(arguments).output().unwrap();
    String::from_utf8_lossy(&output.stdout).trim().parse().unwrap()
}

fn count(runner: &Runner, filter: &str) -> u64 {
    runner.ok(&["logs", "count", "store", "app", filter]).trim().parse().unwrap()
}

/// Words and phrases are found in as many entries as `grep -w -i` finds them in lines; before their log is
/// compacted, and behind that, when an index tells which blocks have them.
fn expect_as_grep(runner: &Runner, file: &str, phrases: &[&str]) {
    for is_compacted in [false, true] {
        for phrase in phrases {
            let expected = grep(&["-c", "-w", "-i", "-F", "--", phrase, file]);
            let found = count(runner, &format!("\"{phrase}\""));
            assert_eq!(found, expected, "{phrase}, compacted: {is_compacted}");
        }
        runner.ok(&["compact", "store"]);
    }
    runner.ok(&["check", "store"]);
}

#[test]
fn words_of_an_access_log_are_found_as_grep_finds_them() {
    let told = "read as access: 100 of 100 lines are access logs";
    let Some((runner, file)) = loaded("apache_logs.log", told) else { return };
    let phrases =
        ["logstash", "GOOGLEBOT", "HTTP/1.0", "windows nt", "83.149.9.216", "favicon.ico"];
    expect_as_grep(&runner, &file, &phrases);
    assert_eq!(count(&runner, "status=404"), grep(&["-c", "\" 404 ", &file]));
    // One line has a quote that does not end, and so no fields.
    let is_error = grep(&["-c", "-E", "\" [45][0-9]{2} ([0-9]+|-) \"", &file]);
    assert_eq!(count(&runner, "status:4* or status:5*"), is_error);
    assert_eq!(count(&runner, "parse_error:*"), 1);
    let histogram = ["logs", "histogram", "store", "app", "--by", "source_time", "--step", "1d"];
    let days = runner.ok(&histogram);
    for (day, line) in ["17/May", "18/May", "19/May", "20/May"].iter().zip(days.lines()) {
        // Of the line without fields nobody knows when it was.
        let lines = grep(&["-c", "-E", &format!("\\[{day}.*\"$"), &file]);
        let counted = line.split_whitespace().nth(1).unwrap().replace(',', "");
        assert_eq!(counted, lines.to_string(), "{line}");
    }
}

#[test]
fn words_of_an_auth_log_are_found_as_grep_finds_them() {
    let told = "read as syslog: 100 of 100 lines are syslog";
    let Some((runner, file)) = loaded("auth.log", told) else { return };
    let phrases = ["failed", "INVALID", "session opened", "pam_unix", "85.245.107.41", "preauth"];
    expect_as_grep(&runner, &file, &phrases);
    let either = grep(&["-c", "-E", "Failed|Invalid", &file]);
    assert_eq!(count(&runner, "/Failed|Invalid/"), either);
    let neither = grep(&["-c", "-v", "-w", "-i", "sshd", &file]);
    assert_eq!(count(&runner, "not sshd"), neither);
    assert_eq!(count(&runner, "app:sshd"), grep(&["-c", " sshd\\[", &file]));
}

#[test]
fn words_of_a_plain_log_are_found_as_grep_finds_them() {
    let told = "read as plain";
    let Some((runner, file)) = loaded("kafka_state-change.log", told) else { return };
    let phrases =
        ["broker", "updatemetadata", "__consumer_offsets-49", "__consumer_offsets", "0,2"];
    expect_as_grep(&runner, &file, &phrases);
    assert_eq!(count(&runner, "level=trace"), grep(&["-c", "^\\[.*\\] TRACE ", &file]));
    assert_eq!(count(&runner, "level>=warn"), grep(&["-c", "\\] \\(WARN\\|ERROR\\) ", &file]));
    let minute = ["--by", "source_time", "--from", "2016-12-19 20:44", "--to", "2016-12-19 20:45"];
    let counted = runner.ok(&[&["logs", "count", "store", "app"], &minute[..]].concat());
    assert_eq!(counted.trim(), grep(&["-c", "^\\[2016-12-19 20:44:", &file]).to_string());
}

#[test]
fn nested_status_reports_are_found_by_their_paths() {
    let told = "lines are JSON objects";
    let Some((runner, file)) = loaded("nginxplus_json_logs.ndjson", told) else { return };
    expect_as_grep(&runner, &file, &["unhealthy", "10.0.0.1", "up"]);
    let active = grep(&["-c", "\"connections\":{[^}]*\"active\":2[,}]", &file]);
    assert_eq!(count(&runner, "connections.active=2"), active);
    let line = runner.ok(&["logs", "search", "store", "app", "--limit", "1"]);
    assert!(line.contains(" connections.active=2 ") && line.contains(" ssl.handshakes=23384 "));
    // What is exported is what was loaded, to the last number.
    runner.ok(&["export", "store", "app", "--format", "json", "--output", "out.jsonl"]);
    runner.ok(&["ingest", "store", "again", "out.jsonl", "--as", "logs"]);
    let reports = |path: &Path, inner: Option<&str>| -> Vec<serde_json::Value> {
        #[expect(clippy::disallowed_methods, reason = "a user's file, not a file of a store")]
        let text = std::fs::read_to_string(path).unwrap();
        let value = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap();
        let values = text.lines().map(value);
        values.map(|mut value| inner.map(|name| value[name].take()).unwrap_or(value)).collect()
    };
    let exported = reports(&runner.path("out.jsonl"), Some("fields"));
    for (exported, mut original) in exported.into_iter().zip(reports(Path::new(&file), None)) {
        // Its time has become the entry's.
        original.as_object_mut().unwrap().remove("timestamp");
        assert_eq!(exported, original);
    }
}
