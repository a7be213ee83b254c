//! A disk that fills while clients write.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use timestrata_engine::{Access, Io, Settings, Store};

use crate::harness::{Harness, OK, until, write};
use crate::watched_disk::{Step, WatchedDisk, Watcher};

/// Full when it is told to be: no file gets longer, and what has its blocks is written as ever.
#[derive(Debug, Default)]
struct Filling {
    is_full: AtomicBool,
}

impl Watcher for Filling {
    fn before(&self, step: Step, path: &Path) -> io::Result<()> {
        let has_blocks = path.extension().is_some_and(|ending| ending == "wal");
        match step {
            Step::OpenLog | Step::Write if self.is_full.load(Ordering::SeqCst) && !has_blocks => {
                Err(io::ErrorKind::StorageFull.into())
            }
            _ => Ok(()),
        }
    }
}

#[test]
fn on_a_full_disk_writes_are_refused_whole_and_reads_go_on() {
    let filling = Arc::new(Filling::default());
    let memory = Io::memory();
    let disk = WatchedDisk::new(Arc::clone(&memory.disk), Arc::clone(&filling) as _);
    let io = Io { disk: Arc::new(disk), ..memory.clone() };
    let settings = Settings { wal_segment_bytes: 1 << 20, ..Settings::default() };
    let dir = Path::new("/store");
    let open = || Store::open_with(io.clone(), dir, Access::Write, settings.clone()).unwrap();
    let mut server = Harness::on(open(), &[]);
    let mut client = server.connect();
    client.write(0, "before");
    filling.is_full.store(true, Ordering::SeqCst);
    let long = "x".repeat(10_000);
    let mut kept = vec!["before".to_owned()];
    let mut number = 0;
    let mut refused = String::new();
    // Those that arrive together are written together: all of them are taken, or none is.
    until(|| {
        let messages: Vec<_> =
            (number..number + 20).map(|index| format!("{index} {long}")).collect();
        number += 20;
        client.send(messages.iter().map(|message| write(1, message) + "\n").collect::<String>());
        for message in messages {
            match client.line() {
                taken if taken == OK => kept.push(message),
                answer => refused = answer,
            }
        }
        !refused.is_empty()
    });
    assert!(refused.contains("\"errcode\":\"write_log_error\""), "{refused}");
    assert!(client.raw(&write(1, "later")).contains("write_log_error"));
    // Requests to read go on, over either protocol, and find what was acknowledged, and no more.
    assert_eq!(client.messages(), kept);
    let count = ureq::get(format!("{}/logs/default/count", server.url)).call().unwrap();
    let count: serde_json::Value =
        serde_json::from_reader(count.into_body().into_reader()).unwrap();
    assert_eq!(count["data"]["count"], kept.len());
    // With space again, the store opens as it was.
    let _ = server.stop();
    drop(server);
    filling.is_full.store(false, Ordering::SeqCst);
    let again = Harness::on(open(), &[]);
    let mut client = again.connect();
    assert_eq!(client.messages(), kept);
    client.write(1, "goes on");
}
