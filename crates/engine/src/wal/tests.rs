//! What the log promises, on a disk in memory.

mod concurrent;
mod damage;
mod reuse;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use timestrata_format::{SeqNo, StoreId, WalId};
use timestrata_io::{Bytes, Disk, Io, ManualClock, MemoryDisk, OpenMode, SeededRng};

use super::reader::{each_ahead, each_alone};
use super::*;
use crate::{ErrorKind, Result, Settings};

const STORE: StoreId = StoreId([0x5A; 16]);
const FIRST: WalId = WalId(1);
/// Without a history.
const REUSE: OldSegments = OldSegments::ReuseBelow(WalId(u64::MAX));

fn io() -> Io {
    Io {
        disk: Arc::new(MemoryDisk::new()),
        clock: Arc::new(ManualClock::new(0)),
        rng: Arc::new(SeededRng::new(1)),
    }
}

fn dir() -> PathBuf {
    PathBuf::from("/store/wal")
}

fn settings(wal_segment_bytes: u64) -> Settings {
    Settings { wal_segment_bytes, ..Settings::default() }
}

/// The start of a log without any commit.
fn fresh(id: WalId) -> WalStart {
    WalStart { id, ..WalStart::default() }
}

fn create(io: &Io, segment_bytes: u64, start: WalStart) -> Wal {
    Wal::create(io, &dir(), STORE, &settings(segment_bytes), start, REUSE).unwrap()
}

/// Lets go of segments below a floor, as where no history is kept.
fn reuse_below(wal: &Wal, floor: WalId) {
    wal.let_go_below(floor);
    wal.recycle_below(floor);
}

/// Commits with their payloads.
type Records = Vec<(u64, Vec<u8>)>;

/// A payload that tells which commit it is of, and is long enough to be misread.
fn payload(seq: u64, bytes: usize) -> Vec<u8> {
    (0..bytes).map(|place| (seq as u8).wrapping_mul(31).wrapping_add(place as u8)).collect()
}

fn append(wal: &Wal, seq: u64, bytes: usize) {
    wal.append(SeqNo(seq), &[&payload(seq, bytes)], None, false).unwrap();
}

/// All records, and how the log ended.
fn read(io: &Io, mode: ReadMode, floor: WalId) -> Result<(Records, WalTail)> {
    read_from(io, mode, floor, None)
}

fn read_from(
    io: &Io,
    mode: ReadMode,
    floor: WalId,
    from: Option<WalPosition>,
) -> Result<(Records, WalTail)> {
    let by = |each: EachRecord| {
        let reader = WalReader::open(io, &dir(), STORE, mode, floor, from)?;
        let mut records = Vec::new();
        let reader = each(reader, &mut |record| {
            records.push((record.seq.0, record.payload.to_vec()));
            Ok(())
        })?;
        Ok((records, reader.tail()))
    };
    let alone = by(each_alone);
    if mode == ReadMode::Recovery {
        // On two threads it is the same, to the last word of an error.
        let told = |read: &Result<(Records, WalTail)>| match read {
            Ok(read) => Ok(read.clone()),
            Err(error) => Err(error.to_string()),
        };
        assert!(told(&alone) == told(&by(each_ahead)));
    }
    alone
}

