//! The id of a block.

use std::fmt;
use std::str::FromStr;

use timestrata_engine::{Error, ErrorKind};

/// Bytes of an id.
const BYTES: usize = 16;

/// The id of a block: 16 bytes, given by whoever put it or made from its content.
///
/// ```
/// use timestrata_graph::{BlockId, id_of_content};
///
/// let id: BlockId = id_of_content(b"fn main() {}");
/// assert_eq!(id.to_string().parse::<BlockId>()?, id);
/// # Ok::<(), timestrata_engine::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct BlockId([u8; BYTES]);

impl BlockId {
    /// The id of these bytes.
    pub const fn new(bytes: [u8; BYTES]) -> Self {
        Self(bytes)
    }

    /// Its bytes.
    pub const fn bytes(&self) -> &[u8; BYTES] {
        &self.0
    }

    /// A number in which every bit hangs on every bit of the id: ids that people give may be
    /// counted, or differ in their last byte only.
    #[inline]
    pub(crate) fn spread(self) -> u64 {
        // Digits of pi, odd.
        const FACTORS: [u64; 3] =
            [0x243f_6a88_85a3_08d3, 0x1319_8a2e_0370_7345, 0xa409_3822_299f_31d1];
        let bits = u128::from_le_bytes(self.0);
        let first = fold(bits as u64 ^ FACTORS[0], FACTORS[1]);
        fold(first ^ (bits >> 64) as u64, FACTORS[2])
    }
}

/// Both halves of a product, laid over each other.
#[inline]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

impl From<[u8; BYTES]> for BlockId {
    fn from(bytes: [u8; BYTES]) -> Self {
        Self(bytes)
    }
}

impl From<BlockId> for [u8; BYTES] {
    fn from(id: BlockId) -> Self {
        id.0
    }
}

impl TryFrom<&[u8]> for BlockId {
    type Error = Error;

    /// # Errors
    /// `InvalidArgument` unless there are 16 bytes.
    fn try_from(bytes: &[u8]) -> Result<Self, Error> {
        let bytes = bytes.try_into().map_err(|_| {
            let message = format!("the id of a block has {BYTES} bytes, not {}", bytes.len());
            Error::new(ErrorKind::InvalidArgument, message)
        })?;
        Ok(Self(bytes))
    }
}

impl FromStr for BlockId {
    type Err = Error;

    /// Reads an id of 32 hexadecimal digits, in capitals or not.
    ///
    /// # Errors
    /// `InvalidArgument` for any other text.
    fn from_str(text: &str) -> Result<Self, Error> {
        let digits = text.as_bytes();
        let is_id =
            digits.len() == 2 * BYTES && digits.iter().all(|digit| digit.is_ascii_hexdigit());
        match u128::from_str_radix(text, 16) {
            Ok(bits) if is_id => Ok(Self(bits.to_be_bytes())),
            _ => Err(Error::new(
                ErrorKind::InvalidArgument,
                format!("'{text}' is no id of a block: it has {} hexadecimal digits", 2 * BYTES),
            )),
        }
    }
}

impl fmt::Display for BlockId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", u128::from_be_bytes(self.0))
    }
}

impl fmt::Debug for BlockId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
