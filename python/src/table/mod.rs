//! `Table`: typed rows by time, and `Rows`, what reading one gives.

mod ingest;
mod input;
mod left_out;
mod object;
mod open;
mod preview;
mod read;
mod rows;
mod staged;
mod values;
mod write;

pub(crate) use input::{Input, owned};
pub(crate) use object::Table;
pub(crate) use rows::{Rows, RowsIter};
pub(crate) use staged::{CommitTable, TableRows};
pub(crate) use write::batch_of;
