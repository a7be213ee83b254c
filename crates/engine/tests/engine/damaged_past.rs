//! Damage in what only the history needs: it is found by `check`, and never answered with rows that were not there.
#![expect(clippy::unwrap_used, reason = "the helpers of a test fail as the test does")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use timestrata_engine::{Access, CheckReport, ErrorKind, Moment, SeqNo, Store, check};

use crate::damage::used_bytes;
use crate::moments::{kept, last};
use crate::support::*;

/// Each flip is read for each commit.
const FLIPS_OF_FILE: usize = 24;

/// A store whose history needs runs and log of its own, with the rows behind each commit.
fn with_past() -> (Machine, BTreeMap<SeqNo, Vec<Pair>>) {
    let machine = Machine::new();
    let store = machine.open(kept(manual()));
    let events = store.create_stream(keep("events")).unwrap();
    let mut seen = BTreeMap::new();
    for round in 0..3 {
        for place in 0..2 {
            append(&store, events, &[pair(round * 10 + place, "row")]);
            seen.insert(last(&store), read(&store, "events"));
        }
        store.flush().unwrap();
        store.compact(Some(events)).unwrap();
    }
    store.close().unwrap();
    (machine, seen)
}

/// Reads each moment: right rows, or an error that is given.
fn read_all(store: &Store, seen: &BTreeMap<SeqNo, Vec<Pair>>, what: &str) -> Vec<ErrorKind> {
    let mut errors = Vec::new();
    for (seq, rows) in seen {
        let found = store.at(&Moment::Commit(*seq)).and_then(|then| {
            let stream = then.expect_stream("events")?;
            read_spec(&then.snapshot()?, stream.id(), &Default::default())
        });
        match found {
            Ok(found) => assert_eq!(&found, rows, "{what}: commit {seq}"),
            Err(error) => errors.push(error.kind()),
        }
    }
    errors
}

fn is_of_past(report: &CheckReport, path: &Path) -> bool {
    report.findings.iter().any(|finding| {
        finding.path == path && finding.is_damage && finding.message.contains("as it was")
    })
}

#[test]
fn check_reads_what_only_the_history_needs() {
    let (machine, seen) = with_past();
    let report = check(&machine.io, &machine.dir).unwrap();
    assert!(report.findings.is_empty(), "{:?}", report.findings);
    let (mut flips, mut noticed) = (0, 0);
    let is_data = |path: &PathBuf| path.extension().is_some();
    for path in machine.files().into_iter().filter(is_data) {
        let bytes = machine.read_file(&path);
        let used = used_bytes(&path, &bytes);
        for offset in (0..used).step_by(used / FLIPS_OF_FILE) {
            let mut flipped = bytes.clone();
            flipped[offset] ^= 1 << (offset % 8);
            let damaged = machine.copy();
            damaged.write_file(&path, &flipped);
            let what = format!("{} byte {offset}", path.display());
            let report = check(&damaged.io, &damaged.dir);
            noticed += usize::from(report.as_ref().is_ok_and(|report| is_of_past(report, &path)));
            flips += 1;
            let Ok(store) = damaged.try_open(Access::Read, kept(manual())) else { continue };
            for kind in read_all(&store, &seen, &what) {
                let is_told = report.as_ref().map_or(true, |report| !report.findings.is_empty());
                assert!(is_told, "{what}: {kind:?}, and check found nothing");
            }
        }
    }
    println!("{flips} bytes flipped, {noticed} noticed in what only the history needs");
    assert!(noticed > 20, "{noticed}");
}

#[test]
fn a_history_that_can_not_be_read_is_told_and_is_no_damage() {
    let (machine, seen) = with_past();
    let path = machine.dir.join("HISTORY");
    let bytes = machine.read_file(&path);
    let mut flipped = bytes.clone();
    flipped[bytes.len() / 2] ^= 1;
    machine.write_file(&path, &flipped);
    let report = check(&machine.io, &machine.dir).unwrap();
    assert!(report.is_sound(), "{:?}", report.findings);
    let told = report.findings.iter().find(|finding| finding.path == path).unwrap();
    assert!(told.message.contains("can't be read as it was"), "{told:?}");
    // What it kept is set aside for who wants to look at it.
    let others = report.findings.iter().filter(|finding| finding.path != path);
    assert!(others.into_iter().all(|finding| finding.message.contains("sets it aside")));
    // The last commit is there, and the next writer begins anew.
    let store = machine.open(kept(manual()));
    assert_eq!(&read(&store, "events"), seen.values().last().unwrap());
    store.close().unwrap();
    let findings = check(&machine.io, &machine.dir).unwrap().findings;
    assert!(findings.iter().all(|finding| finding.message.contains("set aside")), "{findings:?}");
}
