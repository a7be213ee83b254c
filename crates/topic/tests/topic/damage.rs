//! How many records one damaged byte costs, wherever it is.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};
use std::time::Duration;

use timestrata_engine::{
    Access, Durability, ErrorKind, Io, Maintenance, OpenMode, RunCompression, Settings, Store,
};
use timestrata_topic::{
    Consumer, ConsumerOptions, PollLimits, Record, SendOptions, Topic, TopicOptions, TopicPartition,
};

const RECORDS: u64 = 20_000;
/// Places of a file that are damaged, one after the other.
const PLACES: usize = 41;

fn settings() -> Settings {
    Settings { maintenance: Maintenance::Manual, ..Settings::default() }
}

fn value(offset: u64) -> String {
    let id = offset.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    format!(r#"{{"id":"{id:016x}","n":{offset},"currency":"EUR","state":"paid"}}"#)
}

/// A store with one topic, compacted and closed; and the file of its records.
fn stored(compression: RunCompression) -> (Io, PathBuf, Vec<u8>) {
    let io = Io::memory();
    let store = opened(&io).unwrap();
    let options = TopicOptions { compression: Some(compression), ..TopicOptions::default() };
    let topic = Topic::create(&store, "t", &options).unwrap();
    for first in (0..RECORDS).step_by(1_000) {
        let values: Vec<String> = (first..first + 1_000).map(value).collect();
        let records: Vec<Record<'_>> = values
            .iter()
            .map(|value| Record {
                key: Some(b"shop"),
                value: Some(value.as_bytes()),
                ..Record::default()
            })
            .collect();
        let options = SendOptions { durability: Durability::Written, ..SendOptions::default() };
        topic.send_batch(&records, &options).unwrap();
    }
    store.flush().unwrap();
    store.compact(None).unwrap();
    let stats = store.stats();
    let of_records = stats.streams.iter().find(|of| of.name == "t/0").unwrap().run_bytes;
    store.close().unwrap();
    let runs = Path::new("/store/runs");
    let files = io.disk.list(runs).unwrap();
    let file = files.iter().find(|file| file.len == of_records).unwrap();
    let path = runs.join(&file.name);
    let bytes = bytes_of(&io, &path);
    (io, path, bytes)
}

fn opened(io: &Io) -> timestrata_engine::Result<Store> {
    Store::open_with(io.clone(), Path::new("/store"), Access::Write, settings())
}

fn bytes_of(io: &Io, path: &Path) -> Vec<u8> {
    io.disk.open(path, OpenMode::Read).unwrap().map().unwrap().to_vec()
}

fn replace(io: &Io, path: &Path, bytes: &[u8]) {
    io.disk.remove(path).unwrap();
    io.disk.open(path, OpenMode::CreateNew).unwrap().append(bytes).unwrap();
}

/// How many records a reader that passes over what can't be read is not given. Each that it is given is what was sent.
fn lost(io: &Io) -> u64 {
    let store = opened(io).unwrap();
    let topic = Topic::open(&store, "t").unwrap();
    let place = TopicPartition { topic: "t".to_owned(), partition: 0 };
    let mut consumer = Consumer::new(&store, ConsumerOptions::default()).unwrap();
    consumer.assign([place.clone()]).unwrap();
    let limits = PollLimits { records: 10_000, ..PollLimits::default() };
    let mut read = 0;
    while consumer.position(&place).unwrap_or(0) < topic.offsets(0).unwrap().end {
        match consumer.poll(Duration::ZERO, limits) {
            Ok(polled) => {
                for batch in polled {
                    for (offset, record) in batch.records.iter() {
                        assert_eq!(record.value, Some(value(offset).as_bytes()));
                        read += 1;
                    }
                }
            }
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Corruption, "{error}");
                consumer.skip(&place).unwrap();
            }
        }
    }
    RECORDS - read
}

/// What a byte costs in each of many places of the file of the records, from the least to the most.
fn costs(compression: RunCompression) -> Vec<u64> {
    let (io, path, bytes) = stored(compression);
    assert_eq!(lost(&io), 0);
    // The tail is what a run as a whole is known by: its bytes are another promise.
    let data = bytes.len() * 9 / 10;
    let cost = |n: usize| {
        let mut damaged = bytes.clone();
        damaged[n * data / PLACES + 1] ^= 4;
        replace(&io, &path, &damaged);
        lost(&io)
    };
    let mut costs: Vec<u64> = (0..PLACES).map(cost).collect();
    costs.sort_unstable();
    costs
}

/// A damaged byte of a value once made all 4,096 records of its block unreadable.
#[test]
fn one_damaged_byte_costs_the_records_beside_it_and_never_more_than_a_block() {
    for (compression, usual, block) in
        [(RunCompression::None, 64, 4_096), (RunCompression::Usual, 1_024, 1_024)]
    {
        let costs = costs(compression);
        let (median, most) = (costs[PLACES / 2], costs[PLACES - 1]);
        println!("{compression:?}: {costs:?}");
        assert!(median <= usual, "{compression:?}: {costs:?}");
        assert!(most <= block, "{compression:?}: {costs:?}");
    }
}

#[test]
fn a_partition_whose_end_is_damaged_is_read_up_to_there_and_takes_nothing() {
    let (io, path, mut bytes) = stored(RunCompression::None);
    let last = value(RECORDS - 1);
    let place = bytes.windows(last.len()).position(|found| found == last.as_bytes()).unwrap();
    bytes[place] ^= 1;
    replace(&io, &path, &bytes);
    assert!((1..100).contains(&lost(&io)));
    let store = opened(&io).unwrap();
    let topic = Topic::open(&store, "t").unwrap();
    assert_eq!(topic.offsets(0).unwrap(), 0..RECORDS);
    let first = topic.get(0, 0).unwrap().unwrap();
    assert_eq!(first.get(0).unwrap().1.value, Some(value(0).as_bytes()));
    // What its hash tree would go on from can't be read.
    let refused = topic.send(&Record::default(), &SendOptions::default()).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Corruption, "{refused}");
}
