//! Randomness: for identities only, so that a simulated run is repeatable.

use std::fmt::Debug;
use std::sync::atomic::{AtomicU64, Ordering};

/// Where a store takes random bytes from.
pub trait Rng: Send + Sync + Debug + 'static {
    /// Fills `bytes` with random values.
    fn fill(&self, bytes: &mut [u8]);

    /// A random 64-bit number.
    fn next_u64(&self) -> u64 {
        let mut bytes = [0; 8];
        self.fill(&mut bytes);
        u64::from_le_bytes(bytes)
    }
}

/// The operating system's generator.
#[derive(Debug, Default)]
pub struct OsRng;

impl OsRng {
    /// The operating system's generator.
    pub fn new() -> Self {
        Self
    }
}

impl Rng for OsRng {
    fn fill(&self, bytes: &mut [u8]) {
        crate::os::fill_random(bytes);
    }
}

/// SplitMix64 (Steele, Lea, Flood 2014) from a seed: repeatable, not secret.
#[derive(Debug)]
pub struct SeededRng {
    state: AtomicU64,
}

impl SeededRng {
    /// A generator that always gives the same sequence for the same seed.
    pub fn new(seed: u64) -> Self {
        Self { state: AtomicU64::new(seed) }
    }
}

impl Rng for SeededRng {
    fn fill(&self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            const STEP: u64 = 0x9E37_79B9_7F4A_7C15;
            let mut z = self.state.fetch_add(STEP, Ordering::SeqCst).wrapping_add(STEP);
            z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            chunk.copy_from_slice(&(z ^ (z >> 31)).to_le_bytes()[..chunk.len()]);
        }
    }
}
