//! What the history's edits tell: commits that are not in the log, and what is no commit.

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::sync::Arc;

use timestrata_format::{KeyRange, RunMeta, SeqNo, StreamId};

use super::change::{ChangeKind, CommittedChanges, Content, StreamChange};
use crate::Result;
use crate::Stream;
use crate::manifest::{History, HistoryEdit, ManifestStamp};
use crate::state::RunHandle;
use crate::stream::open_definition;

/// What edits tell that were made behind a commit.
#[derive(Debug, Default)]
pub(super) struct Told {
    /// Commits that went straight to runs.
    pub(super) commits: BTreeMap<SeqNo, ToldCommit>,
    /// What is no commit, in its order.
    pub(super) events: VecDeque<ToldEvent>,
}

/// A commit that went straight to runs.
#[derive(Debug)]
pub(super) struct ToldCommit {
    pub(super) commit: CommittedChanges,
    /// Streams of which only rows that stay were added.
    pub(super) rewritten: Vec<StreamId>,
}

/// Something that is no commit.
#[derive(Debug)]
pub(super) struct ToldEvent {
    /// The edit that tells of it.
    pub(super) stamp: ManifestStamp,
    pub(super) event: CommittedChanges,
}

/// Gives a handle on a run of a stream.
pub(super) type HandleOf<'a> = dyn FnMut(&Arc<Stream>, &RunMeta) -> Result<Arc<RunHandle>> + 'a;

impl Told {
    /// Whether all that comes next is in the log.
    pub(super) fn is_empty(&self) -> bool {
        self.commits.is_empty() && self.events.is_empty()
    }

    /// What the edits tell that were made behind commit `last`, and behind the edit `seen`.
    pub(super) fn behind(
        last: SeqNo,
        seen: Option<ManifestStamp>,
        history: &History,
        manifest_path: &Path,
        handle_of: &mut HandleOf<'_>,
    ) -> Result<Self> {
        let mut told = Self::default();
        for edit in history.behind(last) {
            // Keys are told in the unit that times had then.
            let stream_of = |id: StreamId| {
                let definition = history.definition_at(id, edit.stamp);
                definition.map(|definition| open_definition(definition, manifest_path)).transpose()
            };
            if let Some(seq) = edit.committed.filter(|seq| *seq > last) {
                let commit = commit_of(seq, &edit, &stream_of, handle_of)?;
                told.commits.insert(seq, commit);
                continue;
            }
            let changes = events_of(&edit, &stream_of)?;
            let is_new = seen.is_none_or(|seen| edit.stamp.is_behind(seen));
            if is_new && !changes.is_empty() {
                let time_ms = u64::try_from(edit.wall_ns / 1_000_000).ok();
                let event = CommittedChanges { seq: edit.last_seq, time_ms, changes };
                told.events.push_back(ToldEvent { stamp: edit.stamp, event });
            }
        }
        Ok(told)
    }
}

/// A stream as some edit defines it: that version of its columns, or the newest.
pub(super) fn stream_of(
    history: &History,
    manifest_path: &Path,
    id: StreamId,
    version: Option<u16>,
) -> Result<Option<Arc<Stream>>> {
    for definition in history.definitions(id) {
        let stream = open_definition(definition, manifest_path)?;
        if version.is_none_or(|version| version == stream.schema_version()) {
            return Ok(Some(stream));
        }
    }
    Ok(None)
}

type StreamOf<'a> = dyn Fn(StreamId) -> Result<Option<Arc<Stream>>> + 'a;

fn commit_of(
    seq: SeqNo,
    edit: &HistoryEdit<'_>,
    stream_of: &StreamOf<'_>,
    handle_of: &mut HandleOf<'_>,
) -> Result<ToldCommit> {
    let mut commit = CommittedChanges { seq, time_ms: edit.time_ms, changes: Vec::new() };
    for (id, range) in &edit.deleted {
        let Some(stream) = stream_of(*id)? else { continue };
        commit.changes.push(StreamChange::of_range(stream, ChangeKind::DeletedRange, *range));
    }
    let mut runs = BTreeMap::<StreamId, Vec<&RunMeta>>::new();
    for meta in &edit.runs {
        runs.entry(meta.stream).or_default().push(meta);
    }
    for (id, metas) in runs {
        let Some(stream) = stream_of(id)? else { continue };
        let handles = metas.iter().map(|meta| handle_of(&stream, meta));
        let handles = handles.collect::<Result<Vec<_>>>()?;
        let markers: u64 = metas.iter().map(|meta| meta.delete_markers).sum();
        let rows: u64 = metas.iter().map(|meta| meta.rows).sum();
        let kinds =
            [(ChangeKind::DeletedKeys, markers), (ChangeKind::Inserted, rows - markers.min(rows))];
        for (kind, _) in kinds.into_iter().filter(|(_, rows)| *rows > 0) {
            // A run is read with the columns that its handle knows.
            let stream = handles.first().map_or(&stream, |run| run.reader.stream());
            let (stream, range) = (Arc::clone(stream), None);
            let content = Content::Runs(handles.clone());
            commit.changes.push(StreamChange { stream, kind, range, content });
        }
    }
    Ok(ToldCommit { commit, rewritten: edit.rewritten.clone() })
}

fn events_of(edit: &HistoryEdit<'_>, stream_of: &StreamOf<'_>) -> Result<Vec<StreamChange>> {
    let mut changes = Vec::new();
    for (id, runs) in &edit.expired {
        let Some(stream) = stream_of(*id)? else { continue };
        let keys = runs.iter().map(|meta| (meta.key_min, meta.key_max));
        let all = keys.reduce(|all, one| (all.0.min(one.0), all.1.max(one.1)));
        if let Some((lo, hi)) = all {
            let range = KeyRange::closed(lo, hi);
            changes.push(StreamChange::of_range(stream, ChangeKind::Expired, range));
        }
    }
    for id in &edit.dropped {
        let Some(stream) = stream_of(*id)? else { continue };
        let (kind, content) = (ChangeKind::Dropped, Content::Nothing);
        changes.push(StreamChange { stream, kind, range: None, content });
    }
    Ok(changes)
}
