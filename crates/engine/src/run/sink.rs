//! Where a run's encoder writes: a file, through a large buffer, with checksums on the fly.

use std::io::{self, Write};
use std::sync::Arc;

use timestrata_format::BLOCK_CHECKSUM_BYTES;
use timestrata_format::checksum::Crc32c;
use timestrata_io::DiskFile;

/// Bytes gathered before a write goes to the file.
const BUFFER_BYTES: usize = 1 << 20;
/// Bytes that one checksum of the data covers.
const BLOCK_BYTES: usize = BLOCK_CHECKSUM_BYTES as usize;

/// What the checksums of a finished file are.
#[derive(Debug)]
pub(super) struct Sums {
    pub(super) file_bytes: u64,
    pub(super) file_crc: u32,
    pub(super) tail_crc: u32,
}

/// An appending writer that knows the checksum of everything that went through it.
#[derive(Debug)]
pub(super) struct Sink {
    file: Arc<dyn DiskFile>,
    buffer: Vec<u8>,
    written: u64,
    file_crc: Crc32c,
    block_crc: Crc32c,
    block_filled: usize,
    block_crcs: Vec<u32>,
    tail_crc: Option<Crc32c>,
    /// The first failure of the file. Encoders wrap errors in their own ways; here the
    /// operating system's error is kept as it was, so that a full disk can be told.
    failure: Option<io::Error>,
    /// A write failed: nobody knows what the file holds, so it takes no more.
    broken: bool,
}

impl Sink {
    pub(super) fn new(file: Arc<dyn DiskFile>) -> Self {
        Self {
            file,
            buffer: Vec::with_capacity(BUFFER_BYTES),
            written: 0,
            file_crc: Crc32c::new(),
            block_crc: Crc32c::new(),
            block_filled: 0,
            block_crcs: Vec::new(),
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

    /// Ends the data: gives its checksums; what comes from here on is the tail.
    pub(super) fn begin_tail(&mut self) -> Vec<u32> {
        assert!(self.tail_crc.is_none(), "the tail of a run begins once");
        if self.block_filled > 0 {
            self.end_block();
        }
        self.tail_crc = Some(Crc32c::new());
        std::mem::take(&mut self.block_crcs)
    }

    /// The checksums of the whole file.
    pub(super) fn sums(&self) -> Sums {
        Sums {
            file_bytes: self.written,
            file_crc: self.file_crc.value(),
            tail_crc: self.tail_crc.as_ref().map_or(0, Crc32c::value),
        }
    }

    /// Makes all bytes so far durable.
    pub(super) fn sync(&mut self, everything: bool) -> io::Result<()> {
        self.flush()?;
        if everything { self.file.sync_all() } else { self.file.sync_data() }
    }

    fn end_block(&mut self) {
        let block = std::mem::take(&mut self.block_crc);
        self.block_crcs.push(block.value());
        self.block_filled = 0;
    }

    fn add_to_blocks(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let space = BLOCK_BYTES - self.block_filled;
            let (now, later) = bytes.split_at(space.min(bytes.len()));
            self.block_crc.update(now);
            self.block_filled += now.len();
            if self.block_filled == BLOCK_BYTES {
                self.end_block();
            }
            bytes = later;
        }
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.broken {
            return Err(io::Error::other("an earlier write to this file failed"));
        }
        match self.file.append(bytes) {
            Ok(_) => Ok(()),
            Err(error) => {
                let copy = io::Error::new(error.kind(), error.to_string());
                self.failure = Some(error);
                self.broken = true;
                Err(copy)
            }
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
        self.file_crc.update(bytes);
        match &mut self.tail_crc {
            Some(tail_crc) => tail_crc.update(bytes),
            None => self.add_to_blocks(bytes),
        }
        self.written += bytes.len() as u64;
        if self.buffer.len() + bytes.len() > BUFFER_BYTES {
            self.append_buffer()?;
        }
        if bytes.len() >= BUFFER_BYTES {
            self.append(bytes)?;
        } else {
            self.buffer.extend_from_slice(bytes);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.append_buffer()
    }
}
