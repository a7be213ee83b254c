use proptest::prelude::*;

use super::*;
use crate::{FORMAT_VERSION, KeyRange, LeadKey};

const HEADER: ManifestHeader = ManifestHeader {
    format_version: FORMAT_VERSION,
    store_id: StoreId([9; 16]),
    generation: 12,
    log_begins: WalId(5),
    log_begun: true,
};

#[test]
fn a_header_is_read_back() {
    assert_eq!(ManifestHeader::decode(&HEADER.encode()), Ok(HEADER));
}

#[test]
fn a_header_with_any_flipped_bit_or_cut_is_damaged() {
    let bytes = HEADER.encode();
    for bit in 0..bytes.len() * 8 {
        let mut damaged = bytes;
        damaged[bit / 8] ^= 1 << (bit % 8);
        let result = ManifestHeader::decode(&damaged);
        assert!(matches!(result, Err(HeaderError::Damaged(_))), "bit {bit}: {result:?}");
    }
    for cut in 0..bytes.len() {
        assert!(matches!(ManifestHeader::decode(&bytes[..cut]), Err(HeaderError::Damaged(_))));
    }
}

#[test]
fn a_newer_header_is_told_from_a_damaged_one_whatever_its_layout() {
    let mut bytes = [0xEE; 200];
    bytes[..16].copy_from_slice(&encode_preamble(MANIFEST_MAGIC, 77));
    assert_eq!(ManifestHeader::decode(&bytes), Err(HeaderError::NewerVersion { found: 77 }));
    assert_eq!(ManifestHeader::decode(&bytes[..16]), Err(HeaderError::NewerVersion { found: 77 }));
}

#[test]
fn an_unknown_operation_is_named_by_its_tag() {
    let error = decode_edit(&[1, 0, 0, 0, 200]).unwrap_err();
    assert_eq!(error.offset, 4);
    assert!(error.to_string().contains("unknown tag 200"), "{error}");
}

fn lead_key() -> impl Strategy<Value = LeadKey> {
    prop_oneof![
        any::<i64>().prop_map(LeadKey::Time),
        any::<u64>().prop_map(LeadKey::Offset),
        any::<[u8; 16]>().prop_map(LeadKey::Id16),
        any::<[u8; 32]>().prop_map(LeadKey::Id32),
    ]
}

fn tombstone() -> impl Strategy<Value = Tombstone> {
    (prop::option::of(lead_key()), prop::option::of(lead_key()), any::<u64>())
        .prop_map(|(lo, hi, seq)| Tombstone { range: KeyRange { lo, hi }, seq: SeqNo(seq) })
}

fn retention() -> impl Strategy<Value = Retention> {
    any::<(Option<u64>, Option<u64>)>().prop_map(|(age_ns, bytes)| Retention { age_ns, bytes })
}

fn run_format() -> impl Strategy<Value = RunFormat> {
    prop_oneof![Just(RunFormat::Hot), Just(RunFormat::Cold)]
}

fn run() -> impl Strategy<Value = RunMeta> {
    let place = (any::<(u64, u64, u8)>(), run_format(), lead_key(), lead_key());
    let seqs = any::<(u64, u64, u64)>();
    let sizes = any::<(u64, u64, u64, u32, u64, u32, i64)>();
    (place, seqs, sizes).prop_map(|((ids, format, key_min, key_max), seqs, sizes)| RunMeta {
        id: RunId(ids.0),
        stream: StreamId(ids.1),
        format,
        level: ids.2,
        key_min,
        key_max,
        seq_min: SeqNo(seqs.0),
        seq_max: SeqNo(seqs.1),
        tombstones_applied_through: SeqNo(seqs.2),
        rows: sizes.0,
        delete_markers: sizes.1,
        file_bytes: sizes.2,
        file_crc: sizes.3,
        tail_offset: sizes.4,
        tail_crc: sizes.5,
        created_wall_ns: sizes.6,
    })
}

fn definition() -> impl Strategy<Value = StreamDefinition> {
    let names = (".{0,20}", prop::collection::vec(any::<u8>(), 0..50));
    let key = prop::collection::vec(".{0,9}", 0..4);
    let merge = prop_oneof![Just(Merge::Keep), Just(Merge::Latest)];
    let properties = prop::collection::vec((".{0,9}", ".{0,9}"), 0..4);
    (any::<u64>(), names, key, merge, run_format(), retention(), properties).prop_map(
        |(id, (name, schema_ipc), key, merge, run_format, retention, properties)| {
            StreamDefinition {
                id: StreamId(id),
                name,
                schema_ipc,
                key,
                merge,
                run_format,
                retention,
                properties,
            }
        },
    )
}

