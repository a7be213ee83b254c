//! `logs`: what is searched, counted and shown of a log, and in which form.

use arrow_schema::{DataType, TimeUnit};
use serde_json::Value;
use timestrata::logs::{Level, Logs, LogsOptions, NewEntry};
use timestrata::{Durability, Settings, Store};

use crate::runner::Runner;

/// A second of 2015 in which nothing else happened.
const SENT_NS: i64 = 1_431_857_105_000_000_000;
const MINUTE_NS: i64 = 60_000_000_000;

/// The entry `number` of those that [`store`] has: sent a minute after the one before.
fn entry(number: i64) -> NewEntry {
    let levels = [Level::Info, Level::Warn, Level::Error];
    let mut entry = NewEntry::new(format!("request {number} was served"));
    entry.source_time = Some(SENT_NS + number * MINUTE_NS);
    entry.level = levels.get(number as usize % 5).copied();
    entry.fields.int("status", if number % 5 == 2 { 500 } else { 200 }).text("path", "/a b");
    entry.labels.set("host", if number % 2 == 0 { "web-1" } else { "web-2" }).unwrap();
    entry
}

/// Makes the log `app` of the store of a runner, and writes entries to it as one commit.
pub(crate) fn write(runner: &Runner, entries: &[NewEntry]) {
    let store = Store::open(runner.path("store"), Settings::default()).unwrap();
    let logs = Logs::create(&store, "app", &LogsOptions::default()).unwrap();
    logs.write_many(entries, Durability::Written).unwrap();
    drop(logs);
    store.close().unwrap();
}

pub(crate) fn store() -> Runner {
    let runner = Runner::new();
    write(&runner, &(0..20).map(entry).collect::<Vec<_>>());
    runner
}

/// The nanoseconds of a time, which JSON has without zeros at the end.
pub(crate) fn instant(time: &Value) -> i128 {
    timestrata::table::parse_time(
        time.as_str().unwrap(),
        &DataType::Timestamp(TimeUnit::Nanosecond, None),
    )
    .unwrap()
    .into()
}

pub(crate) fn json_lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The numbers of the entries that a search gives.
pub(crate) fn found(runner: &Runner, more: &[&str]) -> Vec<i64> {
    let search = ["logs", "search", "store", "app", "--format", "message"];
    let out = runner.ok(&[&search[..], more].concat());
    out.lines().map(|line| line.split(' ').nth(1).unwrap().parse().unwrap()).collect()
}

#[test]
fn a_search_gives_all_hits_oldest_first_where_nobody_says_otherwise() {
    let runner = store();
    assert_eq!(found(&runner, &[]), (0..20).collect::<Vec<_>>());
    assert_eq!(found(&runner, &["7"]), [7]);
    assert_eq!(found(&runner, &["SERVED", "--limit", "3"]), [0, 1, 2]);
    assert_eq!(found(&runner, &["--reverse", "--limit", "3"]), [19, 18, 17]);
    assert_eq!(found(&runner, &["--reverse", "--limit", "1"]), [19]);
    assert_eq!(found(&runner, &["--last", "3"]), [17, 18, 19]);
    assert_eq!(found(&runner, &["--limit", "0"]), [] as [i64; 0]);
    assert_eq!(found(&runner, &["nothing"]), [] as [i64; 0]);
}

#[test]
fn a_filter_may_be_one_word_of_the_shell_or_several() {
    let runner = store();
    let bad = [2, 7, 12, 17];
    assert_eq!(found(&runner, &["level>=error"]), bad);
    assert_eq!(found(&runner, &["level>=warn host:web-1 -status:500"]), [6, 16]);
    assert_eq!(found(&runner, &["level>=warn", "host:web-1", "not", "status:5*"]), [6, 16]);
    assert_eq!(found(&runner, &["--limit", "9", "--", "-status=200"]), bad);
    assert_eq!(found(&runner, &["\"7 was\" or /quest 1[78]/"]), [7, 17, 18]);
    let wrong = ["logs", "search", "store", "app", "level>=loud", "disk"];
    let words = ["filter, line 1, column 8", "level>=loud disk\n", "^\n", "hint: "];
    runner.fails(&wrong, 2, &words);
    // A slip of a flag is none of a filter.
    runner.fails(&["logs", "search", "store", "app", "--limt", "5"], 2, &["--limt"]);
}

