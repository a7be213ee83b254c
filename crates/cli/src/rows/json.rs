//! Rows of JSON lines: one object a line.

use std::collections::HashSet;
use std::io::BufRead;

use ciborium::Value;
use timestrata::timelog::EntryBatch;

use super::{BYTE_ORDER_MARK, BadRow, RowError, RowReader, RowRules};
use crate::input::{Allowance, could_not_read};
use crate::times::shorten;

/// The rows of one file of JSON lines.
pub(crate) struct JsonRows {
    pub(super) name: String,
    reader: RowReader,
    allowance: Allowance,
    line: u64,
    text: Vec<u8>,
}

impl JsonRows {
    pub(super) fn new(name: String, reader: RowReader, allowance: Allowance) -> Self {
        Self { name, reader, allowance, line: 0, text: Vec::new() }
    }

    /// Reads one line into `batch`, skipping empty ones; false at the end.
    pub(super) fn next_into(
        &mut self,
        rules: &RowRules,
        batch: &mut EntryBatch,
    ) -> std::result::Result<bool, RowError> {
        loop {
            self.text.clear();
            let read = self
                .reader
                .read_until(b'\n', &mut self.text)
                .map_err(|cause| RowError::Input(could_not_read(&self.name, &cause)))?;
            if read == 0 {
                return Ok(false);
            }
            self.allowance.renew();
            self.line += 1;
            if self.line == 1 && self.text.starts_with(BYTE_ORDER_MARK) {
                self.text.drain(..BYTE_ORDER_MARK.len());
            }
            if !self.text.trim_ascii().is_empty() {
                break;
            }
        }
        match push_line(&self.text, rules, batch) {
            Ok(()) => Ok(true),
            Err((column, problem)) => {
                Err(RowError::Bad(BadRow { line: self.line, column, problem }))
            }
        }
    }
}

/// Puts the object of one line into the batch, or says which name in it is wrong, and how.
fn push_line(
    line: &[u8],
    rules: &RowRules,
    batch: &mut EntryBatch,
) -> std::result::Result<(), (Option<String>, String)> {
    let whole = |problem: String| (None, problem);
    let value: Value = serde_json::from_slice(line)
        .map_err(|cause| whole(format!("not JSON: {cause} in '{}'", shown(line))))?;
    let Value::Map(fields) = &value else {
        return Err(whole(format!("not a JSON object: '{}'", shown(line))));
    };
    let mut seen = HashSet::with_capacity(fields.len());
    for name in fields.iter().filter_map(|(name, _)| name.as_text()) {
        if !seen.insert(name) {
            return Err((Some(name.to_owned()), "the name is there twice".to_owned()));
        }
    }
    let find = |wanted: &str| {
        fields
            .iter()
            .find(|(name, _)| name.as_text() == Some(wanted))
            .map(|(_, value)| value)
            .ok_or_else(|| (Some(wanted.to_owned()), "the object has no such name".to_owned()))
    };
    let time = time_of(find(&rules.time_column)?, rules)
        .map_err(|problem| (Some(rules.time_column.clone()), problem))?;
    let pushed = match &rules.value_column {
        None => batch.push_value(time, &value),
        Some(column) => match find(column)? {
            Value::Text(text) => batch.push(time, text.as_bytes()),
            _ => {
                let problem = "a log of bytes takes text here".to_owned();
                return Err((Some(column.clone()), problem));
            }
        },
    };
    pushed.map_err(|error| whole(error.to_string()))
}

fn time_of(value: &Value, rules: &RowRules) -> std::result::Result<i64, String> {
    match value {
        Value::Text(text) => rules.time(text),
        Value::Integer(integer) => rules.time(&i128::from(*integer).to_string()),
        Value::Float(float) => rules.time(&float.to_string()),
        Value::Null => Err("no time".to_owned()),
        _ => Err("it is neither text nor a number".to_owned()),
    }
}

fn shown(line: &[u8]) -> String {
    shorten(String::from_utf8_lossy(line).trim())
}
