//! What values take on the disk where nothing else is asked for, beside what zstd itself makes of them.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use timestrata_engine::{Settings, Store};
use timestrata_topic::{Record, SendOptions, Topic, TopicOptions};

const RECORDS: usize = 40_000;
/// Records that are packed together, here and there.
const BATCH: usize = 1_024;

/// Bytes of the records of a partition once they are compacted.
fn packed(values: &[String]) -> u64 {
    let store = Store::memory(Settings::default()).unwrap();
    let topic = Topic::create(&store, "t", &TopicOptions::default()).unwrap();
    for batch in values.chunks(1_000) {
        let records: Vec<Record<'_>> = batch
            .iter()
            .enumerate()
            .map(|(n, value)| Record {
                value: Some(value.as_bytes()),
                timestamp_ns: Some(1_700_000_000_000_000_000 + n as i64 * 1_000_000),
                ..Record::default()
            })
            .collect();
        topic.send_batch(&records, &SendOptions::default()).unwrap();
    }
    store.compact(None).unwrap();
    let stats = store.stats();
    stats.streams.iter().filter(|of| of.name == "t/0").map(|of| of.run_bytes).sum()
}

/// The same by `zstd -3`, a line each.
fn by_zstd(values: &[String]) -> u64 {
    let of = |batch: &[String]| zstd::encode_all(batch.join("\n").as_bytes(), 3).unwrap().len();
    values.chunks(BATCH).map(of).sum::<usize>() as u64
}

/// A number that looks like chance and is always the same.
fn mixed(n: usize) -> u64 {
    (n as u64)
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        .rotate_left(31)
        .wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

#[test]
fn values_of_json_and_text_take_at_most_1_3_times_what_zstd_makes_of_them() {
    let json: Vec<String> = (0..RECORDS)
        .map(|n| {
            let (id, m) = (mixed(n), mixed(n + 7) % 1_000);
            format!(
                r#"{{"id":"{id:016x}","customer":"c-{}","cents":{},"currency":"EUR","state":"{}","items":[{{"sku":"s-{m}","n":{}}}]}}"#,
                id % 5_000,
                id % 100_000,
                ["paid", "sent", "returned"][n % 3],
                m % 9,
            )
        })
        .collect();
    let text: Vec<String> = (0..RECORDS)
        .map(|n| {
            let m = mixed(n);
            format!(
                "10.{}.{}.{} - - [30/Nov/2025:10:{:02}:{:02} +0000] \"GET /shop/item/{} HTTP/1.1\" 200 {}",
                m % 4, m % 200, m % 251, n / 60 % 60, n % 60, m % 3_000, m % 20_000,
            )
        })
        .collect();
    for (what, values) in [("JSON", json), ("text", text)] {
        let (ours, theirs) = (packed(&values), by_zstd(&values));
        assert!(ours * 10 <= theirs * 13, "{what}: {ours} bytes, zstd -3 makes {theirs}");
    }
}
