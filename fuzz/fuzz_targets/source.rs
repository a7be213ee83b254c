//! Files and bodies that become rows: any bytes are read to an end or refused, in each form, and the
//! batches of one source have its schema.
#![no_main]

use libfuzzer_sys::fuzz_target;
use timestrata_ingest::rows::{Format, OnError, ReadOptions, open_bytes};

fuzz_target!(|bytes: &[u8]| {
    let Some((choice, body)) = bytes.split_first() else { return };
    let choice = usize::from(*choice);
    let on_error = match choice / Format::ALL.len() % 2 {
        0 => OnError::Fail,
        _ => OnError::Skip,
    };
    let format = Some(Format::ALL[choice % Format::ALL.len()]);
    let options = ReadOptions { format, on_error, threads: 1, ..ReadOptions::default() };
    if let Ok(source) = open_bytes(body.to_vec(), "body", &options) {
        let schema = source.schema();
        for batch in source.map_while(Result::ok) {
            assert_eq!(batch.schema(), schema);
        }
    }
});
