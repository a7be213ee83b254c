//! Rows of CSV: a header, then records.

use std::collections::HashSet;
use std::str;

use csv::{ByteRecord, Reader, ReaderBuilder};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use timestrata::timelog::EntryBatch;

use super::field::Field;
use super::{BadRow, RowError, RowReader, RowRules};
use crate::failure::{Failure, Result};
use crate::input::{Allowance, could_not_read};
use crate::times::shorten;

/// The rows of one CSV file.
pub(crate) struct CsvRows {
    pub(super) name: String,
    reader: Reader<RowReader>,
    allowance: Allowance,
    header: Vec<String>,
    time_column: usize,
    value_column: Option<usize>,
    record: ByteRecord,
}

impl CsvRows {
    /// Reads the header and finds the columns that the rules name.
    pub(super) fn open(
        name: String,
        reader: RowReader,
        allowance: Allowance,
        rules: &RowRules,
    ) -> Result<Self> {
        let mut reader = ReaderBuilder::new()
            .delimiter(rules.delimiter)
            .flexible(true)
            .has_headers(false)
            .from_reader(reader);
        let mut record = ByteRecord::new();
        let found = reader.read_byte_record(&mut record).map_err(|cause| broken(&name, cause))?;
        if !found {
            return Err(Failure::failed(
                format!("the input is empty: a header with column names is needed [{name}]"),
                "the first line of CSV names its columns",
            ));
        }
        allowance.renew();
        let header = read_header(&name, &record)?;
        let find = |wanted: &str| {
            header.iter().position(|column| column == wanted).ok_or_else(|| {
                Failure::failed(
                    format!("there is no column '{wanted}' [{name}]"),
                    format!("its columns are {}", shorten_list(&header)),
                )
            })
        };
        let time_column = find(&rules.time_column)?;
        let value_column = rules.value_column.as_deref().map(find).transpose()?;
        Ok(Self { name, reader, allowance, header, time_column, value_column, record })
    }

    /// Reads one record into `batch`; false at the end.
    pub(super) fn next_into(
        &mut self,
        rules: &RowRules,
        batch: &mut EntryBatch,
    ) -> std::result::Result<bool, RowError> {
        let found = self
            .reader
            .read_byte_record(&mut self.record)
            .map_err(|cause| RowError::Input(broken(&self.name, cause)))?;
        if !found {
            return Ok(false);
        }
        self.allowance.renew();
        match self.push_record(rules, batch) {
            Ok(()) => Ok(true),
            Err((column, problem)) => {
                let line = self.record.position().map_or(0, csv::Position::line);
                Err(RowError::Bad(BadRow { line, column, problem }))
            }
        }
    }

    /// Puts the record into the batch, or says which column is wrong, and how.
    fn push_record(
        &self,
        rules: &RowRules,
        batch: &mut EntryBatch,
    ) -> std::result::Result<(), (Option<String>, String)> {
        if self.record.len() != self.header.len() {
            return Err((
                None,
                format!("{} fields, but the header has {}", self.record.len(), self.header.len()),
            ));
        }
        let time = self
            .text(self.time_column)
            .and_then(|text| rules.time(text))
            .map_err(|problem| (Some(rules.time_column.clone()), problem))?;
        let pushed = match self.value_column {
            Some(column) => batch.push(time, self.record.get(column).unwrap_or_default()),
            None => {
                for (column, field) in self.record.iter().enumerate() {
                    if str::from_utf8(field).is_err() {
                        let problem = self.text(column).err().unwrap_or_default();
                        return Err((self.header.get(column).cloned(), problem));
                    }
                }
                batch.push_value(time, &CsvRecord { header: &self.header, record: &self.record })
            }
        };
        pushed.map_err(|error| (None, error.to_string()))
    }

    fn text(&self, column: usize) -> std::result::Result<&str, String> {
        let bytes = self.record.get(column).unwrap_or_default();
        str::from_utf8(bytes).map_err(|cause| {
            let shown = shorten(&String::from_utf8_lossy(bytes));
            format!("'{shown}' is not UTF-8: {cause}")
        })
    }
}

/// A record as a map from column names to typed values. All fields are known to be UTF-8.
struct CsvRecord<'a> {
    header: &'a [String],
    record: &'a ByteRecord,
}

impl Serialize for CsvRecord<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.header.len()))?;
        for (column, field) in self.header.iter().zip(self.record) {
            let text = str::from_utf8(field).map_err(serde::ser::Error::custom)?;
            map.serialize_entry(column, &Field::infer(text))?;
        }
        map.end()
    }
}

fn read_header(name: &str, record: &ByteRecord) -> Result<Vec<String>> {
    let refuse = |problem: String| {
        Err(Failure::failed(
            format!("bad header: {problem} [{name}]"),
            "the first line of CSV names its columns, each once",
        ))
    };
    let mut seen = HashSet::new();
    let mut header = Vec::with_capacity(record.len());
    for (index, field) in record.iter().enumerate() {
        let Ok(column) = str::from_utf8(field) else {
            return refuse(format!("the name of column {} is not UTF-8", index + 1));
        };
        let column = column.trim();
        if !seen.insert(column) {
            return refuse(format!("column '{column}' is there twice"));
        }
        header.push(column.to_owned());
    }
    Ok(header)
}

fn broken(name: &str, cause: csv::Error) -> Failure {
    match cause.into_kind() {
        csv::ErrorKind::Io(cause) => could_not_read(name, &cause),
        other => Failure::plain(format!("could not read the input as CSV: {other:?} [{name}]")),
    }
}

fn shorten_list(columns: &[String]) -> String {
    const COLUMNS_MAX: usize = 20;
    let mut list = columns.iter().take(COLUMNS_MAX).cloned().collect::<Vec<_>>().join(", ");
    if columns.len() > COLUMNS_MAX {
        list.push_str(", …");
    }
    list
}
