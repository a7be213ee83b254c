//! Access logs.

use timestrata_logs::Level;

use super::*;

fn access(line: &str) -> NewEntry {
    read(Format::Access, line)
}

#[test]
fn a_combined_line_is_taken_apart() {
    let entry = access(
        r#"10.0.0.1 - ann [17/May/2015:10:05:03 +0000] "GET /x?y=1 HTTP/1.1" 200 5 "http://x/" "curl/8""#,
    );
    assert_eq!(entry.message, "GET /x?y=1 HTTP/1.1");
    assert_eq!(entry.source_time, Some(at("2015-05-17T10:05:03Z")));
    assert_eq!(entry.level, Some(Level::Info));
    assert_eq!(
        fields(&entry),
        r#"client="10.0.0.1" user="ann" status=200 bytes=5 referer="http://x/" user_agent="curl/8""#
    );
}

#[test]
fn a_dash_is_no_value() {
    let entry = access(r#"::1 - - [17/May/2015:10:05:03 +0000] "-" 408 - "-" "-""#);
    assert_eq!((entry.message.as_str(), entry.level), ("-", Some(Level::Warn)));
    assert_eq!(fields(&entry), r#"client="::1" status=408"#);
}

#[test]
fn a_common_line_has_no_referer_and_no_user_agent() {
    let entry = access(r#"host.net id7 John Smith [17/May/2015:10:05:03 +0000] "GET /" 302 0"#);
    assert_eq!(
        fields(&entry),
        r#"client="host.net" ident="id7" user="John Smith" status=302 bytes=0"#
    );
}

#[test]
fn the_level_is_that_of_the_status() {
    for (status, level) in
        [(100, Level::Info), (399, Level::Info), (400, Level::Warn), (499, Level::Warn)]
            .into_iter()
            .chain([(500, Level::Error), (599, Level::Error)])
    {
        let line = format!(r#"a - - [17/May/2015:10:05:03 +0000] "GET /" {status} 1"#);
        assert_eq!(access(&line).level, Some(level), "{status}");
    }
}

#[test]
fn the_zone_of_a_time_counts() {
    for (text, expected) in [
        ("17/May/2015:10:05:03 +0200", "2015-05-17T08:05:03Z"),
        ("01/Jan/2016:00:00:00 +0530", "2015-12-31T18:30:00Z"),
        ("31/Dec/2016:23:59:60 +0000", "2017-01-01T00:00:00Z"),
        ("29/Feb/2016:12:00:00 -0800", "2016-02-29T20:00:00Z"),
    ] {
        let entry = access(&format!(r#"a - - [{text}] "GET /" 200 1"#));
        assert_eq!(entry.source_time, Some(at(expected)), "{text}");
    }
}

/// The minute of the line before is kept: what differs from it in the least must be read anew.
#[test]
fn a_line_after_another_has_its_own_time() {
    let mut parser = LineParser::new(Format::Access, &options());
    let mut entry = NewEntry::default();
    for (text, expected) in [
        ("17/May/2015:10:05:03 +0000", Some("2015-05-17T10:05:03Z")),
        ("17/May/2015:10:05:59 +0000", Some("2015-05-17T10:05:59Z")),
        ("17/May/2015:10:05:59 +0100", Some("2015-05-17T09:05:59Z")),
        ("17/May/2015:10:06:00 +0100", Some("2015-05-17T09:06:00Z")),
        ("31/Feb/2015:10:06:00 +0100", None),
        ("31/Feb/2015:10:06:01 +0100", None),
        ("17/May/2015:10:06:01 +0100", Some("2015-05-17T09:06:01Z")),
    ] {
        let line = format!(r#"a - - [{text}] "GET /" 200 1"#);
        assert_eq!(parser.parse(line.as_bytes(), &mut entry), Parsed::Entry);
        assert_eq!(entry.source_time, expected.map(at), "{text}");
    }
}

#[test]
fn a_time_that_can_not_be_kept_stays_text() {
    for text in ["31/Feb/2015:10:05:03 +0000", "17/May/2263:10:05:03 +0000"] {
        let entry = access(&format!(r#"a - - [{text}] "GET /" 200 1"#));
        assert_eq!(entry.source_time, None);
        assert_eq!(fields(&entry), format!(r#"client="a" time="{text}" status=200 bytes=1"#));
    }
}

#[test]
fn escaped_quotes_do_not_end_a_value_and_are_kept() {
    let entry =
        access(r#"a - - [17/May/2015:10:05:03 +0000] "GET /\"x\" \\" 200 1 "\x22" "say \"hi\" ü""#);
    assert_eq!(entry.message, r#"GET /\"x\" \\"#);
    assert_eq!(
        fields(&entry),
        r#"client="a" status=200 bytes=1 referer="\\x22" user_agent="say \\\"hi\\\" ü""#
    );
}

#[test]
fn what_a_server_writes_besides_is_kept_as_it_is() {
    let start = r#"a - - [17/May/2015:10:05:03 +0000] "GET /" 200 1"#;
    let known = r#"client="a" status=200 bytes=1"#;
    for (rest, expected) in [
        (
            r#" "-" "curl" "10.1.1.1, 10.1.1.2" 0.003 -"#,
            r#" user_agent="curl" extra="\"10.1.1.1, 10.1.1.2\" 0.003 -""#,
        ),
        (" 0.003", r#" extra="0.003""#),
        (r#" "one""#, r#" extra="\"one\"""#),
        (r#" "one" 2"#, r#" extra="\"one\" 2""#),
    ] {
        let entry = access(&format!("{start}{rest}"));
        assert_eq!(fields(&entry), format!("{known}{expected}"));
    }
}

#[test]
fn the_host_that_was_asked_may_stand_in_front() {
    let entry =
        access(r#"www.x.org:443 10.0.0.1 - - [17/May/2015:10:05:03 +0000] "GET /" 200 1 "-" "-""#);
    assert_eq!(fields(&entry), r#"vhost="www.x.org:443" client="10.0.0.1" status=200 bytes=1"#);
    let entry = access(r#"2001:db8::1 - - [17/May/2015:10:05:03 +0000] "GET /" 200 1"#);
    assert_eq!(fields(&entry), r#"client="2001:db8::1" status=200 bytes=1"#);
}

#[test]
fn what_is_malformed_is_kept_and_told() {
    let time = "[17/May/2015:10:05:03 +0000]";
    for (line, flaw) in [
        ("hello", "no client, identity and user before the time"),
        ("a b c", "no client, identity and user before the time"),
        ("a - - [now] \"GET /\" 200 1", "no time such as [17/May/2015:10:05:03 +0000]"),
        (
            "a - - [17/Mai/2015:10:05:03 +0000] \"GET /\" 200 1",
            "no time such as [17/May/2015:10:05:03 +0000]",
        ),
        (
            "a - - [17/May/2015:24:05:03 +0000] \"GET /\" 200 1",
            "no time such as [17/May/2015:10:05:03 +0000]",
        ),
        (
            "a - - [17/May/2015:10:05:03 +0000 \"GET /\" 200 1",
            "no time such as [17/May/2015:10:05:03 +0000]",
        ),
        (&format!("a - - {time} GET / 200 1"), "no request in quotes"),
        (&format!("a - - {time} \"GET / 200 1"), "no request in quotes"),
        (
            &format!("a - - {time} \"GET /\" 20 1"),
            "no status and number of bytes behind the request",
        ),
        (
            &format!("a - - {time} \"GET /\" 200"),
            "no status and number of bytes behind the request",
        ),
        (
            &format!("a - - {time} \"GET /\" 200 -5"),
            "no status and number of bytes behind the request",
        ),
        (&format!("a - - {time} \"GET /\" 200 1 \"-\" \"curl"), "a quote that does not end"),
        (&format!("a - - {time} \"GET /\" 200 1 \"-"), "a quote that does not end"),
    ] {
        assert_eq!(flaw_of(Format::Access, line), flaw, "{line}");
    }
}
