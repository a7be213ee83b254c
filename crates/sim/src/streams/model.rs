//! The reference model: what a store must hold, kept in the simplest way there is.
//!
//! A stream is a plain list of rows in key order, equal keys in commit order. It knows
//! commits, and nothing of logs, memtables, runs or compaction, which must not show.

use timestrata_engine::Merge;

use crate::story::Model;

/// A row as it is read: key and value.
pub(crate) type Row = (i64, String);

/// One change of one stream, by the stream's place in the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelChange {
    /// New rows, in any order.
    Insert(usize, Vec<Row>),
    /// Hides rows of earlier commits with keys in `[lo, hi)`.
    DeleteRange(usize, i64, i64),
    /// Removes rows of a `Latest` stream by key.
    DeleteKeys(usize, Vec<i64>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct ModelRow {
    key: i64,
    value: String,
    seq: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct ModelStream {
    merge: Merge,
    rows: Vec<ModelRow>,
}

/// A store after some number of commits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamsModel {
    seq: u64,
    streams: [ModelStream; 2],
}

impl Default for StreamsModel {
    fn default() -> Self {
        let stream = |merge| ModelStream { merge, rows: Vec::new() };
        Self { seq: 0, streams: [Merge::Keep, Merge::Latest].map(stream) }
    }
}

impl StreamsModel {
    /// Rows of a stream, in key order, equal keys in commit order.
    pub fn rows(&self, stream: usize) -> Vec<Row> {
        self.streams[stream].rows.iter().map(|row| (row.key, row.value.clone())).collect()
    }
}

impl Model for StreamsModel {
    type Change = ModelChange;

    fn apply(&mut self, change: &ModelChange) {
        let seq = self.seq;
        match change {
            ModelChange::Insert(stream, rows) => {
                let stream = &mut self.streams[*stream];
                for (key, value) in rows {
                    stream.insert(ModelRow { key: *key, value: value.clone(), seq });
                }
            }
            ModelChange::DeleteRange(stream, lo, hi) => {
                let hidden = |row: &ModelRow| (*lo..*hi).contains(&row.key) && row.seq < seq;
                self.streams[*stream].rows.retain(|row| !hidden(row));
            }
            ModelChange::DeleteKeys(stream, keys) => {
                self.streams[*stream].rows.retain(|row| !keys.contains(&row.key));
            }
        }
    }

    /// Rows know their commit, which spares them from its own deletes.
    fn after(&self, changes: &[ModelChange]) -> Self {
        let mut next = Self { seq: self.seq + 1, ..self.clone() };
        changes.iter().for_each(|change| next.apply(change));
        next
    }
}

impl ModelStream {
    fn insert(&mut self, row: ModelRow) {
        if self.merge == Merge::Latest {
            self.rows.retain(|other| other.key != row.key);
        }
        let place = self.rows.partition_point(|other| other.key <= row.key);
        self.rows.insert(place, row);
    }
}

#[cfg(test)]
mod tests {
    use super::{ModelChange::*, Row, StreamsModel};
    use crate::story::Model;

    fn row(key: i64, value: &str) -> Row {
        (key, value.to_owned())
    }

    fn both() -> StreamsModel {
        StreamsModel::default()
    }

    #[test]
    fn keep_holds_equal_keys_in_commit_order() {
        let model = both()
            .after(&[Insert(0, vec![row(2, "a"), row(1, "b"), row(2, "c")])])
            .after(&[Insert(0, vec![row(2, "d"), row(0, "e")])]);
        let rows = [row(0, "e"), row(1, "b"), row(2, "a"), row(2, "c"), row(2, "d")];
        assert_eq!(model.rows(0), rows);
        assert_eq!(model.seq, 2);
    }

    #[test]
    fn latest_holds_the_last_row_of_a_key_until_it_is_deleted() {
        let model = both().after(&[Insert(1, vec![row(1, "a"), row(2, "b"), row(1, "c")])]);
        assert_eq!(model.rows(1), [row(1, "c"), row(2, "b")]);
        let model = model.after(&[Insert(1, vec![row(3, "d")]), DeleteKeys(1, vec![3, 1])]);
        assert_eq!(model.rows(1), [row(2, "b")]);
        let model = model.after(&[DeleteKeys(1, vec![2]), Insert(1, vec![row(2, "e")])]);
        assert_eq!(model.rows(1), [row(2, "e")]);
    }

    #[test]
    fn a_range_delete_is_half_open_and_spares_its_own_commit() {
        let model = both()
            .after(&[Insert(0, vec![row(1, "a"), row(2, "b"), row(3, "c")])])
            .after(&[Insert(0, vec![row(1, "new")]), DeleteRange(0, 1, 3)]);
        assert_eq!(model.rows(0), [row(1, "new"), row(3, "c")]);
        let model = both()
            .after(&[Insert(1, vec![row(1, "old"), row(2, "gone")])])
            .after(&[Insert(1, vec![row(1, "new")]), DeleteRange(1, 0, 9)]);
        assert_eq!(model.rows(1), [row(1, "new")]);
    }
}
