//! Whole logs: line ends, limits, what is reported.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use timestrata_engine::Clock;
use timestrata_logs::{Level, Scalar};

use super::*;

/// Gives a log in pieces of so many bytes, with interruptions.
pub(super) struct InPieces<'a>(pub(super) &'a [u8], pub(super) usize, pub(super) bool);

impl Read for InPieces<'_> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        self.2 = !self.2;
        if self.2 {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let bytes = self.0.len().min(self.1).min(room.len());
        let (piece, rest) = self.0.split_at(bytes);
        room[..bytes].copy_from_slice(piece);
        self.0 = rest;
        Ok(bytes)
    }
}

fn messages(entries: &[(u64, NewEntry)]) -> Vec<(u64, &str)> {
    entries.iter().map(|(line, entry)| (*line, entry.message.as_str())).collect()
}

fn joined(entries: &[(u64, NewEntry)]) -> String {
    entries.iter().map(|(_, entry)| entry.message.as_str()).collect()
}

/// What an entry without a level and a time was made of.
fn bytes_of(entry: &NewEntry) -> Vec<u8> {
    match entry.fields.get("original_base64").and_then(Scalar::of_item) {
        Some(Scalar::Text(text)) => STANDARD.decode(text).unwrap(),
        _ => entry.message.clone().into_bytes(),
    }
}

fn with_limits(format: Format, line: usize, message: usize) -> SourceOptions {
    SourceOptions {
        format: Some(format),
        line_bytes_max: line,
        message_bytes_max: message,
        ..options()
    }
}

#[test]
fn empty_lines_are_passed_over_and_counted() {
    let (entries, report) = read_all(b"\n\r\na\r\n\n  \n\r\r\nb\r", options());
    assert_eq!(messages(&entries), [(3, "a"), (5, "  "), (6, "\r"), (7, "b")]);
    assert_eq!((report.lines, report.entries, report.parse_errors), (7, 4, 0));
    let (entries, report) = read_all(b"", options());
    assert_eq!((entries.len(), report), (0, SourceReport::default()));
}

#[test]
fn a_byte_order_mark_is_no_part_of_the_first_line() {
    let (entries, _) = read_all(b"\xef\xbb\xbf{\"msg\":\"a\"}", options());
    assert_eq!(messages(&entries), [(1, "a")]);
}

#[test]
fn the_format_is_told_before_the_first_entry_and_is_the_one_that_was_said() {
    let log = b"{\"msg\":\"a\"}\n";
    let mut reader = LineReader::new(&log[..], options());
    assert_eq!(reader.format().unwrap().why, "1 of 1 lines are JSON objects");
    let mut entry = NewEntry::default();
    assert_eq!(reader.next(&mut entry).unwrap(), Some(Place { line: 1 }));
    let mut reader = LineReader::new(&log[..], with_limits(Format::Plain, 100, 100));
    assert_eq!(reader.format().unwrap().format, Format::Plain);
    reader.next(&mut entry).unwrap();
    assert_eq!(entry.message, "{\"msg\":\"a\"}");
}

#[test]
fn however_it_comes_a_log_has_the_same_entries() {
    let log = "{\"msg\":\"a\",\"n\":1}\r\n\r\n{\"msg\":\"b\"}\nwhat\n{\"msg\":\"é\"}".as_bytes();
    let options = || SourceOptions { format: Some(Format::Json), ..options() };
    let (expected, expected_report) = read_all(log, options());
    assert_eq!(expected_report.first_errors, [(4, "not a JSON object".to_owned())]);
    for bytes in [1, 2, 3, 7, 1_000] {
        let mut reader = LineReader::new(InPieces(log, bytes, false), options());
        let mut entry = NewEntry::default();
        for (line, expected) in &expected {
            assert_eq!(reader.next(&mut entry).unwrap(), Some(Place { line: *line }));
            assert_eq!(entry, *expected);
        }
        assert_eq!(reader.next(&mut entry).unwrap(), None);
        assert_eq!(*reader.report(), expected_report);
    }
}

#[test]
fn the_first_ten_flaws_are_listed_and_all_are_counted() {
    let log = "what\n".repeat(25);
    let (entries, report) = read_all(log.as_bytes(), with_limits(Format::Json, 100, 100));
    assert_eq!((entries.len(), report.parse_errors), (25, 25));
    let lines: Vec<u64> = report.first_errors.iter().map(|(line, _)| *line).collect();
    assert_eq!(lines, (1..=10).collect::<Vec<_>>());
}

