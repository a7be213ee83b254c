//! WAL: segment headers, record headers and payloads never panic on any bytes, and stay
//! inside them.
#![no_main]

use libfuzzer_sys::fuzz_target;
use timestrata_format::wal::{Entries, RecordHeader, RecordSeed, SegmentHeader};
use timestrata_format::{StoreId, WalId};

fuzz_target!(|bytes: &[u8]| {
    let _ = SegmentHeader::decode(bytes);
    let seed = RecordSeed::new(StoreId([1; 16]), WalId(1));
    if let Some((header, payload)) = bytes.split_first_chunk() {
        if let Some(record) = RecordHeader::decode(header, seed, 64) {
            assert_eq!(&record.encode(seed, 64), header);
        }
        for entry in Entries::new(payload).flatten() {
            let end = entry.body_offset + entry.body.len();
            assert_eq!(&payload[entry.body_offset..end], entry.body);
        }
    }
});
