//! Sending: records get their partition, offset and time, and are committed.

use std::collections::BTreeMap;
use std::sync::Arc;

use timestrata_engine::planted::{Plant, is_planted};
use timestrata_engine::{Changes, Durability, Error, ErrorKind, Result, SeqNo};

use super::hub::Hub;
use super::options::Stamp;
use super::partition::{LivePartition, Partition};
use super::record::Record;
use super::{Topic, state};

/// Where a record is now, and since when.
///
/// ```
/// use timestrata_engine::{Settings, Store};
/// # use timestrata_topic::{Record, SendOptions, Topic, TopicOptions};
///
/// # fn main() -> timestrata_engine::Result<()> {
/// # let store = Store::memory(Settings::default())?;
/// # let events = Topic::create(&store, "events", &TopicOptions::default())?;
/// let opened = Record { key: Some(b"door"), value: Some(b"opened"), ..Record::default() };
/// let receipt = events.send(&opened, &SendOptions::default())?;
/// assert_eq!((receipt.partition, receipt.offset), (0, 0));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt {
    /// Its partition.
    pub partition: u32,
    /// Its place in the partition.
    pub offset: u64,
    /// Its time, nanoseconds since the epoch.
    pub timestamp_ns: i64,
}

/// How to send.
///
/// ```
/// use timestrata_engine::{Settings, Store};
/// use timestrata_topic::{Record, SendOptions, Topic, TopicOptions};
///
/// # fn main() -> timestrata_engine::Result<()> {
/// # let store = Store::memory(Settings::default())?;
/// # let events = Topic::create(&store, "events", &TopicOptions::default())?;
/// let opened = Record { key: Some(b"door"), value: Some(b"opened"), ..Record::default() };
/// // Only if nobody has sent anything yet.
/// let first = SendOptions { expected_offset: Some(0), ..SendOptions::default() };
/// events.send(&opened, &first)?;
/// assert!(events.send(&opened, &first).is_err());
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy)]
pub struct SendOptions<'a> {
    /// The partition for all; `None`: the one that each names, or that of its key.
    pub partition: Option<u32>,
    /// What the records survive once they are acknowledged.
    pub durability: Durability,
    /// The offset that the first must get, or nothing is sent. All records must be for one partition.
    pub expected_offset: Option<u64>,
    /// Who sends, and the first record's sequence among those of this producer in the partition,
    /// from 0; `None`: the one that comes next. What is repeated is answered with the first receipt.
    /// With a sequence all records must be for one partition.
    pub sequence: Option<(&'a str, Option<u64>)>,
    /// The same of records for several partitions: of each the sequence of its first record. What is repeated is repeated
    /// as a whole.
    ///
    /// ```
    /// use timestrata_engine::{Settings, Store};
    /// use timestrata_topic::{Record, SendOptions, Topic, TopicOptions};
    ///
    /// # fn main() -> timestrata_engine::Result<()> {
    /// # let store = Store::memory(Settings::default())?;
    /// let options = TopicOptions { partitions: 2, ..TopicOptions::default() };
    /// let events = Topic::create(&store, "events", &options)?;
    /// let of = |partition| Record { partition: Some(partition), ..Record::default() };
    /// let first = SendOptions {
    ///     sequence: Some(("loader", None)),
    ///     sequences: &[(0, 0), (1, 0)],
    ///     ..SendOptions::default()
    /// };
    /// let receipts = events.send_batch(&[of(0), of(1)], &first)?;
    /// assert_eq!(events.send_batch(&[of(0), of(1)], &first)?, receipts);
    /// # Ok(())
    /// # }
    /// ```
    pub sequences: &'a [(u32, u64)],
    /// The epoch that the producer [began](Topic::begin_producer) with: nothing is sent if one of its name has begun since.
    pub epoch: Option<u64>,
}

impl Default for SendOptions<'_> {
    fn default() -> Self {
        Self {
            partition: None,
            durability: Durability::Synced,
            expected_offset: None,
            sequence: None,
            sequences: &[],
            epoch: None,
        }
    }
}

