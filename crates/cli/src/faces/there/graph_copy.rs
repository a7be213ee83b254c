//! A graph of a server that is changed as a whole: a copy of it is changed here, and what has become of that is sent.
//!
//! Invariant: what is sent changes only blocks that are as they were copied; else it is refused.

use std::io::{BufReader, Read};

use timestrata::graph::{EdgeList, Graph, GraphOptions, lines_between};
use timestrata::{Durability, ErrorKind, Settings, Store};
use timestrata_client::Lines;

use super::super::GraphWork;
use super::ServedStore;
use crate::failure::Result;

/// Bytes of changes that are sent as one commit: well within what a server takes unless it is told otherwise. More are several commits.
const COMMIT_BYTES: usize = 48 << 20;

/// Has `work` change a copy of a server's graph, and does the same to that.
pub(super) fn change(server: &ServedStore, name: &str, work: GraphWork<'_>) -> Result<()> {
    let store = Store::memory(Settings::default())?;
    let copy = Graph::create(&store, name, &GraphOptions::default())?;
    if let Some(lines) = exported(server, name)? {
        let lines = BufReader::new(LineReader { lines, line: Vec::new(), given: 0 });
        copy.import_lines(lines, &EdgeList::default(), Durability::Written)?;
    }
    let before = copy.view()?;
    work(&copy)?;
    let lines = lines_between(&before, &copy.view()?)?;
    let mut part = Vec::new();
    let mut bytes = 0;
    for line in &lines {
        if bytes + line.len() > COMMIT_BYTES && bytes > 0 {
            send(server, name, &std::mem::take(&mut part))?;
            bytes = 0;
        }
        bytes += line.len();
        part.push(line.as_str());
    }
    // Also where there is nothing: then it is there.
    send(server, name, &part)
}

/// What a graph has, as lines; `None` where there is none.
fn exported(server: &ServedStore, name: &str) -> Result<Option<Lines>> {
    match server.get(&["graphs", name, "export"]).lines() {
        Ok(lines) => Ok(Some(lines)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Makes changes in one commit, which makes the graph if it is missing.
fn send(server: &ServedStore, name: &str, changes: &[&str]) -> Result<()> {
    let name = serde_json::Value::from(name);
    let body = format!("{{\"graph\":{name},\"changes\":[{}]}}\n", changes.join(","));
    let request = server.server.request("POST", &["commit"]);
    request.send("application/x-ndjson", &mut body.as_bytes())?;
    Ok(())
}

/// Lines that come, as bytes.
struct LineReader {
    lines: Lines,
    line: Vec<u8>,
    given: usize,
}

impl Read for LineReader {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.given == self.line.len() {
            self.line.clear();
            self.given = 0;
            if let Some(line) = self.lines.next_line().map_err(std::io::Error::other)? {
                self.line.extend_from_slice(line);
                self.line.push(b'\n');
            }
        }
        let mut rest = self.line.get(self.given..).unwrap_or_default();
        let count = rest.read(buffer)?;
        self.given += count;
        Ok(count)
    }
}
