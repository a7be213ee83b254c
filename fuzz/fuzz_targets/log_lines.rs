//! Lines of logs: any bytes become entries in each format, at least one for each line that is not
//! empty, whatever limits there are.
#![no_main]

use libfuzzer_sys::fuzz_target;
use timestrata_logs::NewEntry;
use timestrata_ingest::lines::{Format, LineReader, SourceOptions};

fuzz_target!(|bytes: &[u8]| {
    let Some(([choice, limit], log)) = bytes.split_first_chunk() else { return };
    let mut options = SourceOptions::new(i64::from(*choice) << 55);
    let names: Vec<&str> = options.formats.names().collect();
    let name = names.get(usize::from(*choice) % (names.len() + 1));
    options.format = name.and_then(|name| options.formats.find(name).ok());
    if *limit < 128 {
        options.line_bytes_max = usize::from(*limit);
        options.message_bytes_max = usize::from(*limit) / 2;
    }
    let mut reader = LineReader::new(log, options);
    let mut entry = NewEntry::default();
    let mut lines = Vec::new();
    while let Ok(Some(place)) = reader.next(&mut entry) {
        lines.push(place.line);
    }
    assert_eq!(reader.report().entries, lines.len() as u64);
    assert!(lines.is_sorted());
    lines.dedup();
    if reader.format().is_ok_and(|guess| guess.format != Format::Journal) {
        let log = log.strip_prefix(b"\xef\xbb\xbf").unwrap_or(log);
        let all = log.split(|byte| *byte == b'\n');
        assert_eq!(all.filter(|line| !matches!(line, [] | [b'\r'])).count(), lines.len());
    }
});
