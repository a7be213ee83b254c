//! A topic in SQL: one table over all of its partitions.

use timestrata_engine::{Settings, Store};
use timestrata_sql::{Sql, SqlOptions};
use timestrata_topic::{Record, SendOptions, Topic, TopicOptions, TopicRetention};

use crate::support::{answer, ask, plan, sql};

fn store() -> (Store, Topic) {
    let store = Store::memory(Settings::default()).unwrap();
    let options = TopicOptions { partitions: 3, ..TopicOptions::default() };
    let topic = Topic::create(&store, "events", &options).unwrap();
    for partition in 0..3 {
        let texts: Vec<String> = (0..10).map(|n| format!("{partition}-{n}")).collect();
        let records: Vec<Record<'_>> = texts
            .iter()
            .map(|text| Record {
                key: Some(b"k"),
                value: Some(text.as_bytes()),
                headers: vec![("source", b"radar")],
                timestamp_ns: Some(1_000),
                partition: None,
            })
            .collect();
        let options = SendOptions { partition: Some(partition), ..SendOptions::default() };
        topic.send_batch(&records, &options).unwrap();
    }
    (store, topic)
}

#[test]
fn a_topic_is_one_table_of_all_its_partitions() {
    let (store, topic) = store();
    let sql = sql(&store);
    assert_eq!(sql.tables().unwrap(), ["events"]);
    let columns = "SELECT column_name FROM information_schema.columns WHERE table_name = 'events'";
    let names = ["partition", "offset", "timestamp", "key", "value", "headers"];
    assert_eq!(answer(&sql, columns), names);
    assert_eq!(answer(&sql, "SELECT count(*) FROM events"), ["30"]);
    let each =
        "SELECT partition, count(*), max(\"offset\") FROM events GROUP BY partition ORDER BY 1";
    assert_eq!(answer(&sql, each), ["0 10 9", "1 10 9", "2 10 9"]);
    let one =
        "SELECT arrow_cast(value, 'Utf8') FROM events WHERE partition = 1 AND \"offset\" >= 8";
    assert_eq!(answer(&sql, one), ["1-8", "1-9"]);
    let other =
        "SELECT \"offset\", partition FROM events WHERE \"offset\" = 3 ORDER BY partition DESC";
    assert_eq!(answer(&sql, other), ["3 2", "3 1", "3 0"]);
    assert_eq!(answer(&sql, "SELECT count(*) FROM events WHERE partition = 7"), ["0"]);
    let header = "SELECT arrow_cast(headers[1]['value'], 'Utf8') FROM events LIMIT 1";
    assert_eq!(answer(&sql, header), ["radar"]);
    // What is thrown away is not there any more, what comes later is.
    topic.set_retention(TopicRetention { records: Some(2), ..TopicRetention::default() }).unwrap();
    topic.retain().unwrap();
    topic.set_partitions(4).unwrap();
    topic
        .send(&Record::default(), &SendOptions { partition: Some(3), ..Default::default() })
        .unwrap();
    assert_eq!(answer(&sql, "SELECT count(*), count(key) FROM events"), ["7 6"]);
}

#[test]
fn only_the_partition_that_is_asked_for_is_read() {
    let (store, _) = store();
    let one = plan(&sql(&store), "SELECT value FROM events WHERE partition = 2 AND \"offset\" < 5");
    assert_eq!(one.matches("events/2").count(), 1, "{one}");
    assert!(!one.contains("events/1") && !one.contains("FilterExec"), "{one}");
}

#[test]
fn a_topic_takes_no_statements_that_write() {
    let (store, _) = store();
    let sql = Sql::open(&store, SqlOptions::default()).unwrap();
    for statement in
        ["DELETE FROM events", "DROP TABLE events", "INSERT INTO events SELECT * FROM events"]
    {
        let error = ask(&sql, statement).unwrap_err().to_string();
        assert!(error.contains("'events' is not a table"), "{statement}: {error}");
    }
    assert_eq!(answer(&sql, "SELECT count(*) FROM events"), ["30"]);
}
