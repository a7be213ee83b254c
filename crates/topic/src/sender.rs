//! State of an idempotent producer: the sequence number that comes next, and the receipts of its latest
//! sends. A send that is repeated gets its first receipt again, and appends nothing.

use std::collections::VecDeque;

use timestrata_engine::{Error, ErrorKind, Result};

use super::state::{StateKind, StateRow};

/// Sends whose receipts are remembered, as many as Kafka's brokers do.
const SENDS_REMEMBERED: usize = 5;
/// Numbers of a send as they are stored.
const SEND_NUMBERS: usize = 3;

/// One send: consecutive sequences, which got consecutive offsets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Sent {
    sequence: u64,
    records: u64,
    offset: u64,
}

/// What an idempotent producer sent to a partition last.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Sender {
    /// The sequence that comes next.
    next: u64,
    sent: VecDeque<Sent>,
}

impl Sender {
    /// As it was stored.
    ///
    /// # Errors
    /// `Corruption`.
    pub(super) fn of(row: &StateRow) -> Result<Self> {
        let bytes = row.bytes.as_deref().unwrap_or_default();
        let (numbers, rest) = bytes.as_chunks::<8>();
        let (sends, more) = numbers.as_chunks::<SEND_NUMBERS>();
        if !rest.is_empty() || !more.is_empty() {
            let what = format!("the stored receipts of producer '{}' are cut", row.name);
            return Err(Error::new(ErrorKind::Corruption, what));
        }
        let sent = sends.iter().map(|send| {
            let [sequence, records, offset] = send.map(u64::from_be_bytes);
            Sent { sequence, records, offset }
        });
        Ok(Self { next: row.number, sent: sent.collect() })
    }

    /// The sequence that comes next.
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    /// As it is stored.
    pub(super) fn row(&self, name: &str, partition: u32, timestamp_ns: i64) -> StateRow {
        let numbers = |sent: &Sent| [sent.sequence, sent.records, sent.offset];
        let bytes = self.sent.iter().flat_map(numbers).flat_map(u64::to_be_bytes).collect();
        let offset = self.sent.back().map_or(0, |sent| sent.offset);
        let row = StateRow::of_partition(StateKind::Producer, partition, offset, timestamp_ns);
        StateRow { name: name.to_owned(), number: self.next, bytes: Some(bytes), ..row }
    }

    /// The first offset that these sequences got when they were sent before; `None` if they are the
    /// next ones.
    ///
    /// # Errors
    /// `Conflict` if sequences before them were never sent, or if these were sent too long ago or
    /// otherwise grouped.
    pub(super) fn earlier(
        &self,
        producer: &str,
        sequence: u64,
        records: u64,
    ) -> Result<Option<u64>> {
        if sequence == self.next {
            return Ok(None);
        }
        let conflict = |why: String| {
            let what = format!("producer '{producer}' sends sequence {sequence}: {why}");
            Err(Error::new(ErrorKind::Conflict, what))
        };
        if sequence > self.next {
            return conflict(format!("{} is next, those between were never sent", self.next));
        }
        let same = |sent: &&Sent| sent.sequence == sequence && sent.records == records;
        match self.sent.iter().find(same) {
            Some(sent) => Ok(Some(sent.offset)),
            None => conflict(format!(
                "{} is next, and of earlier sends the last {SENDS_REMEMBERED} are remembered, as \
                 they were grouped",
                self.next
            )),
        }
    }

    /// The same after the next sequences got offsets from `offset` on.
    pub(super) fn sent(mut self, records: u64, offset: u64) -> Self {
        self.sent.push_back(Sent { sequence: self.next, records, offset });
        while self.sent.len() > SENDS_REMEMBERED {
            self.sent.pop_front();
        }
        self.next += records;
        self
    }
}
