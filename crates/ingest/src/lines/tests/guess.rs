//! Formats that are told by the first lines.

use super::*;

fn guessed(sample: &str) -> (Format, String) {
    let guess = guess(sample.as_bytes(), LogFormats::known());
    (guess.format, guess.why)
}

const ACCESS: &str = r#"a - - [17/May/2015:10:05:03 +0000] "GET /" 200 1"#;

#[test]
fn each_format_is_known_by_its_lines() {
    for (line, format, noun) in [
        ("{\"msg\":\"a\"}", Format::Json, "JSON objects"),
        ("level=info msg=\"a b\"", Format::Logfmt, "logfmt"),
        (ACCESS, Format::Access, "access logs"),
        ("Mar 27 13:06:56 host app[1]: m", Format::Syslog, "syslog"),
        ("<34>1 2003-10-11T22:14:15.003Z host su - - - m", Format::Syslog, "syslog"),
        ("2026-11-23T13:09:20.123456+00:00 host app[1]: m", Format::Syslog, "syslog"),
    ] {
        for end in ["\n", "\r\n\r\n"] {
            let (guess, why) = guessed(&format!("{line}{end}").repeat(3));
            assert_eq!(
                (guess, why),
                (format.clone(), format!("3 of 3 lines are {noun}")),
                "{line}"
            );
        }
    }
}

#[test]
fn what_may_be_any_programs_is_plain() {
    for line in [
        "hello world",
        "a=1 is what I said",
        "2026-11-23 13:09:20 status installed x",
        "2026-11-23T13:09:20Z ERROR my_app: m",
        "Nov 23 13:09:20 Starting the engine",
        "[2016-12-19 20:44:59,210] TRACE m",
        "[1, 2]",
        "key=value",
    ] {
        let (format, why) = guessed(&format!("{line}\n{line}\n"));
        assert_eq!(format, Format::Plain, "{line}");
        assert_eq!(why, "none of 2 lines is in another format", "{line}");
    }
    assert_eq!(guessed(""), (Format::Plain, "there are no lines".to_owned()));
    assert_eq!(guessed("\r\n\n").0, Format::Plain);
}

#[test]
fn half_of_the_lines_are_enough() {
    let lines = format!("{ACCESS}\noops\n");
    assert_eq!(guessed(&lines), (Format::Access, "1 of 2 lines are access logs".to_owned()));
    let (format, why) = guessed(&format!("{lines}oops\n"));
    assert_eq!(format, Format::Plain);
    assert_eq!(why, "only 1 of 3 lines are access logs, and fewer are anything else");
}

#[test]
fn a_hundred_lines_are_looked_at() {
    let sample = format!("{}{}", "{\"a\":1}\n".repeat(100), "oops\n".repeat(1_000));
    assert_eq!(guessed(&sample), (Format::Json, "100 of 100 lines are JSON objects".to_owned()));
}

#[test]
fn a_line_that_is_cut_off_counts_only_if_it_is_alone() {
    assert_eq!(guessed("{\"a\":1}\n{\"a\":").1, "1 of 1 lines are JSON objects");
    let long = format!("{{\"a\":\"{}\"}}\n", "x".repeat(100_000));
    assert_eq!(guessed(&long).0, Format::Json);
    assert_eq!(guessed(&long[1..]).0, Format::Plain);
}

#[test]
fn an_exported_journal_is_known_by_its_first_fields() {
    for start in [
        "__CURSOR=s=1\n__REALTIME_TIMESTAMP=1\n",
        "\n_PID=1\n__REALTIME_TIMESTAMP=1\nMESSAGE\n\u{5}\0\0\0\0\0\0\0abcde\n",
        "__CURSOR=s",
    ] {
        assert_eq!(guessed(start).0, Format::Journal, "{start:?}");
    }
    assert_eq!(guessed("hello\n__CURSOR=1\n").0, Format::Plain);
    assert_eq!(guessed("A=1\n\n__CURSOR=1\n").0, Format::Plain);
}
