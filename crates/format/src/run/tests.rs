use proptest::prelude::*;

use super::*;
use crate::FORMAT_VERSION;
use crate::checksum::crc32c;

fn tail(blocks: u64, zones: u32) -> RunTail {
    RunTail {
        format_version: FORMAT_VERSION,
        store_id: StoreId([3; 16]),
        run_id: RunId(5),
        stream_id: StreamId(6),
        key_min: LeadKey::Id16([0; 16]),
        key_max: LeadKey::Id16([255; 16]),
        seq_min: SeqNo(7),
        seq_max: SeqNo(8),
        tombstones_applied_through: SeqNo(9),
        rows: 10,
        delete_markers: 1,
        data_bytes: blocks * u64::from(BLOCK_CHECKSUM_BYTES),
        block_checksum_bytes: BLOCK_CHECKSUM_BYTES,
        block_crcs: (0..blocks as u32).collect(),
        zones: (0..zones)
            .map(|rows| Zone {
                rows,
                key_min: LeadKey::Id16([1; 16]),
                key_max: LeadKey::Id16([2; 16]),
            })
            .collect(),
    }
}

#[test]
fn a_tail_with_any_flipped_bit_or_cut_is_damaged() {
    let bytes = tail(2, 2).encode();
    for bit in 0..bytes.len() * 8 {
        let mut damaged = bytes.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        assert!(matches!(RunTail::decode(&damaged), Err(HeaderError::Damaged(_))), "bit {bit}");
    }
    for cut in 0..bytes.len() {
        assert!(RunTail::decode(&bytes[..cut]).is_err(), "cut at {cut}");
    }
}

#[test]
fn a_tail_of_a_newer_version_says_so() {
    let newer = RunTail { format_version: 9, ..tail(1, 1) };
    assert_eq!(RunTail::decode(&newer.encode()), Err(HeaderError::NewerVersion { found: 9 }));
}

#[test]
fn a_tail_with_too_few_block_checksums_is_damaged() {
    let short = RunTail { data_bytes: 3 * u64::from(BLOCK_CHECKSUM_BYTES), ..tail(2, 1) };
    assert!(matches!(RunTail::decode(&short.encode()), Err(HeaderError::Damaged(_))));
}

proptest! {
    #[test]
    fn any_tail_is_read_back(blocks in 0_u64..50, zones in 0_u32..50) {
        let tail = tail(blocks, zones);
        prop_assert_eq!(RunTail::decode(&tail.encode()), Ok(tail));
    }

    #[test]
    fn sealed_garbage_never_panics(mut bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        if let Some(version) = bytes.first_chunk_mut::<4>() {
            *version = FORMAT_VERSION.to_le_bytes();
        }
        let crc = crc32c(&bytes);
        bytes.extend_from_slice(&crc.to_le_bytes());
        let _ = RunTail::decode(&bytes);
    }
}
