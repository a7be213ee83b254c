//! Memory of which much is wanted at once, and for the first time.
//!
//! A page that a process touches for the first time costs a fault, and with the usual 4 KiB that is more than what
//! decoding a page of numbers takes. With pages of 2 MiB it is a fault for 512 of them. The system gives these only within
//! mappings that are asked for them, and the pieces that are wanted here are smaller than one. So many of them share a chunk:
//!
//! ```text
//!    chunk of 2 MiB   | piece | piece   | piece | not handed out yet |      one huge page
//!                         |       |         |
//!                         +-------+---------+--- each keeps the chunk
//! ```
//!
//! A chunk without pieces is kept for the next arena that asks, up to [`FREE_CHUNKS_MAX`] of them in a process.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::slice;
use std::sync::Arc;

use memmap2::MmapMut;

use crate::locks::Mutex;

/// A chunk, and a huge page of most processors.
const CHUNK_BYTES: usize = 2 << 20;
/// A larger piece has memory of its own: the allocator's.
const PIECE_BYTES_MAX: usize = CHUNK_BYTES / 2;
/// Pieces begin at multiples of this, as Arrow's buffers do.
const PIECE_ALIGN: usize = 64;
/// The allocator keeps about as much of what a large scan has freed, and for the same reason: where a machine's memory is
/// lent to it by another, what is given back and asked for again takes ten times as long as a copy.
const FREE_CHUNKS_MAX: usize = (256 << 20) / CHUNK_BYTES;

/// Chunks that nobody has a piece of.
static FREE: std::sync::Mutex<Vec<Mapping>> = std::sync::Mutex::new(Vec::new());

/// Hands out memory that lies together in huge pages.
///
/// ```
/// use timestrata_io::Arena;
///
/// let arena = Arena::default();
/// if let Some(mut piece) = arena.take(256 << 10) {
///     piece[..5].copy_from_slice(b"12.50");
///     piece.truncate(5);
///     assert_eq!(*piece, *b"12.50");
/// }
/// ```
#[derive(Clone, Default)]
pub struct Arena {
    /// What pieces are taken of, by this one and its clones.
    room: Arc<Mutex<Option<Room>>>,
}

/// A chunk, and how much of it has been handed out.
struct Room {
    chunk: Arc<Chunk>,
    used: usize,
}

/// Bytes of an [`Arena`], which nobody else has. They are what they were when they were last used, or zeros.
pub struct ArenaBytes {
    chunk: Arc<Chunk>,
    /// Within the chunk, aligned to [`PIECE_ALIGN`].
    start: usize,
    len: usize,
}

/// A chunk goes back when nobody has a piece of it any more.
struct Chunk {
    /// `None` only while it is dropped.
    mapping: Option<Mapping>,
    /// Its first byte.
    start: NonNull<u8>,
}

/// Memory in which a chunk lies at a multiple of its own length.
struct Mapping {
    memory: MmapMut,
    /// Where in it the chunk begins.
    offset: usize,
}

// SAFETY: it is memory that no thread owns, and is touched through pieces alone, which don't overlap.
unsafe impl Send for Chunk {}
// SAFETY: as above; what threads share of it is its address.
unsafe impl Sync for Chunk {}

impl Arena {
    /// So many bytes; `None` where there is no memory, on other systems than Linux, and for more than a chunk's half: whoever
    /// asks takes the allocator's then.
    pub fn take(&self, bytes: usize) -> Option<ArenaBytes> {
        if bytes == 0 || bytes > PIECE_BYTES_MAX {
            return None;
        }
        let mut current = self.room.lock();
        let room = current.take().filter(|room| bytes <= CHUNK_BYTES - room.used);
        let Room { chunk, used: start } = match room {
            Some(room) => room,
            None => Room { chunk: Arc::new(Chunk::new()?), used: 0 },
        };
        let used = (start + bytes).next_multiple_of(PIECE_ALIGN);
        *current = Some(Room { chunk: Arc::clone(&chunk), used });
        Some(ArenaBytes { chunk, start, len: bytes })
    }
}

impl fmt::Debug for Arena {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Arena").finish_non_exhaustive()
    }
}

impl ArenaBytes {
    /// Keeps so many bytes, from the first one on.
    pub fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }
}

impl Deref for ArenaBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the chunk is mapped as long as it is kept, and initialised by the system; `start + len` ends within it; and
        // `Arena::take` gives no byte to two pieces, of which this is the one that has these.
        unsafe { slice::from_raw_parts(self.chunk.start.add(self.start).as_ptr(), self.len) }
    }
}

impl DerefMut for ArenaBytes {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and whoever has the piece has it alone.
        unsafe { slice::from_raw_parts_mut(self.chunk.start.add(self.start).as_ptr(), self.len) }
    }
}

impl AsRef<[u8]> for ArenaBytes {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl fmt::Debug for ArenaBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ArenaBytes").field("len", &self.len).finish_non_exhaustive()
    }
}

impl Chunk {
    fn new() -> Option<Self> {
        // Whoever holds the list is done with it soon, but may be a thread that a child of a `fork` doesn't have.
        let free = FREE.try_lock().ok().and_then(|mut free| free.pop());
        let mut mapping = match free {
            Some(mapping) => mapping,
            None => Mapping::new()?,
        };
        let start =
            mapping.memory.get_mut(mapping.offset..).filter(|of| of.len() >= CHUNK_BYTES)?;
        let start = NonNull::from(start).cast();
        Some(Self { mapping: Some(mapping), start })
    }
}

impl Drop for Chunk {
    fn drop(&mut self) {
        let Ok(mut free) = FREE.try_lock() else { return };
        if free.len() < FREE_CHUNKS_MAX {
            free.extend(self.mapping.take());
        }
    }
}

impl Mapping {
    #[cfg(all(target_os = "linux", not(miri)))]
    fn new() -> Option<Self> {
        // Newer systems put it where a huge page can be. In others what lies beside the chunk is never touched, and so takes
        // no memory.
        let mut memory = MmapMut::map_anon(CHUNK_BYTES).ok()?;
        if memory.as_ptr().align_offset(CHUNK_BYTES) > 0 {
            memory = MmapMut::map_anon(2 * CHUNK_BYTES).ok()?;
        }
        let offset = memory.as_ptr().align_offset(CHUNK_BYTES);
        // A system that is built without them says so, and gives small ones.
        let _ = memory.advise_range(memmap2::Advice::HugePage, offset, CHUNK_BYTES);
        Some(Self { memory, offset })
    }

    #[cfg(any(not(target_os = "linux"), miri))]
    fn new() -> Option<Self> {
        None
    }
}

/// Gives the chunks that nobody has a piece of back to the system, unless somebody is about them.
pub(super) fn give_back() {
    let free = FREE.try_lock().map(|mut free| std::mem::take(&mut *free));
    // Without the lock.
    drop(free);
}

#[cfg(test)]
mod tests;
