//! `Table`: typed rows by time, and `Rows`, what reading one gives.

mod ingest;
mod input;
mod left_out;
mod object;
mod read;
mod rows;
mod values;
mod write;

pub(crate) use object::{Table, TableAsked};
pub(crate) use rows::{Batches, Rows, RowsIter};
