//! What a server says in answers of rows: SQL, and entries of logs.

use std::time::Duration;

use serde_json::json;
use timestrata_engine::Result;
use timestrata_logs::{Clock, Entries, EntryReader, ShownColumns};

use crate::answer::ReceivedRows;
use crate::request::Request;
use crate::server::Server;

/// A duration as servers read it.
fn milliseconds(duration: Duration) -> String {
    format!("{}ms", duration.as_millis())
}

impl Server {
    /// The rows of one statement, at a moment of the past where one is named, worked on no longer than `timeout`.
    ///
    /// # Errors
    /// What the server refuses; `Io` where it can't be reached.
    pub fn sql(
        &self,
        statement: &str,
        at: Option<&str>,
        timeout: Option<Duration>,
    ) -> Result<ReceivedRows> {
        let mut body = json!({ "query": statement });
        if let (Some(timeout), Some(members)) = (timeout, body.as_object_mut()) {
            members.insert("timeout".to_owned(), milliseconds(timeout).into());
        }
        self.request("POST", &["sql"]).with_some("at", at).send_json_for_rows(&body)
    }
}

/// Entries of an answer, as they come.
#[derive(Debug)]
pub struct ReceivedEntries {
    rows: ReceivedRows,
    reader: EntryReader,
}

impl ReceivedEntries {
    /// Sends a request for the entries of a log.
    ///
    /// # Errors
    /// What the server refuses; `Io` where it can't be reached or its answer are no entries.
    pub fn of(request: Request<'_>) -> Result<Self> {
        let rows = request.rows()?;
        let reader = EntryReader::new(&rows.schema())?;
        Ok(Self { rows, reader })
    }

    /// Behind which arrival to ask on, where the answer says so.
    pub fn next_position(&self) -> Option<i64> {
        self.rows.next_position()
    }

    /// By which clock they are in order.
    pub fn clock(&self) -> Clock {
        self.rows.clock()
    }

    /// The columns as they are shown.
    pub fn shown(&self) -> ShownColumns {
        self.reader.shown()
    }
}

impl Iterator for ReceivedEntries {
    type Item = Result<Entries>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(self.rows.next()?.and_then(|batch| self.reader.entries(batch)))
    }
}
