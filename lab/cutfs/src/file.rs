//! The contents of one file: what programs see, what a power cut leaves at least, and what was written
//! between. A sync moves the third into the second.

use std::sync::Arc;

use timestrata_io::Rng;

/// A change of contents that is not synced.
#[derive(Debug, Clone)]
enum Change {
    Write { offset: usize, bytes: Arc<[u8]> },
    SetLen { from: usize, to: usize },
}

/// A file, whatever its names.
#[derive(Debug, Clone, Default)]
pub struct File {
    seen: Vec<u8>,
    durable: Vec<u8>,
    pending: Vec<Change>,
}

impl File {
    /// A file of which everything is synced.
    pub fn settled(bytes: Vec<u8>) -> Self {
        Self { seen: bytes.clone(), durable: bytes, pending: Vec::new() }
    }

    pub fn len(&self) -> usize {
        self.seen.len()
    }

    /// How many changes are not synced.
    pub fn unsynced(&self) -> usize {
        self.pending.len()
    }

    /// At most `size` bytes from `offset` on; fewer at the end.
    pub fn read(&self, offset: usize, size: usize) -> &[u8] {
        let start = offset.min(self.seen.len());
        let end = offset.saturating_add(size).min(self.seen.len());
        self.seen.get(start..end).unwrap_or_default()
    }

    pub fn write(&mut self, offset: usize, bytes: &[u8]) {
        if !bytes.is_empty() {
            self.change(Change::Write { offset, bytes: Arc::from(bytes) });
        }
    }

    pub fn set_len(&mut self, to: usize) {
        let from = self.seen.len();
        if from != to {
            self.change(Change::SetLen { from, to });
        }
    }

    fn change(&mut self, change: Change) {
        apply(&mut self.seen, &change);
        self.pending.push(change);
    }

    pub fn sync(&mut self) {
        for change in self.pending.drain(..) {
            apply(&mut self.durable, &change);
        }
    }

    /// What is left if nothing that was not synced survives.
    pub fn durable(&self) -> Vec<u8> {
        self.durable.clone()
    }

    /// What is left if everything survives.
    pub fn seen(&self) -> Vec<u8> {
        self.seen.clone()
    }

    /// What is left if of each change any parts survive, torn at any byte, and the length is one that the
    /// file had since its last sync. `keep_of_8` is how likely a part survives.
    pub fn mixture(&self, rng: &dyn Rng, keep_of_8: u64) -> Vec<u8> {
        let mut bytes = self.durable.clone();
        let mut lengths = vec![bytes.len()];
        for change in &self.pending {
            let (offset, written) = match change {
                Change::Write { offset, bytes } => (*offset, Arc::clone(bytes)),
                // What is cut off and grown again is zeros.
                Change::SetLen { from, to } => (*to, vec![0; from.saturating_sub(*to)].into()),
            };
            let end = match change {
                Change::Write { .. } => {
                    let longest = lengths.last().copied().unwrap_or_default();
                    longest.max(offset + written.len())
                }
                Change::SetLen { to, .. } => *to,
            };
            lengths.push(end);
            let mut at = 0;
            while at < written.len() {
                let torn = at + 1 + (rng.next_u64() % torn_bytes_max(rng)) as usize;
                let piece = &written[at..torn.min(written.len())];
                if rng.next_u64() % 8 < keep_of_8 {
                    place(&mut bytes, offset + at, piece);
                }
                at = torn;
            }
        }
        let last = lengths.len() - 1;
        let chosen = if rng.next_u64() % 8 < keep_of_8 {
            last
        } else {
            (rng.next_u64() % lengths.len() as u64) as usize
        };
        bytes.resize(lengths[chosen], 0);
        bytes
    }
}

/// Pieces are small, or as long as a page and more: both happen.
fn torn_bytes_max(rng: &dyn Rng) -> u64 {
    [16, 512, 4096, 1 << 20][(rng.next_u64() % 4) as usize]
}

fn apply(bytes: &mut Vec<u8>, change: &Change) {
    match change {
        Change::Write { offset, bytes: written } => place(bytes, *offset, written),
        Change::SetLen { to, .. } => bytes.resize(*to, 0),
    }
}

fn place(bytes: &mut Vec<u8>, offset: usize, written: &[u8]) {
    let end = offset + written.len();
    if bytes.len() < end {
        bytes.resize(end, 0);
    }
    bytes[offset..end].copy_from_slice(written);
}

#[cfg(test)]
mod tests {
    use super::*;
    use timestrata_io::SeededRng;

    #[test]
    fn only_what_was_synced_is_sure_to_be_left() {
        let mut file = File::default();
        file.write(0, b"synced");
        file.sync();
        file.write(0, b"S");
        file.write(6, b" and not");
        assert_eq!(file.durable(), b"synced");
        assert_eq!(file.seen(), b"Synced and not");
        for seed in 0..200 {
            let left = file.mixture(&SeededRng::new(seed), 4);
            let start = left.get(..6).expect("the synced length is the least there was");
            assert!(start == b"synced" || start == b"Synced", "{left:?}");
            for (at, byte) in left.iter().enumerate().skip(6) {
                assert!(*byte == 0 || Some(byte) == file.seen().get(at), "{left:?}");
            }
        }
        file.sync();
        assert_eq!(file.mixture(&SeededRng::new(1), 4), b"Synced and not");
    }

    #[test]
    fn a_file_that_was_cut_has_a_length_that_it_had() {
        let mut file = File::settled(b"0123456789".to_vec());
        file.set_len(3);
        file.set_len(5);
        let mut lengths: Vec<usize> =
            (0..200).map(|seed| file.mixture(&SeededRng::new(seed), 4).len()).collect();
        lengths.sort_unstable();
        lengths.dedup();
        assert_eq!(lengths, [3, 5, 10]);
    }
}
