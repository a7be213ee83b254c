//! Lines of programs in containers, in the line that the container's runtime makes of each: docker's JSON, and the text of the CRI.
//!
//! The time of the program counts, where it says one, and its level and fields are the entry's.

use timestrata_logs::{NewEntry, Scalar};

use super::members::Members;
use super::time::Calendar;
use super::{json, plain};

/// The field that says which stream a program wrote to.
const STREAM: &str = "stream";
/// In front of a field of a program's own that the runtime has too.
const PREFIX: &str = "log_";

/// Whether a line of JSON is one that docker made.
pub(super) fn is_of_docker(line: &str, entry: &NewEntry) -> bool {
    entry.source_time.is_some() && has_stream(entry) && line.contains("\"log\":\"")
}

fn has_stream(entry: &NewEntry) -> bool {
    let stream = entry.fields.get(STREAM).and_then(Scalar::of_item);
    matches!(stream, Some(Scalar::Text("stdout" | "stderr")))
}

/// What a program's line is read with.
pub(super) struct Unwrapping<'a> {
    pub(super) members: &'a mut Members,
    pub(super) escapes: &'a mut Vec<u8>,
    pub(super) calendar: &'a mut Calendar,
}

impl Unwrapping<'_> {
    /// Takes the message apart, which is a program's line. `inner` is memory.
    pub(super) fn unwrap(self, entry: &mut NewEntry, inner: &mut NewEntry) {
        inner.clear();
        let text = std::mem::take(&mut entry.message);
        let line = text.strip_suffix('\n').unwrap_or(&text);
        let line = line.strip_suffix('\r').unwrap_or(line);
        let is_json =
            line.starts_with('{') && json::parse(line, self.members, self.escapes, inner).is_ok();
        if !is_json {
            inner.clear();
            plain::parse(line, self.calendar, inner);
        }
        entry.message.push_str(&inner.message);
        entry.level = inner.level.or(entry.level);
        entry.source_time = inner.source_time.or(entry.source_time);
        for (name, item) in inner.fields.iter() {
            let write = |out: &mut Vec<u8>| out.extend_from_slice(item);
            match entry.fields.get(name) {
                None => entry.fields.add(name, write),
                Some(_) => entry.fields.item(&format!("{PREFIX}{name}"), write),
            };
        }
    }
}