/// Records for one partition, with their places in what was given.
type Group<'a, 'r> = Vec<(usize, &'a Record<'r>)>;
/// Receipts, with the places of their records.
pub(super) type Placed = Vec<(usize, Receipt)>;
/// Records by partition.
type RecordsByPartition<'a, 'r> = BTreeMap<u32, (Arc<Partition>, Group<'a, 'r>)>;

impl Topic {
    /// Appends one record; see [`Topic::send_batch`].
    ///
    /// # Errors
    /// As [`Topic::send_batch`].
    pub fn send(&self, record: &Record<'_>, options: &SendOptions<'_>) -> Result<Receipt> {
        if let Some((receipt, seq)) = self.send_alone(record, options)? {
            if options.durability == Durability::Synced {
                self.store.sync_through(seq)?;
            }
            self.store.model_state::<Hub>().announce();
            return Ok(receipt);
        }
        let mut receipts = self.send_batch(std::slice::from_ref(record), options)?;
        receipts.pop().ok_or_else(|| Error::new(ErrorKind::InvalidArgument, "no record"))
    }

    /// The short way of a record that is a row and nothing else; `None`, and nothing was done, if it
    /// needs the long one.
    fn send_alone(
        &self,
        record: &Record<'_>,
        options: &SendOptions<'_>,
    ) -> Result<Option<(Receipt, SeqNo)>> {
        if !record.headers.is_empty() || options.sequence.is_some() {
            return Ok(None);
        }
        self.check_sizes(std::slice::from_ref(record))?;
        let named = options.partition.or(record.partition);
        let number = named.unwrap_or_else(|| self.partition_for(record));
        let partition = self.partition(number)?;
        let appender = self.appender(&partition)?;
        let (offset, timestamp_ns, seq) = {
            let mut live = partition.lock(&self.store)?;
            let offset = live.end();
            check_expected(&partition, offset, options)?;
            let timestamp_ns = self.time_of(record, self.store.wall_ns());
            let mut appender = appender.lock();
            let appended =
                live.append_alone(&mut appender, record, timestamp_ns, options.durability);
            match appended {
                Ok(Some(seq)) => (offset, timestamp_ns, seq),
                Ok(None) => return Ok(None),
                Err(error) => {
                    live.forget();
                    return Err(error);
                }
            }
        };
        if named.is_none() && record.key.is_none() {
            self.turn();
        }
        Ok(Some((Receipt { partition: number, offset, timestamp_ns }, seq)))
    }

