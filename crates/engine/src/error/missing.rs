//! Which rows can't be read for a damage.

use std::fmt;
use std::path::PathBuf;

use timestrata_format::LeadKey;

/// Rows that can't be read, because a block of a run or a whole run is damaged.
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
/// for missing in store.stats().damaged {
///     println!("{missing}"); // so many rows of that stream with these keys
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingRange {
    /// The stream's name.
    pub stream: String,
    /// Smallest leading key of the rows. Others with this key may be there.
    pub key_min: LeadKey,
    /// Greatest leading key of the rows (inclusive).
    pub key_max: LeadKey,
    /// How many rows the damaged block or run has.
    pub rows: u64,
    /// The damaged file.
    pub file: PathBuf,
    /// Where the damage begins in it, in bytes, as far as that is known.
    pub offset: u64,
    /// What is wrong.
    pub why: String,
}

impl fmt::Display for MissingRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} rows of stream '{}' with keys {} to {}: {} [{}, byte {}]",
            self.rows,
            self.stream,
            self.key_min,
            self.key_max,
            self.why,
            self.file.display(),
            self.offset
        )
    }
}
