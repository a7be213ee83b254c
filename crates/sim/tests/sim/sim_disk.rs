//! What the simulated disk promises about crashes, faults and lies: the runner is only as
//! good as these.
#![expect(clippy::unwrap_used, reason = "the helpers of a test fail as the test does")]

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::Path;

use crate::directory::{create, disk_with_dir};
use timestrata_io::{Disk, LockOutcome, OpenMode};
use timestrata_sim::{CrashKind, CrashState, Fault, Lie, OperationKind, SimDisk, Which};

const SUBSETS: usize = 60;

/// The file's bytes, `None` if it is not there.
fn content(disk: &SimDisk, path: &str) -> Option<Vec<u8>> {
    let file = disk.open(Path::new(path), OpenMode::Read).ok()?;
    Some(file.map().unwrap().to_vec())
}

fn after(disk: &SimDisk, kind: CrashKind) -> Vec<CrashState> {
    disk.crash_states(SUBSETS).into_iter().filter(|state| state.kind == kind).collect()
}

/// All contents that `path` may have after a power cut.
fn contents_after_power_cut(disk: &SimDisk, path: &str) -> BTreeSet<Option<Vec<u8>>> {
    after(disk, CrashKind::PowerCut).iter().map(|state| content(&state.disk, path)).collect()
}

#[test]
fn what_was_synced_by_file_and_directory_survives_every_crash() {
    let disk = disk_with_dir();
    let file = create(&disk, "/d/a");
    file.append(b"kept").unwrap();
    file.sync_data().unwrap();
    disk.sync_dir(Path::new("/d")).unwrap();
    for state in disk.crash_states(SUBSETS) {
        assert_eq!(content(&state.disk, "/d/a").as_deref(), Some(&b"kept"[..]), "{}", state.label);
    }
}

#[test]
fn a_killed_process_loses_nothing_that_it_wrote() {
    let disk = disk_with_dir();
    create(&disk, "/d/a").append(b"unsynced").unwrap();
    let states = after(&disk, CrashKind::Killed);
    assert_eq!(states.len(), 1);
    assert_eq!(content(&states[0].disk, "/d/a").as_deref(), Some(&b"unsynced"[..]));
}

#[test]
fn a_name_whose_directory_was_not_synced_may_vanish_or_be_empty() {
    let disk = disk_with_dir();
    let file = create(&disk, "/d/a");
    file.append(b"abc").unwrap();
    let found = contents_after_power_cut(&disk, "/d/a");
    // Gone, empty, as long as it was but without its sector, or whole.
    let whole = Some(b"abc".to_vec());
    assert_eq!(found, BTreeSet::from([None, Some(vec![]), Some(vec![0; 3]), whole]));

    file.sync_all().unwrap();
    let found = contents_after_power_cut(&disk, "/d/a");
    assert_eq!(found, BTreeSet::from([None, Some(b"abc".to_vec())]));

    disk.sync_dir(Path::new("/d")).unwrap();
    let found = contents_after_power_cut(&disk, "/d/a");
    assert_eq!(found, BTreeSet::from([Some(b"abc".to_vec())]));
}

#[test]
fn a_rename_that_was_not_synced_leaves_the_old_or_the_new_file() {
    let disk = disk_with_dir();
    for (path, bytes) in [("/d/a", b"old"), ("/d/b", b"new")] {
        let file = create(&disk, path);
        file.append(bytes).unwrap();
        file.sync_all().unwrap();
    }
    disk.sync_dir(Path::new("/d")).unwrap();
    disk.rename(Path::new("/d/b"), Path::new("/d/a")).unwrap();
    let found: BTreeSet<_> = after(&disk, CrashKind::PowerCut)
        .iter()
        .map(|state| (content(&state.disk, "/d/a"), content(&state.disk, "/d/b")))
        .collect();
    let (old, new) = (Some(b"old".to_vec()), Some(b"new".to_vec()));
    assert_eq!(found, BTreeSet::from([(old, new.clone()), (new, None)]));
}

