//! Rows as CSV.

use std::io::Write;

use super::Request;
use super::columns::OutputColumns;
use crate::failure::{Failure, Result};

pub(super) fn write(
    out: &mut impl Write,
    request: &Request,
    columns: &mut OutputColumns,
) -> Result<u64> {
    let mut writer = csv::Writer::from_writer(out);
    let header = columns.list.iter().map(|column| column.name.as_str());
    writer.write_record(header).map_err(failed)?;
    let (mut rows, mut cells) = (0, Vec::with_capacity(columns.list.len()));
    for row in request.rows() {
        let row = row?;
        cells.clear();
        cells.extend(columns.list.iter_mut().map(|column| column.text(&row, request.unit)));
        writer.write_record(&cells).map_err(failed)?;
        rows += 1;
    }
    writer.flush().map_err(Failure::output)?;
    Ok(rows)
}

fn failed(cause: csv::Error) -> Failure {
    match cause.into_kind() {
        csv::ErrorKind::Io(cause) => Failure::output(cause),
        other => Failure::plain(format!("could not write CSV: {other:?}")),
    }
}
