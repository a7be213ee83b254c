//! Entries that come from elsewhere, as columns that the stream of a log there has.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::Schema;
use timestrata_engine::{Error, ErrorKind, Result, Settings, Store, StreamSpec};

use super::layout::Layout;
use super::{Entries, LogsOptions, ShownColumns};

/// Reads entries out of batches whose columns are those of a log in another store, as
/// [`Entries::columns`] gives them there.
///
/// ```
/// use timestrata_engine::{Settings, Store};
/// use timestrata_logs::{EntryReader, Logs, LogsOptions, NewEntry, Query};
///
/// # fn main() -> timestrata_engine::Result<()> {
/// # let store = Store::memory(Settings::default())?;
/// # let app = Logs::create(&store, "app", &LogsOptions::default())?;
/// app.write(&NewEntry::new("started"))?;
/// for entries in app.search(&Query::default())? {
///     let sent = entries?.columns().clone();
///     let reader = EntryReader::new(&sent.schema())?;
///     assert_eq!(reader.entries(sent)?.get(0).map(|entry| entry.message().to_owned()).as_deref(), Some("started"));
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct EntryReader {
    layout: Arc<Layout>,
}

impl EntryReader {
    /// For batches of these columns.
    ///
    /// # Errors
    /// `InvalidArgument` if no log has such columns.
    pub fn new(columns: &Schema) -> Result<Self> {
        // A stream says what its columns are; this one holds nothing and goes with the reader.
        let store = Store::memory(Settings::default())?;
        let own = LogsOptions::default().spec("received")?;
        let spec = StreamSpec { schema: Arc::new(columns.clone()), ..own };
        store.create_stream(spec)?;
        let stream = store.expect_stream("received")?;
        LogsOptions::of(&stream)?;
        Ok(Self { layout: Arc::new(Layout::new(stream)) })
    }

    /// The entries of a batch.
    ///
    /// # Errors
    /// `InvalidData` where it has other columns.
    pub fn entries(&self, batch: RecordBatch) -> Result<Entries> {
        let expected = self.layout.stream.schema().fields().iter();
        let is_alike = batch.num_columns() == expected.len()
            && batch.schema().fields().iter().zip(expected).all(|(found, expected)| {
                found.name() == expected.name() && found.data_type() == expected.data_type()
            });
        match is_alike {
            true => Ok(Entries::new(batch, Arc::clone(&self.layout))),
            false => Err(Error::new(
                ErrorKind::InvalidData,
                "the entries have other columns than was said",
            )),
        }
    }

    /// The columns as they are shown.
    pub fn shown(&self) -> ShownColumns {
        ShownColumns::new(Arc::clone(&self.layout))
    }
}
