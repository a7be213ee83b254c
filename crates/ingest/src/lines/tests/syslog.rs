//! Syslog, of all ages.

use timestrata_logs::Level;

use super::*;

fn syslog(line: &str) -> NewEntry {
    read(Format::Syslog, line)
}

/// An entry's time, in seconds of the reference time's year, and what else it has.
fn all_of(entry: &NewEntry) -> (Option<i64>, Option<Level>, &str, String) {
    (entry.source_time, entry.level, entry.message.as_str(), fields(entry))
}

#[test]
fn the_examples_of_rfc_5424_are_taken_apart() {
    let entry = syslog(
        "<34>1 2003-10-11T22:14:15.003Z mymachine.example.com su - ID47 - \u{feff}'su root' failed for lonvick on /dev/pts/8",
    );
    assert_eq!(
        all_of(&entry),
        (
            Some(at("2003-10-11T22:14:15.003Z")),
            Some(Level::Fatal),
            "'su root' failed for lonvick on /dev/pts/8",
            r#"facility="auth" host="mymachine.example.com" app="su" msgid="ID47""#.to_owned()
        )
    );
    let entry = syslog(
        "<165>1 2003-08-24T05:14:15.000003-07:00 192.0.2.1 myproc 8710 - - %% It's time to make the do-nuts.",
    );
    assert_eq!(
        all_of(&entry),
        (
            Some(at("2003-08-24T12:14:15.000003Z")),
            Some(Level::Info),
            "%% It's time to make the do-nuts.",
            r#"facility="local4" host="192.0.2.1" app="myproc" pid=8710"#.to_owned()
        )
    );
    let entry = syslog(
        r#"<165>1 2003-10-11T22:14:15.003Z mymachine.example.com evntslog - ID47 [exampleSDID@32473 iut="3" eventSource="Application" eventID="1011"][examplePriority@32473 class="high"]"#,
    );
    assert_eq!(entry.message, "");
    assert_eq!(
        fields(&entry),
        r#"facility="local4" host="mymachine.example.com" app="evntslog" msgid="ID47" structured_data={"exampleSDID@32473": {"iut": "3", "eventSource": "Application", "eventID": "1011"}, "examplePriority@32473": {"class": "high"}}"#
    );
}

#[test]
fn structured_data_may_hold_escapes_and_repeat_itself() {
    let entry = syslog(
        r#"<0>1 - - - worker-1 - [a x="\"\\\]\n" y=""][origin ip="192.0.2.1" ip="192.0.2.129"][a] m"#,
    );
    assert_eq!((entry.source_time, entry.message.as_str()), (None, "m"));
    assert_eq!(
        fields(&entry),
        r#"facility="kern" pid="worker-1" structured_data={"a": [{"x": "\"\\]\\n", "y": ""}, {}], "origin": {"ip": ["192.0.2.1", "192.0.2.129"]}}"#
    );
}

#[test]
fn a_daemons_line_has_a_time_a_host_and_a_program() {
    let entry =
        syslog("Mar 27 13:06:56 ip-10-77-20-248 sshd[1291]: Server listening on 0.0.0.0 port 22.");
    assert_eq!(
        all_of(&entry),
        (
            Some(at("2026-03-27T13:06:56Z")),
            None,
            "Server listening on 0.0.0.0 port 22.",
            r#"host="ip-10-77-20-248" app="sshd" pid=1291"#.to_owned()
        )
    );
    let entry = syslog("<13>Oct  1 22:14:15 host kernel: [ 12.3] eth0: up");
    assert_eq!(
        all_of(&entry),
        (
            Some(at("2026-10-01T22:14:15Z")),
            Some(Level::Info),
            "[ 12.3] eth0: up",
            r#"facility="user" host="host" app="kernel""#.to_owned()
        )
    );
}

