//! What the simulated disk refuses though nothing is broken, what it can't read, and where it tears.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::Path;

use crate::directory::{create, disk_with_dir};
use timestrata_io::{Disk, LockOutcome, OpenMode};
use timestrata_sim::{CrashKind, Fault};

#[test]
fn a_full_disk_takes_nothing_that_grows_until_there_is_room() {
    let disk = disk_with_dir();
    let file = create(&disk, "/d/a");
    file.append(&[1; 100]).unwrap();
    assert_eq!(disk.free_bytes(Path::new("/d")).unwrap(), None);
    disk.limit_free_bytes(Some(50));
    assert_eq!(disk.free_bytes(Path::new("/d")).unwrap(), Some(50));
    file.append(&[2; 30]).unwrap();
    for full in [file.append(&[3; 30]).map(drop), file.set_len(200)] {
        assert_eq!(full.unwrap_err().kind(), ErrorKind::StorageFull);
    }
    assert_eq!(file.len().unwrap(), 130, "nothing of it was done");
    file.write_at(0, &[4; 130]).unwrap();
    // A log file that could not be filled is taken away again.
    assert!(disk.open_log(Path::new("/d/log"), 64).is_err());
    assert!(!disk.exists(Path::new("/d/log")).unwrap());
    disk.remove(Path::new("/d/a")).unwrap();
    disk.open_log(Path::new("/d/log"), 64).unwrap();
    disk.limit_free_bytes(None);
    create(&disk, "/d/b").append(&[5; 1000]).unwrap();
}

#[test]
fn only_so_many_files_are_open_at_once() {
    let disk = disk_with_dir();
    let first = create(&disk, "/d/a");
    disk.limit_open_files(Some(1));
    let second = create(&disk, "/d/b");
    assert_eq!(
        disk.open(Path::new("/d/c"), OpenMode::CreateNew).unwrap_err().raw_os_error(),
        Some(24)
    );
    assert!(disk.open(Path::new("/d/a"), OpenMode::Read).is_err());
    assert!(disk.open_log(Path::new("/d/log"), 64).is_err());
    assert!(!disk.exists(Path::new("/d/c")).unwrap());
    drop(first);
    let third = disk.open(Path::new("/d/a"), OpenMode::Read).unwrap();
    assert!(disk.open(Path::new("/d/b"), OpenMode::Read).is_err());
    drop((second, third));
    disk.limit_open_files(None);
    assert!(disk.open(Path::new("/d/b"), OpenMode::Read).is_ok());
}

#[test]
fn a_read_fails_once_or_for_good_at_its_place() {
    let disk = disk_with_dir();
    let file = create(&disk, "/d/a");
    file.append(b"abcdef").unwrap();
    let mut buffer = [0; 2];
    disk.fail_read_at(disk.reads());
    assert!(file.read_at(0, &mut buffer).is_err());
    file.read_at(0, &mut buffer).unwrap();
    assert_eq!(&buffer, b"ab");
    disk.spoil(Path::new("/d/a"), 3).unwrap();
    disk.rename(Path::new("/d/a"), Path::new("/d/b")).unwrap();
    for _ in 0..2 {
        assert!(file.read_at(2, &mut buffer).is_err() && file.read_at(3, &mut buffer).is_err());
        file.read_at(4, &mut buffer).unwrap();
    }
    assert!(disk.spoil(Path::new("/d/a"), 0).is_err());
    disk.heal();
    file.read_at(2, &mut buffer).unwrap();
}

#[test]
fn writes_are_torn_at_any_byte_where_the_disk_does_that() {
    let disk = disk_with_dir();
    disk.tear_anywhere();
    let file = disk.open_log(Path::new("/d/log"), 1024).unwrap();
    disk.sync_dir(Path::new("/d")).unwrap();
    file.write_at(100, &[9; 600]).unwrap();
    let mut written = BTreeSet::new();
    for state in disk.crash_states(200).iter().filter(|state| state.kind == CrashKind::PowerCut) {
        let bytes = state.disk.open(Path::new("/d/log"), OpenMode::Read).unwrap().map().unwrap();
        assert!(bytes[..100].iter().chain(&bytes[700..]).all(|byte| *byte == 0));
        written.insert(bytes.iter().filter(|byte| **byte == 9).count());
    }
    // Whole, nothing, a sector's part of it; and much that no sector ends with.
    assert!([0, 412, 188, 600].iter().all(|whole| written.contains(whole)), "{written:?}");
    assert!(written.len() > 20, "{written:?}");

    disk.fail_at(disk.operations(), Fault::ShortWrite);
    file.write_at(0, &[7; 100]).unwrap_err();
    let seen = file.map().unwrap();
    let cut = seen.iter().take_while(|byte| **byte == 7).count();
    assert!(cut <= 100 && seen[cut..100].iter().all(|byte| *byte == 0), "{cut}");
}

#[test]
fn a_lock_that_was_pulled_away_is_somebody_else_s() {
    let disk = disk_with_dir();
    let path = Path::new("/d/LOCK");
    let LockOutcome::Acquired(first) = disk.try_lock(path, "first").unwrap() else {
        panic!("the lock is free");
    };
    assert!(first.still_held().unwrap());
    disk.pull_lock(path);
    assert!(!first.still_held().unwrap());
    let LockOutcome::Acquired(second) = disk.try_lock(path, "second").unwrap() else {
        panic!("the lock was pulled away");
    };
    drop(first);
    assert!(second.still_held().unwrap(), "the first one's end is nothing to the second");
    assert!(
        matches!(disk.try_lock(path, "third").unwrap(), LockOutcome::Held(owner) if owner == "second")
    );
}
