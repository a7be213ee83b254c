//! The scripts in `tests/slt`: what statements answer, word for word.
//!
//! `SLT_WRITE=1` writes the answers into the scripts instead of comparing them.

use crate::support;
use std::path::PathBuf;

use datafusion::arrow::array::{Array, RecordBatch};
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use sqllogictest::{DB, DBOutput, DefaultColumnType, Runner};
use timestrata_sql::Sql;

struct Session(Sql);

impl DB for Session {
    type Error = timestrata_engine::Error;
    type ColumnType = DefaultColumnType;

    fn run(&mut self, statement: &str) -> Result<DBOutput<DefaultColumnType>, Self::Error> {
        let batches = support::ask(&self.0, statement)?;
        let columns = batches.first().map_or(0, RecordBatch::num_columns);
        let is_change = !["SELECT", "WITH", "EXPLAIN", "SHOW", "DESCRIBE"]
            .iter()
            .any(|word| statement.trim_start().to_uppercase().starts_with(word));
        if is_change {
            return Ok(DBOutput::StatementComplete(0));
        }
        let rows = batches.iter().flat_map(cells).collect();
        Ok(DBOutput::Rows { types: vec![DefaultColumnType::Any; columns], rows })
    }
}

fn cells(batch: &RecordBatch) -> Vec<Vec<String>> {
    let options = FormatOptions::default().with_null("NULL");
    let cell = |column: &dyn Array, row: usize| {
        let text = ArrayFormatter::try_new(column, &options).unwrap().value(row).to_string();
        if text.is_empty() { "(empty)".to_owned() } else { text }
    };
    let row = |row| {
        let cells = batch.columns().iter().map(|column| cell(column.as_ref(), row));
        let cells: Vec<String> = cells.collect();
        match cells.iter().any(|cell| cell.contains('\n')) {
            // Plans: a line of theirs is a line of the script.
            true => {
                cells.iter().flat_map(|cell| cell.lines()).map(|l| vec![l.to_owned()]).collect()
            }
            false => vec![cells],
        }
    };
    (0..batch.num_rows()).flat_map(row).collect()
}

fn scripts() -> Vec<PathBuf> {
    let mut found = Vec::new();
    for name in [
        "asof_join",
        "catalog",
        "changes",
        "gap_fill",
        "others_know",
        "pushdown",
        "time_functions",
        "views",
    ] {
        found.push(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/slt/{name}.slt")));
    }
    found
}

#[test]
fn scripts_answer_what_they_say() {
    for script in scripts() {
        let store = support::memory();
        let sql = support::sql(&store);
        let mut runner = Runner::new(move || {
            let session = Session(sql.clone());
            async move { Ok(session) }
        });
        if std::env::var_os("SLT_WRITE").is_some() {
            let write = runner.update_test_file(
                &script,
                " ",
                sqllogictest::default_validator,
                sqllogictest::default_normalizer,
                sqllogictest::default_column_validator,
            );
            futures::executor::block_on(write).unwrap();
            continue;
        }
        runner.run_file(&script).unwrap_or_else(|error| panic!("{}", error.display(false)));
    }
}
