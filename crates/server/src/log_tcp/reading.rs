//! The answer to a request to read, piece by piece: nothing is held but the rows that are being
//! written.

use timestrata_engine::Result;
use timestrata_models::logs::{Hits, Logs, Query};

use super::metadata;
use super::round::Range;
use crate::entries::Batches;

/// Bytes that are sent at once.
const PIECE_BYTES: usize = 64 << 10;
const NS_A_MS: u64 = 1_000_000;
const HEAD: &str = "{\"status\":\"ok\",\"data\":[";
const END: &str = "]}\n";

/// What is left of an answer.
#[derive(Debug)]
pub(super) struct Reading {
    found: Batches<std::iter::Flatten<std::option::IntoIter<Hits>>>,
    is_begun: bool,
    has_rows: bool,
    is_done: bool,
}

impl Reading {
    /// The entries that arrived in a range, as they are now.
    pub(super) fn new(logs: &Logs, range: Range) -> Result<Self> {
        let hits = query(range).map(|query| logs.search(&query)).transpose()?;
        let found = Batches::new(hits.into_iter().flatten());
        Ok(Self { found, is_begun: false, has_rows: false, is_done: false })
    }

    /// Whether all of it was given.
    pub(super) fn is_done(&self) -> bool {
        self.is_done
    }

    /// The next piece.
    ///
    /// # Errors
    /// Those of a read; nothing comes behind one.
    pub(super) fn piece(&mut self) -> Result<String> {
        let mut out = String::new();
        if !std::mem::replace(&mut self.is_begun, true) {
            out.push_str(HEAD);
        }
        while out.len() < PIECE_BYTES {
            let Some(entry) = self.found.next()? else {
                out.push_str(END);
                self.is_done = true;
                break;
            };
            if std::mem::replace(&mut self.has_rows, true) {
                out.push(',');
            }
            metadata::write_row(entry, &mut out);
        }
        Ok(out)
    }
}

/// The query for a range; `None` if it is empty, or begins where times end.
fn query(range: Range) -> Option<Query> {
    let ns = |ms: u64| ms.checked_mul(NS_A_MS).and_then(|ns| i64::try_from(ns).ok());
    let from = ns(range.start).filter(|_| range.start <= range.end)?;
    // What ends where times end has no end.
    let to = range.end.checked_add(1).and_then(ns);
    Some(Query { from: Some(from), to, ..Query::default() })
}

#[cfg(test)]
mod tests {
    use timestrata_engine::{Settings, Store};
    use timestrata_models::logs::{LogsOptions, NewEntry};

    use super::*;

    fn bounds(start: u64, end: u64) -> Option<(Option<i64>, Option<i64>)> {
        query(Range { start, end }).map(|query| (query.from, query.to))
    }

    #[test]
    fn ranges_of_milliseconds_include_both_ends() {
        assert_eq!(bounds(5, 5), Some((Some(5_000_000), Some(6_000_000))));
        assert_eq!(bounds(6, 5), None);
        assert_eq!(bounds(0, u64::MAX), Some((Some(0), None)));
        assert_eq!(bounds(u64::MAX, u64::MAX), None);
        let last = i64::MAX as u64 / NS_A_MS;
        assert_eq!(bounds(last, last), Some((Some(last as i64 * NS_A_MS as i64), None)));
        assert_eq!(bounds(last + 1, u64::MAX), None);
    }

    /// Reading one row, or none, of 2,050 once cost as much as reading all of them.
    #[test]
    fn no_more_rows_are_taken_from_the_log_than_are_answered() {
        let store = Store::memory(Settings::default()).unwrap();
        let logs = Logs::create(&store, "t", &LogsOptions::default()).unwrap();
        let times: Vec<i64> = (0..2_050)
            .map(|index| {
                std::thread::sleep(std::time::Duration::from_micros(20));
                logs.write(&NewEntry::new(index.to_string())).unwrap()
            })
            .collect();
        let taken = |start: i64, end: i64| -> usize {
            let range = Range { start: start as u64, end: end as u64 };
            let hits = query(range).map(|query| logs.search(&query).unwrap());
            hits.into_iter().flatten().map(|entries| entries.unwrap().len()).sum()
        };
        let milliseconds = |ns: i64| ns / NS_A_MS as i64;
        let one = milliseconds(times[1_000]);
        let same = times.iter().filter(|time| milliseconds(**time) == one).count();
        for _ in 0..2 {
            assert_eq!(taken(one, one), same);
            assert_eq!(taken(one - 1_000_000, one - 999_999), 0);
            assert_eq!(taken(0, i64::MAX), 2_050);
            logs.flush().unwrap();
            logs.compact().unwrap();
        }
    }
}
