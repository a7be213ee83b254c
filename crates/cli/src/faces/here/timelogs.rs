//! Time logs of a store that was opened.

use timestrata::Durability;
use timestrata::timelog::{Codec, EntryBatch, Timelog, Unit};

use super::super::{EntriesWanted, TimelogFace};
use crate::failure::Result;
use crate::output::{SelectedRows, TimelogRows};
use crate::ranges::TimeRange;

pub(super) struct OpenedTimelog(pub(super) Timelog);

impl TimelogFace for OpenedTimelog {
    fn unit(&self) -> Unit {
        self.0.unit()
    }

    fn codec(&self) -> Codec {
        self.0.codec()
    }

    fn append(&self, batch: EntryBatch) -> Result<()> {
        self.0.extend_batch(batch, Durability::Written)?;
        Ok(())
    }

    fn rows(&self, wanted: EntriesWanted) -> Result<Box<dyn TimelogRows>> {
        let mut selection = self.0.range(wanted.range.bounds())?;
        if wanted.reverse {
            selection = selection.reverse();
        }
        if let Some(limit) = wanted.limit {
            selection = selection.limit(limit);
        }
        let (name, codec) = (self.0.name().to_owned(), self.codec());
        Ok(Box::new(SelectedRows { selection, name, codec }))
    }

    fn delete(&self, range: TimeRange) -> Result<u64> {
        let rows = self.0.range(range.bounds())?.count()?;
        self.0.delete_range(range.bounds())?;
        self.0.sync()?;
        Ok(rows)
    }
}
