//! Logs of real servers, counted beside in another way.

use std::collections::BTreeMap;
use std::path::PathBuf;

use timestrata_logs::Scalar;

use super::*;

/// A log of the data for tests, if it is here.
#[expect(clippy::disallowed_methods, reason = "data for tests lies beside the repository")]
fn log(name: &str) -> Option<String> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/logs");
    let log = std::fs::read_to_string(folder.join(name)).ok();
    if log.is_none() {
        println!("skipped: {} is not here", folder.join(name).display());
    }
    log
}

/// Entries of a log, read as what it is guessed to be.
fn entries(log: &str, format: Format) -> (Vec<NewEntry>, SourceReport) {
    assert_eq!(guess(log.as_bytes(), LogFormats::known()).format, format);
    let options = SourceOptions::new(at("2017-04-21T00:00:00Z"));
    let (entries, report) = read_all(log.as_bytes(), options);
    assert_eq!(report.lines, log.lines().count() as u64);
    (entries.into_iter().map(|(_, entry)| entry).collect(), report)
}

fn count<T: Ord>(values: impl Iterator<Item = T>) -> BTreeMap<T, usize> {
    let mut counts = BTreeMap::new();
    values.for_each(|value| *counts.entry(value).or_default() += 1);
    counts
}

fn text<'a>(entry: &'a NewEntry, name: &str) -> Option<&'a str> {
    match Scalar::of_item(entry.fields.get(name)?)? {
        Scalar::Text(text) => Some(text),
        other => panic!("{name} is {other:?}"),
    }
}

fn int(entry: &NewEntry, name: &str) -> Option<i64> {
    match Scalar::of_item(entry.fields.get(name)?)? {
        Scalar::Int(number) => Some(number),
        other => panic!("{name} is {other:?}"),
    }
}

#[test]
fn ten_thousand_requests_are_read_but_for_one_that_was_cut_off() {
    let Some(log) = log("apache_logs.log") else { return };
    let (entries, report) = entries(&log, Format::Access);
    assert_eq!((entries.len(), report.parse_errors), (10_000, 1));
    assert_eq!(report.first_errors, [(8_899, "a quote that does not end".to_owned())]);
    let read = || log.lines().zip(&entries).enumerate().filter(|(line, _)| *line != 8_898);
    // By spaces, what stands before the request's end is in its place from the front.
    let words = || read().map(|(_, (line, _))| line.split(' ').collect::<Vec<_>>());
    let by_words = count(words().map(|words| words[8].parse().ok()));
    assert_eq!(count(read().map(|(_, (_, entry))| int(entry, "status"))), by_words);
    assert_eq!(by_words[&Some(404)], 213);
    let bytes = count(words().map(|words| words[9].parse().ok()));
    assert_eq!(count(read().map(|(_, (_, entry))| int(entry, "bytes"))), bytes);
    let clients = count(words().map(|words| words[0].to_owned()));
    let client = |entry| text(entry, "client").unwrap().to_owned();
    assert_eq!(count(read().map(|(_, (_, entry))| client(entry))), clients);
    for (_, (line, entry)) in read() {
        let quoted: Vec<&str> = line.split('"').collect();
        assert_eq!(entry.message, quoted[1]);
        assert_eq!(text(entry, "referer").unwrap_or("-"), quoted[3]);
        assert_eq!(text(entry, "user_agent").unwrap_or("-"), quoted[5]);
        let (day, clock) =
            (&line[line.find('[').unwrap() + 1..][..2], &quoted[0][quoted[0].len() - 16..][..8]);
        assert_eq!(entry.source_time, Some(at(&format!("2015-05-{day}T{clock}Z"))));
    }
}

#[test]
fn every_line_of_a_daemons_log_has_its_parts() {
    let Some(log) = log("auth.log") else { return };
    let (entries, report) = entries(&log, Format::Syslog);
    assert_eq!((entries.len(), report.parse_errors), (7_121, 0));
    let programs = count(entries.iter().map(|entry| text(entry, "app").unwrap()));
    for (program, lines) in &programs {
        let raw = log.lines().filter(|line| {
            let word = line.split_ascii_whitespace().nth(4).unwrap();
            word.split(['[', ':']).next() == Some(program)
        });
        assert_eq!(raw.count(), *lines, "{program}");
    }
    assert_eq!(programs.values().sum::<usize>(), 7_121);
    for (line, entry) in log.lines().zip(&entries) {
        let month = if line.starts_with("Mar") { 3 } else { 4 };
        let (day, clock) = (line[4..6].trim_start(), &line[7..15]);
        assert_eq!(entry.source_time, Some(at(&format!("2017-{month:02}-{day:0>2}T{clock}Z"))));
        let process = int(entry, "pid").map_or(String::new(), |pid| format!("[{pid}]"));
        let program = text(entry, "app").unwrap();
        let host = text(entry, "host").unwrap();
        assert_eq!(line[16..], format!("{host} {program}{process}: {}", entry.message));
    }
}

#[test]
fn times_and_levels_of_a_brokers_log_are_taken_off() {
    let Some(log) = log("kafka_state-change.log") else { return };
    let (entries, report) = entries(&log, Format::Plain);
    assert_eq!((entries.len(), report.parse_errors), (3_103, 0));
    let levels = count(entries.iter().map(|entry| entry.level.unwrap().name()));
    assert_eq!(levels, BTreeMap::from([("info", 35), ("trace", 3_051), ("warn", 17)]));
    for (line, entry) in log.lines().zip(&entries) {
        let (time, rest) = line[1..].split_once("] ").unwrap();
        assert_eq!(entry.source_time, Some(at(&time.replace(',', "."))));
        let (level, message) = rest.split_once(' ').unwrap();
        assert_eq!(entry.level.unwrap().name().to_uppercase(), level);
        assert_eq!(entry.message, message);
        assert!(entry.fields.is_empty());
    }
}

#[test]
fn all_that_json_lines_hold_are_fields() {
    let Some(log) = log("nginxplus_json_logs.ndjson") else { return };
    let (entries, report) = entries(&log, Format::Json);
    assert_eq!((entries.len(), report.parse_errors), (500, 0));
    for (line, entry) in log.lines().zip(&entries) {
        let mut object: serde_json::Map<_, _> = serde_json::from_str(line).unwrap();
        let time = object.remove("timestamp").and_then(|time| time.as_i64()).unwrap();
        assert_eq!(entry.source_time, Some(time * 1_000_000));
        assert_eq!((entry.message.as_str(), entry.fields.len()), ("", object.len()));
        for (name, item) in entry.fields.iter() {
            let value: serde_json::Value = ciborium::from_reader(item).unwrap();
            assert_eq!(object[name], value, "{name}");
        }
    }
}
