//! Run tails, origins, layouts, aggregates and filters of words: any bytes, also with a right checksum, decode to an error
//! or to what survives a round trip.
#![no_main]

use libfuzzer_sys::fuzz_target;
use timestrata_format::checksum::crc32c;
use timestrata_format::{RunAggregates, RunLayout, RunOrigin, RunTail, WordFilters};

fuzz_target!(|bytes: &[u8]| {
    let mut sealed = bytes.to_vec();
    sealed.extend_from_slice(&crc32c(bytes).to_le_bytes());
    for input in [bytes, &sealed] {
        if let Ok(tail) = RunTail::decode(input) {
            assert_eq!(RunTail::decode(&tail.encode()), Ok(tail));
        }
        if let Ok(origin) = RunOrigin::decode(input) {
            assert_eq!(RunOrigin::decode(&origin.encode()), Ok(origin));
        }
        if let Ok(layout) = RunLayout::decode(input) {
            assert_eq!(RunLayout::decode(&layout.encode()), Ok(layout));
        }
        if let Ok(aggregates) = RunAggregates::decode(input) {
            assert_eq!(RunAggregates::decode(&aggregates.encode()), Ok(aggregates));
        }
        if let Ok(filters) = WordFilters::decode(input) {
            assert_eq!(WordFilters::decode(&filters.encode()), Ok(filters));
        }
    }
});
