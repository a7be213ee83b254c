//! What is acknowledged is there after the process was killed.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::Sender;

use serde_json::json;
use timestrata_engine::{Io, OpenMode, Settings, Store};
use timestrata_server::Server;
use timestrata_server::config::Layers;

use crate::harness::{Client, OK, write};

/// Names the directory in a process that serves it.
const DIR: &str = "TIMESTRATA_TEST_SERVE_DIR";
/// Turns of ten entries that are acknowledged before the process is killed.
const TURNS_UNDER_LOAD: usize = 40;

/// Not a test of its own: the process that is killed by others runs it, and nobody else.
#[test]
fn a_process_that_serves_until_it_is_killed() {
    let Ok(dir) = std::env::var(DIR) else { return };
    let store = Store::open(dir, Settings::default()).unwrap();
    let mut layers = Layers::default();
    layers.flag("test", "server.listen", "127.0.0.1:0").unwrap();
    layers.flag("test", "logs.tcp_listen", "127.0.0.1:0").unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let server = Server::bind(store, layers.config().unwrap(), None).await.unwrap();
        eprintln!("listening on {}", server.log_tcp_address().unwrap().unwrap());
        server.run(std::future::pending()).await.unwrap();
    });
}

struct Process(Child);

impl Process {
    /// A process that serves a directory, and a client of it.
    fn start(dir: &Path) -> (Self, Client) {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args([
            "--exact",
            "durability::a_process_that_serves_until_it_is_killed",
            "--nocapture",
        ]);
        command.env(DIR, dir).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let address = lines
            .map(Result::unwrap)
            .find_map(|line| line.strip_prefix("listening on ")?.parse().ok())
            .unwrap();
        (Self(child), Client::to(address))
    }

    /// As `kill -9` does.
    fn kill(mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// After this, 50 of 2,050 rows were once left, and only one field of their metadata.
#[test]
fn what_was_acknowledged_survives_kill_9_and_restart_with_all_of_its_metadata() {
    let dir = tempfile::tempdir().unwrap();
    let metadata =
        |index: u64| json!({ "level": "info", "user": { "id": index }, "tags": ["a", index] });
    let line = |index: u64| {
        let (message, metadata) = (index.to_string(), metadata(index));
        let line = json!({ "action": "write", "source_ts": index, "message": message, "metadata": metadata });
        format!("{line}\n")
    };
    let mut written = 0;
    for count in [2_050, 50, 1_000] {
        let (process, mut client) = Process::start(dir.path());
        client.send((written..written + count).map(line).collect::<String>());
        for _ in 0..count {
            assert_eq!(client.line(), OK);
        }
        written += count;
        process.kill();
        let (process, mut client) = Process::start(dir.path());
        let rows = client.read(0, u64::MAX);
        assert_eq!(rows.len() as u64, written);
        for (index, row) in (0..).zip(&rows) {
            assert_eq!((&row["source_ts"], &row["metadata"]), (&json!(index), &metadata(index)));
        }
        process.kill();
    }
}

#[test]
fn what_was_acknowledged_under_load_survives_kill_9() {
    let dir = tempfile::tempdir().unwrap();
    let (process, mut first) = Process::start(dir.path());
    let address = first.socket.peer_addr().unwrap();
    first.write(0, "begun");
    let (told, hears) = std::sync::mpsc::channel();
    let acknowledged: Vec<String> = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..4)
            .map(|number| {
                let told = told.clone();
                scope.spawn(move || write_until_lost(&mut Client::to(address), number, &told))
            })
            .collect();
        assert_eq!(hears.iter().take(TURNS_UNDER_LOAD).count(), TURNS_UNDER_LOAD);
        process.kill();
        clients.into_iter().flat_map(|client| client.join().unwrap()).collect()
    });
    assert!(acknowledged.len() >= TURNS_UNDER_LOAD * 10);
    let (_process, mut client) = Process::start(dir.path());
    let found: std::collections::HashSet<String> = client.messages().into_iter().collect();
    let lost: Vec<_> = acknowledged.iter().filter(|message| !found.contains(*message)).collect();
    assert!(lost.is_empty(), "{lost:?}");
}

/// Writes ten entries at a time until the server is gone; the messages of those that it acknowledged.
fn write_until_lost(client: &mut Client, number: usize, told: &Sender<()>) -> Vec<String> {
    let mut acknowledged = Vec::new();
    for turn in 0.. {
        let messages: Vec<_> = (0..10).map(|index| format!("{number}:{turn}:{index}")).collect();
        let lines: String = messages.iter().map(|message| write(1, message) + "\n").collect();
        if client.socket.write_all(lines.as_bytes()).is_err() {
            break;
        }
        let mut answers = [0; OK.len() * 10];
        let mut read = 0;
        while read < answers.len()
            && let Ok(count @ 1..) = client.socket.read(&mut answers[read..])
        {
            read += count;
        }
        acknowledged.extend(messages.into_iter().take(read / OK.len()));
        if read < answers.len() {
            break;
        }
        told.send(()).unwrap();
    }
    acknowledged
}

/// Five stray bytes at the log's end once kept a server from starting.
#[test]
fn stray_bytes_at_the_logs_end_keep_nothing_from_starting() {
    let dir = tempfile::tempdir().unwrap();
    let (process, mut client) = Process::start(dir.path());
    for index in 0..100 {
        client.write(index, &index.to_string());
    }
    process.kill();
    // Behind the last record, where the next would be, and behind the end of the file.
    let disk = Io::os().disk;
    let wal = dir.path().join("wal");
    let mut touched = 0;
    for entry in disk.list(&wal).unwrap().iter().filter(|entry| entry.name.ends_with(".wal")) {
        let file = disk.open(&wal.join(&entry.name), OpenMode::ReadWrite).unwrap();
        let mut bytes = vec![0; usize::try_from(file.len().unwrap()).unwrap()];
        file.read_at(0, &mut bytes).unwrap();
        let end = bytes.iter().rposition(|byte| *byte != 0).unwrap() + 1;
        file.write_at(end as u64, b"stray").unwrap();
        file.append(b"stray").unwrap();
        touched += 1;
    }
    assert!(touched > 0);
    let (_process, mut client) = Process::start(dir.path());
    let expected: Vec<_> = (0..100).map(|index: i32| index.to_string()).collect();
    assert_eq!(client.messages(), expected);
    client.write(1, "goes on");
}
