//! What every disk does: one suite, which each crate that has a disk runs against its own
//! (`super::on_every_disk`).

use std::io::ErrorKind;

use timestrata_io::{DiskFile, LockOutcome, OpenMode};

use super::on_every_disk;

fn content(file: &dyn DiskFile) -> Vec<u8> {
    let mut bytes = vec![0; file.len().unwrap() as usize];
    file.read_at(0, &mut bytes).unwrap();
    bytes
}

fn kind_of<T>(outcome: std::io::Result<T>) -> ErrorKind {
    match outcome {
        Ok(_) => panic!("expected an error"),
        Err(error) => error.kind(),
    }
}

#[test]
fn a_new_file_keeps_what_is_written_and_appended() {
    on_every_disk(|disk, dir| {
        let path = dir.join("file");
        let file = disk.open(&path, OpenMode::CreateNew).unwrap();
        assert!(file.is_empty().unwrap());
        assert_eq!(file.append(b"abc").unwrap(), 0);
        assert_eq!(file.append(b"def").unwrap(), 3);
        file.write_at(1, b"XY").unwrap();
        file.write_at(8, b"!").unwrap();
        assert_eq!(file.append(b"end").unwrap(), 9);
        file.write_at(100, b"").unwrap();
        assert_eq!(content(&*file), b"aXYdef\0\0!end");
        file.sync_data().unwrap();
        file.sync_all().unwrap();
        drop(file);

        let reopened = disk.open(&path, OpenMode::ReadWrite).unwrap();
        assert_eq!(reopened.append(b"+").unwrap(), 12);
        assert_eq!(content(&*disk.open(&path, OpenMode::Read).unwrap()), b"aXYdef\0\0!end+");
    });
}

#[test]
fn set_len_cuts_and_zero_extends_and_moves_the_end() {
    on_every_disk(|disk, dir| {
        let file = disk.open(&dir.join("file"), OpenMode::CreateNew).unwrap();
        file.append(b"abcdef").unwrap();
        file.set_len(2).unwrap();
        file.set_len(4).unwrap();
        assert_eq!(file.append(b"z").unwrap(), 4);
        assert_eq!(content(&*file), b"ab\0\0z");
    });
}

#[test]
fn reading_past_the_end_is_an_error() {
    on_every_disk(|disk, dir| {
        let file = disk.open(&dir.join("file"), OpenMode::CreateNew).unwrap();
        file.append(b"abc").unwrap();
        let mut buffer = [0; 4];
        assert_eq!(kind_of(file.read_at(0, &mut buffer)), ErrorKind::UnexpectedEof);
        assert_eq!(kind_of(file.read_at(9, &mut buffer)), ErrorKind::UnexpectedEof);
    });
}

#[test]
fn a_file_opened_for_reading_refuses_every_change() {
    on_every_disk(|disk, dir| {
        let path = dir.join("file");
        disk.open(&path, OpenMode::CreateNew).unwrap().append(b"abc").unwrap();
        let file = disk.open(&path, OpenMode::Read).unwrap();
        assert_eq!(kind_of(file.write_at(0, b"x")), ErrorKind::PermissionDenied);
        assert_eq!(kind_of(file.append(b"x")), ErrorKind::PermissionDenied);
        assert_eq!(kind_of(file.set_len(0)), ErrorKind::PermissionDenied);
        assert_eq!(content(&*file), b"abc");
    });
}

#[test]
fn opening_names_what_is_in_the_way() {
    on_every_disk(|disk, dir| {
        let path = dir.join("file");
        assert_eq!(kind_of(disk.open(&path, OpenMode::Read)), ErrorKind::NotFound);
        assert_eq!(kind_of(disk.open(&path, OpenMode::ReadWrite)), ErrorKind::NotFound);
        disk.open(&path, OpenMode::CreateNew).unwrap();
        assert_eq!(kind_of(disk.open(&path, OpenMode::CreateNew)), ErrorKind::AlreadyExists);
        let no_dir = dir.join("missing").join("file");
        assert_eq!(kind_of(disk.open(&no_dir, OpenMode::CreateNew)), ErrorKind::NotFound);
        assert_eq!(kind_of(disk.open_log(&no_dir, 4096)), ErrorKind::NotFound);
        assert_eq!(kind_of(disk.open(dir, OpenMode::Read)), ErrorKind::IsADirectory);
        assert_eq!(kind_of(disk.open(dir, OpenMode::ReadWrite)), ErrorKind::IsADirectory);
        assert_eq!(kind_of(disk.open(dir, OpenMode::CreateNew)), ErrorKind::AlreadyExists);
    });
}