#[test]
fn a_long_message_is_cut_between_characters() {
    let log = r#"{"level":"warn","ts":1446249499,"n":1,"msg":"äöüß€"}"#;
    let (entries, report) = read_all(log.as_bytes(), with_limits(Format::Json, 1_000, 5));
    assert_eq!(messages(&entries), [(1, "äö"), (1, "üß"), (1, "€")]);
    for (_, entry) in &entries {
        assert_eq!(entry.level, Some(Level::Warn));
        assert_eq!(entry.source_time, Some(1_446_249_499_000_000_000));
    }
    let flaw = "the message has 11 bytes: this is its first part";
    assert_eq!(fields(&entries[0].1), format!("n=1 part=1 parse_error={flaw:?}"));
    assert_eq!(fields(&entries[2].1), "part=3");
    assert_eq!(report.first_errors, [(1, flaw.to_owned())]);
}

#[test]
fn a_line_that_can_not_be_read_is_cut_too() {
    let (entries, report) =
        read_all(b"abcdefghij\n{\"msg\":\"x\"}", with_limits(Format::Json, 100, 4));
    assert_eq!(messages(&entries), [(1, "abcd"), (1, "efgh"), (1, "ij"), (2, "x")]);
    let flaw = "not a JSON object; the message has 10 bytes: this is its first part";
    assert_eq!(report.first_errors, [(1, flaw.to_owned())]);
}

/// A sender's own field of that name would be replaced.
#[test]
fn a_line_that_has_a_part_of_its_own_is_cut_as_it_is() {
    let log = r#"{"part":"engine","msg":"abcdef","level":"warn"}"#;
    let (entries, report) = read_all(log.as_bytes(), with_limits(Format::Json, 100, 20));
    assert_eq!(messages(&entries), [(1, "abcdef")]);
    let (entries, _) = read_all(log.as_bytes(), with_limits(Format::Json, 100, 5));
    assert_eq!(joined(&entries), log);
    assert!(entries.iter().all(|(_, entry)| entry.level == Some(Level::Warn)));
    assert_eq!(report.parse_errors, 0);
}

#[test]
fn a_line_that_is_cut_as_it_is_has_no_line_end() {
    let log = format!("{{\"part\":1,\"msg\":\"{}\"}}\r\n", "x".repeat(50));
    let (entries, _) = read_all(log.as_bytes(), with_limits(Format::Json, 100, 40));
    assert_eq!(joined(&entries), log.trim_end());
}

/// A log takes fields as long as a message, so that a line may be read and yet be refused.
#[test]
fn a_line_with_fields_that_are_too_long_is_cut_as_it_is() {
    for text in ["x".repeat(3_000), "€".repeat(1_000)] {
        let log = format!("{{\"ts\":1446249499,\"msg\":\"m\",\"text\":\"{text}\"}}");
        let (entries, report) = read_all(log.as_bytes(), with_limits(Format::Json, 1 << 20, 2_000));
        assert_eq!((joined(&entries), entries.len()), (log, 2));
        assert!(entries.iter().all(|(_, entry)| entry.source_time.is_some()));
        let flaw =
            "the message has 1 bytes and the fields 3008: this is the first part of the line";
        assert_eq!(report.first_errors, [(1, flaw.to_owned())]);
    }
}

#[test]
fn what_a_log_takes_by_default_is_never_passed() {
    let max = options().message_bytes_max;
    let bytes =
        [&b"x".repeat(max - 10)[..], b"\xff", &b"y".repeat(max / 2), &b"\xfe\xe2".repeat(max)]
            .concat();
    let (entries, report) = read_all(&[&bytes[..], b"\nlast"].concat(), options());
    assert!(entries.iter().all(|(_, entry)| entry.message.len().max(entry.fields.bytes()) <= max));
    let text: String = entries.iter().map(|(_, entry)| entry.message.as_str()).collect();
    assert_eq!(text, String::from_utf8_lossy(&bytes) + "last");
    assert_eq!((report.lines, report.parse_errors), (2, 1));
    let original: Vec<u8> = entries.iter().flat_map(|(_, entry)| bytes_of(entry)).collect();
    assert_eq!(original, [&bytes[..], b"last"].concat());
}

#[test]
fn a_line_beyond_the_limit_is_given_in_parts_unread() {
    let long = "é".repeat(50_000);
    let log = format!("first\n{{\"msg\":\"{long}\"}}\r\nlast\n");
    let (entries, report) = read_all(log.as_bytes(), with_limits(Format::Plain, 10_000, 1_001));
    let parts: Vec<&NewEntry> =
        entries[1..entries.len() - 1].iter().map(|(_, entry)| entry).collect();
    assert_eq!(
        parts.iter().map(|part| part.message.as_str()).collect::<String>(),
        format!("{{\"msg\":\"{long}\"}}\r").trim_end_matches('\r')
    );
    assert!(parts.iter().all(|part| part.message.len() <= 1_001));
    for (index, part) in parts.iter().enumerate() {
        let number = part.fields.get("part").and_then(Scalar::of_item);
        assert_eq!(number, Some(Scalar::Int(index as i64 + 1)));
    }
    let flaw = "the line has more than 10000 bytes: this is its first part";
    assert_eq!(report.first_errors, [(2, flaw.to_owned())]);
    assert_eq!((entries[0].1.message.as_str(), report.lines), ("first", 3));
    assert_eq!(
        entries.last().map(|(line, entry)| (*line, entry.message.as_str())),
        Some((3, "last"))
    );
}

