//! Topics held against their model: records, trees, proofs, groups, producers, checkpoints.

use std::collections::BTreeMap;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use timestrata_engine::ScanSpec;
use timestrata_merkle::{Checkpoint, Note, verify_consistency, verify_inclusion};
use timestrata_topic::{Records, Topic, record_streams};

use super::model::{Part, PartModel, TopicRecord, TopicsModel};
use super::session::{BESIDE, GROUP, PRODUCER};
use crate::subject::{Judgement, Showing, wrong};

/// Holds a snapshot against a model; topics without a record may be missing if they aren't promised.
pub(super) fn compare(showing: &Showing<'_>, model: &TopicsModel) -> Judgement<()> {
    let is_live = showing.is_live()?;
    for part in Part::ALL {
        let (name, number) = part.place();
        let of = model.part(part);
        if showing.store.stream(name).is_none() && !showing.is_made && of.end() == 0 {
            continue;
        }
        compare_part(showing, part, &of, is_live)
            .map_err(|problem| problem.of(format_args!("partition {number} of '{name}'")))?;
    }
    if is_live && let Ok(topic) = Topic::open(showing.store, Part::Log.place().0) {
        let sequence = topic.next_sequence(0, PRODUCER)?;
        if sequence != model.sequence {
            let expected = model.sequence;
            return wrong(format!(
                "sequence {sequence} is next for a producer, expected {expected}"
            ));
        }
    }
    compare_beside(showing, model)
}

fn compare_beside(showing: &Showing<'_>, model: &TopicsModel) -> Judgement<()> {
    let mut found = Vec::new();
    if let Some(stream) = showing.store.stream(BESIDE) {
        let rows = showing.snapshot.collect(stream.id(), &ScanSpec::default())?;
        if let Some(rows) = rows.columns().first().and_then(|c| c.as_primitive_opt::<Int64Type>()) {
            found.extend(rows.values().iter().copied());
        }
    }
    let mut expected = model.beside.clone();
    expected.sort_unstable();
    match found == expected {
        true => Ok(()),
        false => wrong(format!("the stream beside has rows {found:?}, expected {expected:?}")),
    }
}

fn compare_part(
    showing: &Showing<'_>,
    part: Part,
    model: &PartModel,
    is_live: bool,
) -> Judgement<()> {
    let Showing { store, snapshot, .. } = *showing;
    let (name, number) = part.place();
    let topic = Topic::open(store, name)?;
    let stream = store.expect_stream(name)?;
    let records = record_streams(&stream).nth(number as usize).unwrap_or_default();
    let records = store.expect_stream(&records)?;
    let mut found = BTreeMap::new();
    for batch in snapshot.scan(records.id(), &ScanSpec::default())? {
        for (offset, record) in Records::of(&batch?)?.iter() {
            let text =
                |bytes: Option<&[u8]>| bytes.map(|b| String::from_utf8_lossy(b).into_owned());
            found.insert(offset, (text(record.key), text(record.value), record.timestamp_ns));
        }
    }
    let shown = |record: &TopicRecord| {
        (record.key.map(str::to_owned), Some(record.value.clone()), Some(record.time))
    };
    let expected: BTreeMap<_, _> =
        model.records.iter().map(|(offset, record)| (*offset, shown(record))).collect();
    if found != expected {
        return wrong(format!("has records {found:?}, expected {expected:?}"));
    }
    match is_live {
        true => compare_live(&topic, number, model),
        false => Ok(()),
    }
}

/// What a topic says of itself now.
fn compare_live(topic: &Topic, number: u32, model: &PartModel) -> Judgement<()> {
    let (offsets, end) = (topic.offsets(number)?, model.end());
    if offsets != (model.floor..end) {
        return wrong(format!("has offsets {offsets:?}, expected {}..{end}", model.floor));
    }
    let (size, root) = topic.root(number, None)?;
    if (size, root) != (end, model.root(end)) {
        return wrong(format!("has root {root} at {size}, expected {} at {end}", model.root(end)));
    }
    if topic.committed(GROUP, number)? != model.group {
        return wrong("has another offset of the group".to_owned());
    }
    for offset in (0..end).step_by(1 + end as usize / 8) {
        let proof = topic.inclusion_proof(number, offset, end)?;
        let leaf = model.leaf(offset).unwrap_or(root);
        if verify_inclusion(leaf, offset, end, &proof, root).is_err() {
            return wrong(format!("proves record {offset} of {end} wrongly"));
        }
    }
    // Nothing that was ever signed is taken back.
    for (size, signed) in &model.signed {
        if topic.root(number, Some(*size))?.1 != *signed {
            return wrong(format!("has another root at {size} than was signed"));
        }
        if *size > 0 {
            let proof = topic.consistency_proof(number, *size, end)?;
            if verify_consistency(*size, end, &proof, *signed, root).is_err() {
                return wrong(format!("is not shown to go on from the {size} records signed"));
            }
        }
    }
    let last = topic.last_checkpoint(number)?;
    let last = last.map(|note| Note::parse(&note).and_then(|note| note.text().parse()));
    let last: Option<Checkpoint> = match last.transpose() {
        Ok(last) => last,
        Err(error) => return wrong(format!("has a checkpoint that is none: {error}")),
    };
    let found = last.map(|checkpoint| (checkpoint.size, checkpoint.root));
    match found == model.signed.last().copied() {
        true => Ok(()),
        false => wrong(format!("has checkpoint {found:?}, expected {:?}", model.signed.last())),
    }
}
