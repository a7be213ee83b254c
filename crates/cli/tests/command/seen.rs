//! What servers of tables were seen to do wrong, and this one must not.
//!
//! Of the rest of that list, answers of more than 10,000 rows, counts and rows right after an
//! ingest, addresses and origins are tests of the server (`long_answers_are_streamed_whole`,
//! `counts_rows_and_queries_agree_right_after_an_acknowledged_ingest`,
//! `other_machines_are_not_listened_to_without_tokens`, `no_origin_is_allowed_by_default`), what
//! `kill -9` leaves is one of `serve`, and the size on a disk one of the Python package
//! (`test_a_compacted_table_is_a_fraction_of_its_csv`).

#![expect(clippy::disallowed_methods, reason = "files that are damaged on purpose")]

use std::collections::HashSet;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, sync_channel};

use crate::runner::Runner;
use crate::serve::Server;

/// A body that comes as somebody sends it.
struct Body {
    parts: Receiver<Vec<u8>>,
    part: io::Cursor<Vec<u8>>,
}

impl Read for Body {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.part.read(buffer)? {
                0 => match self.parts.recv() {
                    Ok(part) => self.part = io::Cursor::new(part),
                    Err(_) => return Ok(0),
                },
                read => return Ok(read),
            }
        }
    }
}

const LARGE_ROWS: u64 = 1_000_000;
const PART_ROWS: u64 = 10_000;
/// What holds all rows of the body needs more.
const MEMORY_KIB_MAX: u64 = 300 << 10;

fn large_part(part: u64) -> Vec<u8> {
    let rows = part * PART_ROWS..(part + 1) * PART_ROWS;
    let rows =
        rows.map(|row| format!("{},S{},{}.25\n", 1_700_000_000_000 + row, row % 50, row % 977));
    rows.collect::<String>().into_bytes()
}

/// The most memory that a process has had.
fn memory_kib(id: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn a_body_of_a_million_rows_takes_little_memory_and_holds_up_nobody() {
    let runner = Runner::new();
    let server = Server::start(&runner);
    let (parts, taken) = sync_channel(1);
    std::thread::scope(|scope| {
        let url = format!("{}/tables/large/ingest", server.url);
        let loading = scope.spawn(move || {
            let mut body = Body { parts: taken, part: io::Cursor::default() };
            let body = ureq::SendBody::from_reader(&mut body);
            ureq::post(url).header("content-type", "text/csv").send(body).unwrap().status()
        });
        parts.send(b"timestamp,symbol,price\n".to_vec()).unwrap();
        for part in 0..LARGE_ROWS / PART_ROWS {
            parts.send(large_part(part)).unwrap();
            if part % 25 == 24 {
                assert!(server.post(&crate::serve::part(part)), "a small body in between");
            }
        }
        drop(parts);
        assert_eq!(loading.join().unwrap(), 200);
    });
    let loaded = memory_kib(server.child.id());
    assert!(loaded < MEMORY_KIB_MAX, "{loaded} KiB to load");
    drop(server);

    let server = Server::start(&runner);
    let count = ureq::get(format!("{}/tables/large/count", server.url)).call().unwrap();
    let count = count.into_body().read_to_string().unwrap();
    assert!(count.contains(&format!("\"count\":{LARGE_ROWS}")), "{count}");
    let reopened = memory_kib(server.child.id());
    assert!(reopened < MEMORY_KIB_MAX, "{reopened} KiB to open again");
}

#[test]
fn a_bad_value_is_refused_at_once_and_not_dropped_later() {
    let runner = Runner::new();
    let server = Server::start(&runner);
    assert!(server.post("timestamp,price\n1700000000,1.5\n"));
    assert!(!server.post("timestamp,price\n1700000001,2.5\n1700000002,cheap\n"));
    drop(server);
    assert_eq!(runner.rows("store", "t"), 1);
}

/// The log's files, and what a kill left in them.
fn log_files(store: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(store.join("wal")).unwrap();
    files.map(|file| file.unwrap().path()).filter(|file| file.is_file()).collect()
}

/// A store with the rows of some bodies that only its log has.
fn killed_store(runner: &Runner) -> HashSet<String> {
    let mut server = Server::start(runner);
    assert!((0..3).all(|number| server.post(&crate::serve::part(number))));
    server.child.kill().unwrap();
    server.child.wait().unwrap();
    let bodies = (0..3).map(crate::serve::part);
    bodies.flat_map(|body| body.lines().skip(1).map(str::to_owned).collect::<Vec<_>>()).collect()
}

const ALL: &str = "SELECT CAST(timestamp AS BIGINT) / 1000000 AS t, part FROM t";

#[test]
fn stray_bytes_at_the_logs_end_keep_nobody_from_starting() {
    let runner = Runner::new();
    let expected = killed_store(&runner);
    for file in log_files(&runner.path("store")) {
        let mut bytes = fs::read(&file).unwrap();
        bytes.extend(b"stray");
        fs::write(&file, bytes).unwrap();
    }
    let server = Server::start(&runner);
    assert!(server.post(&crate::serve::part(3)));
    drop(server);
    assert_eq!(runner.rows("store", "t"), expected.len() as u64 + crate::serve::ROWS);
}

#[test]
fn a_byte_changed_in_the_log_is_never_served_as_another_value() {
    let runner = Runner::new();
    let expected = killed_store(&runner);
    let file = log_files(&runner.path("store"))
        .into_iter()
        .max_by_key(|file| fs::read(file).unwrap().iter().filter(|byte| **byte != 0).count())
        .unwrap();
    let whole = fs::read(&file).unwrap();
    let written = whole.iter().rposition(|byte| *byte != 0).unwrap();
    let (mut refused, mut served) = (0, 0);
    for place in (0..written).step_by(written / 24) {
        let copy = Runner::new();
        copy_store(&runner.path("store"), &copy.path("store"));
        let mut bytes = whole.clone();
        bytes[place] ^= 0x10;
        fs::write(copy.path("store").join("wal").join(file.file_name().unwrap()), bytes).unwrap();
        let ran = copy.run(&["sql", "store", ALL, "--format", "csv"]);
        assert!(!ran.err.contains("panicked"), "{ran:?}");
        match ran.code {
            0 => served += 1,
            _ => refused += 1,
        }
        for row in ran.out.lines().skip(1) {
            assert!(expected.contains(row), "byte {place} changed: {row}");
        }
    }
    assert!(refused > 0, "all {served} were served");
}

fn copy_store(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let (path, name) = entry.map(|entry| (entry.path(), entry.file_name())).unwrap();
        match path.is_dir() {
            true => copy_store(&path, &to.join(name)),
            false => fs::copy(&path, to.join(name)).map(|_| ()).unwrap(),
        }
    }
}
