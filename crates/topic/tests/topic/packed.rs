//! Records that are packed, as they are where nothing else is asked for: what they take, beside what zstd makes of them, and
//! consumers of them.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::time::Duration;

use timestrata_engine::{Settings, Store};
use timestrata_topic::{
    Consumer, ConsumerOptions, PollLimits, Record, SendOptions, Topic, TopicOptions, TopicPartition,
};

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

/// Blocks are decoded by other threads, of runs that may be gone by then, and for a cache that has no room.
#[test]
fn consumers_of_packed_records_are_given_each_once_beside_a_compaction_and_until_the_topic_is_gone()
{
    for cache_bytes_max in [0, 64 << 10, 64 << 20] {
        let settings = Settings { cache_bytes_max, level0_runs_max: 2, ..Settings::default() };
        let store = Store::memory(settings).unwrap();
        let topic = Topic::create(&store, "t", &TopicOptions::default()).unwrap();
        let values: Vec<String> = (0..RECORDS).map(|n| format!("record {n}")).collect();
        for batch in values.chunks(RECORDS / 10) {
            let records: Vec<Record<'_>> = batch
                .iter()
                .map(|value| Record { value: Some(value.as_bytes()), ..Record::default() })
                .collect();
            topic.send_batch(&records, &SendOptions::default()).unwrap();
            store.flush().unwrap();
        }
        store.compact(None).unwrap();
        let place = TopicPartition { topic: "t".to_owned(), partition: 0 };
        std::thread::scope(|scope| {
            for step in [77, 500, 1_024, 5_000] {
                let (store, values, place) = (&store, &values, place.clone());
                scope.spawn(move || {
                    let mut consumer = Consumer::new(store, ConsumerOptions::default()).unwrap();
                    consumer.assign([place]).unwrap();
                    let limits = PollLimits { records: step, ..PollLimits::default() };
                    let mut next = 0;
                    while next < RECORDS {
                        for polled in consumer.poll(Duration::ZERO, limits).unwrap() {
                            for (offset, record) in polled.records.iter() {
                                assert_eq!(offset, next as u64);
                                // Behind these come some without a value.
                                assert_eq!(record.value, values.get(next).map(String::as_bytes));
                                next += 1;
                            }
                        }
                    }
                });
            }
            // Each writes all runs anew, and the ones that are read are gone.
            for _ in 0..4 {
                topic.send(&Record::default(), &SendOptions::default()).unwrap();
                store.compact(None).unwrap();
            }
        });
        let mut consumer = Consumer::new(&store, ConsumerOptions::default()).unwrap();
        consumer.assign([place]).unwrap();
        consumer.poll(Duration::ZERO, PollLimits::default()).unwrap();
        // A block is being decoded, maybe.
        topic.remove().unwrap();
        store.close().unwrap();
    }
}
