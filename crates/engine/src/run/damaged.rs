//! What can be read of a run's blocks where some of its bytes are damaged: blocks that are whole by a checksum of their
//! own, and rows beside the damaged ones. Called by the reader once it has met damage.

use arrow_array::RecordBatch;
use timestrata_format::KeyRange;

use super::reader::{Content, Opened, RunReader};
use super::tail::Zone;
use crate::scan::ViewedColumns;
use crate::{Error, ErrorKind, Result};

impl RunReader {
    /// What is read of a block; tried again where it only shares a checksum with damaged ones.
    pub(super) fn of_block<T>(
        &self,
        opened: &Opened,
        (block, zone): (usize, &Zone),
        read: impl Fn() -> Result<T>,
    ) -> Result<T> {
        let outcome = match read() {
            Err(error) if self.is_whole_by_itself(opened, block, &error) => read(),
            outcome => outcome,
        };
        outcome.map_err(|error| self.error_of(zone, error))
    }

    /// Whether a block that shares bytes under one checksum with damaged ones is whole all the same.
    fn is_whole_by_itself(&self, opened: &Opened, block: usize, error: &Error) -> bool {
        if error.kind() != ErrorKind::Corruption {
            return false;
        }
        let origin = self.origin(opened).ok().flatten();
        let block = opened.content.group_of(block);
        let extent = origin.as_ref().zip(block).and_then(|(origin, at)| origin.blocks.get(at));
        extent.is_some_and(|extent| opened.content.file().trust(extent))
    }

    /// Whether a block could not be read whole, but some rows of it may be.
    pub(super) fn is_damaged(&self, block: usize) -> bool {
        let opened = self.opened().ok();
        opened.is_some_and(|opened| match &opened.content {
            Content::Hot(hot) => hot.is_damaged(block),
            Content::Cold(_) => false,
        })
    }

    /// Of a block that could not be read for this error: the rows with such keys, if they are whole. Of `None`, all: the
    /// damaged bytes may be some that no row needs.
    pub(super) fn undamaged(
        &self,
        opened: &Opened,
        (block, zone): (usize, &Zone),
        wanted: &ViewedColumns,
        keys: Option<KeyRange>,
        error: Error,
    ) -> Result<RecordBatch> {
        let (Content::Hot(hot), None) = (&opened.content, &opened.evolution) else {
            return Err(error);
        };
        if error.kind() != ErrorKind::Corruption {
            return Err(error);
        }
        hot.note_damage(block);
        let lead = self.stream().lead_column();
        let ViewedColumns { columns, views, .. } = wanted;
        let keys = keys.unwrap_or(KeyRange::ALL);
        // What is said of the whole block says more than what is said of some rows.
        let read = hot.read_undamaged((block, zone), columns, lead, &keys);
        let Ok((rows, arrays)) = read else { return Err(error) };
        for (_, lead) in columns.iter().zip(&arrays).filter(|(column, _)| **column == lead) {
            match rows == zone.rows as usize {
                true => opened.content.file().check_ends(zone, lead)?,
                false if rows > 0 => opened.content.file().check_within(zone, lead)?,
                false => {}
            }
        }
        self.batch_of(opened, (block, rows), columns, views, arrays)
    }
}
