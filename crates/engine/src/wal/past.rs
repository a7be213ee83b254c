//! Log that only the store's history needs.
//!
//! What a closed log is not needed for by recovery any more is there for the history alone. Where it is short, the file
//! that it is in goes to the next writer, who would have to make one else:
//!
//! ```text
//!    7.wal   16 MiB, of which 20 KiB are written    ->    7.wal   20 KiB, a copy
//!                                                         a spare of 16 MiB
//! ```
//!
//! Nothing is synced for that. The two files change their names at once, so that a kill leaves a `7.wal`, and before it is opened
//! again the other one has the right length for a spare, whatever its name. Where a disk can't do that the copy takes the other's
//! place, and the next writer makes a file. After a power cut there may be no `7.wal`: the history begins behind it then.

use std::collections::{BTreeMap, VecDeque};
use std::io::ErrorKind;

use timestrata_format::wal::{END_MARK_BYTES, SEGMENT_HEADER_BYTES, SegmentHeader};
use timestrata_format::{SeqNo, WalId};
use timestrata_io::OpenMode;

use super::segment::{Segment, spare_path};
use super::spares::Spares;
use super::writer::{Appender, FullSegment, Wal};
use crate::Result;

/// The segments from one on and below another that another process wrote, of which nothing is needed but their files.
pub(super) fn past_segments(
    files: &BTreeMap<WalId, u64>,
    from: WalId,
    floor: WalId,
) -> VecDeque<FullSegment> {
    if from >= floor {
        return VecDeque::new();
    }
    let segment = |(id, bytes): (&WalId, &u64)| FullSegment {
        id: *id,
        last_seq: SeqNo::default(),
        bytes: *bytes,
        own: false,
    };
    files.range(from..floor).map(segment).collect()
}

impl Wal {
    /// Bytes that segments from one on and below another take on disk.
    pub(crate) fn bytes_between(&self, from: WalId, floor: WalId) -> u64 {
        let appender = self.appender.lock();
        let full = appender.past.iter().chain(&appender.full);
        let wanted = full.filter(|segment| (from..floor).contains(&segment.id));
        let bytes = wanted.map(|segment| segment.bytes).fold(0, u64::saturating_add);
        let is_wanted = (from..floor).contains(&appender.active.id);
        bytes + if is_wanted { appender.offset } else { 0 }
    }

    /// Puts aside the files of segments of history below `floor`.
    pub(crate) fn recycle_below(&self, floor: WalId) {
        let mut appender = self.appender.lock();
        let count = appender.past.iter().take_while(|segment| segment.id < floor).count();
        let released: Vec<FullSegment> = appender.past.drain(..count).collect();
        drop(appender);
        released.iter().for_each(|segment| self.spares.retire(segment.id, segment.own));
    }

    /// Goes on in a new file, and has none used again that has held commits by now. Gives its segment.
    pub(crate) fn begin_anew(&self) -> Result<WalId> {
        let mut appender = self.appender.lock();
        // Even where nothing was written to the active one: its file may have held an earlier segment. And so may the next one's,
        // which can't go alone, since the log has no gaps.
        let next_is_made = self.spares.remove_idle();
        self.roll(&mut appender)?;
        if next_is_made {
            self.roll(&mut appender)?;
        }
        let Appender { full, past, .. } = &mut *appender;
        full.iter_mut().chain(past).for_each(|segment| segment.own = false);
        Ok(appender.active.id)
    }

    /// Ends the log for good: what is written of its last segment stays for the history.
    pub(crate) fn leave_short(&self) {
        let appender = self.appender.lock();
        let bytes = appender.offset + END_MARK_BYTES as u64;
        if bytes <= self.segment_bytes / 4 {
            // A file that can't be written stays as it is: longer than it need be.
            let _ = self.spares.take_from(&appender.active, bytes);
        }
    }
}

impl Spares {
    /// Leaves a segment so many bytes in a file of its own, and makes a spare of the one that it was in.
    fn take_from(&self, segment: &Segment, bytes: u64) -> std::io::Result<()> {
        let (id, disk) = (segment.id, &self.io.disk);
        let mut content = vec![0; usize::try_from(bytes).unwrap_or(0)];
        segment.file.read_at(0, &mut content)?;
        let header = SegmentHeader::new(self.store_id, id, bytes).encode();
        if let Some(place) = content.get_mut(..SEGMENT_HEADER_BYTES) {
            place.copy_from_slice(&header);
        }
        // By its length nobody takes it for a spare, and so the next opening removes it after a crash.
        let short = spare_path(&self.dir, WalId(u64::MAX));
        if disk.exists(&short)? {
            disk.remove(&short)?;
        }
        let written = disk.open(&short, OpenMode::CreateNew).and_then(|file| {
            file.write_at(0, &content)?;
            match disk.exchange(&short, &segment.path) {
                Ok(()) => disk.rename(&short, &spare_path(&self.dir, id)),
                Err(error) if error.kind() == ErrorKind::Unsupported => {
                    disk.rename(&short, &segment.path)
                }
                Err(error) => Err(error),
            }
        });
        written.inspect_err(|_| drop(disk.remove(&short)))
    }
}
