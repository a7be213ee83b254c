//! Bodies as they were before they were packed.

use std::io::{self, BufReader, Read};

use flate2::bufread::MultiGzDecoder;
use timestrata_ingest::rows::Compression;

const READ_BYTES: usize = 256 << 10;
/// The largest window of Zstandard that is unpacked: 128 MiB, as its own tools do.
const ZSTD_WINDOW_LOG_MAX: u32 = 27;

/// What `packed` gives, unpacked.
///
/// # Errors
/// Where there can't be a decoder.
pub(crate) fn unpacked(
    packed: impl Read + Send + 'static,
    compression: Compression,
) -> io::Result<Box<dyn Read + Send>> {
    let packed = BufReader::with_capacity(READ_BYTES, packed);
    Ok(match compression {
        Compression::None => Box::new(packed),
        Compression::Gzip => Box::new(MultiGzDecoder::new(packed)),
        Compression::Zstd => {
            let mut decoder = zstd::Decoder::with_buffer(packed)?;
            decoder.window_log_max(ZSTD_WINDOW_LOG_MAX)?;
            Box::new(decoder)
        }
    })
}
