//! Reading every byte and row of a run: what `check` does.

use std::cmp::Ordering;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_row::{OwnedRow, RowConverter, SortField};
use timestrata_format::checksum::crc32c;

use super::reader::{Opened, RunReader};
use crate::key::KeyView;
use crate::scan::Source;
use crate::{Error, Result};

/// What [`RunReader::verify_all`] has read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct VerifyReport {
    /// Bytes of the file.
    pub(crate) bytes: u64,
    /// Rows decoded.
    pub(crate) rows: u64,
}

impl RunReader {
    /// Compares the checksum of the whole file, decodes every block and compares keys, order
    /// and counts with what the tail and the manifest say. Keeps nothing in the cache.
    ///
    /// # Errors
    /// `Corruption` naming the first thing found wrong; those of [`Source::blocks`].
    pub(crate) fn verify_all(&self) -> Result<VerifyReport> {
        let opened = self.opened()?;
        let file = opened.content.file();
        let found = crc32c(file.bytes());
        if found != self.meta().file_crc {
            // The blocks know better where.
            file.verify(0..self.meta().tail_offset)?;
            let message = format!(
                "bad checksum of a whole run: expected {:#010x}, found {found:#010x}",
                self.meta().file_crc
            );
            return Err(file.bad(0, message));
        }
        let mut order = KeyOrder::new(self)?;
        let (mut rows, mut delete_markers) = (0_u64, 0_u64);
        let columns: Vec<usize> = (0..opened.file_columns).collect();
        for (block, zone) in opened.zones.iter().enumerate() {
            let batch = opened.content.decode(block, zone, &columns)?;
            self.verify_keys(opened, block, &batch)?;
            order.check(&batch).map_err(|why| file.bad(0, format!("block {block}: {why}")))?;
            rows += batch.num_rows() as u64;
            if self.stream().is_latest() {
                let marks = batch.columns().last().and_then(|column| column.as_boolean_opt());
                delete_markers += marks.map_or(0, |marks| marks.true_count() as u64);
            }
        }
        if (rows, delete_markers) != (self.rows(), self.delete_markers()) {
            let message = format!(
                "a run has {rows} rows and {delete_markers} delete markers, expected {} and {}",
                self.rows(),
                self.delete_markers()
            );
            return Err(file.bad(0, message));
        }
        Ok(VerifyReport { bytes: file.bytes().len() as u64, rows })
    }

    fn verify_keys(&self, opened: &Opened, block: usize, batch: &RecordBatch) -> Result<()> {
        let keys = KeyView::of(self.stream(), batch)?;
        let ends = opened.zones.get(block).map(|zone| (zone.key_min, zone.key_max));
        if keys.first().zip(keys.last()) != ends {
            let message = format!("the keys of block {block} are not those of its zone map");
            return Err(opened.content.file().bad(0, message));
        }
        Ok(())
    }
}

/// Compares whole keys from row to row, across blocks.
struct KeyOrder {
    columns: Vec<usize>,
    converter: RowConverter,
    last: Option<OwnedRow>,
    /// `Latest`: each key once.
    unique: bool,
}

impl KeyOrder {
    fn new(reader: &RunReader) -> Result<Self> {
        let stream = reader.stream();
        let fields = stream.stored_schema().fields();
        let columns = stream.key_columns().to_vec();
        let sort_fields = columns
            .iter()
            .filter_map(|column| fields.get(*column))
            .map(|field| SortField::new(field.data_type().clone()))
            .collect();
        let converter = RowConverter::new(sort_fields).map_err(|error| {
            Error::new(
                crate::ErrorKind::InvalidArgument,
                format!("keys can't be compared: {error}"),
            )
        })?;
        Ok(Self { columns, converter, last: None, unique: stream.is_latest() })
    }

    fn check(&mut self, batch: &RecordBatch) -> std::result::Result<(), String> {
        let keys = batch.project(&self.columns).map_err(|error| error.to_string())?;
        let rows =
            self.converter.convert_columns(keys.columns()).map_err(|error| error.to_string())?;
        let unique = self.unique;
        let in_order = |ordering: Ordering| match ordering {
            Ordering::Less => true,
            Ordering::Equal => !unique,
            Ordering::Greater => false,
        };
        let mut previous = self.last.as_ref().map(OwnedRow::row);
        for (index, row) in rows.iter().enumerate() {
            if previous.is_some_and(|previous| !in_order(previous.cmp(&row))) {
                return Err(format!("row {index} is out of order"));
            }
            previous = Some(row);
        }
        let last = rows.num_rows().checked_sub(1).map(|last| rows.row(last).owned());
        self.last = last.or(self.last.take());
        Ok(())
    }
}
