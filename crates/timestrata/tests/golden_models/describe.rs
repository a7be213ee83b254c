//! What a golden store of the models has to go on giving, as text.

use std::fmt::Write;

use arrow_array::RecordBatch;
use arrow_cast::pretty::pretty_format_batches;
use timestrata_engine::Store;
use timestrata_graph::walk::Order;
use timestrata_graph::{Along, Direction, Find, Graph};
use timestrata_logs::{Logs, Query};
use timestrata_merkle::Hash;
use timestrata_table::{Table, TableScan};
use timestrata_timelog::Timelog;
use timestrata_topic::{Records, Topic};

/// The producer that numbers what it sends.
pub(crate) const PRODUCER: &str = "sensor";
/// Of a long partition each so-manieth record is shown.
const SHOWN_EACH: u64 = 37;

/// Everything that the models say of the store.
pub(crate) fn describe(store: &Store) -> String {
    let mut text = String::new();
    for name in Timelog::names(store) {
        let log = Timelog::open(store, &name).unwrap();
        write!(text, "time log {name}: {:?}, {:?}", log.codec(), log.unit()).unwrap();
        if let Some(min_time) = log.min_time_allowed() {
            write!(text, ", from {min_time} on, {:?}", log.retention().unwrap()).unwrap();
        }
        text.push('\n');
        let blocks = log.range(..).unwrap().blocks();
        put_rows(&mut text, blocks.map(|block| block.unwrap().record_batch().clone()));
    }
    for name in Table::names(store) {
        let table = Table::open(store, &name).unwrap();
        let (key, tags, ids) =
            (table.key().unwrap(), table.tags().unwrap(), table.hands_out_ids().unwrap());
        writeln!(text, "table {name}: key {key:?}, tags {tags:?}, hands out ids: {ids}").unwrap();
        let rows = table.view().unwrap().scan(&TableScan::default()).unwrap();
        put_rows(&mut text, rows.map(Result::unwrap));
    }
    for name in Topic::names(store) {
        let topic = Topic::open(store, &name).unwrap();
        writeln!(
            text,
            "topic {name}: {}, groups {:?}",
            known_then(&topic.options(), "None"),
            topic.groups().unwrap()
        )
        .unwrap();
        (0..topic.partitions()).for_each(|partition| put_partition(&mut text, &topic, partition));
    }
    for name in Graph::names(store) {
        put_graph(&mut text, &Graph::open(store, &name).unwrap());
    }
    for name in Logs::names(store) {
        put_logs(&mut text, &Logs::open(store, &name).unwrap());
    }
    text
}

fn put_logs(text: &mut String, logs: &Logs) {
    writeln!(text, "log {}: {}", logs.name(), known_then(&logs.options(), "Usual")).unwrap();
    writeln!(text, "columns {:?}", logs.columns().unwrap()).unwrap();
    let mut number = 0;
    for batch in logs.search(&Query::default()).unwrap() {
        for entry in batch.unwrap().iter() {
            if number % SHOWN_EACH == 0 || entry.labels_json().is_some() {
                entry.write_json(text);
                text.push('\n');
            }
            number += 1;
        }
    }
    for filter in ["rare", "status:201 level>=error", "cached=true", "nested:1", "path:/3/"] {
        let count = logs.count(&Query::of(filter).unwrap()).unwrap();
        writeln!(text, "{count} of {number}: {filter}").unwrap();
    }
}

fn put_graph(text: &mut String, graph: &Graph) {
    let view = graph.view().unwrap();
    writeln!(text, "graph {}: {:?}", graph.name(), graph.options()).unwrap();
    put_rows(text, view.scan_blocks().unwrap().map(Result::unwrap));
    put_rows(text, view.scan_edges().unwrap().map(Result::unwrap));
    for block in view.find(&Find::default()).unwrap() {
        let versions = view.versions(block.id()).unwrap();
        let versions: Vec<_> =
            versions.iter().map(|kept| (kept.version(), kept.content())).collect();
        let incoming = view.edges(block.id(), Direction::In, &[]).unwrap();
        let walked = view.walk(&[block.id()], &Along::default(), Order::Breadth, |_| true).unwrap();
        writeln!(text, "{}: versions {versions:?}, edges in {incoming:?}", block.id()).unwrap();
        // In which order blocks of one depth come is up to a build.
        let mut reached: Vec<_> =
            walked.blocks.iter().map(|block| (block.depth, block.id)).collect();
        reached.sort_unstable();
        writeln!(text, "reaches {reached:?}").unwrap();
    }
}

/// Rows in one block of text, however they come in batches.
fn put_rows(text: &mut String, batches: impl Iterator<Item = RecordBatch>) {
    let batches: Vec<RecordBatch> = batches.collect();
    writeln!(text, "{}\n", pretty_format_batches(&batches).unwrap()).unwrap();
}

fn put_partition(text: &mut String, topic: &Topic, partition: u32) {
    let kept = topic.offsets(partition).unwrap();
    let (size, root) = topic.root(partition, None).unwrap();
    assert_eq!(topic.audit(partition).unwrap().root, root);
    let next = topic.next_sequence(partition, PRODUCER).unwrap();
    writeln!(text, "partition {partition}: {kept:?}, {size} leaves, root {root}, sequence {next}")
        .unwrap();
    for batch in topic.scan(partition, 0..u64::MAX, None).unwrap() {
        for (offset, record) in Records::of(&batch.unwrap()).unwrap().iter() {
            if offset % SHOWN_EACH == 0 || offset + 1 == size {
                writeln!(text, "{offset}: {record:?}").unwrap();
            }
        }
    }
    if topic.options().keep_entries {
        for offset in (0..kept.start).step_by(10) {
            let leaf = Hash::of_leaf(&topic.entry(partition, offset).unwrap());
            writeln!(text, "entry {offset}: leaf {leaf}").unwrap();
        }
    }
    let checkpoint = topic.last_checkpoint(partition).unwrap().unwrap_or_default();
    writeln!(text, "checkpoint:\n{}", String::from_utf8(checkpoint).unwrap()).unwrap();
}

/// Options without those that came later, where they are what a store has that says nothing of them: the texts beside the stores
/// are as they were when these were written. `packing` is that of a model whose properties say nothing of it.
fn known_then(options: &impl std::fmt::Debug, packing: &str) -> String {
    format!("{options:?}")
        .replace(", groups_age_ns: None", "")
        .replace(", clock: Some(Timestamp)", "")
        .replace(&format!(", compression: Some({packing})"), "")
        .replace(", keep_entries: false", "")
}
