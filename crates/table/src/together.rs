//! Appending to several tables in one commit, together with changes of others.

use arrow_array::RecordBatch;
use timestrata_engine::{Changes, Error, ErrorKind, Result};

use super::Table;
use super::fit::OnMismatch;

/// Adds rows to tables in the commit that `commit` makes of their changes and its own: all of it is
/// there, or nothing.
///
/// # Errors
/// As [`Table::append`], for any of the tables; `InvalidArgument` for a table that is named twice; and
/// those of `commit`.
pub fn append_together(
    rows: &[(Table, RecordBatch)],
    commit: &mut dyn FnMut(Changes) -> Result<()>,
) -> Result<()> {
    let mut ordered: Vec<&(Table, RecordBatch)> = rows.iter().collect();
    // Everybody locks them in the same order.
    ordered.sort_by_key(|(table, _)| table.id());
    let twice = ordered.windows(2).find_map(|pair| match pair {
        [(one, _), (other, _)] if one.id() == other.id() => Some(one),
        _ => None,
    });
    if let Some(table) = twice {
        let name = table.name()?;
        let message = format!("rows for table '{name}' are given twice: give them as one batch");
        return Err(Error::new(ErrorKind::InvalidArgument, message));
    }
    append_rest(&ordered, &Changes::new(), commit)
}

fn append_rest(
    rows: &[&(Table, RecordBatch)],
    gathered: &Changes,
    commit: &mut dyn FnMut(Changes) -> Result<()>,
) -> Result<()> {
    let Some(((table, batch), rest)) = rows.split_first() else {
        return commit(gathered.clone());
    };
    table.append_by(batch, OnMismatch::Error, &mut |changes| {
        append_rest(rest, &gathered.clone().and(changes), commit)
    })
}
