//! Entries that hold what breaks others: none of them stops a question, to it or to its neighbours.

use timestrata_logs::{FacetsOptions, NewEntry, Query};

use crate::support::{found, log, settle};

/// Deeper than a stack is, if each level takes some of it.
const DEEP: usize = 100_000;

fn odd() -> Vec<NewEntry> {
    let with = |message: &str, item: &[u8]| {
        let mut entry = NewEntry::new(message);
        entry.fields.item("odd", |out| out.extend_from_slice(item));
        entry
    };
    let lists = [vec![0x81; DEEP], b"\x64deep".to_vec()].concat();
    let maps = [b"\xa1\x61a".repeat(DEEP), b"\x64deep".to_vec()].concat();
    vec![
        with("lists", &lists),
        with("maps", &maps),
        // Of a name that is there twice, of no UTF-8, of more than there is, of nothing.
        with("twice", b"\xa2\x61a\x01\x61a\x02"),
        with("bytes", b"\x62\xff\xfe"),
        with("short", b"\x9b\xff\xff\xff\xff\xff\xff\xff\xff"),
        with("nothing", b""),
        NewEntry::new("nul \0 nul"),
        NewEntry::new("x".repeat(1 << 20)),
    ]
}

#[test]
fn whatever_an_entry_holds_each_question_is_answered() {
    let logs = log();
    let sent = odd();
    for entry in &sent {
        logs.write(&NewEntry::new("before")).unwrap();
        logs.write(entry).unwrap();
    }
    for _ in 0..2 {
        assert_eq!(found(&logs, &Query::of("before").unwrap()).len(), sent.len());
        assert_eq!(found(&logs, &Query::default()).len(), 2 * sent.len());
        let view = logs.snapshot().unwrap();
        for filter in [
            "deep",
            "odd:deep",
            "odd.a.a:deep",
            "odd:*",
            "odd=1",
            "odd.a>=2",
            "/d.*p/",
            "not nul",
            "odd:d*",
        ] {
            let query = Query::of(filter).unwrap();
            assert_eq!(
                view.count(&query).unwrap() as usize,
                found(&logs, &query).len(),
                "{filter}"
            );
        }
        view.facets(&Query::default(), &FacetsOptions::default()).unwrap();
        view.histogram(&Query::default(), None).unwrap();
        for batch in logs.search(&Query::default()).unwrap() {
            for entry in batch.unwrap().iter() {
                let mut json = String::new();
                entry.write_json(&mut json);
                assert!(
                    serde_json::from_str::<serde_json::Value>(&json).is_ok(),
                    "{}",
                    entry.message()
                );
            }
        }
        settle(&logs);
    }
}
