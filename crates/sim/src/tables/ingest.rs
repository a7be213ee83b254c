//! An ingest, told to the story as it is taken in.

use arrow_array::RecordBatch;
use timestrata_engine::{Durability, Result};
use timestrata_table::{Commits, IngestOptions, ingest};

use super::model::{Kind, TableChange, TableRow, TablesModel};
use super::rows::batch;
use super::session::{Ids, TablesParts, are_handed_out, options};
use crate::subject::Work;

/// Takes batches in, as one commit or as one each.
pub(super) fn ingest_rows(
    parts: &mut TablesParts,
    work: &mut Work<'_, TablesModel>,
    kind: Kind,
    batches: &[Vec<TableRow>],
    commits: Commits,
) -> Result<()> {
    let (store, name) = (work.store, parts.table(kind).name()?);
    let mut feeding = Feeding {
        work,
        ids: &mut parts.ids,
        kind,
        batches: batches.iter(),
        is_one: commits == Commits::One,
        taken: Vec::new(),
        begun: false,
    };
    // Of both kinds, without drawing one more number.
    let durability = match commits {
        Commits::One if batches.len().is_multiple_of(2) => Durability::Synced,
        _ => Durability::Written,
    };
    let write = options(durability);
    let ingest_options = IngestOptions { write, commits, ..IngestOptions::default() };
    let outcome = ingest(store, &name, &mut feeding, &ingest_options);
    let begun = feeding.begun;
    let seq = outcome.map(|ingested| ingested.seq);
    if !begun {
        // Until the commit nothing may be found of it, whatever fails.
        return seq.map(drop);
    }
    work.committed(seq, durability)
}

/// Batches for an ingest. By asking for one it says that those before are committed, where each
/// is a commit; where all are one, the commit begins when there are no more.
struct Feeding<'a, 'w> {
    work: &'a mut Work<'w, TablesModel>,
    ids: &'a mut Ids,
    kind: Kind,
    batches: std::slice::Iter<'a, Vec<TableRow>>,
    is_one: bool,
    taken: Vec<TableRow>,
    begun: bool,
}

impl Feeding<'_, '_> {
    fn begin(&mut self, rows: Vec<TableRow>) {
        self.work.begin(&[TableChange::Put(self.kind, rows)]);
        self.begun = true;
    }

    fn take(&mut self, rows: &[TableRow]) -> Result<RecordBatch> {
        let batch = batch(self.kind, rows, !are_handed_out(self.kind, rows))?;
        let rows = self.ids.given(self.work, self.kind, rows)?;
        match self.is_one {
            true => self.taken.extend(rows),
            false => self.begin(rows),
        }
        Ok(batch)
    }
}

impl Iterator for Feeding<'_, '_> {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.begun {
            let Work { disk, story, .. } = &mut *self.work;
            story.acknowledged(disk.operations(), Durability::Written);
        }
        match self.batches.next() {
            Some(rows) => Some(self.take(rows)),
            None if self.is_one => {
                let taken = std::mem::take(&mut self.taken);
                self.begin(taken);
                None
            }
            None => None,
        }
    }
}
