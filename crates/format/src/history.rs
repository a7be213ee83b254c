//! What the manifest said earlier: the file `HISTORY` of a store.
//!
//! A [`HistoryHeader`], then one frame ([`crate::frame`]) a step, each a [`HistoryStep`]. The store does not depend
//! on it: where it is missing, damaged or behind the manifest, there is no history from before.

use crate::header::{HeaderError, check_seal, decode_preamble, encode_preamble, seal};
use crate::input::Input;
use crate::manifest::{VersionEdit, decode_edit, encode_edit};
use crate::{DecodeError, FORMAT_VERSION, SeqNo, StoreId};

const MAGIC: [u8; 8] = *b"TSTRHIST";

/// Length of the header; the first frame follows.
pub const HISTORY_HEADER_BYTES: usize = 36;

/// What stands at the start of a history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HistoryHeader {
    /// The store, and the salt of all checksums.
    pub store_id: StoreId,
}

impl HistoryHeader {
    /// Its bytes.
    pub fn encode(&self) -> [u8; HISTORY_HEADER_BYTES] {
        let mut bytes = [0; HISTORY_HEADER_BYTES];
        bytes[..16].copy_from_slice(&encode_preamble(MAGIC, FORMAT_VERSION));
        bytes[16..32].copy_from_slice(&self.store_id.0);
        seal(&mut bytes);
        bytes
    }

    /// Reads the header at the start of a history's bytes.
    pub fn decode(bytes: &[u8]) -> Result<Self, HeaderError> {
        let mut input = Input::new(bytes);
        decode_preamble(&mut input, MAGIC)?;
        let sealed = Input::new(bytes).bytes(HISTORY_HEADER_BYTES, "history header")?;
        check_seal(sealed, "history header checksum")?;
        Ok(Self { store_id: StoreId(input.array("store id")?) })
    }
}

/// One step of a store's history: an edit of the manifest, or the whole state with which a history begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryStep {
    /// The last commit when the edit was made.
    pub last_seq: SeqNo,
    /// The first commit that is not to be read as it was without the edit.
    pub from_seq: SeqNo,
    /// Wall clock when it was made, nanoseconds since the epoch.
    pub wall_ns: i64,
    /// Generation of the manifest behind the edit.
    pub generation: u64,
    /// Length of the manifest behind the edit.
    pub manifest_bytes: u64,
    /// What it changes; of a history's first step what makes the state out of nothing.
    pub edit: VersionEdit,
}

impl HistoryStep {
    /// The payload of its frame.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(40);
        for number in [self.last_seq.0, self.from_seq.0] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        out.extend_from_slice(&self.wall_ns.to_le_bytes());
        for number in [self.generation, self.manifest_bytes] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        out.extend_from_slice(&encode_edit(&self.edit));
        out
    }

    /// Reads what [`HistoryStep::encode`] wrote.
    pub fn decode(payload: &[u8]) -> Result<Self, DecodeError> {
        let mut input = Input::new(payload);
        let last_seq = SeqNo(input.u64("last commit")?);
        let from_seq = SeqNo(input.u64("first commit behind")?);
        let wall_ns = input.i64("wall clock")?;
        let generation = input.u64("generation of the manifest")?;
        let manifest_bytes = input.u64("length of the manifest")?;
        let edit = decode_edit(input.bytes(input.remaining(), "edit")?)?;
        Ok(Self { last_seq, from_seq, wall_ns, generation, manifest_bytes, edit })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StreamId;
    use crate::manifest::ManifestOp;

    #[test]
    fn a_history_is_read_back_and_with_any_flipped_bit_or_cut_its_header_is_none() {
        let header = HistoryHeader { store_id: StoreId([7; 16]) };
        let bytes = header.encode();
        assert_eq!(HistoryHeader::decode(&bytes), Ok(header));
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes;
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(HistoryHeader::decode(&flipped).is_err(), "bit {bit}");
        }
        for length in 0..bytes.len() {
            assert!(HistoryHeader::decode(&bytes[..length]).is_err(), "{length} bytes");
        }
    }

    #[test]
    fn a_step_is_read_back_and_cut_anywhere_it_is_none() {
        let edit = VersionEdit { ops: vec![ManifestOp::DropStream(StreamId(3))] };
        let step = HistoryStep {
            last_seq: SeqNo(12),
            from_seq: SeqNo(13),
            wall_ns: -5,
            generation: 2,
            manifest_bytes: 4_096,
            edit,
        };
        let bytes = step.encode();
        assert_eq!(HistoryStep::decode(&bytes), Ok(step));
        for length in 0..bytes.len() {
            assert!(HistoryStep::decode(&bytes[..length]).is_err(), "{length} bytes");
        }
    }
}
