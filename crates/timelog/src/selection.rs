//! A range of a time log, chosen step by step, then read by entry, by block or decoded.

use std::marker::PhantomData;

use serde::de::DeserializeOwned;
use timestrata_engine::{Error, ErrorKind, KeyRange, Result, Scan, ScanSpec};

use super::codec::decode_cbor;
use super::{Codec, Entry, EntryBlock, TimelogView};

/// Part of a time log, as it was when it was chosen.
///
/// ```
/// # use timestrata_engine::{Settings, Store};
/// # use timestrata_timelog::{Timelog, TimelogOptions};
/// # fn main() -> timestrata_engine::Result<()> {
/// # let store = Store::memory(Settings::default())?;
/// # let log = Timelog::create(&store, "log", TimelogOptions::default())?;
/// log.extend(&[1, 2, 3, 4], &["a", "b", "c", "d"])?;
/// let mut newest = Vec::new();
/// for entry in log.range(..4)?.reverse().limit(2) {
///     newest.push(entry?.time);
/// }
/// assert_eq!(newest, [3, 2]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Selection {
    view: TimelogView,
    spec: ScanSpec,
}

impl Selection {
    pub(super) fn new(view: TimelogView, range: KeyRange) -> Self {
        Self { view, spec: ScanSpec { range, ..ScanSpec::default() } }
    }

    /// Newest first; entries with the same time come in the reverse of commit order.
    #[must_use]
    pub fn reverse(mut self) -> Self {
        self.spec.reverse = !self.spec.reverse;
        self
    }

    /// At most `entries`, from the end where reading begins.
    #[must_use]
    pub fn limit(mut self, entries: usize) -> Self {
        self.spec.limit = Some(self.spec.limit.map_or(entries, |limit| limit.min(entries)));
        self
    }

    /// How many entries it has, without reading values.
    pub fn count(&self) -> Result<u64> {
        let count = match self.spec.range.is_empty() {
            true => 0,
            false => self.view.snapshot().count(self.view.stream().id(), &self.spec.range)?,
        };
        Ok(self.spec.limit.map_or(count, |limit| count.min(limit as u64)))
    }

    /// Reads it a block at a time: what is fastest, and copies nothing where entries lie in
    /// one mapped run.
    pub fn blocks(self) -> Blocks {
        let nothing = self.spec.range.is_empty() || self.spec.limit == Some(0);
        let scan = || self.view.snapshot().scan(self.view.stream().id(), &self.spec).map(Box::new);
        let scan = (!nothing).then(scan);
        Blocks { view: self.view, scan }
    }

    /// Reads it an entry at a time. A typed log gives an error: its values are columns, read by
    /// [`blocks`](Self::blocks).
    pub fn entries(self) -> Entries {
        Entries { blocks: self.blocks(), block: None, next: 0 }
    }

    /// Reads it a value at a time, each decoded from CBOR. An error names the stream and the
    /// time; reading may go on behind it.
    ///
    /// ```
    /// # use timestrata_engine::{Settings, Store};
    /// # use timestrata_timelog::{Codec, Timelog, TimelogOptions};
    /// # fn main() -> timestrata_engine::Result<()> {
    /// # let store = Store::memory(Settings::default())?;
    /// let options = TimelogOptions { codec: Codec::Cbor, ..Default::default() };
    /// let log = Timelog::create(&store, "moves", options)?;
    /// log.append_value(5, &("e2", "e4"))?;
    /// let moves: Vec<(i64, (String, String))> =
    ///     log.range(..)?.decode().collect::<Result<_, _>>()?;
    /// assert_eq!(moves, [(5, ("e2".to_owned(), "e4".to_owned()))]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn decode<T: DeserializeOwned>(self) -> Decoded<T> {
        Decoded { entries: self.entries(), value: PhantomData }
    }
}

impl IntoIterator for Selection {
    type Item = Result<Entry>;
    type IntoIter = Entries;

    fn into_iter(self) -> Entries {
        self.entries()
    }
}

/// The blocks of a [`Selection`], in its order. Ends after the first error.
///
/// ```
/// use timestrata_engine::{Settings, Store};
/// use timestrata_timelog::{Timelog, TimelogOptions};
///
/// # fn main() -> timestrata_engine::Result<()> {
/// # let store = Store::memory(Settings::default())?;
/// let log = Timelog::create(&store, "log", TimelogOptions::default())?;
/// log.extend(&[1, 2, 3], &["a", "b", "c"])?;
/// let rows = log.range(..3)?.blocks().map(|block| block.map(|block| block.len()));
/// assert_eq!(rows.sum::<Result<usize, _>>()?, 2);
/// # Ok(())
/// # }
/// ```
pub struct Blocks {
    view: TimelogView,
    /// None once it is done, and after an error.
    scan: Option<Result<Box<Scan>>>,
}

