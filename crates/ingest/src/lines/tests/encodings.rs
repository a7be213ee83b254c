//! Logs that are no UTF-8.

use super::reader::InPieces;
use super::*;

fn utf_16(text: &str, to_bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
    format!("\u{feff}{text}").encode_utf16().flat_map(to_bytes).collect()
}

#[test]
fn logs_in_utf_16_are_read_as_text() {
    // Ċ has the byte of a line feed.
    let log = "2026-11-23 13:09:20 ERROR Ċ ist weg\r\n2026-11-23 13:09:21 INFO 東京\r\n";
    for to_bytes in [u16::to_le_bytes, u16::to_be_bytes] {
        let bytes = utf_16(log, to_bytes);
        let (entries, report) = read_all(&bytes, options());
        let found: Vec<_> =
            entries.iter().map(|(line, entry)| (*line, entry.message.as_str())).collect();
        assert_eq!(found, [(1, "Ċ ist weg"), (2, "東京")]);
        assert_eq!((report.lines, report.parse_errors), (2, 0));
        assert!(entries.iter().all(|(_, entry)| entry.source_time.is_some()));
        let mut reader = LineReader::new(bytes.as_slice(), options());
        assert_eq!(reader.skip_lines(1).unwrap(), 1);
        let mut entry = NewEntry::default();
        reader.next(&mut entry).unwrap();
        assert_eq!(entry.message, "東京");
    }
    // However it comes.
    for bytes_at_once in [1, 2, 3, 7] {
        let bytes = utf_16(log, u16::to_le_bytes);
        let pieces = InPieces(&bytes, bytes_at_once, false);
        let mut reader = LineReader::new(pieces, options());
        let mut entry = NewEntry::default();
        let mut next = || reader.next(&mut entry).unwrap().map(|_| entry.message.clone());
        assert_eq!([next(), next(), next()], [Some("Ċ ist weg".into()), Some("東京".into()), None]);
    }
    // Half of a character is none, and costs no more than itself.
    let mut cut = utf_16("a\nb", u16::to_le_bytes);
    cut.extend([0x00, 0xd8]);
    let (entries, _) = read_all(&cut, options());
    assert_eq!(entries[1].1.message, "b\u{fffd}");
}

#[test]
fn other_encodings_are_said() {
    let encoding = Some("windows-1252".parse().unwrap());
    let (entries, _) = read_all(b"Z\xfcrich\n", SourceOptions { encoding, ..options() });
    assert_eq!(entries[0].1.message, "Zürich");
    let (entries, _) = read_all(b"Z\xfcrich\n", options());
    assert_eq!(entries[0].1.message, "Z\u{fffd}rich");
}

#[test]
fn lines_that_are_passed_over_are_counted() {
    for (log, lines, passed) in
        [("", 3, 0), ("a\nb\n", 2, 2), ("a\nb\n", 3, 2), ("a\nb", 5, 2), ("a\nb\n", 0, 0)]
    {
        let mut reader = LineReader::new(log.as_bytes(), options());
        assert_eq!(reader.skip_lines(lines).unwrap(), passed, "{log:?}");
        let left = usize::try_from(2 - passed).unwrap().min(log.lines().count());
        let mut entry = NewEntry::default();
        let given = std::iter::from_fn(|| reader.next(&mut entry).unwrap()).count();
        assert_eq!(given, if log.is_empty() { 0 } else { left }, "{log:?}");
    }
}
