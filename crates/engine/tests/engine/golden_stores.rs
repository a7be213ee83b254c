//! Every store in `fixtures/format-*` opens, read-only and for writing, and gives what the text
//! beside it says. Stores of earlier formats stay there for good: they are what this protects.
#![expect(clippy::unwrap_used, reason = "the helpers of a test fail as the test does")]

use std::path::{Path, PathBuf};

use crate::files::{copy, open, read_file};
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use timestrata_engine::{Access, ErrorKind, Io, KeyRange, Moment};

/// The golden stores, each with its text.
fn golden_stores() -> Vec<(PathBuf, String)> {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
    let mut found = Vec::new();
    for format in Io::os().disk.list(&fixtures).unwrap() {
        let folder = fixtures.join(&format.name);
        if format.name.starts_with("models-") {
            continue;
        }
        assert!(format.name.starts_with("format-"), "{}", folder.display());
        for entry in Io::os().disk.list(&folder).unwrap() {
            if entry.is_dir {
                let text = read_file(&folder.join(format!("{}.txt", entry.name)));
                found.push((folder.join(entry.name), String::from_utf8(text).unwrap()));
            }
        }
    }
    found
}

#[test]
fn stores_of_every_format_version_open_and_give_their_rows() {
    let stores = golden_stores();
    let current = format!("format-{}/", timestrata_engine::FORMAT_VERSION);
    assert!(
        stores.iter().any(|(path, _)| path.to_string_lossy().contains(&current)),
        "the format that this build writes has no golden store: see CONTRIBUTING.md"
    );
    for (original, expected) in stores {
        let name = original.display();
        let was_killed = original.ends_with("killed");
        let temporary = tempfile::tempdir().unwrap();
        let dir = temporary.path().join("store");
        copy(&original, &dir);

        let reader = open(&dir, Access::Read);
        assert_eq!(crate::golden::describe(&reader), expected, "{name}, read-only");
        let report = reader.check().unwrap();
        assert!(report.is_sound(), "{name}: {report:?}");
        assert_eq!(report.findings.is_empty(), !was_killed, "{name}: {report:?}");
        drop(reader);

        let store = open(&dir, Access::WriteExisting);
        assert_eq!(crate::golden::describe(&store), expected, "{name}, for writing");
        let report = store.recovery_report();
        assert_eq!(report.clean, !was_killed, "{name}: {report:?}");
        assert_eq!(report.torn_tail.is_some(), was_killed, "{name}: {report:?}");
        assert_eq!(report.commits_replayed > 0, was_killed, "{name}: {report:?}");
        store.compact(None).unwrap();
        assert_eq!(crate::golden::describe(&store), expected, "{name}, compacted by this build");
        store.close().unwrap();

        let store = open(&dir, Access::WriteExisting);
        assert_eq!(crate::golden::describe(&store), expected, "{name}, opened again");
        let report = store.check().unwrap();
        assert!(report.findings.is_empty(), "{name}: {report:?}");
    }
}

#[test]
fn stores_of_builds_that_dated_no_commits_are_read_as_of_no_earlier_time() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
    for (name, access) in ["closed", "killed"]
        .into_iter()
        .flat_map(|name| [(name, Access::Read), (name, Access::WriteExisting)])
    {
        let temporary = tempfile::tempdir().unwrap();
        let dir = temporary.path().join("store");
        copy(&fixtures.join("format-3").join(name), &dir);
        let before = Io::os().clock.wall_ns() - 1_000_000_000;
        let store = open(&dir, access);
        let lost = store.at(&Moment::Time(before)).unwrap_err();
        assert_eq!(lost.kind(), ErrorKind::HistoryLost, "{name}: {lost}");
        if access == Access::WriteExisting {
            // That all of them had been made by the time of its opening is known.
            let now = store.at(&Moment::Time(Io::os().clock.wall_ns())).unwrap();
            assert_eq!(now.stats().last_seq, store.stats().last_seq);
        }
    }
}

#[test]
fn golden_stores_with_a_history_are_read_as_they_were_at_each_commit() {
    let mut seen = 0;
    for (original, _) in golden_stores() {
        let past = original.with_extension("past.txt");
        if !Io::os().disk.exists(&past).unwrap() {
            continue;
        }
        let temporary = tempfile::tempdir().unwrap();
        let dir = temporary.path().join("store");
        copy(&original, &dir);
        // A writer would let go of what is older than it is to keep.
        let reader = open(&dir, Access::Read);
        let expected = String::from_utf8(read_file(&past)).unwrap();
        assert!(expected.lines().count() > 10, "{}", past.display());
        assert_eq!(crate::golden::describe_past(&reader), expected, "{}", original.display());
        seen += 1;
    }
    assert!(seen >= 2, "golden stores with a history are missing");
}

#[test]
fn golden_stores_tell_what_their_rows_come_to() {
    // The same rows: with a row group for each block, and with one for all four.
    ["format-2-aggregates", "format-2-groups"].into_iter().for_each(tells_what_its_rows_come_to);
}

fn tells_what_its_rows_come_to(name: &str) {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
    let temporary = tempfile::tempdir().unwrap();
    let dir = temporary.path().join("store");
    copy(&fixtures.join(name).join("closed"), &dir);
    let store = open(&dir, Access::Read);
    let snapshot = store.snapshot().unwrap();
    let meters = snapshot.streams().find(|stream| stream.name() == "meters").unwrap();
    let known = snapshot.aggregates(meters.id(), &[KeyRange::ALL], &[1], &[2, 3]).unwrap();
    assert_eq!(known.blocks.len(), 4);
    let [piece] = known.pieces.as_slice() else { panic!("{known:?}") };
    // Three series of 3,200 rows, span by span; what came behind them is not compacted.
    assert_eq!(piece.rows.values().iter().sum::<i64>(), 3_200);
    let firsts = piece.first.as_primitive::<Int64Type>();
    assert_eq!(firsts.values().get(..3), Some([0, 1, 2].as_slice()));
    let sums = piece.numbers[0].sum.as_primitive::<Int64Type>();
    let litres = (0..3_200).filter(|row| row % 5 != 2).map(|row| row % 50);
    assert_eq!(sums.values().iter().sum::<i64>(), litres.sum::<i64>());
    let prices = piece.numbers[1].max.as_primitive::<Float64Type>();
    assert_eq!(prices.values().iter().copied().reduce(f64::max), Some(3.99));
    let infinite = snapshot.aggregates(meters.id(), &[KeyRange::ALL], &[1], &[4]).unwrap();
    assert!(infinite.blocks.is_empty(), "ratios of some rows of each span are not finite");
}
