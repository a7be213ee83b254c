//! The last record of each key, found in bounded memory.

use std::collections::HashMap;
use std::ops::Range;

use timestrata_engine::{Result, Snapshot, StreamId};
use timestrata_merkle::Hash;

use super::record::Records;
use super::retain::records;

/// Keys that are looked at together: about 300 MB. The rest waits for the next time, as Kafka's cleaner
/// does it.
const KEYS_MAX: usize = 4 << 20;

/// The last offset of each key, by the key's SHA-256.
#[derive(Debug, Default)]
pub(super) struct LastOfKey(HashMap<Hash, u64>);

impl LastOfKey {
    /// The last offset of a key; `None` if it isn't among them.
    pub(super) fn of(&self, key: &[u8]) -> Option<u64> {
        self.0.get(&Hash::of_bytes(key)).copied()
    }
}

/// The keys of some records.
#[derive(Debug)]
pub(super) struct Keys {
    pub(super) last: LastOfKey,
    /// Behind the last record that was looked at.
    pub(super) end: u64,
}

/// Looks at records in order until there are too many keys.
pub(super) fn last_of_each_key(
    snapshot: &Snapshot,
    stream: StreamId,
    offsets: Range<u64>,
) -> Result<Keys> {
    let mut last = HashMap::new();
    for batch in records(snapshot, stream, offsets.clone())? {
        let batch = Records::of(&batch?)?;
        let mut end = None;
        for (offset, record) in batch.iter() {
            if let Some(key) = record.key {
                last.insert(Hash::of_bytes(key), offset);
            }
            end = Some(offset + 1);
        }
        if let (Some(end), true) = (end, last.len() >= KEYS_MAX) {
            return Ok(Keys { last: LastOfKey(last), end });
        }
    }
    Ok(Keys { last: LastOfKey(last), end: offsets.end })
}