#[test]
fn changes_of_different_names_may_survive_in_any_order() {
    let disk = disk_with_dir();
    create(&disk, "/d/a");
    disk.sync_dir(Path::new("/d")).unwrap();
    create(&disk, "/d/b");
    disk.remove(Path::new("/d/a")).unwrap();
    let found: BTreeSet<_> = after(&disk, CrashKind::PowerCut)
        .iter()
        .map(|state| {
            [content(&state.disk, "/d/a").is_some(), content(&state.disk, "/d/b").is_some()]
        })
        .collect();
    // Also the later removal without the earlier creation: neither file is left.
    let all = [[true, false], [true, true], [false, true], [false, false]];
    assert_eq!(found, BTreeSet::from(all));
}

#[test]
fn a_later_change_of_a_name_never_survives_without_the_earlier() {
    let disk = disk_with_dir();
    let file = create(&disk, "/d/a");
    file.append(b"1").unwrap();
    file.sync_all().unwrap();
    disk.sync_dir(Path::new("/d")).unwrap();
    disk.rename(Path::new("/d/a"), Path::new("/d/b")).unwrap();
    create(&disk, "/d/a").append(b"2").unwrap();
    for state in after(&disk, CrashKind::PowerCut) {
        let one = Some(b"1".to_vec());
        let (a, b) = (content(&state.disk, "/d/a"), content(&state.disk, "/d/b"));
        assert!(a == one || b == one, "{}: the synced file is gone", state.label);
    }
}

#[test]
fn syncing_one_directory_does_not_sync_the_one_above() {
    let disk = SimDisk::new(1);
    disk.create_dir(Path::new("/d")).unwrap();
    let file = create(&disk, "/d/a");
    file.append(b"abc").unwrap();
    file.sync_all().unwrap();
    disk.sync_dir(Path::new("/d")).unwrap();
    let found = contents_after_power_cut(&disk, "/d/a");
    assert_eq!(found, BTreeSet::from([None, Some(b"abc".to_vec())]));
}

#[test]
fn unsynced_writes_survive_sector_by_sector() {
    let disk = disk_with_dir();
    let file = disk.open_log(Path::new("/d/log"), 4096).unwrap();
    disk.sync_dir(Path::new("/d")).unwrap();
    file.write_at(0, &[1; 2048]).unwrap();
    file.write_at(1024, &[2; 512]).unwrap();
    let mut kinds = BTreeSet::new();
    for state in after(&disk, CrashKind::PowerCut) {
        let bytes = content(&state.disk, "/d/log").unwrap();
        assert_eq!(bytes.len(), 4096);
        let sectors: Vec<u8> = bytes
            .chunks(512)
            .map(|sector| {
                assert!(sector.iter().all(|byte| *byte == sector[0]), "a sector is whole");
                sector[0]
            })
            .collect();
        assert!(sectors[4..].iter().all(|byte| *byte == 0));
        kinds.insert(sectors[..4].to_vec());
    }
    // Among them the newer write without the older ones, and each version of sector 2.
    assert!(kinds.contains(&vec![0, 0, 0, 0]));
    assert!(kinds.contains(&vec![1, 1, 2, 1]));
    assert!(kinds.iter().any(|sectors| sectors[2] == 2 && sectors[0] == 0));
    assert!(kinds.iter().any(|sectors| sectors[2] == 1));
    assert!(kinds.len() > 10, "{kinds:?}");
}

#[test]
fn a_file_that_grew_may_be_found_shorter_or_with_zeros() {
    let disk = disk_with_dir();
    let file = create(&disk, "/d/a");
    file.append(&[1; 512]).unwrap();
    file.sync_all().unwrap();
    disk.sync_dir(Path::new("/d")).unwrap();
    file.append(&[2; 512]).unwrap();
    file.append(&[3; 512]).unwrap();
    let found = contents_after_power_cut(&disk, "/d/a");
    let lengths: BTreeSet<_> = found.iter().map(|bytes| bytes.as_ref().unwrap().len()).collect();
    assert_eq!(lengths, BTreeSet::from([512, 1024, 1536]));
    assert!(found.iter().flatten().all(|bytes| bytes[..512] == [1; 512]));
    assert!(
        found.iter().flatten().any(|bytes| bytes.len() == 1536 && bytes[512..1024] == [0; 512])
    );
}

