//! One of each model held against what was committed to all of them.

use std::collections::BTreeSet;
use std::fmt::Debug;

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::TimestampSecondType;
use timestrata::ScanSpec;
use timestrata::graph::{Direction, Graph};
use timestrata::logs::{Logs, Query};
use timestrata::merkle::{Hash, verify_inclusion};
use timestrata::table::Table;
use timestrata::timelog::Timelog;
use timestrata::topic::{Records, Topic, record_streams};

use super::model::ModelsModel;
use super::session::{GRAPH, GROUP, KIND, LOG, TABLE, TIMELOG, TOPIC, id, number_of};
use crate::subject::{Judgement, Showing, wrong};

/// Holds a snapshot against a model; models with nothing in them may be missing if they aren't promised.
pub(super) fn compare(showing: &Showing<'_>, model: &ModelsModel) -> Judgement<()> {
    let store = showing.store;
    let is_there = |name: &str| {
        store.stream(name).is_some() || showing.is_made || *model != ModelsModel::default()
    };
    if is_there(TABLE) {
        expect("the table", &rows(showing)?, &model.rows)?;
    }
    if is_there(LOG) {
        expect("the log", &entries(showing)?, &model.entries)?;
    }
    if is_there(TOPIC) {
        compare_topic(showing, model)?;
    }
    if is_there(GRAPH) {
        compare_graph(showing, model)?;
    }
    if is_there(TIMELOG) {
        let view = Timelog::open(store, TIMELOG)?.view_of(showing.snapshot.clone());
        let values = view.range(..)?.entries().map(|entry| entry.map(|entry| entry.time));
        let values = values.collect::<timestrata::Result<BTreeSet<i64>>>()?;
        expect("the time log", &values, &model.values)?;
    }
    Ok(())
}

fn expect<T: Debug + PartialEq>(what: &str, found: &T, expected: &T) -> Judgement<()> {
    match found == expected {
        true => Ok(()),
        false => wrong(format!("{what} has {found:?}, expected {expected:?}")),
    }
}

fn rows(showing: &Showing<'_>) -> Judgement<BTreeSet<i64>> {
    let table = Table::open(showing.store, TABLE)?;
    let mut rows = BTreeSet::new();
    for batch in showing.snapshot.scan(table.id(), &ScanSpec::default())? {
        let batch = batch?;
        let times = batch.column(0).as_primitive_opt::<TimestampSecondType>();
        let texts = batch.column(1).as_string_opt::<i32>();
        let (Some(times), Some(texts)) = (times, texts) else {
            return wrong("the table has other columns".to_owned());
        };
        for row in 0..texts.len() {
            if number_of(texts.value(row)) != times.value(row) {
                return wrong(format!("the table has another text at {}", times.value(row)));
            }
            rows.insert(times.value(row));
        }
    }
    Ok(rows)
}

fn entries(showing: &Showing<'_>) -> Judgement<Vec<i64>> {
    let view = Logs::open(showing.store, LOG)?.view_of(showing.snapshot.clone())?;
    let mut entries = Vec::new();
    for batch in view.search(&Query::default())? {
        entries.extend(batch?.iter().map(|entry| number_of(entry.message())));
    }
    Ok(entries)
}

fn compare_topic(showing: &Showing<'_>, model: &ModelsModel) -> Judgement<()> {
    let store = showing.store;
    let stream = store.expect_stream(TOPIC)?;
    let records = store.expect_stream(&record_streams(&stream).next().unwrap_or_default())?;
    let mut found = Vec::new();
    for batch in showing.snapshot.scan(records.id(), &ScanSpec::default())? {
        for (offset, record) in Records::of(&batch?)?.iter() {
            if offset != found.len() as u64 {
                return wrong(format!(
                    "the topic has offset {offset} behind {} records",
                    found.len()
                ));
            }
            let text = String::from_utf8_lossy(record.value.unwrap_or_default()).into_owned();
            found.push(number_of(&text));
        }
    }
    expect("the topic", &found, &model.records)?;
    if !showing.is_live()? {
        return Ok(());
    }
    // What it says of itself now, and that its tree is of these records.
    let (topic, end) = (Topic::open(store, TOPIC)?, found.len() as u64);
    expect("the topic's offsets", &topic.offsets(0)?, &(0..end))?;
    expect("the group", &topic.committed(GROUP, 0)?, &model.read_to)?;
    let (size, root) = topic.root(0, None)?;
    expect("the topic's tree", &size, &end)?;
    for offset in 0..end {
        let leaf = Hash::of_leaf(&topic.entry(0, offset)?);
        let proof = topic.inclusion_proof(0, offset, end)?;
        if verify_inclusion(leaf, offset, end, &proof, root).is_err() {
            return wrong(format!("the topic proves record {offset} of {end} wrongly"));
        }
    }
    Ok(())
}

fn compare_graph(showing: &Showing<'_>, model: &ModelsModel) -> Judgement<()> {
    let view = Graph::open(showing.store, GRAPH)?.view_at(showing.snapshot.clone());
    let expected = model.blocks.len() as u64;
    expect("the graph's blocks", &view.block_count()?, &expected)?;
    expect("the graph's edges", &view.edge_count()?, &expected)?;
    for number in &model.blocks {
        let block = view.get(id(*number))?;
        let found = block.map(|block| number_of(&String::from_utf8_lossy(block.content())));
        expect("the graph's block", &found, &Some(*number))?;
        let edges = view.edges(id(*number), Direction::Out, &[KIND])?;
        expect("the graph's edges of a block", &edges.len(), &1)?;
    }
    Ok(())
}
