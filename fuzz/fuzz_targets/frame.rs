//! Frames: reading ends, never panics, and what was framed is read back from any tail.
#![no_main]

use libfuzzer_sys::fuzz_target;
use timestrata_format::StoreId;
use timestrata_format::frame::{FrameRead, FrameReader, append_frame};

const SALT: StoreId = StoreId([1; 16]);

fuzz_target!(|bytes: &[u8]| {
    let mut reader = FrameReader::new(bytes, 0, SALT);
    while let Ok(FrameRead::Frame { .. }) = reader.next_frame() {}

    if !bytes.is_empty() {
        let mut framed = Vec::new();
        append_frame(&mut framed, SALT, bytes);
        let whole = framed.len() as u64;
        framed.extend_from_slice(bytes);
        let mut reader = FrameReader::new(&framed, 0, SALT);
        assert_eq!(reader.next_frame(), Ok(FrameRead::Frame { offset: 0, payload: bytes }));
        match reader.next_frame() {
            Ok(FrameRead::Torn { offset } | FrameRead::Frame { offset, .. }) => {
                assert_eq!(offset, whole);
            }
            Ok(FrameRead::End { .. }) => panic!("bytes behind the frame were overlooked"),
            Err(_) => {}
        }
    }
});
