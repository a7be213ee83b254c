//! Anybody's bytes: nothing panics, no line is lost.

use proptest::prelude::*;

use super::*;

/// Pieces of lines of all formats, and what breaks them.
const PIECES: [&[u8]; 45] = [
    b"\r",
    b"\n",
    b"\r\n",
    b"\n\n",
    b" ",
    b"  ",
    b"\"",
    b"\\",
    b"\\\"",
    b"{",
    b"}",
    b"[",
    b"]",
    b":",
    b",",
    b"=",
    b"-",
    b"<34>",
    b"1 ",
    b"{\"msg\":\"a\"}",
    b"\"ts\":1446249499",
    b"\"a\":",
    b"1e5",
    b"-12.5",
    b"99999999999999999999999",
    b"\\ud83d\\ude00",
    b"null",
    b"level=info ",
    b"msg=\"a b\"",
    b"10.0.0.1 - - [17/May/2015:10:05:03 +0000] \"GET /\" 200 5",
    b"Mar 27 13:06:56 host app[1]: ",
    b"2026-11-23T13:09:20.5Z",
    b"2026-11-23 13:09:20,210 ",
    b"I1123 13:09:20.1 1 a.go:1] ",
    b"ERROR",
    b"[id a=\"b\"]",
    b"MESSAGE=a",
    b"MESSAGE\n",
    b"\x05\0\0\0\0\0\0\0",
    b"__CURSOR=1\n",
    b"\xff",
    b"\xc3\xa9",
    b"\xef\xbb\xbf",
    b"\0",
    b"a",
];

fn any_log() -> impl Strategy<Value = Vec<u8>> {
    let pieces = prop::sample::select(PIECES.to_vec()).prop_map(<[u8]>::to_vec);
    let pieces = prop::collection::vec(pieces, 0..40).prop_map(|pieces| pieces.concat());
    prop_oneof![4 => pieces, 1 => prop::collection::vec(any::<u8>(), 0..200)]
}

fn all_formats() -> Vec<Format> {
    let known = LogFormats::known();
    known.names().map(|name| known.find(name).unwrap()).collect()
}

fn any_options() -> impl Strategy<Value = SourceOptions> {
    let format = prop::option::of(prop::sample::select(all_formats()));
    let limits = prop_oneof![Just((1 << 20, 1 << 20)), (0_usize..80, 0_usize..40)];
    (format, limits, any::<i64>(), prop::option::of(any::<i32>())).prop_map(
        |(format, (line_bytes_max, message_bytes_max), reference_time, year)| SourceOptions {
            format,
            year,
            line_bytes_max,
            message_bytes_max,
            joins_lines: false,
            ..SourceOptions::new(reference_time)
        },
    )
}

/// Lines that are not empty, by their numbers.
fn lines(log: &[u8]) -> Vec<u64> {
    let log = log.strip_prefix(b"\xef\xbb\xbf").unwrap_or(log);
    let lines = (1..).zip(log.split(|byte| *byte == b'\n'));
    lines.filter(|(_, line)| !matches!(line, [] | [b'\r'])).map(|(number, _)| number).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn every_line_has_an_entry(log in any_log(), options in any_options()) {
        let mut reader = LineReader::new(log.as_slice(), options.clone());
        let format = reader.format().unwrap().format.clone();
        let (entries, report) = read_all(&log, options.clone());
        let mut numbers: Vec<u64> = entries.iter().map(|(line, _)| *line).collect();
        prop_assert!(numbers.is_sorted());
        numbers.dedup();
        if format == Format::Journal {
            prop_assert_eq!(numbers.is_empty(), log.iter().all(|byte| b"\r\n\xef\xbb\xbf".contains(byte)));
        } else {
            prop_assert_eq!(numbers, lines(&log));
        }
        let flawed = entries.iter().filter(|(_, entry)| entry.fields.get("parse_error").is_some());
        prop_assert!(flawed.count() as u64 >= report.parse_errors);
        let message_bytes_max = options.message_bytes_max.max(4);
        prop_assert!(entries.iter().all(|(_, entry)| entry.message.len() <= message_bytes_max));
        let fields_bytes_max = message_bytes_max.max(1 << 10);
        prop_assert!(entries.iter().all(|(_, entry)| entry.fields.bytes() <= fields_bytes_max));
    }

    /// What has neither a time nor a level to be taken off must come back as it was.
    #[test]
    fn parts_put_together_are_the_line(text in "[a-zé€]{0,200}", line_max in 0_usize..90, message_max in 0_usize..60) {
        let options = SourceOptions {
            format: Some(Format::Plain),
            line_bytes_max: line_max,
            message_bytes_max: message_max,
            ..options()
        };
        let (entries, _) = read_all(format!("{text}\n{text}\n").as_bytes(), options);
        for number in 1..=2 {
            let parts = entries.iter().filter(|(line, _)| *line == number);
            let whole: String = parts.map(|(_, entry)| entry.message.as_str()).collect();
            prop_assert_eq!(&whole, &text);
        }
    }

    /// A byte of a good line is changed: it is either read, or kept whole.
    #[test]
    fn a_damaged_line_is_read_or_kept_whole(
        format in prop::sample::select(all_formats()), at in any::<prop::sample::Index>(), byte in any::<u8>()
    ) {
        let mut line = match format {
            Format::Json => r#"{"ts":1446249499,"level":"info","msg":"a","x":{"y":[1,-2.5,"z"]}}"#,
            Format::Logfmt => r#"ts=1446249499 level=info msg="a \"b\"" n=1.5 flag"#,
            Format::Access => r#"10.0.0.1 - - [17/May/2015:10:05:03 +0000] "GET /" 200 5 "-" "curl""#,
            Format::Syslog => r#"<34>1 2003-10-11T22:14:15.003Z host su 1 ID [a b="c"] m"#,
            Format::Journal => "__REALTIME_TIMESTAMP=1446249499000000\nMESSAGE\n\u{1}\0\0\0\0\0\0\0a\nB=1\n",
            Format::Plain => "[2016-12-19 20:44:59,210] TRACE m",
            Format::Pattern(_) => "2016-12-19 20:44:59,210 - app - DEBUG - m",
        }.as_bytes().to_vec();
        let index = at.index(line.len());
        line[index] = byte;
        let mut entry = NewEntry::default();
        let mut parser = LineParser::new(format.clone(), &options());
        let is_kept = match parser.parse(&line, &mut entry) {
            // It is read as plain text.
            _ if matches!(format, Format::Pattern(_)) => false,
            Parsed::Flawed(why) => !why.contains("more than once"),
            _ => false,
        };
        if is_kept {
            let text = String::from_utf8_lossy(&line);
            let text = if format == Format::Journal { &*text } else { text.trim_end_matches(['\n', '\r']) };
            prop_assert_eq!(&entry.message, text);
        }
        let has_original = entry.fields.get("original_base64").is_some();
        prop_assert_eq!(has_original, std::str::from_utf8(&line).is_err());
    }
}
