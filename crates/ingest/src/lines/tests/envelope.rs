//! Envelopes of OpenTelemetry.

use timestrata_logs::Level;

use super::*;

/// As the file exporter of a collector writes it.
const LINE: &str = r#"{"resourceLogs":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"shop"}},{"key":"host.cores","value":{"intValue":"4"}}]},"scopeLogs":[{"scope":{"name":"shop.db","version":"1.2"},"logRecords":[{"timeUnixNano":"1792346507978123456","observedTimeUnixNano":"1792346508000000000","severityNumber":17,"severityText":"ERROR","body":{"stringValue":"no route to db"},"attributes":[{"key":"retries","value":{"intValue":"3"}},{"key":"ratio","value":{"doubleValue":0.1}},{"key":"tags","value":{"arrayValue":{"values":[{"stringValue":"a"},{"boolValue":true}]}}}],"traceId":"5b8aa5a2d2c872e8321cf37308d69df2","spanId":"051581bf3cb55c13"},{"observedTimeUnixNano":"1792346508000000001","body":{"kvlistValue":{"values":[{"key":"msg","value":{"stringValue":"slow"}},{"key":"ms","value":{"intValue":"812"}}]}}}]}],"schemaUrl":"https://opentelemetry.io/schemas/1.6.1"},{"resource":{},"scopeLogs":[{"scope":{},"logRecords":[{"timeUnixNano":"0","severityText":"Warn","body":{"stringValue":"third"},"traceId":"","attributes":[{"key":"service.name","value":{"stringValue":"own"}}]}]}]}]}"#;

#[test]
fn each_record_of_an_envelope_of_opentelemetry_is_an_entry() {
    let log = format!("{LINE}\n{{\"msg\":\"a line of its own\"}}\n{LINE}\n");
    let (entries, report) = read_all(log.as_bytes(), options());
    assert_eq!((entries.len(), report.lines, report.parse_errors), (7, 3, 0));
    let lines: Vec<u64> = entries.iter().map(|(line, _)| *line).collect();
    assert_eq!(lines, [1, 1, 1, 2, 3, 3, 3]);
    let [(_, first), (_, second), (_, third), ..] = entries.as_slice() else { panic!() };
    assert_eq!(
        (first.source_time, first.level, &*first.message),
        (Some(1_792_346_507_978_123_456), Some(Level::Error), "no route to db")
    );
    assert_eq!(
        fields(first),
        "observed_time_unix_nano=\"1792346508000000000\" severity_number=17 severity_text=\"ERROR\" \
         retries=3 ratio=0.1 tags=[\"a\", true] trace_id=\"5b8aa5a2d2c872e8321cf37308d69df2\" \
         span_id=\"051581bf3cb55c13\" scope=\"shop.db\" scope.version=\"1.2\" \
         service.name=\"shop\" host.cores=4 resource.schema_url=\"https://opentelemetry.io/schemas/1.6.1\""
    );
    assert_eq!(
        (second.source_time, second.level, &*second.message),
        (Some(1_792_346_508_000_000_001), None, "slow")
    );
    assert!(fields(second).starts_with("body={\"msg\": \"slow\", \"ms\": 812} scope="));
    assert_eq!(
        (third.source_time, third.level, &*third.message),
        (None, Some(Level::Warn), "third")
    );
    assert_eq!(fields(third), "severity_text=\"Warn\" service.name=\"own\"");
    assert_eq!(entries[4].1, *first);
}

#[test]
fn any_part_of_an_envelope_is_kept() {
    for cut in (1..LINE.len()).step_by(5) {
        let (entries, _) = read_all(&LINE.as_bytes()[..cut], options());
        assert_eq!((entries.len(), &*entries[0].1.message), (1, &LINE[..cut]));
    }
}

/// What an entry has no place for isn't dropped, but kept as it is.
#[test]
fn what_is_no_whole_envelope_is_one_entry_as_any_json() {
    for (part, instead) in [
        ("\"scope\":{\"name\"", "\"other\":1,\"scope\":{\"name\""),
        ("{\"intValue\":\"3\"}", "{\"newValue\":\"3\"}"),
        ("{\"resourceLogs\":[", "{\"more\":1,\"resourceLogs\":["),
        ("\"logRecords\":[{\"timeUnixNano\":\"0\"", "\"logRecords\":[7,{\"timeUnixNano\":\"0\""),
    ] {
        let line = LINE.replacen(part, instead, 1);
        assert_ne!(line, LINE);
        let (entries, _) = read_all(format!("{line}\n").as_bytes(), options());
        assert_eq!(entries.len(), 1, "{line}");
        assert!(fields(&entries[0].1).contains("resourceLogs="), "{line}");
    }
    // One that is too long for an entry has its envelope kept in parts.
    let few = SourceOptions { message_bytes_max: 1_024, ..options() };
    let line = LINE.replace("no route to db", &"x".repeat(2_000));
    let (entries, report) = read_all(format!("{line}\n").as_bytes(), few);
    assert_eq!(report.parse_errors, 1);
    assert_eq!(entries.iter().map(|(_, entry)| entry.message.as_str()).collect::<String>(), line);
}
