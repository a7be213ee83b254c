//! What a stream is, where the manifest doesn't say.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_schema::Schema;
use timestrata_format::manifest::{Merge, Retention, StreamDefinition};
use timestrata_format::{RunFormat, RunId, StreamId};

use super::found::FoundRun;
use super::report::RepairReport;
use crate::manifest::ManifestState;
use crate::stream::DELETED_COLUMN;
use crate::stream::{from_definition, to_definition};
use crate::{LeadKind, Stream, StreamSpec};

/// The definition of a stream, and what is in doubt about it. `Err` says why its rows can't be used.
pub(super) fn definition(
    id: StreamId,
    runs: &[&FoundRun],
    of_manifest: Option<&StreamDefinition>,
    named: &BTreeSet<RunId>,
) -> Result<(StreamDefinition, Option<String>), String> {
    let newest = runs
        .iter()
        .filter_map(|found| Some((found.run.meta.id, found.run.origin.as_ref()?)))
        .max_by_key(|(run, _)| *run);
    let of_runs = newest.map(|(run, origin)| (run, &origin.definition));
    // What the manifest says holds unless a run was written after it.
    let chosen = match (of_manifest, of_runs) {
        (Some(manifest), Some((run, of_run))) => match named.contains(&run) {
            true => Some(manifest),
            false => Some(later(manifest, of_run)),
        },
        (Some(manifest), None) => Some(manifest),
        (None, Some((_, of_run))) => Some(of_run),
        (None, None) => None,
    };
    match chosen {
        Some(definition) if definition.id == id => {
            from_definition(definition)?;
            Ok((definition.clone(), None))
        }
        Some(definition) => Err(format!("it says that it is of stream {}", definition.id)),
        None => guess(id, runs),
    }
}

fn later<'a>(a: &'a StreamDefinition, b: &'a StreamDefinition) -> &'a StreamDefinition {
    let version = |definition: &StreamDefinition| {
        from_definition(definition).map(|stream: Stream| stream.schema_version()).unwrap_or(0)
    };
    if version(a) > version(b) { a } else { b }
}

/// From the columns of files that an earlier build has written.
fn guess(id: StreamId, runs: &[&FoundRun]) -> Result<(StreamDefinition, Option<String>), String> {
    let newest = runs.iter().max_by_key(|found| found.run.meta.id).ok_or("it has no runs")?;
    let schema = &newest.run.schema;
    let is_latest = schema.fields().last().is_some_and(|field| field.name() == DELETED_COLUMN);
    if is_latest {
        return Err("an earlier build has written it, and only the manifest knew its key".into());
    }
    let lead = newest.run.meta.key_min;
    let is_lead = |data_type: &arrow_schema::DataType| {
        LeadKind::of(data_type).is_some_and(|kind| kind.has(lead))
    };
    let key = schema.fields().iter().find(|field| is_lead(field.data_type()));
    let key = key.ok_or("no column of it can be its key")?.name().clone();
    let is_cold = runs.iter().any(|found| found.run.meta.format == RunFormat::Cold);
    let name = format!("stream-{id}");
    let mut spec = StreamSpec::new(name.clone(), Arc::new(Schema::new(schema.fields().clone())));
    spec.key = vec![key.clone()];
    spec.merge = Merge::Keep;
    spec.retention = Retention::default();
    spec.run_format = if is_cold { RunFormat::Cold } else { RunFormat::Hot };
    let definition = to_definition(id, &spec);
    from_definition(&definition)?;
    let doubt = format!(
        "stream {id} got the name '{name}' and the key '{key}': an earlier build has written its runs, \
         and only the manifest knew its name, its key and its properties"
    );
    Ok((definition, Some(doubt)))
}

/// Two streams may come to have one name, where one of them had been dropped or renamed.
pub(super) fn make_names_unique(state: &mut ManifestState, report: &mut RepairReport) {
    let mut names = BTreeSet::new();
    // The newest keeps its name.
    for entry in state.streams.values_mut().rev() {
        let definition = &mut entry.definition;
        if !names.insert(definition.name.clone()) {
            let name = format!("stream-{}", definition.id);
            report.doubts.push(format!(
                "an older stream named '{}', which may have been dropped, is now '{name}'",
                definition.name
            ));
            names.insert(name.clone());
            definition.name = name;
        }
    }
}