#[test]
fn a_log_file_is_made_in_steps_and_can_be_found_unfinished() {
    let mut lengths = BTreeSet::new();
    for n in 0.. {
        let disk = disk_with_dir();
        let start = disk.operations();
        disk.crash_at(start + n);
        let outcome = disk.open_log(Path::new("/d/log"), 1024);
        if outcome.is_ok() {
            assert_eq!(n, 3, "a name, zeros, a sync");
            // The zeros are durable, the name is not yet.
            let found = contents_after_power_cut(&disk, "/d/log");
            assert_eq!(found, BTreeSet::from([None, Some(vec![0; 1024])]));
            break;
        }
        for state in disk.crash_states(SUBSETS) {
            lengths.insert(content(&state.disk, "/d/log").map(|bytes| bytes.len()));
        }
    }
    assert_eq!(lengths, BTreeSet::from([None, Some(0), Some(512), Some(1024)]));
}

#[test]
fn after_the_crash_nothing_changes_any_more() {
    let disk = disk_with_dir();
    let file = create(&disk, "/d/a");
    disk.crash_at(disk.operations());
    let error = file.append(b"abc").unwrap_err();
    assert_eq!((error.kind(), error.to_string().as_str()), (ErrorKind::Other, "simulated crash"));
    assert!(disk.is_crashed());
    let operations = disk.operations();
    for path in ["/d/b", "/d/c"] {
        assert!(disk.open(Path::new(path), OpenMode::CreateNew).is_err());
    }
    assert!(disk.rename(Path::new("/d/a"), Path::new("/d/b")).is_err());
    assert!(disk.remove(Path::new("/d/a")).is_err());
    assert!(disk.sync_dir(Path::new("/d")).is_err());
    assert!(file.sync_all().is_err() && file.set_len(5).is_err());
    assert_eq!(disk.operations(), operations);
    assert!(disk.exists(Path::new("/d/a")).unwrap());
}

#[test]
fn a_crash_inside_a_write_may_leave_a_part_of_it() {
    let disk = disk_with_dir();
    let file = disk.open_log(Path::new("/d/log"), 2048).unwrap();
    disk.sync_dir(Path::new("/d")).unwrap();
    disk.crash_at(disk.operations());
    file.write_at(100, &[9; 1000]).unwrap_err();
    let killed: BTreeSet<usize> = after(&disk, CrashKind::Killed)
        .iter()
        .map(|state| content(&state.disk, "/d/log").unwrap().iter().filter(|b| **b == 9).count())
        .collect();
    assert_eq!(killed, BTreeSet::from([0, 500]));
    let cut: BTreeSet<usize> = contents_after_power_cut(&disk, "/d/log")
        .iter()
        .flatten()
        .map(|bytes| bytes.iter().filter(|byte| **byte == 9).count())
        .collect();
    // 412 bytes in the first sector, 512 in the second, 76 in the third.
    assert_eq!(cut, BTreeSet::from([0, 76, 412, 488, 512, 588, 924, 1000]));
}

#[test]
fn faults_hit_one_operation_and_say_what_they_are() {
    let disk = disk_with_dir();
    let file = create(&disk, "/d/a");
    let next = disk.operations();
    disk.fail_at(next, Fault::Io);
    disk.fail_at(next + 1, Fault::NoSpace);
    disk.fail_at(next + 2, Fault::ShortWrite);
    disk.fail_at(next + 4, Fault::Io);
    assert_eq!(file.append(b"abcd").unwrap_err().kind(), ErrorKind::Other);
    assert_eq!(file.append(b"abcd").unwrap_err().kind(), ErrorKind::StorageFull);
    assert_eq!(content(&disk, "/d/a").unwrap(), b"");
    assert_eq!(file.append(b"abcd").unwrap_err().kind(), ErrorKind::StorageFull);
    assert_eq!(content(&disk, "/d/a").unwrap(), b"ab");
    file.write_at(0, b"abcd").unwrap();
    assert!(disk.sync_dir(Path::new("/d")).is_err());
    disk.sync_dir(Path::new("/d")).unwrap();
    let kinds: Vec<_> = disk.operation_log()[next as usize..].iter().map(|op| op.kind).collect();
    let (write, sync) = (OperationKind::Write, OperationKind::SyncDir);
    assert_eq!(kinds, [write, write, write, write, sync, sync]);
}

