//! What a read costs: blocks and rows are counted, not time.

use timestrata_engine::{Durability, KeyRange};
use timestrata_logs::{Logs, NewEntry};

use crate::harness::Harness;

const NS_A_MS: u64 = 1_000_000;
/// Rows of a block of a compacted log.
const BLOCK_ROWS: u64 = 8_192;

/// Reading one row, or none, once cost as much as reading all of them.
#[test]
fn however_much_there_is_a_row_costs_a_block_and_an_empty_range_nothing() {
    let server = Harness::new();
    let mut client = server.connect();
    let logs = Logs::open(&server.store, "default").unwrap();
    let mut wanted = 0;
    for part in 0..5 {
        let many = vec![NewEntry::new("m"); 10_000];
        logs.write_many(&many, Durability::Written).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(5));
        if part == 2 {
            wanted = logs.write(&NewEntry::new("wanted")).unwrap() as u64 / NS_A_MS;
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    }
    logs.flush().unwrap();
    logs.compact().unwrap();
    let rows = client.read(wanted, wanted);
    assert!(rows.len() == 1 && rows[0]["message"] == "wanted", "{rows:?}");
    assert!(client.read(wanted + 1_000_000, wanted + 2_000_000).is_empty());
    let met = |from: u64, to: u64| {
        let snapshot = logs.snapshot().unwrap();
        let range = KeyRange::times((from * NS_A_MS) as i64, ((to + 1) * NS_A_MS) as i64);
        snapshot.snapshot().estimate(logs.stream_id(), &[range]).unwrap().rows_max
    };
    assert!((1..=BLOCK_ROWS).contains(&met(wanted, wanted)), "{}", met(wanted, wanted));
    assert_eq!(met(wanted + 1_000_000, wanted + 2_000_000), 0);
    assert_eq!(met(0, wanted + 1_000_000), 50_001);
}
