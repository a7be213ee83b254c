use std::collections::BTreeSet;

use timestrata_format::manifest::{Merge, Retention, StreamDefinition};
use timestrata_format::{FORMAT_VERSION, LeadKey, RunFormat, SeqNo, StreamId};

use super::*;

struct Run {
    meta: RunMeta,
    origin: Option<RunOrigin>,
    is_aside: bool,
}

fn meta(id: u64, keys: (i64, i64), seqs: (u64, u64)) -> RunMeta {
    RunMeta {
        id: RunId(id),
        stream: StreamId(1),
        format: RunFormat::Hot,
        level: 0,
        key_min: LeadKey::Time(keys.0),
        key_max: LeadKey::Time(keys.1),
        seq_min: SeqNo(seqs.0),
        seq_max: SeqNo(seqs.1),
        tombstones_applied_through: SeqNo(seqs.1),
        rows: 10,
        delete_markers: 0,
        file_bytes: 0,
        file_crc: 0,
        tail_offset: 0,
        tail_crc: 0,
        created_wall_ns: 0,
    }
}

fn origin(replaces: &[u64], before: &[u64], is_last_output: bool) -> RunOrigin {
    let ids = |ids: &[u64]| ids.iter().map(|id| RunId(*id)).collect();
    RunOrigin {
        format_version: FORMAT_VERSION,
        level: 0,
        created_wall_ns: 0,
        replaces: ids(replaces),
        outputs_before: ids(before),
        is_last_output,
        definition: StreamDefinition {
            id: StreamId(1),
            name: "events".into(),
            schema_ipc: Vec::new(),
            key: Vec::new(),
            merge: Merge::Keep,
            run_format: RunFormat::Hot,
            retention: Retention::default(),
            properties: Vec::new(),
        },
        tombstones: Vec::new(),
        blocks: Vec::new(),
    }
}

fn flush(id: u64, keys: (i64, i64), seq: u64) -> Run {
    let origin = Some(origin(&[], &[], false));
    Run { meta: meta(id, keys, (seq, seq)), origin, is_aside: false }
}

fn output(id: u64, keys: (i64, i64), seqs: (u64, u64), from: RunOrigin) -> Run {
    Run { meta: meta(id, keys, seqs), origin: Some(from), is_aside: false }
}

fn aside(run: Run) -> Run {
    Run { is_aside: true, ..run }
}

/// As an earlier build has written it.
fn old(run: Run) -> Run {
    Run { origin: None, ..run }
}

fn live(runs: &[Run]) -> Vec<u64> {
    let candidates: Vec<RunCandidate<'_>> = runs
        .iter()
        .map(|run| RunCandidate {
            meta: &run.meta,
            origin: run.origin.as_ref(),
            is_aside: run.is_aside,
        })
        .collect();
    let dead: BTreeSet<RunId> = judge(&candidates).dead.into_keys().collect();
    let live = runs.iter().map(|run| run.meta.id).filter(|id| !dead.contains(id));
    live.map(|id| id.0).collect()
}

#[test]
fn outputs_stand_in_for_their_inputs_once_all_of_them_are_there() {
    let inputs = || [flush(1, (0, 99), 1), flush(2, (0, 99), 2)];
    let first = || output(3, (0, 49), (1, 2), origin(&[1, 2], &[], false));
    let last = || output(4, (50, 99), (1, 2), origin(&[1, 2], &[3], true));
    let with = |outputs: Vec<Run>| inputs().into_iter().chain(outputs).collect::<Vec<_>>();
    assert_eq!(live(&with(vec![])), [1, 2]);
    assert_eq!(live(&with(vec![first()])), [1, 2], "killed before the last");
    assert_eq!(live(&with(vec![last()])), [1, 2], "the first was not durable yet");
    assert_eq!(live(&with(vec![first(), last()])), [3, 4]);
    assert_eq!(live(&[first(), last()]), [3, 4]);
    // One was compacted on, and its file is gone.
    let next = || output(5, (0, 49), (1, 2), origin(&[3], &[], true));
    assert_eq!(live(&with(vec![last(), next()])), [4, 5]);
    assert_eq!(live(&[last(), next()]), [4, 5]);
}

#[test]
fn a_compaction_whose_inputs_another_took_later_was_never_installed() {
    let runs = [
        flush(2, (0, 99), 2),
        output(4, (0, 99), (1, 2), origin(&[1, 2], &[], true)),
        output(6, (0, 99), (1, 3), origin(&[1, 2, 3], &[], true)),
    ];
    assert_eq!(live(&runs), [6]);
    // The second one was not ended either: what both took is what there is.
    let runs = [
        flush(1, (0, 99), 1),
        flush(2, (0, 99), 2),
        flush(3, (0, 99), 3),
        output(4, (0, 99), (1, 2), origin(&[1, 2], &[], true)),
        output(6, (0, 49), (1, 3), origin(&[1, 2, 3], &[], false)),
    ];
    assert_eq!(live(&runs), [1, 2, 3]);
}

#[test]
fn files_that_were_set_aside_count_where_nothing_else_has_their_commits() {
    let lone = aside(flush(7, (0, 99), 7));
    assert_eq!(live(&[flush(1, (0, 99), 1), lone]), [1, 7]);
    // Replayed from the log, and flushed anew.
    assert_eq!(live(&[flush(8, (0, 99), 7), aside(flush(7, (0, 99), 7))]), [8]);
    // Set aside while its inputs were the store's: one of them was dropped since.
    let given_up = aside(output(4, (0, 99), (1, 2), origin(&[1, 2], &[], true)));
    assert_eq!(live(&[flush(2, (0, 99), 2), given_up]), [2]);
    // Set aside by mistake: nothing else is left of its inputs.
    let last_copy = aside(output(4, (0, 99), (1, 2), origin(&[1, 2], &[], true)));
    assert_eq!(live(&[last_copy, flush(5, (0, 99), 5)]), [4, 5]);
}

#[test]
fn runs_that_do_not_say_what_they_replace_are_told_apart_by_what_they_cover() {
    let wide = |id, keys, seqs| old(output(id, keys, seqs, origin(&[], &[], false)));
    let inputs = || vec![old(flush(1, (0, 99), 1)), old(flush(2, (10, 90), 2))];
    let with = |outputs: Vec<Run>| inputs().into_iter().chain(outputs).collect::<Vec<_>>();
    assert_eq!(live(&with(vec![wide(3, (0, 49), (1, 2)), wide(4, (50, 99), (1, 2))])), [3, 4]);
    assert_eq!(live(&with(vec![wide(3, (0, 49), (1, 2))])), [1, 2], "the last one is missing");
    // Beside each other they are all live.
    let apart = [old(flush(1, (0, 9), 1)), wide(3, (10, 49), (1, 2)), old(flush(5, (0, 99), 5))];
    assert_eq!(live(&apart), [1, 3, 5]);
}
