//! The five questions of JSONBench, a public benchmark of stores for JSON, over entries of a log that are shaped as its events
//! are. What they answer is held against what plain code makes of the same events.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::Rng as _;
use proptest::test_runner::{RngAlgorithm, TestRng};
use timestrata_engine::{Durability, Store};
use timestrata_logs::{Logs, LogsOptions, NewEntry};
use timestrata_values::cbor;

use crate::support::{answer, memory, sql};

const EVENTS: usize = 6_000;
const COLLECTIONS: [&str; 4] =
    ["app.bsky.feed.post", "app.bsky.feed.like", "app.bsky.feed.repost", "app.bsky.graph.follow"];
const HOUR_US: i64 = 3_600_000_000;

#[derive(Debug, Clone)]
struct Event {
    did: String,
    kind: &'static str,
    time_us: i64,
    /// What was done, and in which collection, if it is a commit.
    commit: Option<(&'static str, &'static str)>,
}

fn events() -> Vec<Event> {
    let mut rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut below = |end: usize| (rng.next_u32() as usize) % end;
    let begin_us = 1_732_206_349_000_167;
    let each = (0..EVENTS).map(|number| {
        let kind = match below(20) {
            0 => "identity",
            1 => "account",
            _ => "commit",
        };
        let operation = if below(8) == 0 { "delete" } else { "create" };
        let collection = COLLECTIONS[below(COLLECTIONS.len())];
        Event {
            did: format!("did:plc:{:04}", below(500)),
            kind,
            // In order by and large, over nine hours, each once.
            time_us: begin_us + number as i64 * 5_400_000 + below(5_000_000) as i64,
            commit: (kind == "commit").then_some((operation, collection)),
        }
    });
    each.collect()
}

fn entry(event: &Event) -> NewEntry {
    let mut entry = NewEntry::new("");
    entry.source_time = Some(event.time_us * 1_000);
    entry.fields.text("did", &event.did).int("time_us", event.time_us).text("kind", event.kind);
    if let Some((operation, collection)) = event.commit {
        entry.fields.item("commit", |out| {
            cbor::head(out, cbor::MAP, 4);
            for (name, text) in [("rev", "3lbhuvzds6d2a"), ("operation", operation)] {
                cbor::text(out, name);
                cbor::text(out, text);
            }
            cbor::text(out, "collection");
            cbor::text(out, collection);
            cbor::text(out, "record");
            cbor::head(out, cbor::MAP, 1);
            cbor::text(out, "langs");
            cbor::head(out, cbor::LIST, 1);
            cbor::text(out, "en");
        });
    }
    entry
}

const QUESTIONS: [&str; 5] = [
    "SELECT fields->'commit'->>'collection' AS event, count(*) AS count FROM bluesky \
     GROUP BY event ORDER BY count DESC, event",
    "SELECT fields->'commit'->>'collection' AS event, count(*) AS count, count(DISTINCT fields->>'did') AS users \
     FROM bluesky WHERE fields->>'kind' = 'commit' AND fields->'commit'->>'operation' = 'create' \
     GROUP BY event ORDER BY count DESC, event",
    "SELECT fields->'commit'->>'collection' AS event, \
            date_part('hour', to_timestamp_micros(CAST(fields->>'time_us' AS BIGINT))) AS hour_of_day, count(*) AS count \
     FROM bluesky WHERE fields->>'kind' = 'commit' AND fields->'commit'->>'operation' = 'create' \
       AND fields->'commit'->>'collection' IN ('app.bsky.feed.post', 'app.bsky.feed.repost', 'app.bsky.feed.like') \
     GROUP BY event, hour_of_day ORDER BY hour_of_day, event",
    "SELECT fields->>'did' AS user_id, min(json_get_int(fields, 'time_us')) AS first_post FROM bluesky \
     WHERE fields->>'kind' = 'commit' AND fields->'commit'->>'operation' = 'create' \
       AND fields->'commit'->>'collection' = 'app.bsky.feed.post' \
     GROUP BY user_id ORDER BY first_post LIMIT 3",
    "SELECT fields->>'did' AS user_id, \
            max(json_get_int(fields, 'time_us')) - min(json_get_int(fields, 'time_us')) AS activity_span FROM bluesky \
     WHERE fields->>'kind' = 'commit' AND fields->'commit'->>'operation' = 'create' \
       AND fields->'commit'->>'collection' = 'app.bsky.feed.post' \
     GROUP BY user_id ORDER BY activity_span DESC, user_id LIMIT 3",
];

