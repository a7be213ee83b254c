//! A lock on a real directory can't be pulled away from under its holder, nor be turned against
//! a file of somebody else's.
#![expect(clippy::unwrap_used, reason = "the helpers of a test fail as the test does")]
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "the test does to files what a stranger would"
)]

use std::path::Path;

use timestrata_io::{Disk, LockGuard, LockOutcome, OsDisk};

fn take(path: &Path) -> Box<dyn LockGuard> {
    match OsDisk::new().try_lock(path, "the holder").unwrap() {
        LockOutcome::Acquired(guard) => guard,
        LockOutcome::Held(owner) => panic!("held by {owner}"),
    }
}

fn is_refused(path: &Path) -> bool {
    matches!(OsDisk::new().try_lock(path, "another").unwrap(), LockOutcome::Held(_))
}

#[test]
fn who_removes_the_lock_file_lets_nobody_in_and_is_noticed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("LOCK");
    let guard = take(&path);
    assert!(guard.still_held().unwrap());
    std::fs::remove_file(&path).unwrap();
    assert!(!guard.still_held().unwrap());
    assert!(is_refused(&path), "the directory is locked too");
    std::fs::write(&path, "").unwrap();
    assert!(!guard.still_held().unwrap(), "another file of the same name");
    drop(guard);
    take(&path);
}

#[test]
fn a_directory_that_was_renamed_or_replaced_is_noticed() {
    let above = tempfile::tempdir().unwrap();
    let (dir, moved) = (above.path().join("store"), above.path().join("moved"));
    std::fs::create_dir(&dir).unwrap();
    let guard = take(&dir.join("LOCK"));
    std::fs::rename(&dir, &moved).unwrap();
    assert!(!guard.still_held().unwrap());
    assert!(is_refused(&moved.join("LOCK")), "under its new name it is locked all the same");
    std::fs::create_dir(&dir).unwrap();
    let other = take(&dir.join("LOCK"));
    assert!(!guard.still_held().unwrap());
    assert!(other.still_held().unwrap());
}

#[test]
fn who_locks_the_file_alone_is_excluded_and_excludes() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("LOCK");
    let operation = rustix::fs::FlockOperation::NonBlockingLockExclusive;
    let guard = take(&path);
    let file = std::fs::File::open(&path).unwrap();
    assert!(rustix::fs::flock(&file, operation).is_err());
    drop(guard);
    rustix::fs::flock(&file, operation).unwrap();
    assert!(is_refused(&path));
}

#[test]
fn a_link_in_the_lock_s_place_is_refused_and_its_target_keeps_its_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let (path, mine) = (dir.path().join("LOCK"), dir.path().join("mine"));
    std::fs::write(&mine, "years of work").unwrap();
    std::os::unix::fs::symlink(&mine, &path).unwrap();
    let error = OsDisk::new().try_lock(&path, "me").unwrap_err();
    assert!(error.to_string().contains("symbolic link"), "{error}");
    std::fs::remove_file(&path).unwrap();
    std::fs::hard_link(&mine, &path).unwrap();
    let error = OsDisk::new().try_lock(&path, "me").unwrap_err();
    assert!(error.to_string().contains("another name"), "{error}");
    assert_eq!(std::fs::read_to_string(&mine).unwrap(), "years of work");
    std::fs::remove_file(&path).unwrap();
    take(&path);
}
