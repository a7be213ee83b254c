//! Who opens a store for reading while it is being made finds none yet, or one that works. It was told
//! that the manifest was missing beside data, or that the directory was no store, if the manifest
//! came between two of its looks.

mod support;

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use support::*;
use timestrata_engine::{Access, ErrorKind, Io, Store, check};
use timestrata_io::{DirEntry, Disk, DiskFile, LockOutcome, OpenMode};

type Hook = Box<dyn Fn(u64) -> io::Result<()> + Send + Sync>;

/// A disk that asks before each call.
struct SteppedDisk {
    disk: Arc<dyn Disk>,
    calls: AtomicU64,
    before: Hook,
}

impl fmt::Debug for SteppedDisk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SteppedDisk")
    }
}

impl SteppedDisk {
    fn step(&self) -> io::Result<&dyn Disk> {
        (self.before)(self.calls.fetch_add(1, Ordering::Relaxed))?;
        Ok(&*self.disk)
    }
}

impl Disk for SteppedDisk {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn DiskFile>> {
        self.step()?.open(path, mode)
    }
    fn open_log(&self, path: &Path, bytes: u64) -> io::Result<Arc<dyn DiskFile>> {
        self.step()?.open_log(path, bytes)
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.step()?.rename(from, to)
    }
    fn remove(&self, path: &Path) -> io::Result<()> {
        self.step()?.remove(path)
    }
    fn list(&self, dir: &Path) -> io::Result<Vec<DirEntry>> {
        self.step()?.list(dir)
    }
    fn create_dir(&self, dir: &Path) -> io::Result<()> {
        self.step()?.create_dir(dir)
    }
    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        self.step()?.sync_dir(dir)
    }
    fn exists(&self, path: &Path) -> io::Result<bool> {
        self.step()?.exists(path)
    }
    fn try_lock(&self, path: &Path, owner: &str) -> io::Result<LockOutcome> {
        self.step()?.try_lock(path, owner)
    }
    fn free_bytes(&self, path: &Path) -> io::Result<Option<u64>> {
        self.disk.free_bytes(path)
    }
}

fn stepped(machine: &Machine, before: Hook) -> Io {
    let disk = Arc::clone(&machine.io.disk);
    let disk = SteppedDisk { disk, calls: AtomicU64::new(0), before };
    Io { disk: Arc::new(disk), ..machine.io.clone() }
}

/// A machine on which a store was being made, up to its `stop`th call of the disk; whether that is all.
fn begun(stop: u64) -> (Machine, bool) {
    let machine = Machine::new();
    let before = move |call| if call < stop { Ok(()) } else { Err(io::Error::other("stopped")) };
    let made =
        Store::open_with(stepped(&machine, Box::new(before)), &machine.dir, Access::Write, tiny());
    let is_made = made.is_ok();
    // Dropping it would close it, which is a story of its own.
    std::mem::forget(made);
    (machine, is_made)
}

#[test]
fn a_reader_of_a_store_that_is_being_made_finds_none_or_one_that_works() {
    let mut stops = 0;
    loop {
        for moment in 0.. {
            let (machine, is_made) = begun(stops);
            if is_made {
                assert!(stops > 10, "making a store takes calls");
                return;
            }
            // At this call of the reader's another writer makes what is missing.
            let (io, dir) = (machine.io.clone(), machine.dir.clone());
            let before = move |call| {
                if call == moment {
                    let store = Store::open_with(io.clone(), &dir, Access::Write, tiny()).unwrap();
                    store.create_stream(keep("events")).unwrap();
                    std::mem::forget(store);
                }
                Ok(())
            };
            let reading = stepped(&machine, Box::new(before));
            let what = format!("made up to call {stops}, the rest at call {moment} of the reader");
            match Store::open_with(reading, &machine.dir, Access::Read, tiny()) {
                Ok(reader) => drop(reader.refresh().unwrap()),
                Err(error) => assert_eq!(error.kind(), ErrorKind::NotFound, "{what}: {error}"),
            }
            let is_through = !machine.io.disk.exists(&machine.dir.join("MANIFEST")).unwrap();
            if is_through || moment > 40 {
                break;
            }
        }
        stops += 1;
    }
}

#[test]
fn a_store_that_is_half_made_is_not_called_damaged() {
    for stops in 0.. {
        let (machine, is_made) = begun(stops);
        if is_made {
            return;
        }
        match check(&machine.io, &machine.dir) {
            Ok(report) => assert!(report.is_sound(), "made up to call {stops}: {report:?}"),
            Err(error) => {
                let kinds = [ErrorKind::NotFound, ErrorKind::NotAStore];
                assert!(kinds.contains(&error.kind()), "made up to call {stops}: {error}");
            }
        }
    }
}