    /// As [`Topic::send_batch`], but without the sync that the durability asks for: who sends for many at once makes it
    /// for all of them, by [`Store::sync`](timestrata_engine::Store::sync), before any of them is told that its records
    /// are there. That holds for receipts of what was repeated too.
    ///
    /// ```
    /// use timestrata_engine::{Settings, Store};
    /// use timestrata_topic::{Record, SendOptions, Topic, TopicOptions};
    ///
    /// # fn main() -> timestrata_engine::Result<()> {
    /// # let store = Store::memory(Settings::default())?;
    /// let events = Topic::create(&store, "events", &TopicOptions::default())?;
    /// for value in [b"opened", b"closed"] {
    ///     let record = Record { value: Some(value), ..Record::default() };
    ///     events.send_leaving_sync(&[record], &SendOptions::default())?;
    /// }
    /// store.sync()?; // now both are acknowledged
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Topic::send_batch`].
    pub fn send_leaving_sync(
        &self,
        records: &[Record<'_>],
        options: &SendOptions<'_>,
    ) -> Result<Vec<Receipt>> {
        if let [record] = records
            && let Some((receipt, _)) = self.send_alone(record, options)?
        {
            self.store.model_state::<Hub>().announce();
            return Ok(vec![receipt]);
        }
        let commit = &mut |changes| self.store.commit_leaving_sync(changes, options.durability);
        match self.commit_records(records, options, Changes::new(), commit)? {
            Staged::New((_, receipts)) => {
                self.store.model_state::<Hub>().announce();
                Ok(in_order(receipts))
            }
            Staged::Repeated(receipts) => Ok(receipts),
        }
    }

    /// The time that a record gets.
    fn time_of(&self, record: &Record<'_>, now_ns: i64) -> i64 {
        match self.options().stamp {
            Stamp::Producer => record.timestamp_ns.unwrap_or(now_ns),
            Stamp::Store => now_ns,
        }
    }

    /// Appends records, all of them or none, in one commit, whatever partitions they go to. Once they
    /// are acknowledged they survive what [`SendOptions::durability`] says. Gives the receipts in
    /// the order of the records.
    ///
    /// # Errors
    /// `TooLarge` for a record over the topic's limit, `InvalidArgument` for a partition that the
    /// topic doesn't have, `Conflict` where the expected offset is not the next one or a producer's
    /// sequence has a gap; and what a commit may fail with.
    pub fn send_batch(
        &self,
        records: &[Record<'_>],
        options: &SendOptions<'_>,
    ) -> Result<Vec<Receipt>> {
        self.send_batch_with(records, options, Changes::new())
    }

    /// As [`Topic::send_batch`], in one commit with other changes of the store.
    ///
    /// # Errors
    /// As [`Topic::send_batch`]; none of the changes are made then.
    pub fn send_batch_with(
        &self,
        records: &[Record<'_>],
        options: &SendOptions<'_>,
        others: Changes,
    ) -> Result<Vec<Receipt>> {
        let commit = &mut |changes| self.store.commit_leaving_sync(changes, options.durability);
        let (seq, receipts) = match self.commit_records(records, options, others, commit)? {
            Staged::New(sent) => sent,
            Staged::Repeated(receipts) => {
                // Whoever repeats a send may not have had an answer: this is its acknowledgement.
                if !is_planted(Plant::UnsyncedRepeat) {
                    self.store.acknowledge(options.durability)?;
                }
                return Ok(receipts);
            }
        };
        if options.durability == Durability::Synced {
            self.store.sync_through(seq)?;
        }
        self.store.model_state::<Hub>().announce();
        Ok(in_order(receipts))
    }

    /// Has `commit` commit records with other changes, while nobody else appends to their partitions. Gives the receipts with
    /// the places of the records.
    pub(super) fn commit_records(
        &self,
        records: &[Record<'_>],
        options: &SendOptions<'_>,
        others: Changes,
        commit: &mut dyn FnMut(Changes) -> Result<SeqNo>,
    ) -> Result<Staged<(SeqNo, Placed)>> {
        self.check_sizes(records)?;
        let groups = self.grouped(records, options)?;
        let one_sequence = options.sequence.and_then(|(_, sequence)| sequence).is_some();
        if groups.len() > 1 && (options.expected_offset.is_some() || one_sequence) {
            let what = "an expected offset and one sequence are of one partition; the records are for \
                        several: name the partition, give a sequence for each, or send them one by one";
            return Err(Error::new(ErrorKind::InvalidArgument, what));
        }
        if let Some((odd, _)) = options.sequences.iter().find(|(of, _)| !groups.contains_key(of)) {
            let what =
                format!("there is a sequence for partition {odd}, and no record is for that one");
            return Err(Error::new(ErrorKind::InvalidArgument, what));
        }
        // In the order of their numbers, as everybody locks them.
        let mut lives = Vec::with_capacity(groups.len());
        for (partition, _) in groups.values() {
            lives.push(partition.lock(&self.store)?);
        }
        let held = options.sequence.zip(options.epoch);
        // Until it is committed.
        let _held =
            held.map(|((id, _), epoch)| self.shared.epochs.hold(self, id, epoch)).transpose()?;
        let committed = self.commit_locked(&groups, &mut lives, options, others, commit);
        if committed.is_err() {
            lives.into_iter().for_each(LivePartition::forget);
        }
        committed
    }

    /// As [`commit_records`](Self::commit_records), of one record of nobody who numbers them: most commits have no more.
    pub(super) fn commit_record(
        &self,
        record: &Record<'_>,
        options: &SendOptions<'_>,
        others: Changes,
        commit: &mut dyn FnMut(Changes) -> Result<SeqNo>,
    ) -> Result<(SeqNo, Receipt)> {
        self.check_sizes(std::slice::from_ref(record))?;
        let named = options.partition.or(record.partition);
        let number = named.unwrap_or_else(|| self.partition_for(record));
        let partition = self.partition(number)?;
        if named.is_none() && record.key.is_none() {
            self.turn();
        }
        let mut live = partition.lock(&self.store)?;
        let (offset, now) = (live.end(), self.store.wall_ns());
        let timestamp_ns = self.time_of(record, now);
        let (records, times) = ([record], [timestamp_ns]);
        let commit_locked = |live: &mut LivePartition<'_>| {
            check_expected(&partition, offset, options)?;
            let mut changes = others;
            live.stage(&self.store, &records, &times, now, &mut changes)?;
            let seq = commit(changes)?;
            live.take_in(offset, &records, &times)?;
            Ok(seq)
        };
        let seq = match commit_locked(&mut live) {
            Ok(seq) => seq,
            Err(error) => {
                live.forget();
                return Err(error);
            }
        };
        Ok((seq, Receipt { partition: number, offset, timestamp_ns }))
    }

    fn commit_locked(
        &self,
        groups: &RecordsByPartition<'_, '_>,
        lives: &mut [LivePartition<'_>],
        options: &SendOptions<'_>,
        others: Changes,
        commit: &mut dyn FnMut(Changes) -> Result<SeqNo>,
    ) -> Result<Staged<(SeqNo, Placed)>> {
        let (mut changes, mut receipts, mut staged) = (others, Vec::new(), Vec::new());
        let mut repeated = Placed::new();
        for (live, (partition, group)) in lives.iter_mut().zip(groups.values()) {
            let list: Vec<&Record<'_>> = group.iter().map(|(_, record)| *record).collect();
            let (first, times) = match self.stage(partition, live, &list, options, &mut changes)? {
                Staged::New(added) => added,
                Staged::Repeated(earlier) => {
                    repeated.extend(group.iter().map(|(place, _)| *place).zip(earlier));
                    continue;
                }
            };
            let placed = group.iter().zip(first..).zip(&times);
            receipts.extend(placed.map(|(((place, _), offset), &timestamp_ns)| {
                (*place, Receipt { partition: partition.number, offset, timestamp_ns })
            }));
            staged.push((first, list, times));
        }
        match (repeated.is_empty(), staged.is_empty()) {
            (true, _) => {}
            (false, true) => return Ok(Staged::Repeated(in_order(repeated))),
            (false, false) => {
                let what = format!(
                    "topic '{}': records for some of the partitions were sent before, and those for others were not: \
                     they were no batch together",
                    self.name()
                );
                return Err(Error::new(ErrorKind::Conflict, what));
            }
        }
        // Synced once the partitions are free again for others, who share the sync.
        let seq = commit(changes)?;
        for (live, (first, list, times)) in lives.iter_mut().zip(&staged) {
            live.take_in(*first, list, times)?;
        }
        Ok(Staged::New((seq, receipts)))
    }

    fn check_sizes(&self, records: &[Record<'_>]) -> Result<()> {
        let most = self.options().record_bytes_max;
        let mut sizes = records.iter().map(Record::bytes).enumerate();
        match sizes.find(|(_, bytes)| *bytes > most) {
            None => Ok(()),
            Some((place, bytes)) => {
                let name = self.name();
                let what =
                    format!("topic '{name}': record {place} has {bytes} bytes, {most} is most");
                Err(Error::new(ErrorKind::TooLarge, what))
            }
        }
    }

    /// The records by partition.
    fn grouped<'a, 'r>(
        &self,
        records: &'a [Record<'r>],
        options: &SendOptions<'_>,
    ) -> Result<RecordsByPartition<'a, 'r>> {
        let mut groups = RecordsByPartition::new();
        for (place, record) in records.iter().enumerate() {
            let named = options.partition.or(record.partition);
            let number = named.unwrap_or_else(|| self.partition_for(record));
            let group = match groups.entry(number) {
                std::collections::btree_map::Entry::Occupied(group) => group.into_mut(),
                std::collections::btree_map::Entry::Vacant(place) => {
                    place.insert((self.partition(number)?, Vec::new()))
                }
            };
            group.1.push((place, record));
        }
        let takes_turns = |record: &Record<'_>| record.key.is_none() && record.partition.is_none();
        if options.partition.is_none() && records.iter().any(takes_turns) {
            self.turn();
        }
        Ok(groups)
    }

    /// Adds one partition's records to the changes. Gives their first offset, and the time of each.
    fn stage(
        &self,
        partition: &Partition,
        live: &mut LivePartition<'_>,
        records: &[&Record<'_>],
        options: &SendOptions<'_>,
        changes: &mut Changes,
    ) -> Result<Staged<(u64, Vec<i64>)>> {
        let (first, count) = (live.end(), records.len() as u64);
        let now = self.store.wall_ns();
        if let Some((producer, sequence)) = options.sequence {
            let sender = live.sender(&self.store, producer)?;
            let of_partition = options.sequences.iter().find(|(of, _)| *of == partition.number);
            let sequence = of_partition.map(|(_, sequence)| *sequence).or(sequence);
            let sequence = sequence.unwrap_or(sender.next());
            if let Some(offset) = sender.earlier(producer, sequence, count)? {
                return self.receipts_again(partition, offset, records).map(Staged::Repeated);
            }
            let sender = sender.sent(count, first);
            let row = sender.row(producer, partition.number, now);
            state::put(&self.store, changes, partition.state, &row)?;
            live.set_sender(producer, sender);
        }
        check_expected(partition, first, options)?;
        let times: Vec<i64> = records.iter().map(|record| self.time_of(record, now)).collect();
        live.stage(&self.store, records, &times, now, changes)?;
        Ok(Staged::New((first, times)))
    }

    /// The sequence that comes next for a producer in a partition.
    ///
    /// # Errors
    /// `InvalidArgument` if there is no such partition; what reading may fail with.
    pub fn next_sequence(&self, partition: u32, producer: &str) -> Result<u64> {
        let partition = self.partition(partition)?;
        let live = partition.lock(&self.store)?;
        Ok(live.sender(&self.store, producer)?.next())
    }

    /// The receipts of records that were sent before.
    fn receipts_again(
        &self,
        partition: &Partition,
        first: u64,
        records: &[&Record<'_>],
    ) -> Result<Vec<Receipt>> {
        let mut receipts = Vec::with_capacity(records.len());
        for (offset, record) in (first..).zip(records) {
            // Gone by retention: its time is what the producer says again.
            let stored = self.record_time(partition, offset)?;
            let timestamp_ns = stored.or(record.timestamp_ns).unwrap_or_default();
            receipts.push(Receipt { partition: partition.number, offset, timestamp_ns });
        }
        Ok(receipts)
    }
}

/// Receipts in the order of their records.
fn in_order(mut receipts: Placed) -> Vec<Receipt> {
    receipts.sort_unstable_by_key(|(place, _)| *place);
    receipts.into_iter().map(|(_, receipt)| receipt).collect()
}

/// An error unless the offset that comes next is the one that is expected, if one is.
fn check_expected(partition: &Partition, next: u64, options: &SendOptions<'_>) -> Result<()> {
    match options.expected_offset.filter(|expected| *expected != next) {
        None => Ok(()),
        Some(expected) => {
            let what = format!("{partition}: offset {next} is next, {expected} was expected");
            Err(Error::new(ErrorKind::Conflict, what))
        }
    }
}

/// What became of records that were to be sent.
pub(super) enum Staged<T> {
    /// They are new.
    New(T),
    /// They had been sent before.
    Repeated(Vec<Receipt>),
}
