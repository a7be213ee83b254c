//! Putting a single block, by the shortest path.

use timestrata_engine::{Durability, Result, SeqNo};

use super::block::{self, NewBlock};
use super::changes::{Changed, next_version};
use super::handle::Graph;
use super::latest::LatestVersions;

/// Longer contents go with other changes' way, which can cut a commit into pieces.
const CONTENT_BYTES_MAX: usize = 1 << 20;

impl Graph {
    /// Puts a block that was checked, if its version can be told without a look at the store; `None`, and
    /// nothing was written, if not.
    ///
    /// # Errors
    /// As [`Graph::change`].
    pub(super) fn put_alone(
        &self,
        block: &NewBlock<'_>,
        durability: Durability,
    ) -> Result<Option<Changed>> {
        if self.shared.versions.is_some() || block.content.len() > CONTENT_BYTES_MAX {
            return Ok(None);
        }
        let resident = self.shared.resident.lock();
        let mut latest = self.shared.latest.lock();
        if latest.is_due() {
            latest.read(&self.store.snapshot_of(self.shared.blocks)?, self.shared.blocks)?;
        }
        let id = block.id();
        let Some(before) = latest.of(id) else { return Ok(None) };
        let version = next_version(&self.shared.name, id, before, block.version)?;
        self.shared.read_blocks.begin_change([id]);
        let committed = self.append(block, version, durability, &mut latest);
        drop((latest, resident));
        let seq = committed?;
        if durability == Durability::Synced {
            self.store.sync_through(seq)?;
        }
        Ok(Some(Changed { seq: Some(seq), put: vec![(id, version)] }))
    }

    fn append(
        &self,
        block: &NewBlock<'_>,
        version: u32,
        durability: Durability,
        latest: &mut LatestVersions,
    ) -> Result<SeqNo> {
        let id = block.id();
        let row = block::cells(&id, block, version);
        let mut appender = self.appender.lock();
        let appender = match &mut *appender {
            Some(appender) => appender,
            none => none.insert(self.store.appender(self.shared.blocks)?),
        };
        // Synced once the graph is free again for others, who share the sync.
        let committed = appender.append_leaving_sync(&row, durability);
        match &committed {
            Ok(seq) => {
                self.shared.read_blocks.end_change(*seq);
                latest.change(std::iter::once((id, Some(version))));
            }
            Err(_) => latest.forget(),
        }
        committed
    }
}
