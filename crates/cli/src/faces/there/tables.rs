//! Tables of a server.

use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use serde_json::Value;

use super::super::{Rows, RowsWanted, TableFace};
use super::{ServedStore, text};
use crate::failure::{Failure, Result};

pub(super) struct ServedTable {
    store: ServedStore,
    name: String,
}

impl ServedTable {
    pub(super) fn new(store: ServedStore, name: &str) -> Self {
        Self { store, name: name.to_owned() }
    }

    /// The rows of a range as a condition of SQL.
    fn condition(&self, from: Option<&str>, to: Option<&str>) -> Result<String> {
        let schema: Value = self.store.get(&["tables", &self.name, "schema"]).json()?;
        let time = text(&schema, "timestamp_column")?.replace('"', "\"\"");
        let bound = |option: &str, sign: &str, bound: Option<&str>| {
            let Some(bound) = bound else { return Ok(None) };
            if bound.trim().parse::<i64>().is_ok() {
                return Err(Failure::usage(
                    format!("{option} {bound}: a server is told times as text"),
                    "write it as RFC 3339: '2026-05-01T09:30:00Z'",
                ));
            }
            Ok(Some(format!("\"{time}\" {sign} '{}'", bound.replace('\'', "''"))))
        };
        let bounds = [bound("--from", ">=", from)?, bound("--to", "<", to)?];
        let bounds: Vec<String> = bounds.into_iter().flatten().collect();
        Ok(if bounds.is_empty() { "true".to_owned() } else { bounds.join(" AND ") })
    }
}

impl TableFace for ServedTable {
    fn rows(&self, wanted: &RowsWanted<'_>) -> Result<Box<dyn Rows>> {
        if wanted.skip_damaged {
            return Err(Failure::usage(
                "--skip-damaged is for a store's directory",
                "read the ranges around the damage, or the directory beside the server",
            ));
        }
        let limit = wanted.limit.map_or("none".to_owned(), |limit| limit.to_string());
        let request = self
            .store
            .get(&["tables", &self.name, "query"])
            .with_some("from", wanted.from)
            .with_some("to", wanted.to)
            .with_some("columns", wanted.columns.map(|columns| columns.join(",")))
            .with("order", if wanted.reverse { "desc" } else { "asc" })
            .with("limit", limit);
        Ok(Box::new(request.rows()?))
    }

    fn delete(&self, from: Option<&str>, to: Option<&str>) -> Result<u64> {
        let condition = self.condition(from, to)?;
        let name = self.name.replace('"', "\"\"");
        let statement = format!("DELETE FROM \"{name}\" WHERE {condition}");
        let mut rows = 0;
        for batch in self.store.server.sql(&statement, None, None)? {
            let batch = batch?;
            let counts = batch.columns().first().and_then(|c| c.as_primitive_opt::<UInt64Type>());
            rows += counts.map_or(0, |counts| counts.values().iter().sum());
        }
        Ok(rows)
    }
}
