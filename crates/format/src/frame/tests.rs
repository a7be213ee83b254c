use proptest::prelude::*;

use super::*;

const SALT: StoreId = StoreId([7; 16]);

fn framed(payloads: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for payload in payloads {
        append_frame(&mut bytes, SALT, payload);
    }
    bytes
}

/// All payloads, and what stood behind the last.
fn read_all(bytes: &[u8], salt: StoreId) -> (Vec<Vec<u8>>, Result<FrameRead<'_>, DecodeError>) {
    let mut reader = FrameReader::new(bytes, 0, salt);
    let mut payloads = Vec::new();
    loop {
        match reader.next_frame() {
            Ok(FrameRead::Frame { payload, .. }) => payloads.push(payload.to_vec()),
            end => return (payloads, end),
        }
    }
}

#[test]
fn frames_of_another_store_are_torn_from_the_start() {
    let bytes = framed(&[b"one".to_vec(), b"two".to_vec()]);
    let (payloads, end) = read_all(&bytes, StoreId([8; 16]));
    assert!(payloads.is_empty());
    assert_eq!(end, Ok(FrameRead::Torn { offset: 0 }));
}

#[test]
fn a_cut_at_every_byte_of_the_last_frame_is_torn_where_it_begins() {
    let whole = framed(&[b"first".to_vec()]);
    let bytes = framed(&[b"first".to_vec(), b"second one".to_vec()]);
    for cut in whole.len() + 1..bytes.len() {
        let (payloads, end) = read_all(&bytes[..cut], SALT);
        assert_eq!(payloads, [b"first".to_vec()]);
        assert_eq!(end, Ok(FrameRead::Torn { offset: whole.len() as u64 }), "cut at {cut}");
    }
}

#[test]
fn a_flipped_bit_before_the_last_frame_is_corruption_and_names_where() {
    let first = framed(&[b"first".to_vec()]).len();
    let bytes = framed(&[b"first".to_vec(), b"second".to_vec(), b"third".to_vec()]);
    let third = framed(&[b"first".to_vec(), b"second".to_vec()]).len();
    for place in first..third {
        let mut damaged = bytes.clone();
        damaged[place] ^= 0x40;
        let (payloads, end) = read_all(&damaged, SALT);
        assert_eq!(payloads, [b"first".to_vec()]);
        assert_eq!(end.unwrap_err().offset, first as u64, "flip at {place}");
    }
}

#[test]
fn zeros_behind_the_last_frame_are_a_torn_end() {
    let mut bytes = framed(&[b"first".to_vec()]);
    let whole = bytes.len() as u64;
    bytes.resize(5000, 0);
    assert_eq!(read_all(&bytes, SALT).1, Ok(FrameRead::Torn { offset: whole }));
}

proptest! {
    #[test]
    fn what_is_framed_is_read_back(
        payloads in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..300), 0..20)
    ) {
        let bytes = framed(&payloads);
        let (read, end) = read_all(&bytes, SALT);
        prop_assert_eq!(read, payloads);
        prop_assert_eq!(end, Ok(FrameRead::End { offset: bytes.len() as u64 }));
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        let (_, end) = read_all(&bytes, SALT);
        let at_end = !matches!(end, Ok(FrameRead::Frame { .. }));
        prop_assert!(at_end);
    }
}
