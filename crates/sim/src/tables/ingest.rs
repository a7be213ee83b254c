//! An ingest, told to the story as it is taken in.

use arrow_array::RecordBatch;
use timestrata_engine::{Durability, Result};
use timestrata_table::{Commits, IngestOptions, ingest};

use super::model::{Kind, TableChange, TableRow, TablesModel};
use super::rows::batch;
use super::session::{Ids, Tables, are_handed_out, options};
use crate::story::Story;
use crate::subject::{Base, Session};

/// Takes batches in, as one commit or as one each.
pub(super) fn ingest_rows(
    session: &mut Tables,
    kind: Kind,
    batches: &[Vec<TableRow>],
    commits: Commits,
    story: &mut Story<TablesModel>,
) -> Result<()> {
    let name = session.table(kind).name()?;
    let Tables { base, ids, .. } = session;
    let mut feeding = Feeding {
        base,
        ids,
        kind,
        batches: batches.iter(),
        is_one: commits == Commits::One,
        taken: Vec::new(),
        begun: false,
        story,
    };
    let write = options(Durability::Written);
    let ingest_options = IngestOptions { write, commits, ..IngestOptions::default() };
    let outcome = ingest(&feeding.base.store, &name, &mut feeding, &ingest_options);
    let begun = feeding.begun;
    let seq = outcome.map(|ingested| ingested.seq.map_or(0, |seq| seq.0));
    if !begun {
        // Until the commit nothing may be found of it, whatever fails.
        return seq.map(|_| ());
    }
    let durability = match commits {
        Commits::One => Durability::Synced,
        Commits::Every(_) => Durability::Written,
    };
    session.base().committed(seq, durability, story)
}

/// Batches for an ingest. By asking for one it says that those before are committed, where each
/// is a commit; where all are one, the commit begins when there are no more.
struct Feeding<'a> {
    base: &'a Base,
    ids: &'a mut Ids,
    kind: Kind,
    batches: std::slice::Iter<'a, Vec<TableRow>>,
    is_one: bool,
    taken: Vec<TableRow>,
    begun: bool,
    story: &'a mut Story<TablesModel>,
}

impl Feeding<'_> {
    fn begin(&mut self, rows: Vec<TableRow>) {
        let changes = [TableChange::Put(self.kind, rows)];
        self.story.commit_begun(self.base.disk.operations(), &changes);
        self.begun = true;
    }

    fn take(&mut self, rows: &[TableRow]) -> Result<RecordBatch> {
        let batch = batch(self.kind, rows, !are_handed_out(self.kind, rows))?;
        let rows = self.ids.given(&self.base.store, self.kind, rows, self.story)?;
        match self.is_one {
            true => self.taken.extend(rows),
            false => self.begin(rows),
        }
        Ok(batch)
    }
}

impl Iterator for Feeding<'_> {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.begun {
            self.story.acknowledged(self.base.disk.operations(), Durability::Written);
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
