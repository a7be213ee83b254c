use proptest::prelude::*;

use super::*;
use crate::{DecodeError, StreamId};

const STORE: StoreId = StoreId([5; 16]);

fn segment() -> SegmentHeader {
    SegmentHeader::new(STORE, WalId(3), 4096)
}

fn record() -> RecordHeader {
    RecordHeader {
        kind: RecordKind::Commit,
        padding: 8,
        payload_bytes: 100,
        payload_crc: 0xDEAD_BEEF,
        seq: SeqNo(17),
        synced_through: SeqNo(16),
        time_ms: Some(1_764_000_000_123),
    }
}

#[test]
fn a_segment_header_is_read_back_and_any_flipped_bit_is_noticed() {
    let bytes = segment().encode();
    assert_eq!(SegmentHeader::decode(&bytes), Ok(segment()));
    for bit in 0..bytes.len() * 8 {
        let mut damaged = bytes;
        damaged[bit / 8] ^= 1 << (bit % 8);
        assert!(matches!(SegmentHeader::decode(&damaged), Err(HeaderError::Damaged(_))));
    }
}

#[test]
fn a_record_header_is_read_back_and_any_flipped_bit_is_noticed() {
    let seed = segment().seed();
    let bytes = record().encode(seed, 64);
    assert_eq!(RecordHeader::decode(&bytes, seed, 64), Some(record()));
    for bit in 0..bytes.len() * 8 {
        let mut damaged = bytes;
        damaged[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(RecordHeader::decode(&damaged, seed, 64), None, "bit {bit}");
    }
}

#[test]
fn a_commits_record_tells_its_time_and_how_far_the_log_was_synced() {
    let seed = segment().seed();
    let read = |header: RecordHeader| RecordHeader::decode(&header.encode(seed, 64), seed, 64);
    let commit = |seq, synced, time_ms| RecordHeader {
        seq: SeqNo(seq),
        synced_through: SeqNo(synced),
        time_ms,
        ..record()
    };
    let far = commit(9 << 40, (9 << 40) - 4_194_302, Some(1));
    assert_eq!(read(far), Some(far));
    // Further behind than there is room for: nothing is told, rather than too much.
    let too_far = commit(9 << 40, (9 << 40) - 4_194_303, Some(1));
    assert_eq!(read(too_far), Some(commit(9 << 40, 0, Some(1))));
    // Before the epoch's end of 42 bits, in the year 2109.
    let late = commit(3, 2, Some(u64::MAX));
    assert_eq!(read(late), Some(commit(3, 2, Some((1 << 42) - 1))));
    // As builds before format version 4 wrote it.
    let untimed = commit(9 << 40, 5, None);
    assert_eq!(read(untimed), Some(untimed));
    let synced = RecordHeader { kind: RecordKind::Synced, ..untimed };
    assert_eq!(read(synced), Some(synced));
}

#[test]
fn a_record_header_counts_only_in_its_store_its_segment_and_its_place() {
    let seed = segment().seed();
    let bytes = record().encode(seed, 64);
    assert_eq!(RecordHeader::decode(&bytes, seed, 72), None);
    assert_eq!(RecordHeader::decode(&bytes, RecordSeed::new(STORE, WalId(4)), 64), None);
    assert_eq!(RecordHeader::decode(&bytes, RecordSeed::new(StoreId([6; 16]), WalId(3)), 64), None);
}

#[test]
fn large_payloads_are_aligned_and_small_ones_stay_small() {
    for offset in (64_u64..256).step_by(8) {
        assert_eq!(record_padding(offset, 90), 0);
        let padding = record_padding(offset, 5000);
        assert_eq!((offset + 32 + u64::from(padding)) % 64, 0);
        assert!(padding < 64 && padding.is_multiple_of(8));
    }
    assert_eq!(record_bytes(0, 58), 96);
}

/// A payload of these entries, as the engine lays them out.
fn payload(entries: &[(EntryKind, u64, Vec<u8>)]) -> Vec<u8> {
    let mut out = Vec::new();
    for (kind, stream, body) in entries {
        let header = EntryHeader::new(*kind, StreamId(*stream), body.len() as u32, out.len());
        out.extend_from_slice(&header.encode());
        out.resize(out.len() + usize::from(header.padding), 0);
        out.extend_from_slice(body);
        out.resize(out.len() + entry_padding(out.len()), 0);
    }
    out
}

#[test]
fn an_unknown_kind_of_entry_is_named() {
    let mut bytes = payload(&[(EntryKind::Rows, 1, vec![1, 2])]);
    bytes[0] = 99;
    let error = Entries::new(&bytes).next().unwrap().unwrap_err();
    assert!(error.to_string().contains("unknown kind 99"), "{error}");
}

fn kind() -> impl Strategy<Value = EntryKind> {
    prop_oneof![
        Just(EntryKind::Rows),
        Just(EntryKind::Batch),
        Just(EntryKind::DeleteRange),
        Just(EntryKind::DeleteKeys),
        Just(EntryKind::Rewritten)
    ]
}

proptest! {
    #[test]
    fn entries_are_read_back_and_arrow_bodies_are_aligned(
        entries in prop::collection::vec(
            (kind(), any::<u64>(), prop::collection::vec(any::<u8>(), 0..200)), 0..8)
    ) {
        let bytes = payload(&entries);
        let read = Entries::new(&bytes).collect::<Result<Vec<_>, DecodeError>>().unwrap();
        prop_assert_eq!(read.len(), entries.len());
        for (entry, (kind, stream, body)) in read.iter().zip(&entries) {
            prop_assert_eq!(entry.kind, *kind);
            prop_assert_eq!(entry.stream, StreamId(*stream));
            prop_assert_eq!(entry.body, &body[..]);
            let aligned = matches!(kind, EntryKind::Batch);
            prop_assert!(!aligned || entry.body_offset % PAYLOAD_ALIGNMENT == 0);
        }
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = Entries::new(&bytes).count();
        let _ = SegmentHeader::decode(&bytes);
        if let Some(header) = bytes.first_chunk() {
            let _ = RecordHeader::decode(header, RecordSeed::new(STORE, WalId(1)), 0);
        }
    }
}
