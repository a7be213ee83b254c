//! In-order chunks chain: readers meet few sources.

use std::sync::Arc;

use timestrata_format::{KeyRange, SeqNo, StreamId, Tombstone};

use super::super::Memtable;
use crate::{Cell, Merge, Stream, StreamSpec};

fn stream(merge: Merge) -> Arc<Stream> {
    use arrow_schema::{DataType, Field, Schema};
    let schema = Schema::new(vec![Field::new("time", DataType::Int64, false)]);
    let spec = StreamSpec { merge, ..StreamSpec::new("chains", Arc::new(schema)) };
    Arc::new(Stream::new(StreamId(1), spec).unwrap())
}

/// A memtable whose chunks settle at two rows, after appends of these times with a read
/// behind each.
fn filled(merge: Merge, times: impl IntoIterator<Item = i64>) -> (Memtable, SeqNo) {
    let mut memtable = Memtable::new(stream(merge)).unwrap().settling_at(2);
    let mut seq = SeqNo(0);
    for time in times {
        seq = seq.next();
        memtable.append_row(seq, &[Cell::Int(time)]);
        memtable.view();
    }
    (memtable, seq)
}

fn rows(memtable: &mut Memtable) -> Vec<u64> {
    memtable.view().sources.iter().map(|source| source.rows()).collect()
}

#[test]
fn settled_in_order_chunks_are_one_source() {
    let (mut memtable, _) = filled(Merge::Keep, 0..101);
    assert_eq!(rows(&mut memtable), [100, 1]);
    let (mut memtable, _) = filled(Merge::Latest, 0..101);
    assert_eq!(rows(&mut memtable), [100, 1]);
}

#[test]
fn a_range_delete_between_two_chunks_parts_them() {
    let (mut memtable, mut seq) = filled(Merge::Keep, 0..10);
    seq = seq.next();
    memtable.delete_range(Tombstone { range: KeyRange::times(3, 4), seq });
    for time in 10..20 {
        seq = seq.next();
        memtable.append_row(seq, &[Cell::Int(time)]);
        memtable.view();
    }
    assert_eq!(rows(&mut memtable), [10, 10]);
}

#[test]
fn no_chain_of_a_latest_stream_holds_a_key_twice() {
    let (mut memtable, _) = filled(Merge::Latest, [0, 1, 1, 2]);
    assert_eq!(rows(&mut memtable), [2, 2]);
    let (mut memtable, _) = filled(Merge::Keep, [0, 1, 1, 2]);
    assert_eq!(rows(&mut memtable), [4]);
}
