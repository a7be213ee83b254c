//! Plain text.

use timestrata_logs::Level;

use super::*;

fn plain(line: &str) -> NewEntry {
    let entry = read(Format::Plain, line);
    assert!(entry.fields.is_empty(), "{entry:?}");
    entry
}

#[test]
fn a_time_and_a_level_in_front_are_taken_off() {
    for (line, time, level, message) in [
        (
            "[2016-12-19 20:44:59,210] TRACE Controller 0",
            "2016-12-19T20:44:59.21Z",
            Level::Trace,
            "Controller 0",
        ),
        ("2016-12-19 20:44:59,210 WARN: gone", "2016-12-19T20:44:59.21Z", Level::Warn, "gone"),
        (
            "2016-12-19T20:44:59.5Z  INFO my_app: up",
            "2016-12-19T20:44:59.5Z",
            Level::Info,
            "my_app: up",
        ),
        (
            "2016/12/19 20:44:59 [error] 7#0: *1 open()",
            "2016-12-19T20:44:59Z",
            Level::Error,
            "7#0: *1 open()",
        ),
        (
            "2016-12-19 20:44:59.123 | INFO     | a:b:1 - m",
            "2016-12-19T20:44:59.123Z",
            Level::Info,
            "a:b:1 - m",
        ),
        ("2016-12-19 20:44:59 - warning: m", "2016-12-19T20:44:59Z", Level::Warn, "m"),
        ("2016-12-19T20:44:59+01:00 [INFO ] m", "2016-12-19T19:44:59Z", Level::Info, "m"),
        ("2016-12-19 20:44:59 +0100: <ERR> m", "2016-12-19T19:44:59Z", Level::Error, "m"),
        (
            "[Mon Dec 19 20:44:59.123456 2016] [notice] m",
            "2016-12-19T20:44:59.123456Z",
            Level::Info,
            "m",
        ),
        ("2016-12-19 20:44:59 UTC FATAL", "2016-12-19T20:44:59Z", Level::Fatal, ""),
    ] {
        let entry = plain(line);
        assert_eq!(entry.source_time, Some(at(time)), "{line}");
        assert_eq!((entry.level, entry.message.as_str()), (Some(level), message), "{line}");
    }
}

#[test]
fn a_word_of_a_sentence_is_no_level() {
    for (line, message) in [
        (
            "2025-06-24 14:36:25 status installed libc-bin:amd64 2.36",
            "status installed libc-bin:amd64 2.36",
        ),
        ("2025-06-24 14:36:25 error opening a file", "error opening a file"),
        ("2025-06-24 14:36:25 [main] INFO m", "[main] INFO m"),
        ("2025-06-24 14:36:25 INFORMED them", "INFORMED them"),
        ("2025-06-24 14:36:25 ERROR42 m", "ERROR42 m"),
        ("2025-06-24 14:36:25 - name - INFO - m", "- name - INFO - m"),
        ("2025-06-24 14:36:25: [INFO", "[INFO"),
        ("2025-06-24 14:36:25", ""),
    ] {
        let entry = plain(line);
        assert_eq!(entry.source_time, Some(at("2025-06-24T14:36:25Z")), "{line}");
        assert_eq!((entry.level, entry.message.as_str()), (None, message), "{line}");
    }
}

#[test]
fn times_come_in_many_forms() {
    let second = "2026-11-23T13:09:20Z";
    for (text, expected) in [
        ("2026-11-23 13:09:20", second),
        ("2026-11-23T13:09:20", second),
        ("2026/11/23 13:09:20", second),
        ("2026-11-23 13:09", "2026-11-23T13:09:00Z"),
        ("2026-11-23 13:09:20.123456789", "2026-11-23T13:09:20.123456789Z"),
        ("2026-11-23 13:09:20,123", "2026-11-23T13:09:20.123Z"),
        ("2026-11-23 13:09:20 UTC", second),
        ("2026-11-23 13:09:20 GMT", second),
        ("2026-11-23 13:09:20Z", second),
        ("2026-11-23 08:09:20-05", second),
        ("2026-11-23 08:09:20 -0500", second),
        ("2026-11-23 08:09:20 -05:00", second),
        ("Mon Nov 23 13:09:20 2026", second),
        ("Sat Nov  7 13:09:20 2026", "2026-11-07T13:09:20Z"),
        ("Mon Nov 23 13:09:20 UTC 2026", second),
        ("Mon Nov 23 13:09:20.25 2026", "2026-11-23T13:09:20.25Z"),
    ] {
        for line in
            [format!("{text} message"), format!("[{text}] message"), format!("{text}: message")]
        {
            let entry = plain(&line);
            assert_eq!(entry.source_time, Some(at(expected)), "{line}");
            assert_eq!(entry.message, "message", "{line}");
        }
    }
}

#[test]
fn a_line_without_a_time_in_front_is_the_message_as_it_is() {
    for line in [
        "hello",
        "  at java.lang.Thread.run(Thread.java:750) ",
        "INFO starting",
        "Start-Date: 2025-06-24  14:36:25",
        "update-alternatives 2025-06-24 14:36:53: run",
        "2025-06-24 only a day",
        "2025-13-24 14:36:25 no such month",
        "2025-06-24 14:36:25abc",
        "2025-06-24 14:36:25.1234567891 too fine",
        "2025-06-24 14:36:25 CET another zone",
        "2025-06-24T14:36:25[Europe/Berlin] another zone",
        "[2025-06-24 14:36:25 INFO] m",
        "2300-06-24 14:36:25 too late",
        "Mon Nov 23 13:09:20 CET 2026 another zone",
        "Mon Feb 30 13:09:20 2026 no such day",
        "Mon Nov 23 13:09:20.1234567891 2026 too fine",
        "14:36:25 no day",
        "I1123 is a plate",
        "\u{feff}é\0",
    ] {
        let entry = plain(line);
        assert_eq!((entry.source_time, entry.level), (None, None), "{line}");
        assert_eq!(entry.message, line);
    }
}

#[test]
fn lines_of_klog_are_taken_apart() {
    let entry = read(Format::Plain, "W1123 13:09:20.123456    1234 proxy/file.go:12] it's: gone");
    assert_eq!(entry.source_time, Some(at("2026-11-23T13:09:20.123456Z")));
    assert_eq!((entry.level, entry.message.as_str()), (Some(Level::Warn), "it's: gone"));
    assert_eq!(fields(&entry), r#"thread=1234 caller="proxy/file.go:12""#);
}

#[test]
fn invalid_utf8_is_replaced_and_the_bytes_are_kept() {
    let entry = read(Format::Plain, b"2026-11-23 13:09:20 caf\xe9\0!");
    assert_eq!(entry.message, "caf\u{fffd}\0!");
    assert_eq!(fields(&entry), "original_base64=\"MjAyNi0xMS0yMyAxMzowOToyMCBjYWbpACE=\"");
}