#[test]
fn a_failed_sync_that_loses_pages_can_not_be_made_good_by_another() {
    let disk = disk_with_dir();
    let file = create(&disk, "/d/a");
    disk.sync_dir(Path::new("/d")).unwrap();
    file.append(b"abc").unwrap();
    disk.fail_at(disk.operations(), Fault::SyncLosesPages);
    file.sync_data().unwrap_err();
    file.sync_data().unwrap();
    assert_eq!(content(&disk, "/d/a").unwrap(), b"abc", "still in the page cache");
    let found = contents_after_power_cut(&disk, "/d/a");
    assert_eq!(found, BTreeSet::from([Some(vec![])]));
    file.append(b"def").unwrap();
    file.sync_data().unwrap();
    let found = contents_after_power_cut(&disk, "/d/a");
    assert_eq!(found, BTreeSet::from([Some(b"\0\0\0def".to_vec())]));
}

#[test]
fn a_failed_log_file_is_taken_away_again() {
    for n in 0..3 {
        let disk = disk_with_dir();
        disk.fail_at(disk.operations() + n, Fault::NoSpace);
        disk.open_log(Path::new("/d/log"), 1024).unwrap_err();
        assert!(!disk.exists(Path::new("/d/log")).unwrap());
        disk.open_log(Path::new("/d/log"), 1024).unwrap();
    }
}

#[test]
fn dropped_syncs_say_that_they_were_done() {
    let lies = [
        (Lie::DropFileSync(Which::All), None),
        (Lie::DropFileSync(Which::Nth(0)), None),
        (Lie::DropFileSync(Which::Nth(1)), Some(b"abc".to_vec())),
        (Lie::DropDirSync(Which::All), None),
    ];
    for (lie, survivor) in lies {
        let disk = disk_with_dir();
        disk.lie(lie.clone());
        let file = create(&disk, "/d/a");
        file.append(b"abc").unwrap();
        file.sync_data().unwrap();
        disk.sync_dir(Path::new("/d")).unwrap();
        let worst = after(&disk, CrashKind::PowerCut).remove(0);
        let found = content(&worst.disk, "/d/a").filter(|bytes| !bytes.is_empty());
        assert_eq!(found, survivor, "{lie:?}");
    }
}

#[test]
fn stale_and_torn_files_show_after_a_power_cut_only() {
    for (lie, survivor) in [
        (Lie::Stale("/a".to_owned()), &b"old"[..]),
        (Lie::Tear("/a".to_owned()), &b"oldne\0\0\0"[..]),
        (Lie::Stale("/other".to_owned()), &b"oldnewer"[..]),
    ] {
        let disk = disk_with_dir();
        disk.lie(lie.clone());
        let file = create(&disk, "/d/a");
        disk.sync_dir(Path::new("/d")).unwrap();
        for bytes in [&b"old"[..], b"newer"] {
            file.append(bytes).unwrap();
            file.sync_data().unwrap();
        }
        for state in disk.crash_states(SUBSETS) {
            let expected =
                if state.kind == CrashKind::Killed { &b"oldnewer"[..] } else { survivor };
            assert_eq!(content(&state.disk, "/d/a").unwrap(), expected, "{lie:?}");
        }
    }
}

