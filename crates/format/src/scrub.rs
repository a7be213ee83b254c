//! How far the scrubber has come: the file `SCRUB` of a store.
//!
//! Nothing depends on it: where it is missing or damaged, the scrubber begins anew.

use crate::header::{check_seal, decode_preamble, encode_preamble, seal};
use crate::input::Input;
use crate::{FORMAT_VERSION, HeaderError, RunId, StoreId};

const MAGIC: [u8; 8] = *b"TSTRSCRB";
/// Length of the file.
pub const SCRUB_MARK_BYTES: usize = 72;
/// No round has ended yet.
const NEVER: i64 = i64::MIN;

/// A place in a round over all runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScrubMark {
    /// The store.
    pub store_id: StoreId,
    /// The run that is read next, and where in it.
    pub run: RunId,
    /// Bytes of that run that have been read.
    pub offset: u64,
    /// Bytes that have been read in the round.
    pub round_bytes: u64,
    /// Wall clock when the last round ended, nanoseconds since the epoch.
    pub round_ended_wall_ns: Option<i64>,
    /// Whether damage was found since that round began.
    pub found_damage: bool,
}

impl ScrubMark {
    /// Its bytes.
    pub fn encode(&self) -> [u8; SCRUB_MARK_BYTES] {
        let mut bytes = [0; SCRUB_MARK_BYTES];
        bytes[..16].copy_from_slice(&encode_preamble(MAGIC, FORMAT_VERSION));
        bytes[16..32].copy_from_slice(&self.store_id.0);
        bytes[32..40].copy_from_slice(&self.run.0.to_le_bytes());
        bytes[40..48].copy_from_slice(&self.offset.to_le_bytes());
        bytes[48..56].copy_from_slice(&self.round_bytes.to_le_bytes());
        bytes[56..64].copy_from_slice(&self.round_ended_wall_ns.unwrap_or(NEVER).to_le_bytes());
        bytes[64] = u8::from(self.found_damage);
        seal(&mut bytes);
        bytes
    }

    /// Reads what [`ScrubMark::encode`] wrote.
    pub fn decode(bytes: &[u8]) -> Result<Self, HeaderError> {
        let mut input = Input::new(bytes);
        decode_preamble(&mut input, MAGIC)?;
        let sealed = Input::new(bytes).bytes(SCRUB_MARK_BYTES, "scrubber's mark")?;
        check_seal(sealed, "scrubber's mark checksum")?;
        let store_id = StoreId(input.array("store id")?);
        let run = RunId(input.u64("run")?);
        let offset = input.u64("offset")?;
        let round_bytes = input.u64("bytes of the round")?;
        let ended = input.i64("end of the last round")?;
        let found_damage = input.u8("whether damage was found")? != 0;
        let round_ended_wall_ns = Some(ended).filter(|ended| *ended != NEVER);
        Ok(Self { store_id, run, offset, round_bytes, round_ended_wall_ns, found_damage })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_read_back_and_with_any_flipped_bit_or_cut_it_is_none() {
        let mark = ScrubMark {
            store_id: StoreId([9; 16]),
            run: RunId(3),
            offset: 65_536,
            round_bytes: 1 << 30,
            round_ended_wall_ns: None,
            found_damage: true,
        };
        let bytes = mark.encode();
        assert_eq!(ScrubMark::decode(&bytes), Ok(mark));
        let ended = ScrubMark { round_ended_wall_ns: Some(-5), ..mark };
        assert_eq!(ScrubMark::decode(&ended.encode()), Ok(ended));
        for bit in 0..bytes.len() * 8 {
            let mut damaged = bytes;
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(ScrubMark::decode(&damaged).is_err(), "bit {bit}");
        }
        for cut in 0..bytes.len() {
            assert!(ScrubMark::decode(&bytes[..cut]).is_err(), "cut at {cut}");
        }
    }
}
