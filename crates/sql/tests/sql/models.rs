//! Table functions over one log, graph or topic: `search`, `walk`, `shortest_path`, `proof`.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use timestrata_engine::{Durability, ErrorKind, Store};
use timestrata_graph::{BlockId, Edge, Graph, GraphChanges, GraphOptions, NewBlock};
use timestrata_logs::{Level, Logs, LogsOptions, NewEntry, Query};
use timestrata_merkle::{Hash, KeyName, Signer, TlogProof, verify_inclusion};
use timestrata_sql::{Params, Sql, SqlOptions};
use timestrata_topic::{Record, SendOptions, Topic, TopicOptions, verify_record};

use crate::support::{answer, ask, lines, memory, plan, sql};

fn write_entries(logs: &Logs) {
    for index in 0..6_000_usize {
        let mut entry = NewEntry::new(format!("GET /page/{} took {} ms", index % 17, index % 311));
        entry.level = Some(if index.is_multiple_of(10) { Level::Error } else { Level::Info });
        entry.source_time = Some(index as i64 * 1_000_000_000);
        entry.fields.int("status", if index.is_multiple_of(10) { 500 } else { 200 });
        entry.fields.text("agent", &format!("browser {}", index % 3));
        if index == 4_321 {
            entry.fields.text("rare", "needle");
        }
        logs.write(&entry).unwrap();
    }
}

const FILTERS: [&str; 10] = [
    "*",
    "level>=error",
    "needle",
    "status:5* agent:\"browser 1\"",
    "page -agent:\"browser 2\" status<300",
    "message:/took 3\\d ms/",
    "rare:* or (level:error agent=\"browser 0\")",
    "nobody",
    "source_time>=1970-01-01T01:00:00Z level:error",
    "status=500 not took",
];

#[test]
fn a_search_in_sql_finds_what_the_log_finds_in_each_state() {
    let store = memory();
    let logs = Logs::create(&store, "app", &LogsOptions::default()).unwrap();
    let sql = sql(&store);
    assert!(answer(&sql, "SELECT * FROM search(app, 'x or *')").is_empty());
    write_entries(&logs);
    for state in 0..3 {
        for filter in FILTERS {
            let hits = logs.search(&Query::of(filter).unwrap()).unwrap();
            let mut expected = Vec::new();
            for entries in hits {
                let entries = entries.unwrap();
                expected.extend(entries.iter().map(|entry| entry.message().to_owned()));
            }
            let text = filter.replace('\'', "''");
            let all = format!("SELECT message FROM search(app, '{text}') ORDER BY timestamp");
            assert_eq!(answer(&sql, &all), expected, "{filter} in state {state}");
            let count = format!("SELECT count(*) FROM search('app', '{text}')");
            assert_eq!(answer(&sql, &count), [expected.len().to_string()], "{filter}");
            let newest = format!(
                "SELECT message FROM search(app, '{text}') ORDER BY timestamp DESC LIMIT 3"
            );
            let last: Vec<_> = expected.iter().rev().take(3).cloned().collect();
            assert_eq!(answer(&sql, &newest), last, "{filter}");
            let more = format!(
                "SELECT count(*) FROM search(log => app, filter => '{text}') AS found \
                 WHERE found.status = 500 AND fields->>'agent' = 'browser 0'"
            );
            let both = format!("({filter}) status=500 agent=\"browser 0\"");
            let both = if filter == "*" { "status=500 agent=\"browser 0\"" } else { &both };
            let both = logs.count(&Query::of(both).unwrap()).unwrap();
            assert_eq!(answer(&sql, &more), [both.to_string()], "{filter}");
        }
        if state == 0 {
            logs.flush().unwrap();
        } else {
            logs.compact().unwrap();
        }
    }
    let found = plan(&sql, "SELECT level FROM search(app, 'needle')");
    assert!(found.contains("filter=search(needle), words"), "{found}");
}