#[test]
fn a_limit_is_reached_and_not_passed() {
    for (bytes, parts) in [(9, 1), (10, 1), (11, 2), (20, 2), (21, 3)] {
        for end in ["", "\n", "\nnext\n"] {
            let log = format!("{}{end}", "x".repeat(bytes));
            let (entries, report) = read_all(log.as_bytes(), with_limits(Format::Plain, 10, 10));
            let next = usize::from(end.len() > 1);
            assert_eq!(entries.len(), parts + next, "{bytes} {end:?}");
            assert_eq!(report.parse_errors, u64::from(parts > 1));
            assert_eq!(report.lines, 1 + next as u64, "{bytes} {end:?}");
        }
    }
}

/// A character that stands for a bad byte takes three: a part must not be longer than a message may be.
#[test]
fn parts_of_what_is_no_utf8_are_no_longer_than_others() {
    let log = b"\xff".repeat(100);
    let (entries, _) = read_all(&log, with_limits(Format::Plain, 50, 20));
    assert!(entries.iter().all(|(_, entry)| (1..=20).contains(&entry.message.len())));
    let characters: usize = entries.iter().map(|(_, entry)| entry.message.chars().count()).sum();
    assert_eq!(characters, 100);
    for (index, (_, entry)) in entries.iter().enumerate() {
        let number = entry.fields.get("part").and_then(Scalar::of_item);
        assert_eq!(number, Some(Scalar::Int(index as i64 + 1)));
    }
}

#[test]
fn a_reader_that_fails_says_so_and_can_go_on() {
    struct Failing(u8);
    impl Read for Failing {
        fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
            self.0 += 1;
            match self.0 {
                1 => (&b"a\nb"[..]).read(room),
                2 => Err(io::Error::other("unplugged")),
                3 => (&b"c\n"[..]).read(room),
                _ => Ok(0),
            }
        }
    }
    let mut reader = LineReader::new(Failing(0), options());
    let mut entry = NewEntry::default();
    assert_eq!(reader.next(&mut entry).unwrap(), Some(Place { line: 1 }));
    let error = reader.next(&mut entry).unwrap_err();
    assert!(error.to_string().contains("unplugged"), "{error}");
    assert_eq!(reader.next(&mut entry).unwrap(), Some(Place { line: 2 }));
    assert_eq!((entry.message.as_str(), reader.report().entries), ("bc", 2));
}

/// A clock that is a day later each time that it is looked at.
#[derive(Debug)]
struct Daily(AtomicI64);

impl Clock for Daily {
    fn wall_ns(&self) -> i64 {
        self.0.fetch_add(86_400_000_000_000, Ordering::Relaxed)
    }

    fn monotonic_ns(&self) -> u64 {
        0
    }
}

/// A log that was followed for more than a day had the year before in all lines from then on.
#[test]
fn lines_that_come_for_days_have_the_year_in_which_they_come() {
    let log = "Nov 22 13:09:20 host a: 1\nNov 24 08:00:00 host a: 2\nNov 25 08:00:00 host a: 3\n";
    let options = || SourceOptions { format: Some(Format::Syslog), ..options() };
    let times = |reader: &mut LineReader<InPieces<'_>>| {
        let mut entry = NewEntry::default();
        let mut times = Vec::new();
        while reader.next(&mut entry).unwrap().is_some() {
            times.push(entry.source_time.unwrap());
        }
        times
    };
    // A line at a time. The reference is the 23rd.
    let in_lines = || InPieces(log.as_bytes(), log.len() / 3, false);
    let mut followed =
        LineReader::new(in_lines(), options()).with_clock(Arc::new(Daily(at(REFERENCE).into())));
    let expected = ["2026-11-22T13:09:20Z", "2026-11-24T08:00:00Z", "2026-11-25T08:00:00Z"];
    assert_eq!(times(&mut followed), expected.map(at));
    let of_file = times(&mut LineReader::new(in_lines(), options()));
    assert_eq!(of_file, expected.map(at), "each goes on from the line before");
    let of_last = &log[log.len() - log.len() / 3..];
    let of_last = times(&mut LineReader::new(InPieces(of_last.as_bytes(), 9, false), options()));
    assert_eq!(
        of_last,
        [at("2025-11-25T08:00:00Z")],
        "of a file of the 23rd it is the year before"
    );
}