/// A way to give each record of a log, and the reader in the end.
type EachRecord = fn(WalReader, &mut dyn FnMut(&WalRecord<'_>) -> Result<()>) -> Result<WalReader>;

fn recover(io: &Io) -> (Records, WalTail) {
    read(io, ReadMode::Recovery, FIRST).unwrap()
}

fn seqs(records: &[(u64, Vec<u8>)]) -> Vec<u64> {
    records.iter().map(|(seq, _)| *seq).collect()
}

fn segment(id: u64) -> PathBuf {
    dir().join(format!("{id:016x}.wal"))
}

fn file_bytes(io: &Io, path: &Path) -> Vec<u8> {
    io.disk.open(path, OpenMode::Read).unwrap().map().unwrap().to_vec()
}

/// A disk with just these files.
fn disk_of(files: &[(PathBuf, Vec<u8>)]) -> Io {
    let io = io();
    io.disk.create_dir(&dir()).unwrap();
    for (path, bytes) in files {
        let file = io.disk.open(path, OpenMode::CreateNew).unwrap();
        file.write_at(0, bytes).unwrap();
    }
    io
}

fn files(io: &Io) -> Vec<(PathBuf, Vec<u8>)> {
    let entries = io.disk.list(&dir()).unwrap();
    let paths = entries.into_iter().map(|entry| dir().join(entry.name));
    paths.map(|path| (path.clone(), file_bytes(io, &path))).collect()
}

#[test]
fn records_come_back_in_order_with_gaps_and_over_several_segments() {
    let io = io();
    let wal = create(&io, 4096, fresh(FIRST));
    let seqs: Vec<u64> = (1..200).filter(|seq| seq % 7 != 0).collect();
    for &seq in &seqs {
        append(&wal, seq, (seq as usize * 37) % 1900);
    }
    let (records, tail) = recover(&io);
    let expected: Vec<_> =
        seqs.iter().map(|&seq| (seq, payload(seq, (seq as usize * 37) % 1900))).collect();
    assert!(records == expected);
    assert_eq!((tail.torn, tail.last_seq), (None, Some(SeqNo(199))));
    assert!(wal.segments() > 20);
}

#[test]
fn who_takes_records_in_can_stop_at_any_of_them_and_keep_what_they_hold() {
    let io = io();
    // Several windows, in each of several segments.
    let wal = create(&io, 1 << 20, fresh(FIRST));
    (1..=300).for_each(|seq| append(&wal, seq, 10_000 + seq as usize));
    for stop in [0, 1, 150, 299, 300] {
        let reader = WalReader::open(&io, &dir(), STORE, ReadMode::Recovery, FIRST, None).unwrap();
        let mut kept = Vec::new();
        let taken = each_ahead(reader, &mut |record| {
            if record.seq.0 > stop {
                return Err(crate::Error::new(ErrorKind::Closed, "enough"));
            }
            kept.push(record.share(record.payload));
            Ok(())
        });
        assert_eq!(taken.map_err(|error| error.to_string()).is_ok(), stop == 300);
        assert_eq!(kept.len() as u64, stop);
        // The memory of windows is used again only where nothing of it is kept.
        let are_whole = |(seq, kept): (u64, &Bytes)| **kept == payload(seq, 10_000 + seq as usize);
        assert!((1..).zip(&kept).all(are_whole));
    }
}

#[test]
fn a_log_goes_on_in_a_new_segment_after_each_opening() {
    let io = io();
    let mut start = fresh(FIRST);
    for session in 0..5 {
        let wal = create(&io, 4096, start);
        for step in 1..=session * 9 {
            append(&wal, session * 100 + step, 300);
        }
        let (records, tail) = recover(&io);
        assert_eq!(records.len() as u64, (0..=session).map(|session| session * 9).sum::<u64>());
        start = tail.start;
    }
}

#[test]
fn no_directory_and_no_segment_are_an_empty_log() {
    let io = io();
    let (records, tail) = recover(&io);
    assert!(records.is_empty());
    assert_eq!(tail.start, fresh(FIRST));
}

#[test]
fn large_payloads_are_aligned_in_the_file() {
    let io = io();
    let wal = create(&io, 65536, fresh(FIRST));
    for seq in 1..40 {
        append(&wal, seq, if seq % 2 == 0 { 1000 + seq as usize * 10 } else { 11 });
    }
    let mut reader = WalReader::open(&io, &dir(), STORE, ReadMode::Recovery, FIRST, None).unwrap();
    while let Some(record) = reader.next_record().unwrap() {
        assert!(record.payload.len() < 1024 || record.payload_offset % 64 == 0);
    }
}

#[test]
fn a_payload_that_no_segment_holds_is_too_large_and_the_log_goes_on() {
    let io = io();
    let wal = create(&io, 4096, fresh(FIRST));
    let error = wal.append(SeqNo(1), &[&[0; 4096]], None, false).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooLarge);
    append(&wal, 2, 10);
    // The largest that is taken does fit.
    let largest = (0..4096).rev().find(|bytes| wal.check_size(*bytes).is_ok()).unwrap();
    append(&wal, 3, largest);
    assert_eq!(seqs(&recover(&io).0), [2, 3]);
}

#[test]
fn a_payload_of_parts_is_their_sequence_whoever_sums_it_up() {
    let io = io();
    let wal = create(&io, 65536, fresh(FIRST));
    let parts: [&[u8]; 3] = [b"one", &[7; 3000], b"three"];
    let whole = parts.concat();
    wal.append(SeqNo(1), &parts, None, false).unwrap();
    let crc = timestrata_format::checksum::crc32c(&whole);
    wal.append(SeqNo(2), &parts, Some(crc), false).unwrap();
    wal.append(SeqNo(3), &[b"ab", b"c"], None, false).unwrap();
    let expected = vec![(1, whole.clone()), (2, whole), (3, b"abc".to_vec())];
    assert!(recover(&io).0 == expected);
}

#[test]
fn a_follower_sees_what_is_appended_after_each_of_its_readings() {
    let io = io();
    let wal = create(&io, 4096, fresh(FIRST));
    let mut position = None;
    let mut seen = Vec::new();
    for seq in 1..100 {
        append(&wal, seq, 200);
        if seq % 5 == 0 || seq > 60 {
            let (records, tail) = read_from(&io, ReadMode::Follower, FIRST, position).unwrap();
            seen.extend(seqs(&records));
            position = Some(tail.position);
        }
    }
    assert_eq!(seen, (1..100).collect::<Vec<u64>>());
}

#[test]
fn a_segment_of_a_newer_version_is_unsupported_and_not_corrupt() {
    let io = io();
    create(&io, 4096, fresh(FIRST));
    let header = timestrata_format::wal::SegmentHeader {
        format_version: 9,
        ..timestrata_format::wal::SegmentHeader::new(STORE, FIRST, 4096)
    };
    let file = io.disk.open(&segment(1), OpenMode::ReadWrite).unwrap();
    file.write_at(0, &header.encode()).unwrap();
    let error = read(&io, ReadMode::Recovery, FIRST).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnsupportedVersion);
}
