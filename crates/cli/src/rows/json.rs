//! Rows of JSON lines: one object a line.

use std::collections::HashSet;

use ciborium::Value;
use timestrata::timelog::EntryBatch;
use timestrata::values::lines::NumberedLines;

use super::{BadRow, RowError, RowReader, RowRules};
use crate::input::{Allowance, could_not_read};
use crate::times::shorten;

/// The rows of one file of JSON lines.
pub(crate) struct JsonRows {
    pub(super) name: String,
    lines: NumberedLines<RowReader>,
    allowance: Allowance,
}

impl JsonRows {
    pub(super) fn new(name: String, reader: RowReader, allowance: Allowance) -> Self {
        Self { name, lines: NumberedLines::new(reader), allowance }
    }

    /// Reads one line into `batch`, skipping empty ones; false at the end.
    pub(super) fn next_into(
        &mut self,
        rules: &RowRules,
        batch: &mut EntryBatch,
    ) -> std::result::Result<bool, RowError> {
        let failed = |cause| RowError::Input(could_not_read(&self.name, &cause));
        while self.lines.advance().map_err(failed)? {
            self.allowance.renew();
            let Some(row) = self.lines.row() else { continue };
            return match push_row(row, rules, batch) {
                Ok(()) => Ok(true),
                Err((column, problem)) => {
                    Err(RowError::Bad(BadRow { line: self.lines.number(), column, problem }))
                }
            };
        }
        Ok(false)
    }
}

/// Puts the object of one line into the batch, or says which name in it is wrong, and how.
fn push_row(
    row: &[u8],
    rules: &RowRules,
    batch: &mut EntryBatch,
) -> std::result::Result<(), (Option<String>, String)> {
    let whole = |problem: String| (None, problem);
    let value: Value = serde_json::from_slice(row)
        .map_err(|cause| whole(format!("not JSON: {cause} in '{}'", shown(row))))?;
    let Value::Map(fields) = &value else {
        return Err(whole(format!("not a JSON object: '{}'", shown(row))));
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

fn shown(row: &[u8]) -> String {
    shorten(String::from_utf8_lossy(row).trim())
}
