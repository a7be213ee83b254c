//! A materialised view beside a disk that is full now and then: it is what its query says, and nothing acknowledged is lost.

use std::sync::Arc;

use timestrata_engine::{ErrorKind, Io, Result, Settings};
use timestrata_sql::Sql;

use crate::materialized::{kept, open};
use crate::quota_disk::{Quota, QuotaDisk};
use crate::support::{answer, ask};
use crate::views_at_random::time_text;

const PLENTY: u64 = 1 << 30;
const TABLE: &str =
    "CREATE TABLE t (time TIMESTAMP NOT NULL, host VARCHAR, n BIGINT, note VARCHAR)";
const QUERY: &str = "SELECT time_bucket('1 hour', time) AS hour, host, count(*) AS rows, sum(n) AS total, min(n) AS low \
     FROM t GROUP BY hour, host";

fn small() -> Settings {
    Settings {
        memtable_bytes_max: 64 << 10,
        memory_bytes_max: 256 << 10,
        wal_segment_bytes: 16 << 10,
        wal_bytes_max: 64 << 10,
        ..kept()
    }
}

/// What the view holds, which must be what its query says.
fn held(sql: &Sql, when: &str) -> Vec<String> {
    let expected = answer(sql, &format!("SELECT * FROM ({QUERY}) ORDER BY 1, 2"));
    assert_eq!(answer(sql, "SELECT * FROM v ORDER BY 1, 2"), expected, "{when}");
    expected
}

/// A row, or a delete, by its number; long enough that a few of them fill a segment of the log.
fn change(sql: &Sql, number: i64) -> Result<()> {
    let time = time_text(1_700_000_000_000_000_000 + (number % 31) * 600_000_000_000);
    let note = "n".repeat(900);
    let insert = format!("INSERT INTO t VALUES ('{time}', 'h{}', {number}, '{note}')", number % 5);
    ask(sql, &insert).map(drop)
}

#[test]
fn a_view_is_its_query_on_a_full_disk_and_once_there_is_room_again() {
    let mut refused = 0;
    for room in [0, 8, 24, 48, 96].map(|kib: u64| kib << 10) {
        let quota = Arc::new(Quota::default());
        quota.set(PLENTY);
        let io = Io { disk: Arc::new(QuotaDisk::new(&quota)), ..Io::memory() };
        let (store, sql) = open(&io, small());
        ask(&sql, TABLE).unwrap();
        ask(&sql, &format!("CREATE MATERIALIZED VIEW v AS {QUERY}")).unwrap();
        let mut rows = Vec::new();
        let mut number = 0;
        for round in 0..3 {
            let when = format!("{room} bytes, round {round}");
            quota.set(PLENTY);
            for _ in 0..20 {
                change(&sql, number).unwrap();
                rows.push(number);
                number += 1;
            }
            sql.fold_views().unwrap();
            quota.set(quota.used() + room);
            for step in 0..120 {
                let done = match step % 6 {
                    4 => sql.fold_views(),
                    5 => store.flush(),
                    _ => change(&sql, number).map(|()| rows.push(number)),
                };
                number += 1;
                if let Err(error) = done {
                    refused += 1;
                    let is_of_room = matches!(error.kind(), ErrorKind::NoSpace | ErrorKind::Busy);
                    assert!(is_of_room, "{when}: {error}");
                    assert!(!store.is_poisoned() && !error.hint().is_empty(), "{when}: {error}");
                }
                if step % 20 == 0 {
                    held(&sql, &when);
                }
            }
            held(&sql, &when);
        }
        quota.set(PLENTY);
        sql.fold_views().unwrap();
        ask(&sql, "DELETE FROM t WHERE n % 7 = 3").unwrap();
        rows.retain(|number| number % 7 != 3);
        let expected = held(&sql, "with room again");
        sql.fold_views().unwrap();
        assert_eq!(held(&sql, "folded"), expected);
        let numbers = |sql: &Sql| answer(sql, "SELECT n FROM t ORDER BY n");
        let all: Vec<String> = rows.iter().map(ToString::to_string).collect();
        assert_eq!(numbers(&sql), all, "{room}");
        drop(sql);
        store.close().unwrap();
        let (_store, sql) = open(&io, small());
        assert_eq!((held(&sql, "opened again"), numbers(&sql)), (expected, all), "{room}");
    }
    assert!(refused > 30, "{refused}: the disk was hardly ever full");
}
