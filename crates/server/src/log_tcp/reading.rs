//! The answer to a request to read, piece by piece: nothing is held but the rows that are being
//! written, and of a client that doesn't take them only where it stands.

use timestrata_engine::{Result, RunningQuery};
use timestrata_logs::{Clock, Hits, Logs, LogsView, Position, Query};

use super::metadata;
use super::service::Range;
use crate::entries::EntryCursor;

/// Bytes that are sent at once.
const PIECE_BYTES: usize = 64 << 10;
const NS_A_MS: u64 = 1_000_000;
const HEAD: &str = "{\"status\":\"ok\",\"data\":[";
const END: &str = "]}\n";

/// How far an answer has come. What is read from there on is always the same: the log is read as it
/// was at the request.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Progress {
    is_begun: bool,
    /// When the last row that was given arrived.
    last: Option<i64>,
    is_done: bool,
}

/// What is left of an answer.
#[derive(Debug)]
pub(super) struct Reading {
    view: LogsView,
    /// `None`: nothing is in the range.
    query: Option<Query>,
    running: RunningQuery,
    progress: Progress,
    /// Rows on their way, and memory for them, while there is somebody to take them.
    found: Option<EntryCursor<Hits>>,
}

impl Reading {
    /// The entries that arrived in a range, as they are now.
    pub(super) fn new(logs: &Logs, range: Range, running: RunningQuery) -> Result<Self> {
        let view = logs.snapshot()?.for_query(&running);
        Ok(Self { view, query: query(range), running, progress: Progress::default(), found: None })
    }

    /// Whether all of it was given.
    pub(super) fn is_done(&self) -> bool {
        self.progress.is_done
    }

    /// Where the next piece begins.
    pub(super) fn progress(&self) -> Progress {
        self.progress
    }

    /// Goes back to where an answer was, and lets go of all rows until the next piece is asked for.
    pub(super) fn rest_at(&mut self, progress: Progress) {
        (self.progress, self.found) = (progress, None);
        self.running.rest();
    }

    /// The next piece.
    ///
    /// # Errors
    /// Those of a read; nothing comes behind one.
    pub(super) fn piece(&mut self) -> Result<String> {
        self.running.resume();
        let mut out = String::new();
        if !std::mem::replace(&mut self.progress.is_begun, true) {
            out.push_str(HEAD);
        }
        if self.found.is_none()
            && let Some(query) = &self.query
        {
            let after = self.progress.last.map(|time| Position { time, timestamp: time });
            let hits = self.view.search(&Query { after, ..query.clone() })?;
            self.found = Some(EntryCursor::new(hits));
        }
        while out.len() < PIECE_BYTES {
            let next = self.found.as_mut().map_or(Ok(None), EntryCursor::next)?;
            let Some(entry) = next else {
                out.push_str(END);
                self.progress.is_done = true;
                self.found = None;
                break;
            };
            if self.progress.last.replace(entry.timestamp()).is_some() {
                out.push(',');
            }
            metadata::write_row(entry, &mut out);
        }
        self.running.rest();
        Ok(out)
    }
}

/// The query for a range; `None` if it is empty, or begins where times end.
fn query(range: Range) -> Option<Query> {
    let ns = |ms: u64| ms.checked_mul(NS_A_MS).and_then(|ns| i64::try_from(ns).ok());
    let from = ns(range.start).filter(|_| range.start <= range.end)?;
    // What ends where times end has no end.
    let to = range.end.checked_add(1).and_then(ns);
    Some(Query { by: Some(Clock::Timestamp), from: Some(from), to, ..Query::default() })
}

#[cfg(test)]
mod tests {
    use timestrata_engine::{Settings, Store};
    use timestrata_logs::{LogsOptions, NewEntry};

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

    /// Of a client that takes nothing all rows are let go of, and read again from where it stands.
    #[test]
    fn from_a_place_on_an_answer_is_always_the_same() {
        let store = Store::memory(Settings::default()).unwrap();
        let logs = Logs::create(&store, "t", &LogsOptions::default()).unwrap();
        for index in 0..500 {
            logs.write(&NewEntry::new(format!("{index} {}", "x".repeat(index * 7)))).unwrap();
        }
        let range = Range { start: 0, end: u64::MAX };
        let begin = || Reading::new(&logs, range, store.begin_query("", None)).unwrap();
        let (mut whole, mut reading) = (String::new(), begin());
        while !reading.is_done() {
            whole.push_str(&reading.piece().unwrap());
        }
        logs.write(&NewEntry::new("later")).unwrap();
        let (mut again, mut reading) = (String::new(), reading);
        reading.rest_at(Progress::default());
        while !reading.is_done() {
            let progress = reading.progress();
            let piece = reading.piece().unwrap();
            reading.rest_at(progress);
            assert_eq!(reading.piece().unwrap(), piece);
            again.push_str(&piece);
        }
        assert!(whole.len() > 5 * PIECE_BYTES && again == whole);
        let rows: serde_json::Value = serde_json::from_str(&whole).unwrap();
        assert_eq!(rows["data"].as_array().unwrap().len(), 500);
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