#[test]
fn a_crash_releases_locks() {
    let disk = disk_with_dir();
    let path = Path::new("/d/LOCK");
    let LockOutcome::Acquired(_guard) = disk.try_lock(path, "me").unwrap() else {
        panic!("the lock is free");
    };
    assert!(
        matches!(disk.try_lock(path, "you").unwrap(), LockOutcome::Held(owner) if owner == "me")
    );
    for state in disk.crash_states(SUBSETS) {
        let outcome = state.disk.try_lock(path, "you").unwrap();
        assert!(matches!(outcome, LockOutcome::Acquired(_)), "{}", state.label);
    }
}

#[test]
fn the_same_seed_gives_the_same_crash_states() {
    let run = || {
        let disk = disk_with_dir();
        let file = create(&disk, "/d/a");
        for byte in 0..20 {
            file.append(&[byte; 300]).unwrap();
            create(&disk, &format!("/d/{byte}"));
        }
        disk.crash_states(SUBSETS).iter().map(|s| s.disk.fingerprint()).collect::<Vec<_>>()
    };
    let first = run();
    assert_eq!(first, run());
    assert!(first.len() > 20, "{}", first.len());
}

/// A few operations of every kind, until one fails.
fn make_and_write(disk: &SimDisk) -> std::io::Result<()> {
    disk.create_dir(Path::new("/d"))?;
    disk.sync_dir(Path::new("/"))?;
    let file = disk.open(Path::new("/d/a"), OpenMode::CreateNew)?;
    file.append(&[1; 1200])?;
    file.sync_data()?;
    let log = disk.open_log(Path::new("/d/log"), 2048)?;
    disk.sync_dir(Path::new("/d"))?;
    log.write_at(700, &[2; 900])?;
    disk.rename(Path::new("/d/a"), Path::new("/d/b"))?;
    file.append(&[3; 100])?;
    log.sync_data()
}

#[test]
fn one_run_that_captures_gives_the_states_of_a_crash_at_every_operation() {
    let captured = SimDisk::new(5);
    captured.capture_from(0);
    make_and_write(&captured).unwrap();
    let points = captured.take_captured();
    assert_eq!(points.len() as u64, captured.operations());
    for (n, point) in points.iter().enumerate() {
        assert_eq!(point.operation(), n as u64);
        let crashed = SimDisk::new(5);
        crashed.crash_at(n as u64);
        make_and_write(&crashed).unwrap_err();
        let of = |states: Vec<CrashState>| -> Vec<_> {
            states.into_iter().map(|s| (s.kind, s.label, s.disk.fingerprint())).collect()
        };
        assert_eq!(of(point.states(9)), of(crashed.crash_states(9)), "operation {n}");
    }
}

#[test]
fn what_a_killed_process_left_unsynced_can_be_lost_to_a_later_power_cut() {
    let disk = disk_with_dir();
    create(&disk, "/d/a").append(b"abc").unwrap();
    let killed = after(&disk, CrashKind::Killed).remove(0).disk;
    assert_eq!(content(&killed, "/d/a").unwrap(), b"abc");
    assert!(contents_after_power_cut(&killed, "/d/a").contains(&None));
    let file = killed.open(Path::new("/d/a"), OpenMode::ReadWrite).unwrap();
    file.sync_data().unwrap();
    killed.sync_dir(Path::new("/d")).unwrap();
    let found = contents_after_power_cut(&killed, "/d/a");
    assert_eq!(found, BTreeSet::from([Some(b"abc".to_vec())]));
}

#[test]
fn a_flipped_bit_is_durable() {
    let disk = disk_with_dir();
    let file = create(&disk, "/d/a");
    file.append(&[0, 0]).unwrap();
    file.sync_all().unwrap();
    disk.sync_dir(Path::new("/d")).unwrap();
    let copy = disk.copy();
    disk.flip_bit(Path::new("/d/a"), 9).unwrap();
    assert!(disk.flip_bit(Path::new("/d/a"), 16).is_err());
    let found = contents_after_power_cut(&disk, "/d/a");
    assert_eq!(found, BTreeSet::from([Some(vec![0, 2])]));
    assert_eq!(content(&copy, "/d/a").unwrap(), [0, 0], "a copy is a disk of its own");
    assert_eq!(copy.files(), [("/d/a".into(), 2)]);
}
