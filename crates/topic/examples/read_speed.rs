//! How fast a partition is appended to and read, and what it takes:
//! `cargo run --release -p timestrata-topic --example read_speed -- RECORDS WHAT COMPRESSION [BLOCK_ROWS]`.
//! WHAT is `json`, `text` or `small`; COMPRESSION is `-` for records that are not packed. With BLOCK_ROWS, blocks
//! have so many records, whatever topics have. The first scan finds nothing in the store's cache, later ones all;
//! `looked at` reads each record's key and value as well, and
//! `polled` takes 500 records at once, as a consumer does.

use std::error::Error;
use std::hint::black_box;
use std::path::Path;

use timestrata_engine::{
    BLOCK_ROWS_PROPERTY, COLD_BLOCK_ROWS_PROPERTY, Io, RunCompression, Settings, Store, StreamSpec,
};
use timestrata_topic::{Record, Records, SendOptions, Topic, TopicOptions};

const BATCH: usize = 1_000;
const ROUNDS: usize = 15;
/// How many rows a scan is limited to, as those of consumers are, and whether each record is looked at.
const WAYS: [(&str, Option<usize>, bool); 4] = [
    ("scanned", None, false),
    ("looked at", None, true),
    ("polled", Some(500), false),
    ("polled and looked at", Some(500), true),
];

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let argument = |at: usize| arguments.get(at).map(String::as_str);
    let records: usize = argument(0).unwrap_or("200000").parse()?;
    let what = argument(1).unwrap_or("json");
    let compression = match argument(2).unwrap_or("-") {
        "-" => Some(RunCompression::None),
        named => Some(named.parse()?),
    };
    let block_rows: Option<usize> = argument(3).map(str::parse).transpose()?;
    let directory = tempfile::tempdir()?;
    let path = directory.path().join("topics");
    let values: Vec<String> = (0..records).map(|n| value(what, n)).collect();
    let options = TopicOptions { compression, ..TopicOptions::default() };
    let io = Io::os();
    let seconds = |since: u64| (io.clock.monotonic_ns() - since) as f64 / 1e9;
    let million = |seconds: f64| records as f64 / seconds / 1e6;

    let store = Store::open(&path, Settings::default())?;
    let topic = Topic::create(&store, "t", &options)?;
    if let Some(rows) = block_rows {
        let spec = store.expect_stream("t/0")?;
        let properties = with_rows(spec.spec(), rows);
        store.alter_stream_properties(spec.id(), properties)?;
    }
    let started = io.clock.monotonic_ns();
    for (at, batch) in values.chunks(BATCH).enumerate() {
        let numbered = (at * BATCH..).zip(batch);
        let records: Vec<Record<'_>> = numbered.map(|(n, value)| record(n, value)).collect();
        topic.send_batch(&records, &SendOptions::default())?;
    }
    let appended = million(seconds(started));
    let started = io.clock.monotonic_ns();
    store.flush()?;
    store.compact(None)?;
    let compacted = million(seconds(started));
    let of_records = |of: &&timestrata_engine::StreamStats| of.name == "t/0";
    let bytes: u64 = store.stats().streams.iter().filter(of_records).map(|of| of.run_bytes).sum();
    let of_values: usize = values.iter().map(String::len).sum();
    store.close()?;
    println!(
        "{what}: {bytes} bytes of {of_values} of values; appended {appended:.2}, flushed and compacted {compacted:.2} M/s"
    );
    for (name, rows_a_scan, looks) in WAYS {
        let (mut first, mut later) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let (topic, store) = opened(&path)?;
            for figures in [&mut first, &mut later] {
                let started = io.clock.monotonic_ns();
                assert_eq!(read(&topic, rows_a_scan, looks)?, records);
                figures.push(million(seconds(started)));
            }
            store.close()?;
        }
        println!("{name}: first {} later {} M/s", best(first), best(later));
    }
    Ok(())
}

fn opened(path: &Path) -> Result<(Topic, Store), Box<dyn Error>> {
    let store = Store::open(path, Settings::default())?;
    let topic = Topic::open(&store, "t")?;
    topic.offsets(0)?;
    Ok((topic, store))
}

/// All records, by scans of so many each.
fn read(topic: &Topic, limit: Option<usize>, looks: bool) -> Result<usize, Box<dyn Error>> {
    let (end, mut next) = (topic.offsets(0)?.end, 0);
    let mut seen = 0;
    while next < end {
        let before = seen;
        for batch in topic.scan(0, next..u64::MAX, limit)? {
            let batch = batch?;
            seen += batch.num_rows();
            if looks {
                for (offset, record) in Records::of(&batch)?.iter() {
                    black_box((offset, record.key, record.value));
                }
            }
        }
        next += (seen - before) as u64;
    }
    Ok(seen)
}

fn with_rows(spec: &StreamSpec, rows: usize) -> Vec<(String, String)> {
    let ours = [BLOCK_ROWS_PROPERTY, COLD_BLOCK_ROWS_PROPERTY];
    let others = spec.properties.iter().filter(|(name, _)| !ours.contains(&name.as_str()));
    let rows = ours.iter().map(|name| ((*name).to_owned(), rows.to_string()));
    others.cloned().chain(rows).collect()
}

/// Of a machine that others use as well, the best of several rounds says most.
fn best(figures: Vec<f64>) -> String {
    figures.into_iter().max_by(f64::total_cmp).map_or_else(String::new, |best| format!("{best:.2}"))
}

fn record(n: usize, value: &str) -> Record<'_> {
    let timestamp_ns = Some(1_700_000_000_000_000_000 + n as i64 * 1_000_000);
    Record { value: Some(value.as_bytes()), timestamp_ns, ..Record::default() }
}

/// A number that looks like chance and is always the same.
fn mixed(n: usize) -> u64 {
    (n as u64)
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        .rotate_left(31)
        .wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

fn value(what: &str, n: usize) -> String {
    let (id, m) = (mixed(n), mixed(n + 7) % 1_000);
    match what {
        "text" => format!(
            "10.{}.{}.{} - - [30/Nov/2025:10:{:02}:{:02} +0000] \"GET /shop/item/{} HTTP/1.1\" 200 {}",
            id % 4,
            id % 200,
            id % 251,
            n / 60 % 60,
            n % 60,
            id % 3_000,
            id % 20_000,
        ),
        "small" => m.to_string(),
        _ => format!(
            r#"{{"id":"{id:016x}","customer":"c-{}","cents":{},"currency":"EUR","state":"{}","items":[{{"sku":"s-{m}","n":{}}}]}}"#,
            id % 5_000,
            id % 100_000,
            ["paid", "sent", "returned"][n % 3],
            m % 9,
        ),
    }
}
