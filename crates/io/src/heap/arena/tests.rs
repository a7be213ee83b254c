#![cfg(all(target_os = "linux", target_env = "gnu", not(miri)))]

use super::super::tests::alone;
use super::*;

fn free_chunks() -> usize {
    FREE.lock().unwrap().len()
}

#[test]
fn pieces_lie_apart_and_keep_what_is_written_to_them() {
    let _alone = alone();
    let arena = Arena::default();
    let lengths = (1..200).map(|number| number * 997 % PIECE_BYTES_MAX + 1);
    let mut pieces: Vec<ArenaBytes> = lengths.map(|bytes| arena.take(bytes).unwrap()).collect();
    for (number, piece) in pieces.iter_mut().enumerate() {
        assert_eq!(piece.as_ptr().align_offset(PIECE_ALIGN), 0);
        piece.fill(number as u8);
    }
    let mut held: Vec<_> = pieces.iter().map(|piece| piece.as_ptr_range()).collect();
    held.sort_by_key(|range| range.start);
    assert!(held.is_sorted_by(|range, next| range.end <= next.start));
    let are_kept =
        |(number, piece): (usize, &ArenaBytes)| piece.iter().all(|byte| *byte == number as u8);
    assert!(pieces.iter().enumerate().all(are_kept));
}

#[test]
fn no_piece_is_empty_or_larger_than_half_a_chunk() {
    let _alone = alone();
    let arena = Arena::default();
    assert!(arena.take(0).is_none());
    assert!(arena.take(PIECE_BYTES_MAX + 1).is_none());
    assert!(arena.take(usize::MAX).is_none());
    assert_eq!(arena.take(PIECE_BYTES_MAX).unwrap().len(), PIECE_BYTES_MAX);
}

#[test]
fn a_chunk_is_used_again_once_its_last_piece_and_its_arena_are_gone() {
    let _alone = alone();
    give_back();
    let arena = Arena::default();
    let pieces: Vec<_> = (0..8).map(|_| arena.take(CHUNK_BYTES / 8).unwrap()).collect();
    let start = pieces[0].as_ptr();
    drop(arena);
    let mut pieces = pieces.into_iter();
    let last = pieces.next_back();
    drop(pieces);
    assert_eq!(free_chunks(), 0);
    drop(last);
    assert_eq!(free_chunks(), 1);
    assert_eq!(Arena::default().take(1).unwrap().as_ptr(), start);
}

#[test]
fn some_chunks_are_kept_and_given_back_when_memory_is() {
    let _alone = alone();
    let arena = Arena::default();
    let take = |_| arena.take(PIECE_BYTES_MAX).unwrap();
    let pieces: Vec<_> = (0..3 * FREE_CHUNKS_MAX).map(take).collect();
    drop(pieces);
    assert_eq!(free_chunks(), FREE_CHUNKS_MAX);
    assert!(crate::give_back_memory(std::time::Duration::ZERO));
    assert_eq!(free_chunks(), 0);
}

#[test]
fn threads_take_and_drop_pieces_of_one_arena_at_once() {
    let _alone = alone();
    let arena = Arena::default();
    let takes = |thread: u8| {
        let mut held = Vec::new();
        for turn in 0..2_000_usize {
            let mut piece = arena.take(1 + turn * 61 % (64 << 10)).unwrap();
            piece.fill(thread);
            held.push(piece);
            if turn % 7 == 0 {
                held.drain(..held.len() / 2);
            }
        }
        assert!(held.iter().all(|piece| piece.iter().all(|byte| *byte == thread)));
    };
    std::thread::scope(|scope| {
        for thread in 0..4 {
            scope.spawn(move || takes(thread));
        }
    });
}
