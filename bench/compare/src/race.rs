//! What a peer does, stage by stage, and how long each takes.

use timestrata_bench::{Result, Samples, Watch};

use crate::data::{Data, Key, Rows, Seen};

const SCANS: usize = 3;

/// When what was written must survive a power cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Syncs {
    /// All of it, when ingest is over.
    AtTheEnd,
    /// Each batch, when its commit returns.
    EachBatch,
}

/// One peer's turn.
#[derive(Debug)]
pub(crate) struct Race<'a> {
    watch: &'a Watch,
    data: &'a Data,
    pub(crate) syncs: Syncs,
    /// Rows a second, as those of the other stages.
    pub(crate) ingest: Samples,
    pub(crate) scan: Samples,
    pub(crate) points: Samples,
    scanned: Seen,
    found: Seen,
}

impl<'a> Race<'a> {
    pub(crate) fn new(watch: &'a Watch, data: &'a Data, syncs: Syncs) -> Self {
        Self {
            watch,
            data,
            syncs,
            ingest: Samples::new(),
            scan: Samples::new(),
            points: Samples::new(),
            scanned: Seen::default(),
            found: Seen::default(),
        }
    }

    /// Commits batch after batch, then makes all of it durable.
    pub(crate) fn ingest(
        &mut self,
        mut commit: impl FnMut(Rows<'_>) -> Result<()>,
        sync: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        self.watch.rate(&mut self.ingest, self.data.rows() as f64, || {
            self.data.batches().try_for_each(&mut commit)?;
            sync()
        })
    }

    /// Reads all rows in order of their keys.
    pub(crate) fn scan(&mut self, mut walk: impl FnMut(&mut Seen) -> Result<()>) -> Result<()> {
        for _ in 0..SCANS {
            let mut seen = Seen::default();
            self.watch.rate(&mut self.scan, self.data.rows() as f64, || walk(&mut seen))?;
            self.scanned = seen;
        }
        Ok(())
    }

    /// Reads rows by key.
    pub(crate) fn points(
        &mut self,
        mut get: impl FnMut(&Key, &mut Seen) -> Result<()>,
    ) -> Result<()> {
        let mut seen = Seen::default();
        let keys = &self.data.lookups;
        self.watch.rate(&mut self.points, keys.len() as f64, || {
            keys.iter().try_for_each(|key| get(key, &mut seen))
        })?;
        self.found = seen;
        Ok(())
    }

    /// An error unless the peer gave back what it was given.
    pub(crate) fn check(&self) -> Result<()> {
        let (mut all, mut some) = (Seen::default(), Seen::default());
        self.data.all().iter().for_each(|(key, value)| all.row(key, value));
        for key in &self.data.lookups {
            let row = usize::try_from(u128::from_be_bytes(*key))?;
            some.row(key, self.data.value(row));
        }
        if self.scanned != all || self.found != some {
            return Err(format!(
                "scanned {:?}, expected {all:?}; found {:?}, expected {some:?}",
                self.scanned, self.found
            )
            .into());
        }
        Ok(())
    }
}
