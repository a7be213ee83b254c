//! Runs of one stream whose times are of different units, as keys of the finest of these.
//!
//! A stream whose times got a finer unit goes on with the files that it had. Where no manifest tells their keys in the unit of
//! today, their own columns say of which unit they are.

use arrow_schema::{DataType, Schema};
use timestrata_format::manifest::StreamDefinition;
use timestrata_format::{StreamId, Tombstone};

use super::found::{Findings, FoundRun};
use crate::manifest::ManifestState;
use crate::stream::{finer_times, from_definition};

/// Tells all keys, those of what could be read of a manifest too, in the finest unit that a stream has anywhere.
pub(super) fn in_one_unit(old: &mut ManifestState, findings: &mut Findings) {
    let mut leads: Vec<(StreamId, DataType)> = Vec::new();
    let of_manifest = old.streams.values().filter_map(|entry| {
        let lead = lead_of_definition(&entry.definition)?;
        Some((entry.definition.id, lead))
    });
    let of_runs = findings.runs.values().filter_map(|found| {
        let lead = lead_of(found, old)?;
        Some((found.run.meta.stream, lead))
    });
    for (stream, lead) in of_manifest.chain(of_runs) {
        match leads.iter_mut().find(|(known, _)| *known == stream) {
            None => leads.push((stream, lead)),
            Some((_, known)) if finer_times(known, &lead).is_some() => *known = lead,
            Some(_) => {}
        }
    }
    for (stream, finest) in leads {
        for found in findings.runs.values_mut().filter(|found| found.run.meta.stream == stream) {
            let factor = lead_of(found, old).and_then(|lead| finer_times(&lead, &finest));
            factor.into_iter().for_each(|factor| refine(found, factor));
        }
        let definition = old.streams.get(&stream).map(|entry| &entry.definition);
        let known = definition.and_then(lead_of_definition);
        if let Some(factor) = known.and_then(|known| finer_times(&known, &finest)) {
            // Of a manifest whose times are too far for the unit nothing helps: the runs are asked.
            let mut refined = old.clone();
            if refined.refine_times(stream, factor).is_ok() {
                *old = refined;
            }
        }
    }
}

/// What is not to be told in the unit stays as it is: whoever reads the file says so.
fn refine(found: &mut FoundRun, factor: i64) {
    let Some(meta) = found.run.meta.in_finer_unit(factor) else { return };
    found.run.meta = meta;
    if let Some(origin) = &mut found.run.origin {
        let refined = origin.tombstones.iter().filter_map(|tombstone| {
            let range = tombstone.range.in_finer_unit(factor)?;
            Some(Tombstone { range, ..*tombstone })
        });
        origin.tombstones = refined.collect();
    }
}

/// The type of the leading key in a file.
fn lead_of(found: &FoundRun, old: &ManifestState) -> Option<DataType> {
    let of_run = found.run.origin.as_ref().map(|origin| &origin.definition);
    let of_manifest = || old.streams.get(&found.run.meta.stream).map(|entry| &entry.definition);
    lead_in(&found.run.schema, of_run.or_else(of_manifest)?)
}

fn lead_of_definition(definition: &StreamDefinition) -> Option<DataType> {
    let stream = from_definition(definition).ok()?;
    lead_in(stream.schema(), definition)
}

fn lead_in(schema: &Schema, definition: &StreamDefinition) -> Option<DataType> {
    let lead = definition.key.first()?;
    schema.field_with_name(lead).ok().map(|field| field.data_type().clone())
}