#[test]
fn an_answer_that_was_cut_says_how_to_go_on() {
    let runner = store();
    for order in [&[][..], &["--reverse"], &["--by", "source_time"]] {
        let search = ["logs", "search", "store", "app", "--format", "message", "--limit", "7"];
        let mut after = Vec::new();
        let mut numbers = Vec::new();
        loop {
            let more: Vec<&str> = after.iter().map(String::as_str).collect();
            let ran = runner.run(&[&search[..], order, &more].concat());
            assert_eq!(ran.code, 0, "{ran:?}");
            numbers.extend(ran.out.lines().map(|line| line.split(' ').nth(1).unwrap().to_owned()));
            let Some((_, position)) = ran.err.trim().split_once("--after ") else {
                assert_eq!(ran.err, "");
                break;
            };
            after = vec!["--after".to_owned(), position.to_owned()];
        }
        let mut expected: Vec<_> = (0..20).map(|number| number.to_string()).collect();
        if order == ["--reverse"] {
            expected.reverse();
        }
        assert_eq!(numbers, expected, "{order:?}");
    }
    let last = runner.told(&["logs", "search", "store", "app", "--last", "19"]);
    assert!(last.contains("there are earlier entries: --reverse --after "), "{last}");
    let position = last.trim().rsplit(' ').next().unwrap();
    assert_eq!(found(&runner, &["--reverse", "--after", position]), [0]);
}