#[test]
fn times_of_daemons_come_in_many_forms() {
    let second = "2026-03-07T13:06:56Z";
    for (text, expected) in [
        ("Mar  7 13:06:56", second),
        ("Mar 7 13:06:56", second),
        ("Mar 07 13:06:56", second),
        ("Mar  7 13:06:56.25", "2026-03-07T13:06:56.25Z"),
        ("Mar  7 2019 13:06:56", "2019-03-07T13:06:56Z"),
        ("Mar  7 13:06:56:", second),
        ("2026-03-07T13:06:56.123456+01:00", "2026-03-07T12:06:56.123456Z"),
        ("2026-03-07T13:06:56+0000", second),
        ("1772888816.5", "2026-03-07T13:06:56.5Z"),
    ] {
        let entry = syslog(&format!("{text} host app[1]: m"));
        assert_eq!(entry.source_time, Some(at(expected)), "{text}");
        assert_eq!(fields(&entry), r#"host="host" app="app" pid=1"#, "{text}");
    }
}

#[test]
fn hosts_and_programs_may_be_missing() {
    for (line, message, expected) in [
        ("host -- MARK --", "-- MARK --", r#"host="host""#),
        ("host last message repeated 3 times", "last message repeated 3 times", r#"host="host""#),
        ("sudo[7]: m", "m", r#"app="sudo" pid=7"#),
        ("host postfix/smtpd[7]: m: n", "m: n", r#"host="host" app="postfix/smtpd" pid=7"#),
        ("host app[main]: m", "m", r#"host="host" app="app" pid="main""#),
        ("host app[007] m", "m", r#"host="host" app="app" pid="007""#),
        ("host su(pam_unix)[7]: m", "m", r#"host="host" app="su(pam_unix)" pid=7"#),
        ("host http://x/ is down", "http://x/ is down", r#"host="host""#),
        ("fe80::1 app: m", "m", r#"host="fe80::1" app="app""#),
        ("host app:", "", r#"host="host" app="app""#),
        ("host app[1]:m", "m", r#"host="host" app="app" pid=1"#),
        ("host app[1] ([77]): m", "m", r#"host="host" app="app" pid=1 subject="[77]""#),
        ("host app[1] (a.b.c): m (n)", "m (n)", r#"host="host" app="app" pid=1 subject="a.b.c""#),
        ("host app[1] (a b): m", "(a b): m", r#"host="host" app="app" pid=1"#),
        ("host [7]: m", "[7]: m", r#"host="host""#),
        ("Restarted", "Restarted", ""),
        ("  host app: m", "m", r#"host="host" app="app""#),
        ("", "", ""),
    ] {
        let entry = syslog(&format!("Mar 27 13:06:56 {line}"));
        assert_eq!(
            (entry.message.as_str(), fields(&entry).as_str()),
            (message, expected),
            "{line}"
        );
    }
}

/// The time of a line without a year, in a log of which the last line was written at a time.
fn year_of(date: &str, reference: &str, year: Option<i32>) -> Option<i64> {
    let options = SourceOptions { year, ..SourceOptions::new(at(reference)) };
    let mut entry = NewEntry::default();
    let mut parser = LineParser::new(Format::Syslog, &options);
    parser.parse(format!("{date} host app: m").as_bytes(), &mut entry);
    entry.source_time
}

#[test]
fn a_missing_year_is_the_latest_that_no_clock_of_the_world_has_to_wait_for() {
    for (date, reference, expected) in [
        ("Nov 23 13:09:20", REFERENCE, "2026-11-23T13:09:20Z"),
        ("Nov 24 03:09:20", REFERENCE, "2026-11-24T03:09:20Z"),
        ("Nov 24 03:09:21", REFERENCE, "2025-11-24T03:09:21Z"),
        ("Dec 31 23:59:59", REFERENCE, "2025-12-31T23:59:59Z"),
        ("Dec 31 23:59:59", "2027-01-01T00:10:00Z", "2026-12-31T23:59:59Z"),
        ("Jan  1 00:05:00", "2027-01-01T00:10:00Z", "2027-01-01T00:05:00Z"),
        ("Jan  1 00:05:00", "2026-12-31T23:59:00Z", "2027-01-01T00:05:00Z"),
        ("Feb 29 12:00:00", REFERENCE, "2024-02-29T12:00:00Z"),
        ("Feb 29 12:00:00", "2103-07-01T00:00:00Z", "2096-02-29T12:00:00Z"),
    ] {
        assert_eq!(year_of(date, reference, None), Some(at(expected)), "{date} {reference}");
    }
    assert_eq!(year_of("Dec 31 00:00:00", REFERENCE, Some(2026)), Some(at("2026-12-31T00:00:00Z")));
    assert_eq!(year_of("Feb 29 00:00:00", REFERENCE, Some(2026)), None);
}

/// A year that was found by the first line goes on, and rises with the new year; also past the time of the file, which may have been
/// copied since.
#[test]
fn a_log_that_runs_across_new_year_or_its_reference_goes_on_from_line_to_line() {
    let mut parser = LineParser::new(Format::Syslog, &options());
    let mut entry = NewEntry::default();
    for (date, expected) in [
        ("Dec 31 23:59:59", "2025-12-31T23:59:59Z"),
        ("Jan  1 00:00:00", "2026-01-01T00:00:00Z"),
        ("Dec 31 23:59:58", "2025-12-31T23:59:58Z"),
        ("Jun 24 13:09:21", "2026-06-24T13:09:21Z"),
        ("Nov 24 03:09:21", "2026-11-24T03:09:21Z"),
        ("Nov 24 03:09:20", "2026-11-24T03:09:20Z"),
        ("Nov 25 00:00:00", "2026-11-25T00:00:00Z"),
    ] {
        assert_eq!(parser.parse(format!("{date} h a: m").as_bytes(), &mut entry), Parsed::Entry);
        assert_eq!(entry.source_time, Some(at(expected)), "{date}");
    }
    assert_eq!(parser.parse(b"Feb 29 00:00:00 h a: no such day near", &mut entry), Parsed::Entry);
    assert_eq!(entry.source_time, None);
    // Lines that come as they are written have the time at which they come.
    parser.set_reference_time(at("2028-11-30T00:00:00Z"));
    parser.parse(b"Nov 25 00:00:01 h a: m", &mut entry);
    assert_eq!(entry.source_time, Some(at("2028-11-25T00:00:01Z")));
}

#[test]
fn a_time_that_can_not_be_kept_stays_text() {
    for (line, expected) in [
        ("Feb 30 13:06:56 host app: m", r#"time="Feb 30 13:06:56" host="host" app="app""#),
        (
            "Feb  7 9999 13:06:56 host app: m",
            r#"time="Feb  7 9999 13:06:56" host="host" app="app""#,
        ),
        (
            "<8>1 2300-01-01T00:00:00Z host app - - - m",
            r#"facility="user" time="2300-01-01T00:00:00Z" host="host" app="app""#,
        ),
    ] {
        let entry = syslog(line);
        assert_eq!((entry.source_time, fields(&entry).as_str()), (None, expected), "{line}");
    }
}

#[test]
fn what_is_malformed_is_kept_and_told() {
    let no_time = "no time such as Mar 27 13:06:56 in front";
    for (line, flaw) in [
        ("hello", no_time),
        ("Mai 27 13:06:56 host app: m", no_time),
        ("Mar 27 24:06:56 host app: m", no_time),
        ("Mar 27 13:06 host app: m", no_time),
        ("Mar 27 13:06:56.1234567891 host app: m", no_time),
        ("Mar 127 13:06:56 host app: m", no_time),
        ("2026-11-23 13:09:20 host app: m", no_time),
        ("<13>hello", no_time),
        ("<192>Mar 27 13:06:56 host app: m", "no priority from <0> to <191>"),
        ("<013>Mar 27 13:06:56 host app: m", "no priority from <0> to <191>"),
        ("<>Mar 27 13:06:56 host app: m", "no priority from <0> to <191>"),
        ("<13", "no priority from <0> to <191>"),
        ("<13>1 - - -", "a part of the header is missing"),
        ("<13>1 -  - - - - m", "a part of the header is missing"),
        ("<13>1 - - - - - m", "no structured data"),
        ("<13>1 - - - - -", "no structured data"),
        ("<13>1 - - - - - -m", "no space before the message"),
        ("<13>1 - - - - - [a", "malformed structured data"),
        ("<13>1 - - - - - []", "malformed structured data"),
        ("<13>1 - - - - - [a b=c]", "malformed structured data"),
        ("<13>1 - - - - - [a b=\"c\\\"] m", "malformed structured data"),
    ] {
        assert_eq!(flaw_of(Format::Syslog, line), flaw, "{line}");
    }
}
