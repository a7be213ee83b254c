//! A real server in a process of its own, killed and stopped.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStderr, Command, Stdio};

use crate::runner::Runner;

pub(crate) struct Server {
    pub(crate) child: Child,
    pub(crate) url: String,
}

/// A server that has said where it listens, and what it goes on to say.
fn started(mut command: Command) -> (Server, BufReader<ChildStderr>) {
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap());
    // Lines of its log may come first.
    let url = loop {
        let mut line = String::new();
        assert!(said.read_line(&mut line).unwrap() > 0, "the server has ended");
        if let Some((_, url)) = line.trim().rsplit_once("listening on ") {
            break url.to_owned();
        }
    };
    (Server { child, url }, said)
}

impl Server {
    pub(crate) fn start(runner: &Runner) -> Self {
        Self::start_with(runner, &[])
    }

    pub(crate) fn start_with(runner: &Runner, more: &[&str]) -> Self {
        let serve = ["serve", "store", "--listen", "127.0.0.1:0", "--set", "log.level=error"];
        started(runner.command(&[&serve, more].concat())).0
    }

    /// Whether the rows were acknowledged.
    pub(crate) fn post(&self, body: &str) -> bool {
        let request = ureq::post(format!("{}/tables/t/ingest", self.url));
        request.header("content-type", "text/csv").send(body).is_ok()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) const ROWS: u64 = 100;
/// Bodies that are acknowledged before the server is killed.
const UNDER_LOAD: usize = 40;

pub(crate) fn part(number: u64) -> String {
    let rows = (0..ROWS).map(|row| format!("{},{number}\n", 1_700_000_000 + number * ROWS + row));
    format!("timestamp,part\n{}", rows.collect::<String>())
}

#[test]
fn what_was_acknowledged_survives_kill_9_under_load() {
    let runner = Runner::new();
    let mut server = Server::start(&runner);
    let (told, hears) = std::sync::mpsc::channel();
    let acknowledged: Vec<u64> = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..4)
            .map(|client| {
                let (server, told) = (&server, told.clone());
                scope.spawn(move || {
                    (0..10_000)
                        .map(|turn| turn * 4 + client)
                        .take_while(|number| server.post(&part(*number)))
                        .inspect(|number| told.send(*number).unwrap_or(()))
                        .collect::<Vec<_>>()
                })
            })
            .collect();
        assert_eq!(hears.iter().take(UNDER_LOAD).count(), UNDER_LOAD);
        let killed =
            Command::new("kill").args(["-9", &server.child.id().to_string()]).status().unwrap();
        assert!(killed.success());
        clients.into_iter().flat_map(|client| client.join().unwrap()).collect()
    });
    server.child.wait().unwrap();
    assert!(acknowledged.len() >= UNDER_LOAD);
    let query = "SELECT part, count(*) AS n FROM t GROUP BY part ORDER BY part";
    let csv = runner.ok(&["sql", "store", query, "--format", "csv"]);
    let found: Vec<u64> = csv
        .lines()
        .skip(1)
        .map(|line| {
            let (part, rows) = line.split_once(',').unwrap();
            assert_eq!(rows, ROWS.to_string(), "a body is there in part: {line}");
            part.parse().unwrap()
        })
        .collect();
    for number in acknowledged {
        assert!(found.binary_search(&number).is_ok(), "body {number} is lost");
    }
    runner.ok(&["check", "store"]);
}

#[test]
fn a_signal_stops_it_in_good_order() {
    let runner = Runner::new();
    let mut server = Server::start(&runner);
    assert!(server.post(&part(0)));
    let id = server.child.id().to_string();
    assert!(Command::new("kill").arg(&id).status().unwrap().success());
    assert!(server.child.wait().unwrap().success());
    assert_eq!(runner.rows("store", "t"), ROWS);
    runner.fails(&["serve", "store", "--listen", "nowhere"], 1, &["nowhere"]);
}

/// A pipe that is full once held up every answer.
#[test]
fn a_log_on_stderr_that_nobody_reads_holds_up_no_answer() {
    let runner = Runner::new();
    let serve = runner.command(&["serve", "store", "--listen", "127.0.0.1:0"]);
    let (mut server, unread) = started(serve);
    // Each has a line, and a pipe has room for some 500 of them.
    let agent = ureq::agent();
    for _ in 0..2_000 {
        let answer = agent.get(format!("{}/health", server.url)).call().unwrap();
        assert_eq!(answer.status(), 200);
    }
    let id = server.child.id().to_string();
    assert!(Command::new("kill").arg(&id).status().unwrap().success());
    assert!(server.child.wait().unwrap().success());
    let lines: Vec<String> = unread.lines().map_while(Result::ok).collect();
    assert!(lines.len() > 100 && lines[..100].iter().all(|line| line.contains("/health")));
}

/// The command asks at the same paths as those clients, and counts on other answers.
#[test]
fn clients_of_pulsora_and_the_command_use_one_server() {
    let runner = Runner::new();
    let server = Server::start_with(&runner, &["--compat", "pulsora"]);
    assert!(server.post("timestamp,x\n2024-01-01,1\n2024-01-02,2\n"));
    let asked = format!("{}/tables/t/query?end=1704153600", server.url);
    let told = ureq::get(asked).call().unwrap().body_mut().read_to_string().unwrap();
    assert!(told.contains(r#""timestamp":"2024-01-02T00:00:00+00:00""#), "{told}");
    let query = ["query", &server.url, "t", "--to", "2024-01-02", "--format", "csv"];
    assert_eq!(runner.ok(&query), "id,timestamp,x\n1,2024-01-01T00:00:00Z,1\n");
}
