use timestrata_format::manifest::{Merge, PinnedStream, Retention};
use timestrata_format::{RunFormat, StreamId};

use super::*;

const STREAM: StreamId = StreamId(1);

fn state() -> ManifestState {
    let definition = StreamDefinition {
        id: STREAM,
        name: "events".to_owned(),
        schema_ipc: Vec::new(),
        key: vec!["time".to_owned()],
        merge: Merge::Keep,
        run_format: RunFormat::Hot,
        retention: Retention::default(),
        properties: Vec::new(),
    };
    let mut state = ManifestState::new(RunId(1));
    state.apply(&VersionEdit { ops: vec![ManifestOp::CreateStream(definition)] }).unwrap();
    state
}

fn run(keys: (LeadKey, LeadKey), seqs: (u64, u64)) -> RunMeta {
    RunMeta {
        id: RunId(7),
        stream: STREAM,
        format: RunFormat::Hot,
        level: 0,
        key_min: keys.0,
        key_max: keys.1,
        seq_min: SeqNo(seqs.0),
        seq_max: SeqNo(seqs.1),
        tombstones_applied_through: SeqNo(0),
        rows: 1,
        delete_markers: 0,
        file_bytes: 1,
        file_crc: 0,
        tail_offset: 0,
        tail_crc: 0,
        created_wall_ns: 0,
    }
}

/// Found by the fuzzing of whole stores: a manifest whose checksums fit named a run with its greatest key below its
/// smallest one, and what plans compactions subtracted one from the other.
#[test]
fn a_run_that_ends_before_it_begins_is_refused_with_its_name() {
    let time = LeadKey::Time;
    for refused in [
        run((time(2), time(1)), (1, 1)),
        run((time(1), time(2)), (2, 1)),
        run((time(1), LeadKey::Offset(2)), (1, 1)),
    ] {
        let pinned =
            PinnedStream { stream: STREAM, runs: vec![refused.clone()], tombstones: Vec::new() };
        let pin =
            Pin { name: "p".to_owned(), seq: SeqNo(1), created_wall_ns: 0, streams: vec![pinned] };
        for op in [ManifestOp::AddRun(refused), ManifestOp::AddPin(pin)] {
            let error = state().apply(&VersionEdit { ops: vec![op] }).unwrap_err();
            assert_eq!(error, "run 7 ends before it begins");
        }
    }
    let sound = ManifestOp::AddRun(run((time(1), time(1)), (1, 1)));
    state().apply(&VersionEdit { ops: vec![sound] }).unwrap();
}
