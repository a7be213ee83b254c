//! What a commit changes in a table, as its steps say it.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::TimeUnit;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use timestrata_engine::{
    KeyRange, LeadKey, Result as StoreResult, RunCompression, SeqNo, Store, Stream,
};
use timestrata_ingest::rows::{Compression, Format, ReadOptions, open_bytes, read_arrow};
use timestrata_table::{OnMismatch, Table, TableOptions, TableWrite, parse_time};

use super::step::Step;
use crate::error::{Failure, Result};

const KNOWN: &str = "rows or arrow, if_unchanged_since, on_mismatch, time, key, tags, ids, compression and \
                     time_unit; or delete";

/// Rows that are appended, and ranges of times whose earlier rows go.
#[derive(Debug, Default)]
pub(super) struct TablePart {
    /// `None` before there are rows for one that isn't there.
    table: Option<Table>,
    appended: Vec<(RecordBatch, Option<SeqNo>)>,
    deleted: Vec<(Arc<Stream>, KeyRange)>,
    /// Whether a step asked for wider columns, which counts for all rows of the table.
    widens: bool,
}

impl TablePart {
    /// Adds what a step says. Gives how many rows it appends.
    ///
    /// # Errors
    /// `400` for what is no such step, or no rows of this table; what making it may fail with.
    pub(super) fn add(&mut self, store: &Store, mut step: Step<'_>) -> Result<usize> {
        if let Some(ends) = step.deleted()? {
            let name = step.name.clone();
            step.finish("delete")?;
            self.delete(Table::open(store, &name)?, ends)?;
            return Ok(0);
        }
        let rows = rows_of(&mut step)?;
        let since = step.number("if_unchanged_since")?.map(SeqNo);
        let mismatches = [("error", OnMismatch::Error), ("widen", OnMismatch::Widen)];
        let on_mismatch = step.word("on_mismatch", &mismatches)?.unwrap_or_default();
        self.widens |= on_mismatch == OnMismatch::Widen;
        let units = [
            ("s", TimeUnit::Second),
            ("ms", TimeUnit::Millisecond),
            ("us", TimeUnit::Microsecond),
            ("ns", TimeUnit::Nanosecond),
        ];
        let time_unit = step.word("time_unit", &units)?;
        let options = table_options(&mut step)?;
        let name = step.name.clone();
        step.finish(KNOWN)?;

        let known = store.stream(&name).is_some();
        let batches = match rows {
            // Whole numbers in the time column are in the table's unit, as those of a program that has the store open.
            Rows::Arrow(bytes) => read_arrow(bytes, "the rows")?,
            Rows::Json(bytes) => {
                let mut read = ReadOptions {
                    format: Some(Format::JsonLines),
                    compression: Some(Compression::None),
                    time_unit,
                    ..ReadOptions::default()
                };
                if known {
                    read.expect_of(&Table::open(store, &name)?, on_mismatch)?;
                }
                read.time = options.time.clone().or(read.time);
                open_bytes(bytes, "the rows", &read)?.collect::<StoreResult<Vec<_>>>()?
            }
        };
        let mut count = 0;
        for batch in batches.into_iter().filter(|batch| batch.num_rows() > 0) {
            if self.table.is_none() {
                // Another compression of one that is there would be its own, whatever becomes of the commit.
                let compression = options.compression.filter(|_| !known);
                let wanted = TableOptions { compression, ..options.clone() };
                self.table = Some(Table::create_for(store, &name, &batch, &wanted)?);
            }
            count += batch.num_rows();
            self.appended.push((batch, since));
        }
        Ok(count)
    }

    fn delete(&mut self, table: Table, [from, to]: [Option<String>; 2]) -> Result<()> {
        let view = table.view()?;
        let data_type = view.schema().field(view.stream().lead_column()).data_type();
        let time = |text: Option<String>| {
            text.as_deref().map(|text| parse_time(text, data_type)).transpose()
        };
        let (from, to) = (time(from)?, time(to)?);
        if let (Some(from), Some(to)) = (from, to)
            && from > to
        {
            return Err(Failure::bad_request("the range ends before it begins"));
        }
        let range = KeyRange::new(from.map(LeadKey::Time), to.map(LeadKey::Time));
        self.deleted.push((Arc::clone(view.stream()), range));
        self.table = Some(table);
        Ok(())
    }

    /// What the commit is to do; `None`: nothing.
    pub(super) fn write(&self) -> Option<TableWrite<'static>> {
        let mut write = TableWrite::new(self.table.as_ref()?);
        if self.widens {
            write = write.on_mismatch(OnMismatch::Widen);
        }
        for (batch, since) in &self.appended {
            write.append(batch.clone());
            if let Some(since) = since {
                write.if_unchanged_since(*since);
            }
        }
        for (stream, range) in &self.deleted {
            write.delete_range_of(stream, *range);
        }
        Some(write)
    }

    pub(super) fn row_count(&self) -> usize {
        self.appended.iter().map(|(batch, _)| batch.num_rows()).sum()
    }
}

/// Rows as a step has them.
enum Rows {
    /// A list of objects.
    Json(Vec<u8>),
    /// An Arrow stream.
    Arrow(Vec<u8>),
}

/// The rows of a step: `rows`, or `arrow` as base64.
fn rows_of(step: &mut Step<'_>) -> Result<Rows> {
    match (step.raw("rows"), step.text("arrow")?) {
        (Some(rows), None) if rows.starts_with('[') => Ok(Rows::Json(rows.as_bytes().to_vec())),
        (Some(_), None) => Err(Failure::bad_request("rows must be a list of objects")),
        (None, Some(text)) => {
            let bytes = STANDARD.decode(text);
            let bytes = bytes.map_err(|error| Failure::bad_request(format!("arrow: {error}")))?;
            Ok(Rows::Arrow(bytes))
        }
        (Some(_), Some(_)) => {
            Err(Failure::bad_request("it has both rows and arrow: leave one out"))
        }
        (None, None) => Err(Failure::bad_request(format!("it has no rows; there are {KNOWN}"))),
    }
}

/// What a table is that the step makes, and what one that is there must be.
fn table_options(step: &mut Step<'_>) -> Result<TableOptions> {
    let key: Vec<String> = step.take("key", "a list of names")?.unwrap_or_default();
    let tags = step.take("tags", "a list of names")?.unwrap_or_default();
    let ids: Option<bool> = step.take("ids", "true or false")?;
    let compression = step.text("compression")?;
    Ok(TableOptions {
        time: step.text("time")?,
        hand_out_ids: ids.unwrap_or(key.is_empty()),
        compression: compression.map(|text| text.parse::<RunCompression>()).transpose()?,
        key,
        tags,
        ..TableOptions::default()
    })
}