#[test]
fn times_are_those_of_arrival_or_of_the_sender() {
    let runner = store();
    let sent = ["--by", "source_time", "--from", "2015-05-17T10:07:05Z", "--to"];
    assert_eq!(found(&runner, &[&sent[..], &["2015-05-17T10:09:05Z"]].concat()), [2, 3]);
    assert_eq!(found(&runner, &["--to", "2015-06-01"]), [] as [i64; 0]);
    assert_eq!(found(&runner, &["--since", "1h", "--limit", "1"]), [0]);
    assert_eq!(found(&runner, &["--since", "0s"]), [] as [i64; 0]);
    let search = |more: &[&'static str]| [&["logs", "search", "store", "app"], more].concat();
    runner.fails(&search(&["--from", "soon"]), 2, &["--from: 'soon'", "hint:"]);
    runner.fails(&search(&["--from", "2016-01-01", "--to", "2015-01-01"]), 2, &["later than"]);
    runner.fails(&search(&["--since", "1y"]), 2, &["no span of time"]);
    runner.fails(&search(&["--after", "x"]), 2, &["--after: 'x'"]);
    let by_sender = ["--by", "source_time", "--after", "2015-05-17T10:07:05Z"];
    runner.fails(&search(&by_sender), 2, &["is no position"]);
    runner.fails(&["logs", "search", "store", "none"], 1, &["no log 'none'"]);
}

#[test]
fn a_line_has_the_time_of_the_clock_asked_for_and_all_else() {
    let runner = store();
    let search = ["logs", "search", "store", "app", "--limit", "1"];
    let text = runner.ok(&search);
    let (arrival, rest) = text.split_once(' ').unwrap();
    let expected = "INFO  request 0 was served source_time=2015-05-17T10:05:05Z host=web-1 \
                    status=200 path=\"/a b\"\n";
    assert_eq!(rest, expected);
    let text = runner.ok(&[&search[..], &["--by", "source_time"]].concat());
    let expected = format!(
        "2015-05-17T10:05:05Z INFO  request 0 was served timestamp={arrival} host=web-1 \
         status=200 path=\"/a b\"\n"
    );
    assert_eq!(text, expected);
    let json = json_lines(&runner.ok(&[&search[..], &["--format", "json"]].concat()));
    assert_eq!(instant(&json[0]["timestamp"]), instant(&arrival.into()));
    assert_eq!(json[0]["source_time"], "2015-05-17T10:05:05Z");
    assert_eq!((&json[0]["level"], &json[0]["labels"]["host"]), (&"info".into(), &"web-1".into()));
    assert_eq!(json[0]["fields"]["status"], 200);
}

#[test]
fn a_log_line_can_not_drive_the_terminal() {
    let runner = Runner::new();
    let mut entry = NewEntry::new("a\x1b]0;title\x07\nb\u{9b}2J");
    entry.fields.text("key\x1b[A", "\u{202e}x");
    write(&runner, &[entry]);
    let search = ["logs", "search", "store", "app"];
    let text = runner.ok(&search);
    let expected = "-     a\\x1b]0;title\\x07\\nb\\u{9b}2J \"key\\x1b[A\"=\"\\u{202e}x\"\n";
    assert!(text.ends_with(expected), "{text:?}");
    let json = runner.ok(&[&search[..], &["--format", "json"]].concat());
    assert!(json.is_ascii() && json.lines().count() == 1, "{json:?}");
    assert_eq!(json_lines(&json)[0]["message"], "a\x1b]0;title\x07\nb\u{9b}2J");
    for verb in [
        &["query", "store", "app"][..],
        &["query", "store", "app", "--format", "json"],
        &["sql", "store", "SELECT * FROM app"],
        &["logs", "facets", "store", "app"],
        &["logs", "facets", "store", "app", "--format", "json"],
    ] {
        let shown = runner.ok(verb);
        let drives = |c: char| matches!(c, '\x1b' | '\x07' | '\u{9b}' | '\u{202e}');
        assert!(!shown.contains(drives), "{verb:?}: {shown:?}");
    }
    let raw = [&search[..], &["--format", "message"]].concat();
    assert_eq!(runner.ok(&raw), "a\x1b]0;title\x07\nb\u{9b}2J\n");
    // `script` gives the command a terminal of its own.
    let shell = format!("'{}' {}", env!("CARGO_BIN_EXE_timestrata"), raw.join(" "));
    let Some(shown) = on_a_terminal(&runner, &shell) else { return };
    assert_eq!(shown, "a\\x1b]0;title\\x07\\nb\\u{9b}2J\r\n");
}

/// What a command shows on a terminal; `None`, and a message, where there is no way to give it one.
fn on_a_terminal(runner: &Runner, shell: &str) -> Option<String> {
    let mut command = std::process::Command::new("script");
    command.args(["-qec", shell, "/dev/null"]).current_dir(runner.path(""));
    command.env("TERM", "xterm").env_remove("NO_COLOR").stdin(std::process::Stdio::null());
    match command.output() {
        Ok(output) if output.status.success() => {
            Some(String::from_utf8_lossy(&output.stdout).into_owned())
        }
        other => {
            println!("skipped: 'script' gives no terminal here: {other:?}");
            None
        }
    }
}

#[test]
fn a_terminal_gets_colours_and_the_last_thousand_entries() {
    let runner = Runner::new();
    write(&runner, &(0..1_500).map(entry).collect::<Vec<_>>());
    let program = env!("CARGO_BIN_EXE_timestrata");
    let shell = format!("'{program}' logs search store app");
    let Some(shown) = on_a_terminal(&runner, &shell) else { return };
    let lines: Vec<&str> = shown.lines().collect();
    assert_eq!(lines.len(), 1_001, "{}", lines.len());
    let is_told = |line: &str| line.contains("there are earlier entries: --reverse --after ");
    assert!(lines.iter().any(|line| is_told(line)), "{:?}", lines.last());
    assert!(shown.contains("\x1b[32mINFO \x1b[0m request 500 "), "{}", lines[0]);
    assert!(!shown.contains("request 499 "));
    let plain = on_a_terminal(&runner, &format!("NO_COLOR=1 {shell} --limit 1500")).unwrap();
    assert!(!plain.contains('\x1b') && plain.lines().count() == 1_500, "{}", plain.lines().count());
    assert_eq!(found(&runner, &[]).len(), 1_500, "no limit elsewhere");
}

#[test]
fn hits_are_counted_by_time_and_by_value() {
    let runner = store();
    assert_eq!(runner.ok(&["logs", "count", "store", "app"]), "20\n");
    assert_eq!(runner.ok(&["logs", "count", "store", "app", "500"]), "0\n");
    let by = ["--by", "source_time"];
    let histogram = [&["logs", "histogram", "store", "app", "--step", "10m"], &by[..]].concat();
    let expected = format!(
        "2015-05-17T10:00:00Z   5  {half}▌\n2015-05-17T10:10:00Z  10  {bar}\n\
         2015-05-17T10:20:00Z   5  {half}▌\n",
        bar = "█".repeat(54),
        half = "█".repeat(27)
    );
    assert_eq!(runner.ok(&histogram).replace('▌', ""), expected.replace('▌', ""));
    let json = json_lines(&runner.ok(&[&histogram[..], &["--format", "json"]].concat()));
    assert_eq!(json[1]["start"], "2015-05-17T10:10:00Z");
    assert_eq!(json[1]["end"], "2015-05-17T10:20:00Z");
    assert_eq!((&json[1]["count"], &json[1]["levels"]["error"]), (&10.into(), &2.into()));
    let chosen = runner.told(&[&["logs", "histogram", "store", "app"], &by[..]].concat());
    assert!(chosen.contains("20 entries, a line for each 30s"), "{chosen}");
    runner.fails(&["logs", "histogram", "store", "app", "--step", "0s"], 2, &["longer"]);
}

#[test]
fn facets_are_the_values_of_fields_and_how_often_they_are() {
    let runner = store();
    let facets = ["logs", "facets", "store", "app", "--field"];
    let text = runner.ok(&[&facets[..], &["status,host", "--values", "1"]].concat());
    let expected = "status: 20 entries\n  16  200\n   4  (others)\n\n\
                    host: 20 entries\n  10  web-1\n  10  (others)\n";
    assert_eq!(text, expected);
    let json = runner.ok(&[&facets[..], &["level", "--format", "json"]].concat());
    let expected = r#"{"count":12,"field":"level","others":0,"values":[{"count":4,"value":"error"},{"count":4,"value":"info"},{"count":4,"value":"warn"}]}"#;
    assert_eq!(json.trim_end(), expected);
    let all = json_lines(&runner.ok(&["logs", "facets", "store", "app", "--format", "json"]));
    let names: Vec<&str> = all.iter().map(|facet| facet["field"].as_str().unwrap()).collect();
    assert_eq!(names, ["host", "path", "status", "level"]);
    let told = runner.told(&[&facets[..], &["none"]].concat());
    assert_eq!(told, "warning: no entry has a field 'none'\n");
}

#[test]
fn an_entry_is_shown_among_those_around_it() {
    let runner = store();
    let line = runner.ok(&["logs", "search", "store", "app", "7"]);
    let arrival = line.split(' ').next().unwrap();
    let context = ["logs", "context", "store", "app", arrival, "--before", "2", "--after", "1"];
    let text = runner.ok(&context);
    let shown: Vec<&str> = text.lines().collect();
    assert_eq!(shown.len(), 4, "{text}");
    for (line, (mark, number)) in shown.iter().zip([("  ", 5), ("  ", 6), ("> ", 7), ("  ", 8)]) {
        let is_right = line.starts_with(mark) && line.contains(&format!(" request {number} "));
        assert!(is_right, "{mark}{number}: {line}");
    }
    let json = json_lines(&runner.ok(&[&context[..], &["--format", "json"]].concat()));
    let ns = instant(&arrival.into());
    assert_eq!((json.len(), instant(&json[2]["timestamp"])), (4, ns));
    let by_number = ["logs", "context", "store", "app", &ns.to_string()];
    assert_eq!(runner.ok(&by_number).lines().count(), 11);
    let cut = arrival.split_once('.').unwrap().0.to_owned() + "Z";
    let words = ["log 'app' has no entry of ", "all its digits"];
    runner.fails(&["logs", "context", "store", "app", &cut], 1, &words);
    runner.fails(&["logs", "context", "store", "app", "here"], 2, &["'here'"]);
}

#[test]
fn each_verb_of_logs_says_how_it_is_used() {
    let runner = Runner::new();
    for verb in ["search", "count", "tail", "histogram", "facets", "context"] {
        let help = runner.ok(&["logs", verb, "--help"]);
        assert!(help.contains("Example") && help.contains("timestrata logs"), "{help}");
        assert!(runner.ok(&["logs", "--help"]).contains(verb), "{verb}");
        assert!(runner.ok(&["completions", "bash"]).contains(&format!("logs__subcmd__{verb}")));
    }
    runner.fails(&["logs"], 2, &["Usage"]);
}

#[test]
fn a_reader_that_has_had_enough_is_no_failure() {
    let runner = Runner::new();
    write(&runner, &(0..20_000).map(entry).collect::<Vec<_>>());
    for form in ["text", "json", "message"] {
        let line = format!(
            "'{}' logs search store app --format {form} | head -1 >/dev/null; echo \"${{PIPESTATUS[0]}}\"",
            env!("CARGO_BIN_EXE_timestrata")
        );
        let mut bash = std::process::Command::new("bash");
        let output = bash.args(["-c", &line]).current_dir(runner.path("")).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), "0\n", "{form}");
        assert!(output.stderr.is_empty(), "{form}: {output:?}");
    }
}
