//! Printing records of a topic, until there are no more or enough.

use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};
use std::time::Duration;

use timestrata::topic::Record;

use super::pattern::{Pattern, Placed};
use crate::faces::RecordsFace;
use crate::failure::{Failure, Result};

/// How long one look for new records takes at most.
const LOOK: Duration = Duration::from_secs(1);

/// How a record is printed.
#[derive(Debug)]
pub(super) enum RecordForm {
    /// One JSON object a line.
    Json,
    /// The value, behind the key and what stands between where that is asked for, and what stands behind each record.
    Text {
        between: Option<Vec<u8>>,
        behind: Vec<u8>,
    },
    Pattern(Pattern),
}

/// What is printed, and how.
#[derive(Debug)]
pub(super) struct Printed<'a> {
    pub(super) topic: &'a str,
    pub(super) form: RecordForm,
    /// What stands for a key or a value that is null.
    pub(super) null: Vec<u8>,
    /// Records at most.
    pub(super) limit: Option<usize>,
    /// Whether more is waited for.
    pub(super) is_following: bool,
    /// The first offset of each partition that is not printed any more.
    pub(super) ends: Option<BTreeMap<u32, u64>>,
}

/// What is left of each partition up to where printing ends.
struct Ends(Option<BTreeMap<u32, u64>>);

impl Ends {
    /// Whether a record is before the end of its partition. Once one is at the end or behind it, the partition is done.
    fn take(&mut self, partition: u32, offset: u64) -> bool {
        let Some(ends) = &mut self.0 else { return true };
        let is_before = ends.get(&partition).is_some_and(|end| offset < *end);
        if !is_before || ends.get(&partition).is_some_and(|end| offset + 1 >= *end) {
            ends.remove(&partition);
        }
        is_before
    }

    fn are_reached(&self) -> bool {
        self.0.as_ref().is_some_and(BTreeMap::is_empty)
    }
}

/// Prints records until there are no more, or there are enough.
pub(super) fn print(records: &mut dyn RecordsFace, of: &Printed<'_>) -> Result<()> {
    let mut out = BufWriter::new(io::stdout().lock());
    let mut left = of.limit.unwrap_or(usize::MAX);
    let mut ends = Ends(of.ends.clone());
    let timeout = if of.is_following { LOOK } else { Duration::ZERO };
    while left > 0 && !ends.are_reached() {
        let mut printed = 0;
        let taken = records.poll(timeout, left.min(1_000), &mut |partition, offset, record| {
            if !ends.take(partition, offset) {
                return Ok(());
            }
            printed += 1;
            of.write(&mut out, partition, offset, record).map_err(Failure::output)
        })?;
        if taken == 0 && !of.is_following {
            break;
        }
        left = left.saturating_sub(printed);
        out.flush().map_err(Failure::output)?;
    }
    Ok(())
}

impl Printed<'_> {
    fn write(
        &self,
        out: &mut impl Write,
        partition: u32,
        offset: u64,
        record: &Record<'_>,
    ) -> io::Result<()> {
        match &self.form {
            RecordForm::Json => {
                writeln!(out, "{}", record.to_json(self.topic, partition, offset))
            }
            RecordForm::Pattern(pattern) => {
                let placed = Placed { topic: self.topic, partition, offset };
                pattern.write(out, placed, record, &self.null)
            }
            RecordForm::Text { between, behind } => {
                if let Some(between) = between {
                    out.write_all(record.key.unwrap_or(&self.null))?;
                    out.write_all(between)?;
                }
                out.write_all(record.value.unwrap_or(&self.null))?;
                out.write_all(behind)
            }
        }
    }
}
