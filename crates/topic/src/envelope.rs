//! The bytes that are hashed for a record: a small envelope with the record's place and the hashes of its
//! parts. Its byte map is in `docs/format.md`. It has hashes of the payload only, so the payload can be
//! deleted, and every proof stays valid.

use timestrata_engine::{Error, ErrorKind, Result};
use timestrata_merkle::Hash;

use super::record::Record;

/// Says which envelope it is.
const VERSION: u8 = 1;
const HAS_KEY: u8 = 1;
const HAS_HEADERS: u8 = 1 << 1;
const HAS_VALUE: u8 = 1 << 2;

/// Where a record is in a store.
///
/// ```
/// use timestrata_topic::{Record, RecordPlace, write_envelope};
///
/// // The bytes that are hashed for a record: of another place they are others.
/// let opened = Record { value: Some(b"opened"), ..Record::default() };
/// let bytes_at = |offset| {
///     let place = RecordPlace { topic: "events", partition: 0, offset, timestamp_ns: 1 };
///     let mut bytes = Vec::new();
///     write_envelope(&place, &opened, &mut bytes).map(|()| bytes)
/// };
/// assert_ne!(bytes_at(0)?, bytes_at(1)?);
/// # Ok::<(), timestrata_engine::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordPlace<'a> {
    /// Its topic's name.
    pub topic: &'a str,
    /// Its partition.
    pub partition: u32,
    /// Its place in the partition.
    pub offset: u64,
    /// Its time, nanoseconds since the epoch.
    pub timestamp_ns: i64,
}

/// Headers as they are hashed: how many, then name and value of each with their lengths before them.
fn hash_of_headers(record: &Record<'_>) -> Hash {
    let mut bytes = Vec::new();
    let length = |bytes: &mut Vec<u8>, length: usize| bytes.extend((length as u64).to_be_bytes());
    length(&mut bytes, record.headers.len());
    for (name, value) in &record.headers {
        for part in [name.as_bytes(), value] {
            length(&mut bytes, part.len());
            bytes.extend(part);
        }
    }
    Hash::of_bytes(&bytes)
}

/// Appends the envelope of a record to `envelope`, which is the entry of the topic's Merkle tree.
///
/// # Errors
/// `InvalidArgument` for a topic's name that no topic can have.
pub fn write_envelope(
    place: &RecordPlace<'_>,
    record: &Record<'_>,
    envelope: &mut Vec<u8>,
) -> Result<()> {
    let name_bytes = u8::try_from(place.topic.len()).map_err(|_| {
        Error::new(ErrorKind::InvalidArgument, "the topic's name is longer than a topic's can be")
    })?;
    let parts = [
        record.key.map(|key| (HAS_KEY, Hash::of_bytes(key))),
        (!record.headers.is_empty()).then(|| (HAS_HEADERS, hash_of_headers(record))),
        record.value.map(|value| (HAS_VALUE, Hash::of_bytes(value))),
    ];
    let tags = parts.iter().flatten().fold(0, |tags, (tag, _)| tags | tag);
    envelope.extend([VERSION, tags, name_bytes]);
    envelope.extend(place.topic.as_bytes());
    envelope.extend(place.partition.to_be_bytes());
    envelope.extend(place.offset.to_be_bytes());
    envelope.extend(place.timestamp_ns.to_be_bytes());
    for (_, hash) in parts.iter().flatten() {
        envelope.extend(hash.as_bytes());
    }
    Ok(())
}