#[test]
fn rename_replaces_and_keeps_open_files_alive() {
    on_every_disk(|disk, dir| {
        let (old, new) = (dir.join("old"), dir.join("new"));
        disk.open(&old, OpenMode::CreateNew).unwrap().append(b"old").unwrap();
        let replaced = disk.open(&new, OpenMode::CreateNew).unwrap();
        replaced.append(b"new").unwrap();
        disk.rename(&old, &new).unwrap();
        assert!(!disk.exists(&old).unwrap());
        assert_eq!(content(&*disk.open(&new, OpenMode::Read).unwrap()), b"old");
        assert_eq!(content(&*replaced), b"new");
        disk.rename(&new, &new).unwrap();
        assert!(disk.exists(&new).unwrap());
        assert_eq!(kind_of(disk.rename(&old, &new)), ErrorKind::NotFound);
        let no_dir = dir.join("missing").join("file");
        assert_eq!(kind_of(disk.rename(&new, &no_dir)), ErrorKind::NotFound);
        assert!(disk.exists(&new).unwrap());
    });
}

#[test]
fn a_removed_file_is_gone_by_name_only() {
    on_every_disk(|disk, dir| {
        let path = dir.join("file");
        let file = disk.open(&path, OpenMode::CreateNew).unwrap();
        file.append(b"abc").unwrap();
        let map = file.map().unwrap();
        disk.remove(&path).unwrap();
        assert!(!disk.exists(&path).unwrap());
        assert_eq!(kind_of(disk.remove(&path)), ErrorKind::NotFound);
        assert_eq!(content(&*file), b"abc");
        assert_eq!(&map[..], b"abc");
    });
}

#[test]
fn list_is_sorted_and_knows_lengths_and_directories() {
    on_every_disk(|disk, dir| {
        for (name, length) in [("b", 2), ("a", 1), ("c10", 0), ("c9", 3)] {
            let file = disk.open(&dir.join(name), OpenMode::CreateNew).unwrap();
            file.append(&vec![7; length]).unwrap();
        }
        disk.create_dir(&dir.join("bb/inner")).unwrap();
        disk.open(&dir.join("bb/hidden"), OpenMode::CreateNew).unwrap();
        let entries = disk.list(dir).unwrap();
        let shown: Vec<_> = entries.iter().map(|e| (e.name.as_str(), e.len, e.is_dir)).collect();
        let expected = [
            ("a", 1, false),
            ("b", 2, false),
            ("bb", 0, true),
            ("c10", 0, false),
            ("c9", 3, false),
        ];
        assert_eq!(shown, expected);
        assert_eq!(kind_of(disk.list(&dir.join("missing"))), ErrorKind::NotFound);
        assert_eq!(kind_of(disk.list(&dir.join("a"))), ErrorKind::NotADirectory);
    });
}

#[test]
fn create_dir_makes_the_missing_ones_above_and_may_be_repeated() {
    on_every_disk(|disk, dir| {
        let deep = dir.join("one/two/three");
        disk.create_dir(&deep).unwrap();
        disk.create_dir(&deep).unwrap();
        assert!(disk.exists(&dir.join("one/two")).unwrap());
        disk.sync_dir(&deep).unwrap();
        disk.sync_dir(&dir.join("one")).unwrap();
        assert_eq!(kind_of(disk.sync_dir(&dir.join("missing"))), ErrorKind::NotFound);
        disk.open(&dir.join("file"), OpenMode::CreateNew).unwrap();
        assert_eq!(kind_of(disk.sync_dir(&dir.join("file"))), ErrorKind::NotADirectory);
        assert!(disk.create_dir(&dir.join("file/inner")).is_err());
        assert_eq!(kind_of(disk.remove(&deep)), ErrorKind::IsADirectory);
    });
}

