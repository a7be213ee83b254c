//! `logs`: the clock that a log goes by.

use timestrata::logs::Logs;
use timestrata::{Settings, Store};

use crate::logs::json_lines;
use crate::runner::Runner;
use crate::serve::Server;

const LATER: &str = "2024-05-02T10:00:00Z ERROR disk full\n2024-05-02T10:00:01Z INFO gone on\n";
const EARLIER: &str = "2024-05-01T10:00:00Z INFO begun\n";

fn messages(runner: &Runner, store: &str, more: &[&str]) -> Vec<String> {
    let search = ["logs", "search", store, "app", "--format", "message"];
    runner.ok(&[&search[..], more].concat()).lines().map(str::to_owned).collect()
}

fn goes_by_the_times_in_its_lines(runner: &Runner, store: &str) {
    runner.file("later.log", LATER);
    runner.file("earlier.log", EARLIER);
    for file in ["later.log", "earlier.log"] {
        runner.told(&["ingest", store, "app", "--as", "logs", file]);
    }
    let by_event = ["begun", "disk full", "gone on"];
    assert_eq!(messages(runner, store, &[]), by_event);
    assert_eq!(messages(runner, store, &["--to", "2024-05-02"]), ["begun"]);
    assert!(messages(runner, store, &["--since", "24h"]).is_empty(), "they are of another year");
    assert_eq!(messages(runner, store, &["--by", "timestamp"]), ["disk full", "gone on", "begun"]);
    assert_eq!(messages(runner, store, &["--by", "timestamp", "--since", "24h"]).len(), 3);
    let lines = runner.ok(&["logs", "search", store, "app", "begun"]);
    assert!(lines.starts_with("2024-05-01T10:00:00Z INFO  begun timestamp="), "{lines}");
    let histogram = ["logs", "histogram", store, "app", "--step", "1d", "--format", "json"];
    let days = json_lines(&runner.ok(&histogram));
    let counts: Vec<_> = days.iter().map(|day| day["count"].as_u64().unwrap()).collect();
    assert_eq!(counts, [1, 2]);
    // An answer that was cut goes on in the same order.
    let ran = runner.run(&["logs", "search", store, "app", "--limit", "1", "--format", "message"]);
    assert_eq!(ran.out, "begun\n");
    let place = ran.err.trim().rsplit("--after ").next().unwrap().to_owned();
    assert_eq!(messages(runner, store, &["--after", &place]), ["disk full", "gone on"]);

    runner.ok(&["logs", "set", store, "app", "--clock", "timestamp"]);
    assert_eq!(messages(runner, store, &[]), ["disk full", "gone on", "begun"]);
    runner.told(&["ingest", store, "app", "--as", "logs", "later.log"]);
    assert_eq!(messages(runner, store, &[]).last().unwrap(), "gone on", "a log keeps its clock");
    runner.ok(&["logs", "set", store, "app", "--clock", "source_time"]);
    assert_eq!(messages(runner, store, &["--limit", "1"]), ["begun"]);
}

#[test]
fn a_log_of_lines_goes_by_the_times_in_them() {
    goes_by_the_times_in_its_lines(&Runner::new(), "store");
    let runner = Runner::new();
    let server = Server::start(&runner);
    goes_by_the_times_in_its_lines(&runner, &server.url);
}

#[test]
fn retention_of_a_log_is_set_and_taken_back() {
    let runner = Runner::new();
    runner.file("later.log", LATER);
    runner.told(&["ingest", "store", "app", "--as", "logs", "later.log"]);
    runner.ok(&["logs", "set", "store", "app", "--retention-age", "30d"]);
    let retention = || {
        let store = Store::open(runner.path("store"), Settings::default()).unwrap();
        let options = Logs::open(&store, "app").unwrap().options().unwrap();
        store.close().unwrap();
        options.retention.unwrap().age_ns
    };
    assert_eq!(retention(), Some(30 * 86_400 * 1_000_000_000));
    runner.ok(&["logs", "set", "store", "app", "--keep-all"]);
    assert_eq!(retention(), None);
    let refused = runner.run(&["logs", "set", "store", "app"]);
    assert!(
        refused.err.contains("nothing to set") && refused.err.contains("--clock"),
        "{refused:?}"
    );
}
