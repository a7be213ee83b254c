//! Where a run's encoder writes: a file, through a large buffer, with checksums on the fly.

use std::io::{self, Write};
use std::sync::Arc;

use timestrata_format::BlockExtent;
use timestrata_format::checksum::{Crc32c, joined};
use timestrata_io::DiskFile;

/// Bytes gathered before a write goes to the file. Few enough to stay in a core's cache.
const BUFFER_BYTES: usize = 256 << 10;
/// Pieces from this length on are written as they are, without a copy.
const DIRECT_BYTES_MIN: usize = 64 << 10;
/// After so many bytes they are sent on to the disk, which then works while the next ones
/// are made. Half of a flush's time was the sync at its end.
const WRITE_BACK_BYTES: u64 = 8 << 20;

/// What the checksums of a finished file are.
#[derive(Debug)]
pub(super) struct Sums {
    pub(super) file_bytes: u64,
    pub(super) file_crc: u32,
    pub(super) tail_crc: u32,
}

/// Bytes that the same checksums cover.
#[derive(Debug, Default)]
struct Piece {
    crc: Crc32c,
    bytes: u64,
}

impl Piece {
    fn update(&mut self, bytes: &[u8]) {
        self.crc.update(bytes);
        self.bytes += bytes.len() as u64;
    }
}

/// An appending writer that knows the checksum of everything that went through it.
#[derive(Debug)]
pub(super) struct Sink {
    file: Arc<dyn DiskFile>,
    buffer: Vec<u8>,
    written: u64,
    /// Bytes of the file that were sent on to the disk.
    sent_on: u64,
    /// What has come since a checksum of any kind ended. Each byte is gone through once, here.
    piece: Piece,
    file_crc: u32,
    /// Bytes of the data that one checksum covers.
    block_bytes: usize,
    block_crc: u32,
    block_filled: usize,
    block_crcs: Vec<u32>,
    /// Where the extent under way begins, and its checksum so far.
    extent_start: u64,
    extent_crc: u32,
    tail_crc: Option<u32>,
    /// The first failure of the file. Encoders wrap errors in their own ways; here the
    /// operating system's error is kept as it was, so that a full disk can be told.
    failure: Option<io::Error>,
    /// A write failed: nobody knows what the file holds, so it takes no more.
    broken: bool,
}

impl Sink {
    /// With a checksum for each `block_bytes` of the data.
    pub(super) fn new(file: Arc<dyn DiskFile>, block_bytes: u32) -> Self {
        Self {
            file,
            buffer: Vec::with_capacity(BUFFER_BYTES),
            written: 0,
            sent_on: 0,
            piece: Piece::default(),
            file_crc: 0,
            block_bytes: block_bytes.max(1) as usize,
            block_crc: 0,
            block_filled: 0,
            block_crcs: Vec::new(),
            extent_start: 0,
            extent_crc: 0,
            tail_crc: None,
            failure: None,
            broken: false,
        }
    }

    /// Bytes taken so far, those still in the buffer included.
    pub(super) fn written(&self) -> u64 {
        self.written
    }

    /// The operating system's error, if that is why a write failed.
    pub(super) fn take_failure(&mut self) -> Option<io::Error> {
        self.failure.take()
    }

    /// What has come since the last call, or since the beginning.
    pub(super) fn take_extent(&mut self) -> BlockExtent {
        self.end_piece();
        let start = std::mem::replace(&mut self.extent_start, self.written);
        let crc = std::mem::take(&mut self.extent_crc);
        BlockExtent { start, end: self.written, crc }
    }

    /// Ends the data: gives its checksums; what comes from here on is the tail.
    pub(super) fn begin_tail(&mut self) -> Vec<u32> {
        assert!(self.tail_crc.is_none(), "the tail of a run begins once");
        self.end_piece();
        if self.block_filled > 0 {
            self.end_block();
        }
        self.tail_crc = Some(0);
        std::mem::take(&mut self.block_crcs)
    }

    /// The checksums of the whole file.
    pub(super) fn sums(&mut self) -> Sums {
        self.end_piece();
        Sums {
            file_bytes: self.written,
            file_crc: self.file_crc,
            tail_crc: self.tail_crc.unwrap_or_default(),
        }
    }

    /// The file with all bytes so far; lets go of the buffer: what may follow is short.
    pub(super) fn written_out(&mut self) -> io::Result<Arc<dyn DiskFile>> {
        self.flush()?;
        self.buffer = Vec::new();
        Ok(Arc::clone(&self.file))
    }

    /// Makes all bytes so far durable.
    pub(super) fn sync(&mut self, everything: bool) -> io::Result<()> {
        self.written_out()?;
        if everything { self.file.sync_all() } else { self.file.sync_data() }
    }

    fn end_block(&mut self) {
        self.block_crcs.push(std::mem::take(&mut self.block_crc));
        self.block_filled = 0;
    }

    /// Adds what has come to all that it is a part of.
    fn end_piece(&mut self) {
        let Piece { crc, bytes } = std::mem::take(&mut self.piece);
        let piece_crc = crc.value();
        let add = |sum: &mut u32| *sum = joined(*sum, piece_crc, bytes);
        add(&mut self.file_crc);
        match &mut self.tail_crc {
            Some(tail_crc) => add(tail_crc),
            None => [&mut self.extent_crc, &mut self.block_crc].into_iter().for_each(add),
        }
    }