impl Iterator for Blocks {
    type Item = Result<EntryBlock>;

    fn next(&mut self) -> Option<Self::Item> {
        let is_typed = self.view.codec() == Codec::Arrow;
        loop {
            let mut scan = match self.scan.take()? {
                Ok(scan) => scan,
                Err(error) => return Some(Err(error)),
            };
            let batch = scan.next()?;
            let block = batch.and_then(|batch| EntryBlock::new(batch, self.view.unit(), is_typed));
            self.scan = block.is_ok().then_some(Ok(scan));
            if !block.as_ref().is_ok_and(EntryBlock::is_empty) {
                return Some(block);
            }
        }
    }
}

/// The entries of a [`Selection`], in its order. Ends after the first error.
///
/// ```
/// use timestrata_engine::{Settings, Store};
/// use timestrata_timelog::{Timelog, TimelogOptions};
///
/// # fn main() -> timestrata_engine::Result<()> {
/// # let store = Store::memory(Settings::default())?;
/// let log = Timelog::create(&store, "log", TimelogOptions::default())?;
/// log.extend(&[1, 2, 3], &["a", "b", "c"])?;
/// let mut entries = log.range(2..)?.entries();
/// assert_eq!(entries.next().transpose()?.map(|entry| entry.time), Some(2));
/// assert_eq!(entries.count(), 1);
/// # Ok(())
/// # }
/// ```
pub struct Entries {
    blocks: Blocks,
    block: Option<EntryBlock>,
    next: usize,
}

impl Iterator for Entries {
    type Item = Result<Entry>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(entry) = self.block.as_ref().and_then(|block| block.entry(self.next)) {
                self.next += 1;
                return Some(Ok(entry));
            }
            self.next = 0;
            self.block = None;
            match self.blocks.next()? {
                Ok(block) if block.values().is_none() => {
                    self.blocks.scan = None;
                    return Some(Err(typed(&self.blocks.view)));
                }
                Ok(block) => self.block = Some(block),
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

/// The times and decoded values of a [`Selection`], in its order.
///
/// ```
/// use timestrata_engine::{Settings, Store};
/// use timestrata_timelog::{Codec, Timelog, TimelogOptions};
///
/// # fn main() -> timestrata_engine::Result<()> {
/// # let store = Store::memory(Settings::default())?;
/// let options = TimelogOptions { codec: Codec::Cbor, ..Default::default() };
/// let log = Timelog::create(&store, "counts", options)?;
/// log.append_value(1, &7_u32)?;
/// let counts: Vec<(i64, u32)> = log.range(..)?.decode().collect::<Result<_, _>>()?;
/// assert_eq!(counts, [(1, 7)]);
/// # Ok(())
/// # }
/// ```
pub struct Decoded<T> {
    entries: Entries,
    value: PhantomData<fn() -> T>,
}

impl<T: DeserializeOwned> Iterator for Decoded<T> {
    type Item = Result<(i64, T)>;

    fn next(&mut self) -> Option<Self::Item> {
        let entry = self.entries.next()?;
        let view = &self.entries.blocks.view;
        Some(entry.and_then(|entry| Ok((entry.time, decode_entry(view, &entry)?))))
    }
}

fn typed(view: &TimelogView) -> Error {
    let name = view.name();
    let what = format!("time log '{name}' is typed: its values are columns, read by blocks");
    Error::new(ErrorKind::InvalidArgument, what)
}

/// Decodes one entry of `view`; errors name the stream and the time.
fn decode_entry<T: DeserializeOwned>(view: &TimelogView, entry: &Entry) -> Result<T> {
    let name = view.name();
    if view.codec() != Codec::Cbor {
        let what = format!("time log '{name}' holds bytes, not CBOR: they can't be decoded");
        return Err(Error::new(ErrorKind::InvalidArgument, what));
    }
    decode_cbor(&entry.value).map_err(|cause| {
        let (time, bytes) = (entry.time, entry.value.len());
        let what =
            format!("time log '{name}', value at time {time}: can't read its {bytes} bytes as asked: {cause}");
        Error::new(ErrorKind::InvalidData, what)
    })
}
