//! Pins of a store that is repaired, as far as their runs are there.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use timestrata_format::RunId;
use timestrata_format::manifest::Pin;

use super::found::Findings;
use super::report::RepairReport;
use crate::manifest::ManifestState;

/// The state that is made, and where the files of its runs are.
type Made<'a> = (&'a mut ManifestState, &'a mut BTreeMap<RunId, (PathBuf, bool)>);

/// Takes pins over that a manifest tells of. One by a manifest's last word (`is_told`) lacks what is missing of
/// its runs, which the report tells. One by an earlier word, whose runs are gone, may have been let go since.
pub(super) fn keep_pins(
    dir: &Path,
    pins: BTreeMap<String, Pin>,
    is_told: bool,
    findings: &Findings,
    (state, files): Made<'_>,
    report: &mut RepairReport,
) {
    for (name, mut pin) in pins {
        pin.streams.retain(|pinned| state.streams.contains_key(&pinned.stream));
        let metas = || pin.streams.iter().flat_map(|pinned| &pinned.runs);
        let missing = metas().find(|meta| !findings.runs.contains_key(&meta.id));
        if let Some(missing) = missing.filter(|_| !is_told) {
            report.doubts.push(format!(
                "the pin '{name}' was left out: its run {} is not there; the pin may have been removed",
                missing.id
            ));
            continue;
        }
        let mut lacks = Vec::new();
        for pinned in &mut pin.streams {
            let Some(entry) = state.streams.get(&pinned.stream) else { continue };
            pinned.runs.retain(|meta| {
                let Some(found) = findings.runs.get(&meta.id) else {
                    let missing = findings.missing(dir, entry, meta);
                    if !report.missing.contains(&missing) {
                        report.missing.push(missing);
                    }
                    lacks.push(meta.id);
                    return false;
                };
                let sums = (found.run.meta.file_bytes, found.run.meta.file_crc);
                let is_whole = sums == (meta.file_bytes, meta.file_crc);
                files.entry(meta.id).or_insert_with(|| (found.path.clone(), is_whole));
                if !is_whole {
                    lacks.push(meta.id);
                }
                true
            });
        }
        let lacks =
            lacks.iter().map(|run| format!("the pin '{name}' lacks what is missing of run {run}"));
        report.doubts.extend(lacks);
        report.pins.push(name.clone());
        state.pins.insert(name, pin);
    }
}
