//! The journal's export format.

use timestrata_logs::Level;

use super::*;

/// A field whose value has line ends in it, as the journal writes it.
fn long(name: &str, value: &[u8]) -> Vec<u8> {
    let length = (value.len() as u64).to_le_bytes();
    [name.as_bytes(), b"\n", &length, value, b"\n"].concat()
}

fn messages(log: &[u8]) -> Vec<(u64, String)> {
    let options = SourceOptions { format: Some(Format::Journal), ..options() };
    let (entries, _) = read_all(log, options);
    entries.into_iter().map(|(line, entry)| (line, entry.message)).collect()
}

#[test]
fn an_entry_has_a_message_a_time_a_level_and_text_fields() {
    let log = b"__CURSOR=s=739a;i=4ece7\n__REALTIME_TIMESTAMP=1795439360123457\n\
        _SOURCE_REALTIME_TIMESTAMP=1795439360123456\nPRIORITY=3\n_PID=42\nMESSAGE=a=b\n";
    let entry = read(Format::Journal, log);
    assert_eq!(entry.source_time, Some(1_795_439_360_123_456_000));
    assert_eq!((entry.level, entry.message.as_str()), (Some(Level::Error), "a=b"));
    assert_eq!(
        fields(&entry),
        r#"cursor="s=739a;i=4ece7" realtime_timestamp="1795439360123457" pid="42""#
    );
}

#[test]
fn a_time_is_microseconds_whatever_its_size() {
    let entry =
        read(Format::Journal, b"__REALTIME_TIMESTAMP=5000000\nMESSAGE=booted without a clock");
    assert_eq!(entry.source_time, Some(5_000_000_000));
    let entry =
        read(Format::Journal, b"__REALTIME_TIMESTAMP=9223372036854775807\nPRIORITY=high\nA=1");
    assert_eq!((entry.source_time, entry.level), (None, None));
    assert_eq!(fields(&entry), r#"realtime_timestamp="9223372036854775807" priority="high" a="1""#);
}

#[test]
fn values_may_hold_line_ends_and_empty_lines() {
    let mut log = b"\n\nA=1\n".to_vec();
    log.extend(long("MESSAGE", b"one\n\ntwo=2\n"));
    log.extend(b"B=2\n\n\nMESSAGE=three\n\n");
    log.extend(long("MESSAGE", b""));
    assert_eq!(
        messages(&log),
        [(3, "one\n\ntwo=2\n".to_owned()), (12, "three".to_owned()), (14, String::new())]
    );
}

#[test]
fn lines_may_end_with_carriage_returns() {
    assert_eq!(
        messages(b"MESSAGE=a\r\nB=1\r\n\r\nMESSAGE=b\r\n"),
        [(1, "a".to_owned()), (4, "b".to_owned())]
    );
}

#[test]
fn underscores_are_dropped_from_names_that_stay_apart_without() {
    let entry = read(Format::Journal, b"_PID=1\nPID=2\n__X=3\n_Y_=4\n___=5\nMESSAGE=m");
    assert_eq!(fields(&entry), r#"_pid="1" pid="2" x="3" y_="4" ___="5""#);
}

#[test]
fn a_client_can_not_pass_off_a_field_as_the_journals() {
    let log = b"REALTIME_TIMESTAMP=1\n__REALTIME_TIMESTAMP=1795439360123457\nSOURCE_REALTIME_TIMESTAMP=2\nMESSAGE=m";
    let entry = read(Format::Journal, log);
    assert_eq!(entry.source_time, Some(1_795_439_360_123_457_000));
    assert_eq!(fields(&entry), r#"realtime_timestamp="1" source_realtime_timestamp="2""#);
}

#[test]
fn a_field_that_is_there_more_than_once_is_a_list() {
    let entry = read(Format::Journal, b"A=1\nB=2\nA=3\nMESSAGE=m\n_C=4\n_C=5");
    assert_eq!(fields(&entry), r#"a=["1", "3"] b="2" c=["4", "5"]"#);
}

#[test]
fn values_that_are_no_utf8_are_replaced_and_the_entry_is_kept() {
    let entry = read(Format::Journal, long("MESSAGE", b"\xff\0"));
    assert_eq!(entry.message, "\u{fffd}\0");
    assert_eq!(fields(&entry), "original_base64=\"TUVTU0FHRQoCAAAAAAAAAP8ACg==\"");
}

#[test]
fn what_is_malformed_is_kept_and_told() {
    for (log, flaw) in [
        ("hello = world", "no NAME=value"),
        ("=1", "no NAME=value"),
        ("A=1\nB", "a value that ends too early"),
        ("A\n\u{1}\0\0\0\0\0\0\0bc\n", "a value that does not end where its length says"),
        ("A=1\n\nB=2", "an empty line within an entry"),
    ] {
        assert_eq!(flaw_of(Format::Journal, log), flaw, "{log}");
    }
}

/// A length of eight bytes that is wrong must not swallow the entries behind it.
#[test]
fn a_wrong_length_costs_one_entry() {
    let entry = b"MESSAGE=fine\n\n";
    let lengths = [3, 1_000, 1 << 24, 1 << 40].into_iter().chain(u64::MAX - 100..=u64::MAX);
    for length in lengths {
        let broken = [b"A=1\nMESSAGE\n", &length.to_le_bytes()[..], b"text\n\n"].concat();
        let log = [entry, &broken[..], entry, entry].concat();
        let read = messages(&log);
        let fine = read.iter().filter(|(_, message)| message == "fine").count();
        assert_eq!(fine, 3, "{length}: {read:?}");
        assert!(read.iter().any(|(_, message)| message.starts_with("A=1\nMESSAGE")), "{read:?}");
    }
}

#[test]
fn an_entry_that_is_too_long_is_cut() {
    let long = "x".repeat(100);
    let log = format!("MESSAGE=a\n\nB={long}\nMESSAGE=b\n\nMESSAGE=c\n");
    let options = SourceOptions {
        format: Some(Format::Journal),
        line_bytes_max: 64,
        message_bytes_max: 50,
        ..options()
    };
    let (entries, report) = read_all(log.as_bytes(), options);
    let messages: Vec<&str> = entries.iter().map(|(_, entry)| entry.message.as_str()).collect();
    let parts = [&format!("B={}", &long[..48])[..], &long[..50], "xx\nMESSAGE=b\n"];
    assert_eq!(messages, ["a", parts[0], parts[1], parts[2], "c"]);
    assert_eq!((report.parse_errors, report.lines), (1, 6));
    assert_eq!(entries.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [1, 3, 3, 3, 6]);
}
