//! A whole store with some bytes changed: opening, reading, checking and going on with it end without a
//! panic. Where a checksum must notice the change, what is read is right or an error.
//!
//! The input is a list of changes, of 8 bytes each: which file, where, what. A change inside of a
//! manifest may be given a right checksum again, so that what decodes edits is reached too; of what
//! is read then nothing is asked but that it ends.
#![no_main]

use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use arrow_array::{BinaryArray, RecordBatch, TimestampMillisecondArray};
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use libfuzzer_sys::fuzz_target;
use timestrata_engine::{
    Access, Changes, Durability, Io, KeyRange, Maintenance, Merge, OpenMode, ScanSpec, Settings,
    Store, StreamId, StreamSpec, check,
};
use timestrata_format::frame::{FrameRead, FrameReader, append_frame};
use timestrata_format::manifest::{MANIFEST_HEADER_BYTES, ManifestHeader};
use timestrata_io::{ManualClock, MemoryDisk, SeededRng};

const DIR: &str = "/store";
const STREAMS: [&str; 2] = ["events", "latest"];
const CHANGE_BYTES: usize = 8;
const CHANGES_MAX: usize = 6;

/// A file of the store.
type StoredFile = (PathBuf, Vec<u8>);

/// The store as it was closed, and as a kill would have left it; and the rows of each stream.
struct Template {
    closed: Vec<StoredFile>,
    killed: Vec<StoredFile>,
    rows: [RecordBatch; 2],
}

static TEMPLATE: LazyLock<Template> = LazyLock::new(|| {
    // The fuzzer's own hook ends the process at every panic, also at one of Arrow's decoders, which the
    // engine turns into an error. One that nobody catches ends it without a hook as well.
    std::panic::set_hook(Box::new(|panic| eprintln!("{panic}")));
    Template::made()
});

fn settings() -> Settings {
    Settings {
        memtable_bytes_max: 8 << 10,
        wal_segment_bytes: 4 << 10,
        wal_bytes_max: 16 << 10,
        run_batch_rows: 8,
        run_bytes_max: 4 << 10,
        level0_runs_max: 2,
        maintenance: Maintenance::Manual,
        ..Settings::default()
    }
}

fn rows(first: i64) -> RecordBatch {
    let schema = Arc::new(Schema::new(vec![
        Field::new("time", DataType::Timestamp(TimeUnit::Millisecond, None), false),
        Field::new("value", DataType::Binary, true),
    ]));
    let times = TimestampMillisecondArray::from_iter_values(first..first + 30);
    let values = BinaryArray::from_iter_values((0..30_u8).map(|value| [value; 5]));
    RecordBatch::try_new(schema, vec![Arc::new(times), Arc::new(values)]).expect("a batch")
}

fn files(io: &Io) -> Vec<StoredFile> {
    let (mut folders, mut found) = (vec![PathBuf::from(DIR)], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in io.disk.list(&folder).expect("a list") {
            let path = folder.join(&entry.name);
            if entry.is_dir {
                folders.push(path);
            } else if entry.name != "LOCK" && entry.name != "RESERVE" {
                let file = io.disk.open(&path, OpenMode::Read).expect("a file");
                let mut bytes = vec![0; file.len().expect("a length") as usize];
                file.read_at(0, &mut bytes).expect("bytes");
                found.push((path, bytes));
            }
        }
    }
    found.sort();
    found
}

/// The same ids and times in each run, so that an input means the same.
fn new_io() -> Io {
    Io {
        disk: Arc::new(MemoryDisk::new()),
        clock: Arc::new(ManualClock::new(1_700_000_000_000_000_000)),
        rng: Arc::new(SeededRng::new(7)),
    }
}

fn io_with(files: &[StoredFile]) -> Io {
    let io = new_io();
    for (path, bytes) in files {
        let folders: Vec<_> = path.ancestors().skip(1).collect();
        for folder in folders.iter().rev() {
            // Those that are there already say so.
            let _ = io.disk.create_dir(folder);
        }
        let file = io.disk.open(path, OpenMode::CreateNew).expect("a new file");
        file.write_at(0, bytes).expect("room");
    }
    io
}

