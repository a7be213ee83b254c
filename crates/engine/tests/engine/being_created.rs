//! Who opens a store for reading while it is being made finds none yet, or one that works. It was told
//! that the manifest was missing beside data, or that the directory was no store, if the manifest
//! came between two of its looks.

use std::io;

use crate::stepped_disk::stepped;
use crate::support::*;
use timestrata_engine::{Access, ErrorKind, Store, check};

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