fn pin() -> impl Strategy<Value = Pin> {
    let stream = (
        any::<u64>(),
        prop::collection::vec(run(), 0..3),
        prop::collection::vec(tombstone(), 0..3),
    )
        .prop_map(|(stream, runs, tombstones)| PinnedStream {
            stream: StreamId(stream),
            runs,
            tombstones,
        });
    (".{0,20}", any::<u64>(), any::<i64>(), prop::collection::vec(stream, 0..3)).prop_map(
        |(name, seq, created_wall_ns, streams)| Pin {
            name,
            seq: SeqNo(seq),
            created_wall_ns,
            streams,
        },
    )
}

fn op() -> impl Strategy<Value = ManifestOp> {
    let id = any::<u64>;
    prop_oneof![
        definition().prop_map(ManifestOp::CreateStream),
        id().prop_map(|stream| ManifestOp::DropStream(StreamId(stream))),
        (id(), 2..=i64::MAX)
            .prop_map(|(id, factor)| ManifestOp::RefineTimes { stream: StreamId(id), factor }),
        run().prop_map(ManifestOp::AddRun),
        (id(), id()).prop_map(|(stream, run)| ManifestOp::RemoveRun {
            stream: StreamId(stream),
            run: RunId(run)
        }),
        (id(), tombstone()).prop_map(|(stream, tombstone)| ManifestOp::AddTombstone {
            stream: StreamId(stream),
            tombstone
        }),
        (id(), tombstone()).prop_map(|(stream, tombstone)| ManifestOp::RemoveTombstone {
            stream: StreamId(stream),
            tombstone
        }),
        (id(), id()).prop_map(|(stream, seq)| ManifestOp::FlushedThrough {
            stream: StreamId(stream),
            seq: SeqNo(seq)
        }),
        (id(), retention()).prop_map(|(stream, retention)| ManifestOp::SetRetention {
            stream: StreamId(stream),
            retention
        }),
        pin().prop_map(ManifestOp::AddPin),
        ".{0,20}".prop_map(ManifestOp::RemovePin),
        id().prop_map(|id| ManifestOp::NextRunId(RunId(id))),
        id().prop_map(|id| ManifestOp::NextStreamId(StreamId(id))),
        id().prop_map(|id| ManifestOp::WalFloor(WalId(id))),
        id().prop_map(|seq| ManifestOp::Closed { last_seq: SeqNo(seq) }),
        id().prop_map(ManifestOp::CommitTime),
        id().prop_map(|seq| ManifestOp::Committed(SeqNo(seq))),
        id().prop_map(|stream| ManifestOp::Rewritten(StreamId(stream))),
        id().prop_map(|stream| ManifestOp::Expired(StreamId(stream))),
        (".{0,20}", id()).prop_map(|(name, seq)| ManifestOp::SetFollower { name, seq: SeqNo(seq) }),
        ".{0,20}".prop_map(ManifestOp::RemoveFollower),
    ]
}

proptest! {
    #[test]
    fn any_edit_is_read_back(ops in prop::collection::vec(op(), 0..8)) {
        let edit = VersionEdit { ops };
        prop_assert_eq!(decode_edit(&encode_edit(&edit)), Ok(edit));
    }

    #[test]
    fn an_edit_that_is_cut_or_longer_is_an_error(
        ops in prop::collection::vec(op(), 1..4), cut in any::<prop::sample::Index>()
    ) {
        let mut bytes = encode_edit(&VersionEdit { ops });
        prop_assert!(decode_edit(&bytes[..cut.index(bytes.len())]).is_err());
        bytes.push(0);
        prop_assert!(decode_edit(&bytes).is_err());
    }

    #[test]
    fn a_damaged_edit_never_panics(
        ops in prop::collection::vec(op(), 1..4),
        place in any::<prop::sample::Index>(),
        value in any::<u8>(),
    ) {
        let mut bytes = encode_edit(&VersionEdit { ops });
        let place = place.index(bytes.len());
        bytes[place] = value;
        // What it decodes to is the frame checksum's affair; that it re-encodes is ours.
        if let Ok(edit) = decode_edit(&bytes) {
            prop_assert_eq!(decode_edit(&encode_edit(&edit)), Ok(edit));
        }
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        if let Ok(edit) = decode_edit(&bytes) {
            prop_assert_eq!(decode_edit(&encode_edit(&edit)), Ok(edit));
        }
        let _ = ManifestHeader::decode(&bytes);
    }
}