#[test]
fn a_map_shows_the_whole_file_and_is_empty_for_an_empty_one() {
    on_every_disk(|disk, dir| {
        let file = disk.open(&dir.join("file"), OpenMode::CreateNew).unwrap();
        assert!(file.map().unwrap().is_empty());
        let bytes: Vec<u8> = (0..10_000_u32).map(|n| n as u8).collect();
        file.append(&bytes).unwrap();
        let map = disk.open(&dir.join("file"), OpenMode::Read).unwrap().map().unwrap();
        drop(file);
        assert_eq!(&map[..], &bytes[..]);
    });
}

#[test]
fn a_log_file_is_zero_filled_and_keeps_its_bytes_and_length() {
    on_every_disk(|disk, dir| {
        let path = dir.join("log");
        // Not a multiple of the page or of the chunk in which zeros are written.
        let length = (1 << 20) + 777;
        let log = disk.open_log(&path, length).unwrap();
        assert_eq!(log.len().unwrap(), length);
        assert!(content(&*log).iter().all(|byte| *byte == 0));
        log.write_at(5, b"hello").unwrap();
        log.write_at(length - 3, b"end").unwrap();
        log.sync_data().unwrap();
        let mut buffer = [0; 5];
        log.read_at(5, &mut buffer).unwrap();
        assert_eq!(&buffer, b"hello");
        assert_eq!(&log.map().unwrap()[length as usize - 3..], b"end");
        drop(log);

        let read = disk.open(&path, OpenMode::Read).unwrap();
        assert_eq!(&content(&*read)[5..10], b"hello");
        let again = disk.open_log(&path, length).unwrap();
        assert_eq!(&content(&*again)[length as usize - 3..], b"end");
    });
}

#[test]
fn a_log_file_made_at_once_is_one_like_any_other() {
    on_every_disk(|disk, dir| {
        let path = dir.join("log");
        let length = (1 << 18) + 777;
        let log = disk.open_log_at_once(&path, length).unwrap();
        assert_eq!(log.len().unwrap(), length);
        assert!(content(&*log).iter().all(|byte| *byte == 0));
        // By the map and by a system call, side by side.
        log.write_at(1, &[1; 100]).unwrap();
        log.write_at(101, &[2; 100_000]).unwrap();
        log.expect_writes();
        log.sync_data().unwrap();
        let written = content(&*disk.open_log(&path, length).unwrap());
        assert_eq!(written[..3], [0, 1, 1]);
        assert_eq!(written[99..103], [1, 1, 2, 2]);
        assert!(written[100_101..].iter().all(|byte| *byte == 0));
        assert_eq!(kind_of(disk.open_log_at_once(&path, 5)), ErrorKind::InvalidData);
    });
}

#[test]
fn a_log_file_made_at_once_keeps_what_is_written_to_be_synced() {
    on_every_disk(|disk, dir| {
        let path = dir.join("log");
        let length = (1 << 20) + 777;
        let log = disk.open_log_at_once(&path, length).unwrap();
        // By turns in the two ways, over many times what is filled ahead; pieces of a record come
        // before its header.
        let (mut at, mut piece) = (0, 1);
        while at + 10 + piece < length {
            let bytes = vec![(at % 251) as u8 + 1; piece as usize];
            match piece % 3 {
                0 => log.write_at(at, &bytes).unwrap(),
                _ => {
                    log.write_at_to_sync(at + 10, &bytes).unwrap();
                    log.write_at_to_sync(at, &[7; 10]).unwrap();
                    at += 10;
                }
            }
            at += piece;
            piece = piece * 5 % 40_009 + 1;
        }
        log.write_at_to_sync(length - 1, &[9]).unwrap();
        log.sync_data().unwrap();
        let found = content(&*disk.open(&path, OpenMode::Read).unwrap());
        assert_eq!(found.len() as u64, length);
        let written = &found[..at as usize];
        assert_eq!(written.iter().position(|byte| *byte == 0), None);
        assert!(found[at as usize..length as usize - 1].iter().all(|byte| *byte == 0));
        assert_eq!(found.last(), Some(&9));
    });
}

