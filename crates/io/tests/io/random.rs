//! Randomness: the machine's differs from call to call, a seed's does not.

use timestrata_io::{OsRng, Rng, SeededRng};

#[test]
fn the_machine_fills_every_byte_of_long_buffers() {
    let mut bytes = [0; 1000];
    OsRng::new().fill(&mut bytes);
    // 1000 random bytes hold fewer than 100 zeros but for one case in 10^90.
    assert!(bytes.iter().filter(|byte| **byte == 0).count() < 100);
    assert_ne!(OsRng::new().next_u64(), OsRng::new().next_u64());
}

#[test]
fn a_seed_repeats_its_sequence() {
    let (a, b) = (SeededRng::new(7), SeededRng::new(7));
    let first: Vec<u64> = (0..4).map(|_| a.next_u64()).collect();
    let second: Vec<u64> = (0..4).map(|_| b.next_u64()).collect();
    assert_eq!(first, second);
    assert_ne!(first[0], SeededRng::new(8).next_u64());
}
