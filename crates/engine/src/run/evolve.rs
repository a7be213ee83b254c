//! Runs that were written before their stream got other columns.
//!
//! A file is never rewritten for that: columns that it lacks are null, columns of a narrower type
//! are widened, times of a coarser unit multiplied, each time they are read. Compaction writes what it reads, and so brings files up
//! to date.

use std::path::Path;

use arrow_array::{ArrayRef, new_null_array};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{DataType, Schema};

use crate::stream::{finer_times, widens};
use crate::{Error, Result, Stream};

/// Where a column of the stream is in an older file.
#[derive(Debug, Clone, PartialEq, Eq)]
enum ColumnOrigin {
    Same(usize),
    /// Through these types in turn, as the rows of today went.
    Widened(usize, Vec<DataType>),
    Missing(DataType),
}

/// The way from an older file's columns to the stream's.
#[derive(Debug)]
pub(super) struct Evolution {
    places: Vec<ColumnOrigin>,
    /// How many of today's units make one of the file's leading times.
    times_factor: i64,
}

impl Evolution {
    /// Whether all columns that the file has are of today's types.
    pub(super) fn keeps_types(&self) -> bool {
        !self.places.iter().any(|place| matches!(place, ColumnOrigin::Widened(..)))
    }

    /// How many units of the stream's leading time make one of the file's: by so much its zone maps are multiplied.
    pub(super) fn times_factor(&self) -> i64 {
        self.times_factor
    }

    /// From a file's columns to a stream's.
    ///
    /// # Errors
    /// `Corruption` if the file's can't be older ones of the stream.
    pub(super) fn new(path: &Path, offset: u64, file: &Schema, stream: &Stream) -> Result<Self> {
        let bad = |why: String| {
            Error::corruption(
                path,
                offset,
                format!("the run has other columns than its stream: {why}"),
            )
        };
        let mut next = 0;
        let schema = stream.stored_schema();
        let mut places = Vec::with_capacity(schema.fields().len());
        let mut times_factor = 1;
        for field in schema.fields() {
            let found = file.fields().get(next).filter(|found| found.name() == field.name());
            let Some(found) = found else {
                if !field.is_nullable() {
                    return Err(bad(format!("'{}' is missing", field.name())));
                }
                places.push(ColumnOrigin::Missing(field.data_type().clone()));
                continue;
            };
            places.push(if found.data_type() == field.data_type() {
                ColumnOrigin::Same(next)
            } else if widens(found.data_type(), field.data_type())
                || finer_times(found.data_type(), field.data_type()).is_some()
            {
                let mut types = stream.types_since(field.name(), found.data_type());
                types.push(field.data_type().clone());
                ColumnOrigin::Widened(next, types)
            } else {
                return Err(bad(format!("{found} in place of {field}")));
            });
            if places.len() == stream.lead_column() + 1 {
                times_factor = finer_times(found.data_type(), field.data_type()).unwrap_or(1);
            }
            if found.is_nullable() && !field.is_nullable() {
                return Err(bad(format!("{found} in place of {field}")));
            }
            next += 1;
        }
        match file.fields().get(next) {
            Some(unknown) => Err(bad(format!("'{}' is none of its", unknown.name()))),
            None => Ok(Self { places, times_factor }),
        }
    }

    /// Columns of the stream, of those of a file that `read` gives.
    pub(super) fn read(
        &self,
        rows: usize,
        columns: &[usize],
        read: impl FnOnce(&[usize]) -> Result<Vec<ArrayRef>>,
    ) -> Result<Vec<ArrayRef>> {
        let places = columns.iter().filter_map(|column| self.places.get(*column));
        let of_file: Vec<usize> = places
            .clone()
            .filter_map(|place| match place {
                ColumnOrigin::Same(column) | ColumnOrigin::Widened(column, _) => Some(*column),
                ColumnOrigin::Missing(_) => None,
            })
            .collect();
        let mut found = read(&of_file)?.into_iter();
        let mut next = || found.next().ok_or_else(|| unread("a column of an older run"));
        places
            .map(|place| match place {
                ColumnOrigin::Same(_) => next(),
                ColumnOrigin::Widened(_, types) => {
                    types.iter().try_fold(next()?, |column, to| widened(&column, to))
                }
                ColumnOrigin::Missing(data_type) => Ok(new_null_array(data_type, rows)),
            })
            .collect()
    }
}

fn widened(column: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    let options = CastOptions { safe: false, ..CastOptions::default() };
    cast_with_options(column, to, &options)
        .map_err(|error| unread(&format!("{} as {to}", column.data_type())).caused_by(error))
}

fn unread(what: &str) -> Error {
    Error::new(crate::ErrorKind::InvalidData, format!("can't read {what}"))
}
