//! Manifest and history: any bytes decode to an error or to an edit that survives a round trip.
#![no_main]

use libfuzzer_sys::fuzz_target;
use timestrata_format::HistoryStep;
use timestrata_format::manifest::{ManifestHeader, decode_edit, encode_edit};

fuzz_target!(|bytes: &[u8]| {
    if let Ok(edit) = decode_edit(bytes) {
        assert_eq!(decode_edit(&encode_edit(&edit)), Ok(edit));
    }
    if let Ok(step) = HistoryStep::decode(bytes) {
        assert_eq!(HistoryStep::decode(&step.encode()), Ok(step));
    }
    if let Ok(header) = ManifestHeader::decode(bytes) {
        assert_eq!(ManifestHeader::decode(&header.encode()), Ok(header));
    }
});
