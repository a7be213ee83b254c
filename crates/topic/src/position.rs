//! The position of a consumer in its partitions: seeking, pausing, lag.

use std::collections::BTreeMap;

use timestrata_engine::{Error, ErrorKind, Result};

use super::Consumer;
use super::consumer::{ReadPosition, Subscription};
use super::group::TopicPartition;

impl Consumer {
    fn position_mut(&mut self, place: &TopicPartition) -> Result<&mut ReadPosition> {
        let what = || Error::new(ErrorKind::InvalidArgument, format!("{place} is not read here"));
        self.positions.get_mut(place).ok_or_else(what)
    }

    /// Goes on at an offset.
    ///
    /// # Errors
    /// `InvalidArgument` for a partition that is not read here.
    pub fn seek(&mut self, place: &TopicPartition, offset: u64) -> Result<()> {
        // An assigned one has no position before the first poll.
        let is_assigned = matches!(&self.source, Subscription::Assigned(partitions) if partitions.contains(place));
        if is_assigned && !self.positions.contains_key(place) {
            let topic = self.topic(place)?.shared.id;
            let (committed, is_paused) = (None, false);
            let new = ReadPosition { topic, next: offset, may_wait: false, committed, is_paused };
            self.positions.insert(place.clone(), new);
        }
        let position = self.position_mut(place)?;
        position.next = offset;
        position.may_wait = false;
        Ok(())
    }

    /// As [`seek`](Self::seek); where that offset is to come yet, nothing of the partition is given before
    /// it is there.
    ///
    /// # Errors
    /// As [`Consumer::seek`].
    pub fn seek_or_wait(&mut self, place: &TopicPartition, offset: u64) -> Result<()> {
        self.seek(place, offset)?;
        self.position_mut(place)?.may_wait = true;
        Ok(())
    }

    /// Takes it back that records were read, from these offsets on: whoever handled them did not get to the
    /// end. What is committed stays so.
    pub fn put_back(&mut self, offsets: &BTreeMap<TopicPartition, u64>) {
        for (place, offset) in offsets {
            if let Some(position) = self.positions.get_mut(place) {
                let least = position.committed.unwrap_or(0);
                position.next = position.next.min((*offset).max(least));
            }
        }
    }

    /// Goes on at the first record whose time is this or later, nanoseconds since the epoch; behind the
    /// last where there is none. Gives the offset.
    ///
    /// # Errors
    /// As [`Consumer::seek`], and what reading may fail with.
    pub fn seek_to_time(&mut self, place: &TopicPartition, time_ns: i64) -> Result<u64> {
        let topic = self.topic(place)?;
        let offset = match topic.offset_at_time(place.partition, time_ns)? {
            Some(offset) => offset,
            None => topic.offsets(place.partition)?.end,
        };
        self.seek(place, offset)?;
        Ok(offset)
    }

    /// Goes on behind records that can't be read. Gives the offset that comes next.
    ///
    /// # Errors
    /// As [`Consumer::seek`].
    pub fn skip(&mut self, place: &TopicPartition) -> Result<u64> {
        let next = self.position_mut(place)?.next;
        let behind = self.topic(place)?.readable_from(place.partition, next)?;
        self.seek(place, behind)?;
        Ok(behind)
    }

    /// The offset that comes next; `None` for a partition that is not read here.
    #[must_use]
    pub fn position(&self, place: &TopicPartition) -> Option<u64> {
        self.positions.get(place).map(|position| position.next)
    }

    /// Stops giving records of a partition, or goes on with them.
    ///
    /// # Errors
    /// `InvalidArgument` for a partition that is not read here.
    pub fn pause(&mut self, place: &TopicPartition, is_paused: bool) -> Result<()> {
        self.position_mut(place)?.is_paused = is_paused;
        Ok(())
    }

    /// How many offsets of a partition come yet.
    ///
    /// # Errors
    /// `InvalidArgument` for a partition that is not read here.
    pub fn lag(&mut self, place: &TopicPartition) -> Result<u64> {
        let next = self.position_mut(place)?.next;
        Ok(self.topic(place)?.offsets(place.partition)?.end.saturating_sub(next))
    }
}
