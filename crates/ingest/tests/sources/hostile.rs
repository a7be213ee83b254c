//! No bytes make a source panic or take memory without bound.

use std::io::Read;

use proptest::prelude::*;
use timestrata_engine::ErrorKind;
use timestrata_ingest::rows::{Format, OnError, ReadOptions, open_bytes, open_reader};

use crate::{reading::failure, written};

fn valid(format: Format) -> Vec<u8> {
    let batch = written::batch();
    match format {
        Format::Csv => b"time,s,n\n2024-01-01T00:00:00Z,\"a\"\"\nb\",1\n2024-01-02,x,2\n".to_vec(),
        Format::JsonLines => {
            b"[{\"time\":\"2024-01-01\",\"l\":[{\"x\":[1,2.5]}]},\n{\"time\":\"2024-01-02\",\"l\":[],\"s\":\"\\u00e9\"}]".to_vec()
        }
        Format::ArrowStream => written::arrow_stream(&batch),
        Format::ArrowFile => written::arrow_file(&batch, true),
        Format::Parquet => written::parquet(&batch),
        Format::Protobuf => written::protobuf(&[&[("time", "2024-01-01"), ("n", "1")], &[("time", "2024-01-02")]]),
    }
}

/// Reads all, to whatever end.
fn read(bytes: &[u8], format: Format, on_error: OnError) -> usize {
    let options =
        ReadOptions { format: Some(format), on_error, threads: 1, ..ReadOptions::default() };
    match open_bytes(bytes.to_vec(), "body", &options) {
        Ok(source) => source.filter_map(Result::ok).map(|batch| batch.num_rows()).sum(),
        Err(error) => {
            assert!(!error.message().is_empty() && error.to_string().len() < 4_000, "{error}");
            0
        }
    }
}

#[test]
fn inputs_that_end_anywhere_are_read_or_refused() {
    for format in Format::ALL {
        let whole = valid(format);
        assert!(read(&whole, format, OnError::Fail) > 0, "{format:?}");
        for end in 0..whole.len() {
            read(&whole[..end], format, OnError::Skip);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_bytes_are_read_or_refused(
        bytes in prop::collection::vec(any::<u8>(), 0..300), format in prop::sample::select(&Format::ALL[..])
    ) {
        read(&bytes, format, OnError::Skip);
    }

    #[test]
    fn damaged_inputs_are_read_or_refused(
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..5),
        format in prop::sample::select(&Format::ALL[..]),
    ) {
        let mut bytes = valid(format);
        for (at, byte) in damage {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        read(&bytes, format, OnError::Skip);
    }

    #[test]
    fn any_text_is_read_or_refused(text in "[a\",\\n\\r{}\\[\\]:0-9. -]{0,200}") {
        for format in [Format::Csv, Format::JsonLines] {
            read(text.as_bytes(), format, OnError::Skip);
            read(text.as_bytes(), format, OnError::Fail);
        }
    }
}

#[test]
fn a_row_that_unpacks_without_end_is_refused_early() {
    // Ten gigabytes of nothing, packed: members of a megabyte each, over and over.
    let member = written::gzip(&vec![0; 1 << 20]);
    let members = std::iter::repeat_n(member, 10 << 10);
    struct Chain<I: Iterator<Item = Vec<u8>>>(I, std::io::Cursor<Vec<u8>>);
    impl<I: Iterator<Item = Vec<u8>>> Read for Chain<I> {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            loop {
                match self.1.read(buffer)? {
                    0 => match self.0.next() {
                        Some(next) => self.1 = std::io::Cursor::new(next),
                        None => return Ok(0),
                    },
                    read => return Ok(read),
                }
            }
        }
    }
    let reader = Chain(members, std::io::Cursor::new(Vec::new()));
    let options = ReadOptions { row_bytes_max: 8 << 20, ..ReadOptions::default() };
    let error = failure(open_reader(reader, "bomb.csv", &options));
    assert_eq!(error.kind(), ErrorKind::TooLarge);
}

#[test]
fn a_parquet_schema_of_endless_depth_is_refused() {
    // A version, and a list of 2^20 elements of one child each.
    let mut footer = vec![0x15, 0x02, 0x19, 0xfc, 0x80, 0x80, 0x40];
    footer.extend([0x35, 0x02, 0x18, 1, b'x', 0x15, 2, 0].repeat(1 << 20));
    let length = u32::try_from(footer.len()).unwrap().to_le_bytes();
    let file = [b"PAR1", &footer[..], &length, b"PAR1"].concat();
    let error = failure(open_bytes(file, "deep.parquet", &ReadOptions::default()));
    assert!(error.to_string().contains("a schema of 1048576 levels"), "{error}");
}

#[test]
fn more_columns_than_a_table_has_are_refused() {
    let error = failure(open_bytes(",".repeat(1 << 20), "wide.csv", &ReadOptions::default()));
    assert!(error.to_string().contains("1048577 columns, at most"), "{error}");
}