impl Template {
    fn made() -> Self {
        let io = new_io();
        let store = Store::open_with(io.clone(), Path::new(DIR), Access::Write, settings())
            .expect("a store");
        let schema = rows(0).schema();
        let streams = STREAMS.map(|name| {
            let merge = if name == "latest" { Merge::Latest } else { Merge::Keep };
            store
                .create_stream(StreamSpec { merge, ..StreamSpec::new(name, Arc::clone(&schema)) })
                .expect("a stream")
        });
        for turn in 0..12 {
            let changes = streams
                .iter()
                .fold(Changes::new(), |changes, id| changes.insert(*id, rows(turn * 10)));
            store.commit(changes, Durability::Synced).expect("a commit");
            match turn {
                3 | 5 => store.flush().expect("a flush"),
                6 => {
                    let range = KeyRange::times(20, 45);
                    let delete = Changes::new().delete_range(streams[0], range);
                    store.commit(delete, Durability::Synced).map(drop).expect("a delete");
                }
                8 => store.compact(None).expect("a compaction"),
                _ => {}
            }
        }
        let rows = streams.map(|id| collect(&store, id).expect("rows"));
        let killed = files(&io);
        store.close().expect("closing");
        Self { closed: files(&io), killed, rows }
    }
}

fn collect(store: &Store, id: StreamId) -> timestrata_engine::Result<RecordBatch> {
    store.snapshot()?.collect(id, &ScanSpec::default())
}

/// Changes a byte, a length or the names of files; false where that may be what a crash does, or where
/// checksums were made to fit.
fn change(files: &mut Vec<StoredFile>, change: &[u8]) -> bool {
    let [file, kind, at @ .., value, mask] = change else { return true };
    let at = at.iter().fold(0_usize, |at, byte| at << 8 | usize::from(*byte));
    if files.is_empty() {
        return false;
    }
    let place = usize::from(*file) % files.len();
    let bytes = &mut files[place].1;
    let at = at % bytes.len().max(1);
    match kind % 6 {
        0 | 1 => {
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= mask;
            }
            true
        }
        2 => {
            bytes.truncate(at);
            false
        }
        3 => {
            files.remove(place);
            false
        }
        4 => {
            let other = usize::from(*value) % files.len();
            let bytes = files[other].1.clone();
            files[place].1 = bytes;
            false
        }
        _ => {
            change_edit(files, at, *value, *mask);
            false
        }
    }
}

/// Changes a byte of an edit in the manifest and in its copy, with a checksum that fits.
fn change_edit(files: &mut [StoredFile], at: usize, value: u8, mask: u8) {
    for (path, bytes) in files {
        let is_manifest =
            path.file_name().is_some_and(|name| name == "MANIFEST" || name == "MANIFEST.copy");
        let Ok(header) = ManifestHeader::decode(bytes) else { continue };
        if !is_manifest {
            continue;
        }
        let (header_bytes, frames) = bytes.split_at(MANIFEST_HEADER_BYTES);
        let mut edits: Vec<Vec<u8>> = Vec::new();
        let mut reader = FrameReader::new(frames, 0, header.store_id);
        while let Ok(FrameRead::Frame { payload, .. }) = reader.next_frame() {
            edits.push(payload.to_vec());
        }
        let count = edits.len().max(1);
        if let Some(edit) = edits.get_mut(usize::from(value) % count) {
            let at = at % edit.len();
            edit[at] ^= mask;
        }
        let mut changed = header_bytes.to_vec();
        edits.iter().for_each(|edit| append_frame(&mut changed, header.store_id, edit));
        *bytes = changed;
    }
}

fuzz_target!(|input: &[u8]| {
    let template = &*TEMPLATE;
    let Some((how, changes)) = input.split_first() else { return };
    let is_closed = how % 2 == 0;
    let mut files = if is_closed { template.closed.clone() } else { template.killed.clone() };
    // Two may hit the manifest and its copy at once, which passes for a torn end.
    let mut is_noticed = changes.len() / CHANGE_BYTES <= 1;
    for one in changes.chunks_exact(CHANGE_BYTES).take(CHANGES_MAX) {
        is_noticed &= change(&mut files, one);
    }
    let io = io_with(&files);
    let _ = check(&io, Path::new(DIR));
    for access in [Access::Read, Access::Write] {
        let Ok(store) = Store::open_with(io.clone(), Path::new(DIR), access, settings()) else {
            continue;
        };
        for (name, expected) in STREAMS.iter().zip(&template.rows) {
            let Some(stream) = store.stream(name) else {
                assert!(!(is_noticed && is_closed), "{name} is gone without a word");
                continue;
            };
            let found = collect(&store, stream.id());
            // A kill's torn end may be what was changed.
            if is_noticed && is_closed {
                assert!(
                    found.is_err() || found.as_ref().is_ok_and(|found| found == expected),
                    "wrong rows of {name}"
                );
            }
        }
        if access == Access::Write {
            let _ = store.flush();
            let _ = store.compact(None);
            let _ = store.maintain_step();
            let _ = store.close();
        }
    }
});