#[test]
fn a_search_says_what_is_wrong_with_it() {
    let store = memory();
    Logs::create(&store, "app", &LogsOptions::default()).unwrap();
    Topic::create(&store, "events", &TopicOptions::default()).unwrap();
    let sql = sql(&store);
    for (wrong, why) in [
        ("search(app, 'level>=loud')", "expected a level"),
        ("search(events, 'x')", "'events' is no log"),
        ("search(nothing, 'x')", "there is no table 'nothing'"),
        ("search(app)", "needs its argument 'filter'"),
        ("search(app, 5)", "language of filters"),
        ("search(app, 'x', 'y')", "has no argument"),
        ("walk(app, '00000000000000000000000000000000')", "'app' is no graph"),
        ("proof(app, 0)", "'app' is no topic"),
    ] {
        let error = ask(&sql, &format!("SELECT * FROM {wrong}")).unwrap_err().to_string();
        assert!(error.contains(why), "{wrong}: {error}");
    }
}

fn id(number: u8) -> BlockId {
    BlockId::new([number; 16])
}

fn hex(number: u8) -> String {
    id(number).to_string()
}

/// Targets and kinds, by source.
type Edges = BTreeMap<u8, Vec<(u8, &'static str)>>;

/// A ring of 40 blocks by `next`, shortcuts of seven by `jump`, and one block without a way back.
fn graph(store: &Store) -> (Graph, Edges) {
    let graph = Graph::create(store, "code", &GraphOptions::default()).unwrap();
    let mut edges = Edges::new();
    for number in 0..40 {
        edges.entry(number).or_default().push(((number + 1) % 40, "next"));
        if number.is_multiple_of(3) {
            edges.entry(number).or_default().push(((number + 7) % 40, "jump"));
        }
    }
    edges.entry(39).or_default().push((99, "jump"));
    let mut changes = GraphChanges::new();
    let names: Vec<String> = (0..40).map(|number| format!("block {number}")).collect();
    for number in 0..40_u8 {
        changes = changes.put(NewBlock {
            id: Some(id(number)),
            source_uri: Some(&names[usize::from(number)]),
            metadata: Some(r#"{"lines": 3}"#),
            ..NewBlock::default()
        });
    }
    for (source, targets) in &edges {
        for (target, kind) in targets {
            let weight = Some(if *kind == "jump" { 10.0 } else { 1.0 });
            changes = changes.link(Edge { weight, ..Edge::new(id(*source), *kind, id(*target)) });
        }
    }
    graph.change(&changes, Durability::Written).unwrap();
    (graph, edges)
}

/// How many edges away each block is, at most so many.
fn depths(edges: &Edges, start: u8, kinds: &[&str], depth_max: usize) -> BTreeSet<(String, usize)> {
    let mut found = BTreeMap::from([(start, 0)]);
    let mut queue = VecDeque::from([start]);
    while let Some(block) = queue.pop_front() {
        let depth = found[&block];
        for (next, kind) in edges.get(&block).into_iter().flatten() {
            if depth < depth_max && kinds.contains(kind) && !found.contains_key(next) {
                found.insert(*next, depth + 1);
                queue.push_back(*next);
            }
        }
    }
    found.into_iter().map(|(block, depth)| (hex(block), depth)).collect()
}

#[test]
fn a_walk_gives_each_block_once_with_its_depth_parent_and_kind() {
    let store = memory();
    let (_, edges) = graph(&store);
    let sql = sql(&store);
    for _ in 0..2 {
        for (arguments, kinds, depth) in [
            ("".to_owned(), &["next", "jump"][..], usize::MAX),
            (", 3".to_owned(), &["next", "jump"], 3),
            (", kinds => 'next', depth => 5".to_owned(), &["next"], 5),
            (", kinds => ['next', 'jump']".to_owned(), &["next", "jump"], usize::MAX),
            (", 0".to_owned(), &["next"], 0),
        ] {
            let walk = format!("SELECT id, depth FROM walk(code, '{}'{arguments})", hex(5));
            let found: BTreeSet<_> = answer(&sql, &walk)
                .into_iter()
                .map(|line| {
                    let (id, depth) = line.split_once(' ').unwrap();
                    (id.to_owned(), depth.parse().unwrap())
                })
                .collect();
            assert_eq!(found, depths(&edges, 5, kinds, depth), "{arguments}");
        }
        let first = format!(
            "SELECT w.step, b.source_uri, w.depth, p.source_uri, w.kind, b.metadata->>'lines' \
             FROM walk(graph => code, start => X'{}', depth => 1) w JOIN code b ON b.id = w.id \
             LEFT JOIN code p ON p.id = w.parent ORDER BY w.depth, w.kind",
            hex(3)
        );
        let rows = answer(&sql, &first);
        assert_eq!(rows[0], "0 block 3 0 NULL NULL 3");
        assert_eq!(rows[1].split_once(' ').unwrap().1, "block 10 1 block 3 jump 3");
        assert_eq!(rows[2].split_once(' ').unwrap().1, "block 4 1 block 3 next 3");
        let back = format!("SELECT count(*) FROM walk(code, '{}', direction => 'in')", hex(99));
        assert_eq!(answer(&sql, &back), ["41"]);
        let many = format!(
            "SELECT count(*) FROM walk(code, '{}, {}', order => 'depth', nodes_max => 7)",
            hex(1),
            hex(2)
        );
        assert_eq!(answer(&sql, &many), ["7"]);
        let nowhere = format!("SELECT id, depth, kind FROM walk(code, '{}')", hex(77));
        assert_eq!(answer(&sql, &nowhere), [format!("{} 0 NULL", hex(77))]);
        store.flush().unwrap();
    }
    assert!(
        plan(&sql, &format!("SELECT id FROM walk(code, '{}')", hex(1)))
            .contains("Walk: graph=code")
    );
}

#[test]
fn a_shortest_path_has_its_blocks_in_order_with_the_edges_between_them() {
    let store = memory();
    graph(&store);
    let sql = sql(&store);
    let path = |arguments: &str| {
        let query = format!(
            "SELECT b.source_uri, p.kind, p.cost FROM shortest_path(code, {arguments}) p \
             LEFT JOIN code b ON b.id = p.id ORDER BY p.step"
        );
        answer(&sql, &query)
    };
    let (three, eleven) = (hex(3), hex(11));
    let short = path(&format!("'{three}', '{eleven}'"));
    assert_eq!(short, ["block 3 NULL 2.0", "block 10 jump 2.0", "block 11 next 2.0"]);
    let cheap = path(&format!("'{three}', '{eleven}', by_weight => true"));
    assert_eq!((cheap.len(), cheap[8].as_str()), (9, "block 11 next 8.0"));
    assert!(path(&format!("'{three}', '{eleven}', depth => 1")).is_empty());
    assert!(path(&format!("'{}', '{three}'", hex(99))).is_empty());
    assert_eq!(path(&format!("'{three}', '{three}'")), ["block 3 NULL 0.0"]);
    assert_eq!(
        path(&format!("'{}', '{}', direction => 'both', kinds => 'next'", hex(2), hex(0))).len(),
        3
    );
    for (wrong, why) in [
        (format!("'{three}', 'xyz'"), "32 hexadecimal digits"),
        (format!("'{three}', '{eleven},{three}'"), "one block"),
        (format!("'{three}', '{eleven}', direction => 'up'"), "'out', 'in' or 'both'"),
        (format!("'{three}', '{eleven}', depth => -1"), "from 0 on"),
        (format!("'{three}', '{eleven}', 2, by_weight => true"), "no depth"),
    ] {
        let query = format!("SELECT * FROM shortest_path(code, {wrong})");
        let error = ask(&sql, &query).unwrap_err().to_string();
        assert!(error.contains(why), "{wrong}: {error}");
    }
}

#[test]
fn arguments_of_table_functions_may_be_parameters() {
    let store = memory();
    graph(&store);
    write_entries(&Logs::create(&store, "app", &LogsOptions::default()).unwrap());
    let sql = sql(&store);
    let ask = |query: &str, params: Params| {
        let rows = sql.query_blocking(query, params).unwrap();
        lines(&rows.collect::<Result<Vec<_>, _>>().unwrap())
    };
    let needle = Params::from(vec!["needle".into(), 500_i64.into()]);
    let search = "SELECT count(*) FROM search(app, $1) WHERE status < $2";
    assert_eq!(ask(search, needle), ["1"]);
    let walk = "SELECT count(*) FROM walk(code, ?, ?, direction => ?)";
    let params = Params::from(vec![hex(5).as_str().into(), 2_i64.into(), "out".into()]);
    assert_eq!(ask(walk, params), ["4"]);
    let start = datafusion::common::ScalarValue::Binary(Some(id(5).bytes().to_vec()));
    let by_name = Params::named([("start", start)]);
    assert_eq!(ask("SELECT id FROM walk(code, $start, 0)", by_name), [hex(5)]);
}

#[test]
fn a_walk_ends_with_its_query() {
    let store = memory();
    graph(&store);
    let query = store.begin_query("a walk", None);
    let sql = sql(&store).for_query(&query);
    assert!(store.cancel_query(query.id()));
    let walk = format!("SELECT count(*) FROM walk(code, '{}')", hex(1));
    let error = sql
        .query_blocking(&walk, Params::none())
        .and_then(|rows| rows.collect::<Result<Vec<_>, _>>());
    assert_eq!(error.unwrap_err().kind(), ErrorKind::Cancelled);
}

fn send(topic: &Topic, number: usize) {
    let text = format!("event {number}");
    let record = Record {
        value: Some(text.as_bytes()),
        timestamp_ns: Some(number as i64),
        partition: Some(1),
        ..Record::default()
    };
    topic.send(&record, &SendOptions::default()).unwrap();
}

fn bytes(text: &str) -> Vec<u8> {
    let pair = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).unwrap();
    (0..text.len()).step_by(2).map(pair).collect()
}

/// Size, root, leaf and hashes of a proof in SQL, and its text where one was signed.
fn proof(sql: &Sql, offset: usize) -> (u64, Hash, Hash, Vec<Hash>, Option<String>) {
    let query = format!(
        "SELECT size, root, leaf, hashes, replace(signed, chr(10), '~') FROM proof(events, {offset}, partition => 1)"
    );
    let row = answer(sql, &query).remove(0);
    let mut parts = row.splitn(4, ' ');
    let size = parts.next().unwrap().parse().unwrap();
    let of = |text: &str| Hash(bytes(text).try_into().unwrap());
    let (root, leaf) = (of(parts.next().unwrap()), of(parts.next().unwrap()));
    let (hashes, signed) = parts.next().unwrap().split_once(']').unwrap();
    let hashes = hashes.trim_start_matches('[').split(", ").filter(|text| !text.is_empty());
    let signed = signed.trim();
    let signed = (signed != "NULL").then(|| signed.replace('~', "\n"));
    (size, root, leaf, hashes.map(of).collect(), signed)
}

#[test]
fn a_proof_in_sql_is_one_of_the_record_at_the_snapshot_of_the_query() {
    let store = memory();
    let options = TopicOptions { partitions: 2, ..TopicOptions::default() };
    let topic = Topic::create(&store, "events", &options).unwrap();
    (0..300).for_each(|number| send(&topic, number));
    let now = sql(&store);
    let before = now.at_snapshot(store.snapshot().unwrap());
    let signer = Signer::from_seed(KeyName::new("example.org/log").unwrap(), [7; 32]);
    topic.checkpoint(1, &signer, None).unwrap();
    (300..700).for_each(|number| send(&topic, number));
    store.flush().unwrap();
    for (sql, size, has_signed) in [(&before, 300, false), (&now, 700, true)] {
        for offset in [0, 7, 255, 256, 299] {
            let (found, root, leaf, hashes, signed) = proof(sql, offset);
            assert_eq!((found, signed.is_some()), (size, has_signed));
            let entry = topic.entry(1, offset as u64).unwrap();
            assert_eq!(leaf, Hash::of_leaf(&entry));
            assert_eq!(root, topic.root(1, Some(size)).unwrap().1);
            verify_inclusion(leaf, offset as u64, size, &hashes, root).unwrap();
            if let Some(signed) = signed {
                let text = format!("event {offset}");
                let value = Some(text.as_bytes());
                let record =
                    Record { value, timestamp_ns: Some(offset as i64), ..Record::default() };
                let proved = verify_record(
                    &TlogProof::parse(signed.as_bytes()).unwrap(),
                    &record,
                    signer.verifier(),
                );
                assert_eq!(proved.unwrap().offset, offset as u64);
            }
        }
    }
    // The checkpoint doesn't have it yet.
    assert_eq!(proof(&now, 500).4, None);
    for (sql, wrong) in [
        (&now, "proof(events, 700, 1)"),
        (&now, "proof(events, 0)"),
        (&before, "proof(events, 300, 1)"),
    ] {
        let error = ask(sql, &format!("SELECT * FROM {wrong}")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::OutOfRange, "{error}");
    }
    let error = ask(&now, "SELECT * FROM proof(events, 0, 9)").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    let read_only = Sql::new(&store, SqlOptions::default()).unwrap();
    assert_eq!(answer(&read_only, "SELECT size FROM proof(events, 0, 1)"), ["700"]);
}
