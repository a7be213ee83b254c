//! What each column takes in compacted runs: for people who ask where the bytes are.

use super::StreamView;
use crate::Result;

/// Bytes of one column in the compacted runs of a stream.
///
/// ```
/// # use std::sync::Arc;
/// # use arrow_schema::{DataType, Field, Schema};
/// # use timestrata_engine::*;
/// # fn main() -> timestrata_engine::Result<()> {
/// # let store = Store::memory(Settings::default())?;
/// # let schema = Schema::new(vec![
/// #     Field::new("time", DataType::Int64, false),
/// #     Field::new("celsius", DataType::Float64, true),
/// # ]);
/// # let kitchen = store.create_stream(StreamSpec::new("kitchen", Arc::new(schema)))?;
/// # let mut appender = store.appender(kitchen)?;
/// # for (time, celsius) in [(1_000, 20.5), (2_000, 21.0), (3_000, 21.5)] {
/// #     appender.append(&[Cell::Int(time), Cell::Float(celsius)], Durability::Written)?;
/// # }
/// for size in store.snapshot()?.column_sizes(kitchen)? {
///     println!("{}: {} bytes", size.name, size.stored_bytes);
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ColumnSize {
    /// Its name.
    pub name: String,
    /// Values in these runs, nulls included.
    pub values: u64,
    /// Bytes in the files: encoded and compressed.
    pub stored_bytes: u64,
    /// Bytes that the values take one after the other: fixed widths, and text with four bytes
    /// of length each.
    pub plain_bytes: u64,
    /// The encodings in use, by Parquet's names, sorted.
    pub encodings: Vec<String>,
}

impl ColumnSize {
    /// How many times smaller it is than its values.
    pub fn ratio(&self) -> f64 {
        self.plain_bytes as f64 / self.stored_bytes.max(1) as f64
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.values += other.values;
        self.stored_bytes += other.stored_bytes;
        self.plain_bytes += other.plain_bytes;
        self.encodings.extend(other.encodings);
        self.encodings.sort_unstable();
        self.encodings.dedup();
    }
}

impl StreamView {
    /// Sizes of the stream's columns, in their order, over all sources that know them.
    pub(crate) fn column_sizes(&self) -> Result<Vec<ColumnSize>> {
        let fields = self.stream.schema().fields();
        let empty = |name: &String| ColumnSize { name: name.clone(), ..ColumnSize::default() };
        let mut sizes: Vec<_> = fields.iter().map(|field| empty(field.name())).collect();
        for source in &self.sources {
            for found in source.column_sizes()? {
                if let Some(size) = sizes.iter_mut().find(|size| size.name == found.name) {
                    size.add(found);
                }
            }
        }
        Ok(sizes)
    }
}