    fn add_to_blocks(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let space = self.block_bytes - self.block_filled;
            let (now, later) = bytes.split_at(space.min(bytes.len()));
            self.piece.update(now);
            self.block_filled += now.len();
            if self.block_filled == self.block_bytes {
                self.end_piece();
                self.end_block();
            }
            bytes = later;
        }
    }

    fn usable(&self) -> io::Result<()> {
        if self.broken {
            return Err(io::Error::other("an earlier write to this file failed"));
        }
        Ok(())
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self.file.append(bytes) {
            Ok(offset) => {
                self.send_on(offset + bytes.len() as u64);
                Ok(())
            }
            Err(error) => {
                let copy = io::Error::new(error.kind(), error.to_string());
                self.failure = Some(error);
                self.broken = true;
                Err(copy)
            }
        }
    }

    /// Sends what was written before `end` on to the disk, if it is enough.
    fn send_on(&mut self, end: u64) {
        let waiting = end.saturating_sub(self.sent_on);
        if waiting >= WRITE_BACK_BYTES {
            self.file.start_writing_back(self.sent_on, waiting);
            self.sent_on = end;
        }
    }

    fn append_buffer(&mut self) -> io::Result<()> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        let mut buffer = std::mem::take(&mut self.buffer);
        let result = self.append(&buffer);
        buffer.clear();
        self.buffer = buffer;
        result
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.usable()?;
        match self.tail_crc {
            Some(_) => self.piece.update(bytes),
            None => self.add_to_blocks(bytes),
        }
        self.written += bytes.len() as u64;
        let direct = bytes.len() >= DIRECT_BYTES_MIN;
        if direct || self.buffer.len() + bytes.len() > BUFFER_BYTES {
            self.append_buffer()?;
        }
        if direct {
            self.append(bytes)?;
        } else {
            self.buffer.extend_from_slice(bytes);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.usable()?;
        self.append_buffer()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use bytes::Bytes;
    use timestrata_format::checksum::crc32c;
    use timestrata_io::{Disk, MemoryDisk, OpenMode};

    use super::*;

    /// A file on a disk with room for so many bytes.
    #[derive(Debug)]
    struct SmallFile {
        room: AtomicU64,
    }

    impl DiskFile for SmallFile {
        fn append(&self, bytes: &[u8]) -> io::Result<u64> {
            let room = self.room.load(Ordering::Relaxed);
            match room.checked_sub(bytes.len() as u64) {
                Some(left) => {
                    self.room.store(left, Ordering::Relaxed);
                    Ok(0)
                }
                None => Err(io::ErrorKind::StorageFull.into()),
            }
        }
        fn len(&self) -> io::Result<u64> {
            Err(io::ErrorKind::Unsupported.into())
        }
        fn read_at(&self, _: u64, _: &mut [u8]) -> io::Result<()> {
            Err(io::ErrorKind::Unsupported.into())
        }
        fn write_at(&self, _: u64, _: &[u8]) -> io::Result<()> {
            Err(io::ErrorKind::Unsupported.into())
        }
        fn set_len(&self, _: u64) -> io::Result<()> {
            Err(io::ErrorKind::Unsupported.into())
        }
        fn sync_data(&self) -> io::Result<()> {
            Ok(())
        }
        fn sync_all(&self) -> io::Result<()> {
            Ok(())
        }
        fn map(&self) -> io::Result<Bytes> {
            Err(io::ErrorKind::Unsupported.into())
        }
    }

    #[test]
    fn a_full_disk_is_told_apart_and_ends_the_file() {
        let mut sink = Sink::new(Arc::new(SmallFile { room: AtomicU64::new(3 << 20) }), 65_536);
        let piece = vec![1; 700 << 10];
        let failure = (0..10).find_map(|_| sink.write_all(&piece).err()).unwrap();
        assert_eq!(failure.kind(), io::ErrorKind::StorageFull);
        assert_eq!(sink.take_failure().unwrap().kind(), io::ErrorKind::StorageFull);
        // Even if there were room again: a piece is missing.
        assert!(sink.write_all(&vec![1; 2 << 20]).is_err());
        assert!(sink.sync(true).is_err());
    }

    #[test]
    fn checksums_are_those_of_the_bytes_however_they_are_cut() {
        let bytes: Vec<u8> =
            (0..3_000_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        let (data, tail) = bytes.split_at(2_500_001);
        for (cut, block_bytes) in
            [(1_013, 65_536), (65_536, 16_384), (1 << 20, 65_536), (2_400_000, 4_099)]
        {
            let disk = MemoryDisk::new();
            let file = disk.open("/f".as_ref(), OpenMode::CreateNew).unwrap();
            let mut sink = Sink::new(Arc::clone(&file), block_bytes);
            data.chunks(cut).for_each(|piece| sink.write_all(piece).unwrap());
            assert_eq!(sink.written(), data.len() as u64);
            let block_crcs = sink.begin_tail();
            let blocks = data.chunks(block_bytes as usize);
            assert!(block_crcs.iter().copied().eq(blocks.map(crc32c)));
            tail.chunks(cut).for_each(|piece| sink.write_all(piece).unwrap());
            sink.sync(true).unwrap();
            let sums = sink.sums();
            assert_eq!(sums.file_bytes, bytes.len() as u64);
            assert_eq!(sums.file_crc, crc32c(&bytes));
            assert_eq!(sums.tail_crc, crc32c(tail));
            assert!(file.map().unwrap() == bytes);
        }
    }
}