#[test]
fn a_hint_to_write_back_changes_no_byte() {
    on_every_disk(|disk, dir| {
        let file = disk.open(&dir.join("run"), OpenMode::CreateNew).unwrap();
        file.append(&[7; 50_000]).unwrap();
        file.start_writing_back(0, 50_000);
        file.start_writing_back(u64::MAX, u64::MAX);
        file.append(&[8; 10]).unwrap();
        file.sync_all().unwrap();
        let read = content(&*file);
        assert_eq!((read.len(), read[49_999], read[50_000]), (50_010, 7, 8));
    });
}

#[test]
fn a_log_file_never_changes_its_length() {
    on_every_disk(|disk, dir| {
        let path = dir.join("log");
        let log = disk.open_log(&path, 1000).unwrap();
        assert_eq!(kind_of(log.write_at(998, b"abc")), ErrorKind::InvalidInput);
        assert_eq!(kind_of(log.write_at(u64::MAX, b"abc")), ErrorKind::InvalidInput);
        assert_eq!(kind_of(log.append(b"abc")), ErrorKind::InvalidInput);
        assert_eq!(kind_of(log.set_len(2000)), ErrorKind::InvalidInput);
        assert_eq!(log.len().unwrap(), 1000);
        let mut past = [0; 8];
        assert_eq!(kind_of(log.read_at(996, &mut past)), ErrorKind::UnexpectedEof);

        let error = disk.open_log(&path, 2000).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidData);
        let message = error.to_string();
        assert!(message.contains("1000") && message.contains("2000"), "{message}");
        assert_eq!(kind_of(disk.open_log(&dir.join("none"), 0)), ErrorKind::InvalidInput);
        assert!(!disk.exists(&dir.join("none")).unwrap());
    });
}

#[test]
fn threads_may_write_disjoint_ranges_of_a_log() {
    on_every_disk(|disk, dir| {
        let log = disk.open_log(&dir.join("log"), 64 * 1024).unwrap();
        std::thread::scope(|scope| {
            for thread in 0..4_u64 {
                let log = &log;
                scope.spawn(move || {
                    for slot in (thread..1024).step_by(4) {
                        log.write_at(slot * 64, &[thread as u8 + 1; 64]).unwrap();
                    }
                });
            }
        });
        for (slot, bytes) in content(&*log).chunks(64).enumerate() {
            assert!(bytes.iter().all(|byte| *byte == (slot % 4) as u8 + 1), "slot {slot}");
        }
    });
}

#[test]
fn a_lock_has_one_holder_who_leaves_a_name() {
    on_every_disk(|disk, dir| {
        let path = dir.join("LOCK");
        let LockOutcome::Acquired(guard) = disk.try_lock(&path, "the first, at length").unwrap()
        else {
            panic!("the lock is free");
        };
        let LockOutcome::Held(owner) = disk.try_lock(&path, "second").unwrap() else {
            panic!("the lock is held");
        };
        assert_eq!(owner, "the first, at length");
        drop(guard);
        let LockOutcome::Acquired(_guard) = disk.try_lock(&path, "third").unwrap() else {
            panic!("the lock was released");
        };
        assert_eq!(content(&*disk.open(&path, OpenMode::Read).unwrap()), b"third");
        let no_dir = dir.join("missing/LOCK");
        assert_eq!(kind_of(disk.try_lock(&no_dir, "fourth")), ErrorKind::NotFound);
    });
}

#[test]
fn a_lock_whose_file_was_removed_or_replaced_is_no_longer_held() {
    on_every_disk(|disk, dir| {
        let path = dir.join("LOCK");
        let LockOutcome::Acquired(guard) = disk.try_lock(&path, "the first").unwrap() else {
            panic!("the lock is free");
        };
        assert!(guard.still_held().unwrap());
        disk.remove(&path).unwrap();
        assert!(!guard.still_held().unwrap());
        disk.open(&path, OpenMode::CreateNew).unwrap();
        assert!(!guard.still_held().unwrap());
    });
}