/// Groups by how many each has, the most first.
fn most_first<T: Ord>(counts: BTreeMap<T, usize>) -> Vec<(T, usize)> {
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
    counts
}

/// What the questions answer, worked out event by event.
fn expected(events: &[Event]) -> [Vec<String>; 5] {
    let created: Vec<(&Event, &str)> = events
        .iter()
        .filter_map(|event| match event.commit {
            Some(("create", collection)) => Some((event, collection)),
            _ => None,
        })
        .collect();
    let mut by_collection = BTreeMap::new();
    for event in events {
        let collection = event.commit.map_or("NULL", |(_, collection)| collection);
        *by_collection.entry(collection).or_default() += 1;
    }
    let first =
        most_first(by_collection).into_iter().map(|(event, count)| format!("{event} {count}"));

    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut users: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (event, collection) in &created {
        *counts.entry(collection).or_default() += 1;
        users.entry(collection).or_default().insert(&event.did);
    }
    let second = most_first(counts)
        .into_iter()
        .map(|(event, count)| format!("{event} {count} {}", users[event].len()));

    let mut hourly: BTreeMap<(i64, &str), usize> = BTreeMap::new();
    for (event, collection) in &created {
        if *collection != "app.bsky.graph.follow" {
            *hourly.entry((event.time_us / HOUR_US % 24, collection)).or_default() += 1;
        }
    }
    let third = hourly.into_iter().map(|((hour, event), count)| format!("{event} {hour} {count}"));

    let mut posts: BTreeMap<&str, (i64, i64)> = BTreeMap::new();
    for (event, _) in created.iter().filter(|(_, collection)| *collection == "app.bsky.feed.post") {
        let (min, max) = posts.entry(&event.did).or_insert((event.time_us, event.time_us));
        (*min, *max) = ((*min).min(event.time_us), (*max).max(event.time_us));
    }
    let mut firsts: Vec<_> = posts.iter().map(|(did, (min, _))| (*min, *did)).collect();
    firsts.sort_unstable();
    let fourth = firsts.into_iter().take(3).map(|(min, did)| format!("{did} {min}"));
    let mut spans: Vec<_> = posts.iter().map(|(did, (min, max))| (min - max, *did)).collect();
    spans.sort_unstable();
    let fifth = spans.into_iter().take(3).map(|(span, did)| format!("{did} {}", -span));
    [first.collect(), second.collect(), third.collect(), fourth.collect(), fifth.collect()]
}

fn write(store: &Store, events: &[Event], columns_max: usize) -> Logs {
    let options = LogsOptions { columns_max, ..LogsOptions::default() };
    let logs = Logs::create(store, "bluesky", &options).unwrap();
    for part in events.chunks(250) {
        let entries: Vec<NewEntry> = part.iter().map(entry).collect();
        logs.write_many(&entries, Durability::Written).unwrap();
    }
    logs
}

#[test]
fn the_five_questions_of_a_benchmark_of_json_have_the_answers_that_plain_code_finds() {
    let events = events();
    let expected = expected(&events);
    assert!(expected.iter().all(|rows| rows.len() >= 3));
    for columns_max in [0, 32] {
        let store = memory();
        let logs = write(&store, &events, columns_max);
        let sql = sql(&store);
        for state in 0..3 {
            for (question, expected) in QUESTIONS.iter().zip(&expected) {
                assert_eq!(answer(&sql, question), *expected, "{question} in state {state}");
            }
            match state {
                0 => logs.flush().unwrap(),
                _ => logs.compact().unwrap(),
            };
        }
    }
}
