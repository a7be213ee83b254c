//! The words that options have: those that the page of words has, and no others for the same things.

use std::collections::BTreeSet;

use crate::runner::Runner;
use crate::serve::Server;

const PAGE: &str = include_str!("../../../../docs/reference/words.md");
const STUB: &str = include_str!("../../../../python/timestrata/_timestrata.pyi");

/// The rows of the page's tables, without their heads.
fn rows(table: usize) -> Vec<Vec<&'static str>> {
    let tables = PAGE.split("\n\n").filter(|part| part.starts_with('|'));
    let table = tables.into_iter().nth(table).unwrap();
    let cells = |line: &'static str| line.trim_matches('|').split('|').map(str::trim).collect();
    table.lines().skip(2).map(cells).collect()
}

/// What stands in backticks.
fn words(cell: &'static str) -> impl Iterator<Item = &'static str> {
    cell.split('`').skip(1).step_by(2)
}

/// The names of the verbs below one, as its help lists them.
fn verbs(runner: &Runner, above: &[&str]) -> Vec<String> {
    let help = runner.ok(&[above, &["--help"]].concat());
    let list = help.split("\nCommands:\n").nth(1).and_then(|list| list.split("\n\n").next());
    let names = list.unwrap_or_default().lines().filter(|line| !line.starts_with("   "));
    names.filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}

/// The help of each verb.
fn helps(runner: &Runner) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for verb in verbs(runner, &[]).iter().filter(|verb| *verb != "help") {
        let below = verbs(runner, &[verb]);
        found.push((verb.clone(), runner.ok(&[verb, "--help"])));
        for below in below.iter().filter(|below| *below != "help") {
            found.push((format!("{verb} {below}"), runner.ok(&[verb, below, "--help"])));
        }
    }
    found
}

fn options(help: &str) -> BTreeSet<&str> {
    let words = help.split_whitespace().filter(|word| word.starts_with("--"));
    words.map(|word| word.trim_end_matches([',', '.', ':', ')', ']', ';', '\''])).collect()
}

#[test]
fn the_page_of_words_has_the_options_that_there_are() {
    let runner = Runner::new();
    let helps = helps(&runner);
    assert!(helps.len() > 40, "{}", helps.len());
    let server = Server::start(&runner);
    let described = ureq::get(format!("{}/openapi.json", server.url)).call().unwrap();
    let described = described.into_body().read_to_string().unwrap();
    let table = rows(0);
    assert!(table.len() > 12);
    for row in &table {
        for option in words(row[1]) {
            assert!(helps.iter().any(|(_, help)| options(help).contains(option)), "{option}");
        }
        for parameter in words(row[2]).filter(|word| !word.contains(':')) {
            let name = parameter.split('=').next().unwrap();
            assert!(described.contains(&format!("\"name\":\"{name}\"")), "{parameter}");
        }
        for name in words(row[3]) {
            assert!(STUB.contains(&format!("{name}:")), "{name}");
        }
    }
}

#[test]
fn every_verb_that_prints_in_several_forms_has_json_and_its_short_form() {
    let helps = helps(&Runner::new());
    let with_json: Vec<_> =
        helps.iter().filter(|(_, help)| help.contains("The same as --format json")).collect();
    assert!(with_json.len() > 20, "{}", with_json.len());
    for (verb, help) in helps.iter().filter(|(_, help)| options(help).contains("--json")) {
        let is_told = help.contains("The same as --format json");
        // The help of those above has examples of those below.
        assert!(is_told || ["topic", "graph", "logs"].contains(&verb.as_str()), "{verb}");
    }
}

#[test]
fn an_old_word_is_answered_with_the_one_of_now() {
    let runner = Runner::new();
    for row in rows(1) {
        let old: Vec<&str> = words(row[0]).next().unwrap().split(' ').collect();
        let new = words(row[1]).next().unwrap();
        runner.fails(&old, 2, &[&format!("is now called {new}")]);
    }
}

#[test]
fn what_files_are_loaded_as_need_be_said_once() {
    let runner = Runner::new();
    let file = runner.file("t.csv", "time,x\n2024-05-01,1\n");
    let ingest = ["ingest", "store", "t", &file, "--time", "time"];
    runner.fails(&ingest, 2, &["'t' is new", "--as table, --as timelog or --as logs"]);
    runner.ok(&[&ingest[..], &["--as", "table"]].concat());
    runner.ok(&ingest);
    assert_eq!(runner.rows("store", "t"), 2);
    runner.ok(&["topic", "create", "store", "events"]);
    runner.fails(&["ingest", "store", "events", &file], 2, &["is a topic", "produce"]);
}

#[test]
fn time_logs_and_topics_are_exported_and_tables_deleted() {
    let runner = Runner::new();
    let file = runner.file("t.csv", "time,x\n2024-05-01,1\n2024-05-02,2\n");
    for kind in ["table", "timelog"] {
        runner.ok(&["ingest", "store", kind, &file, "--as", kind, "--time", "time"]);
    }
    for format in ["csv", "json", "arrow"] {
        let (export, query) = ("export", "query");
        let [exported, queried] =
            [export, query].map(|verb| runner.ok(&[verb, "store", "timelog", "--format", format]));
        assert!(!exported.is_empty() && exported == queried, "{format}");
    }
    runner.fails(&["export", "store", "timelog", "--format", "parquet"], 2, &["--format arrow"]);
    runner.file("lines", "one\ntwo\n");
    runner.ok(&["produce", "store", "events", "lines"]);
    runner.ok(&["export", "store", "events", "--format", "json", "-o", "events.jsonl"]);
    let consumed = runner.ok(&["consume", "store", "events", "--json"]);
    assert_eq!(runner.read("events.jsonl"), consumed);
    runner.fails(&["export", "store", "events", "--format", "csv"], 2, &["--format json"]);
    assert_eq!(
        runner.told(&["delete", "store", "table", "--to", "2024-05-02"]),
        "deleted 1 row from 'table'\n"
    );
    assert_eq!(runner.rows("store", "table"), 1);
    runner.fails(&["delete", "store", "events", "--all"], 2, &["retention"]);
}

#[test]
fn a_backup_is_restored_where_nothing_is() {
    let runner = Runner::new();
    let file = runner.file("t.csv", "time,x\n2024-05-01,1\n");
    runner.ok(&["ingest", "store", "t", &file, "--as", "table", "--time", "time"]);
    runner.ok(&["backup", "store", "kept"]);
    runner.ok(&["delete", "store", "t", "--all"]);
    runner.fails(&["restore", "kept", "store"], 1, &["store"]);
    let told = runner.told(&["restore", "kept", "again"]);
    assert!(told.starts_with("restored ") && told.contains(" to again, up to commit "), "{told}");
    assert_eq!((runner.rows("again", "t"), runner.rows("store", "t")), (1, 0));
    runner.fails(&["restore", "kept", "http://127.0.0.1:1"], 2, &["stop the server"]);
}
