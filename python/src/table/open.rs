//! `Store.table`: the table of a name.

use std::sync::Arc;

use pyo3::prelude::*;
use timestrata_table::{Table as TableModel, TableOptions};

use super::Table;
use crate::lock::Kept;
use crate::settings::compression as compression_named;
use crate::store::{Store, names_of};
use crate::typed::fields_of;

#[pymethods]
impl Store {
    /// Give the table of this name, which comes into being with its first rows.
    ///
    /// Parameters
    /// ----------
    /// name : str
    /// time : str, optional
    ///     Its time column; else the first column of times, those called "timestamp", "time",
    ///     "ts", "datetime" or "date" before others.
    /// key : str or list of str, optional
    ///     The upsert key: of rows that are equal in these columns the last one written is kept.
    ///     Without one every row is kept.
    /// tags : str or list of str, optional
    ///     Columns that say which series a row belongs to.
    /// schema : dict or Arrow schema, optional
    ///     Its columns, so that it exists at once: a dict from column to type
    ///     (``{"time": "timestamp[us, tz=UTC]", "price": "float64"}``), or any object with
    ///     ``__arrow_c_schema__``.
    /// compression : str, optional
    ///     How compacted files are packed where that pays: "zstd", which is the default, "zstd:LEVEL" (1 to 22),
    ///     "lz4" or "none". For a table that exists it tells of files that are written from now on.
    /// ids : bool, optional
    ///     Tell rows apart by a column "id" of whole numbers from 1, and give rows that come
    ///     without one the next.
    ///
    /// One that isn't there yet comes into being as it was asked for here, whoever brings its first rows: an object without options of its
    /// own, or a commit over several models.
    ///
    /// Raises
    /// ------
    /// AlreadyExistsError
    ///     It exists with another time column, key or tags.
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> store = timestrata.open()
    /// >>> rooms = store.table("rooms", key=["room", "time"])
    /// >>> rooms.append({"time": "2024-05-01", "room": "kitchen", "celsius": 20.0})
    /// 1
    /// >>> rooms.append({"time": "2024-05-01", "room": "kitchen", "celsius": 21.5})
    /// 1
    /// >>> [row["celsius"] for row in rooms.scan()]
    /// [21.5]
    #[pyo3(signature = (name, *, time=None, key=None, tags=None, schema=None, ids=false,
                        compression=None))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of a Python method")]
    fn table(
        &self,
        py: Python<'_>,
        name: &str,
        time: Option<String>,
        key: Option<&Bound<'_, PyAny>>,
        tags: Option<&Bound<'_, PyAny>>,
        schema: Option<&Bound<'_, PyAny>>,
        ids: bool,
        compression: Option<&str>,
    ) -> PyResult<Table> {
        let wanted = TableOptions {
            time,
            key: names_of(key)?,
            tags: names_of(tags)?,
            hand_out_ids: ids,
            compression: compression_named(compression)?,
            ..TableOptions::default()
        };
        let columns = schema.map(fields_of).transpose()?;
        let is_read_only = self.handle.mode == "r";
        let model = self.handle.detached(py, |store| match (store.stream(name), &columns) {
            (Some(_), _) => TableModel::open_like(store, name, &wanted).map(Some),
            (None, _) if is_read_only => TableModel::open(store, name).map(Some),
            (None, Some(columns)) => TableModel::create(store, name, columns, &wanted).map(Some),
            (None, None) => Ok(None),
        })?;
        if model.is_none() && wanted != TableOptions::default() {
            let mut options = self.handle.table_options.lock();
            options.insert(name.to_owned(), wanted.clone());
        }
        Ok(Table {
            handle: Arc::clone(&self.handle),
            name: name.to_owned(),
            wanted,
            model: Kept::new(model),
            converter: Kept::new(None),
        })
    }

    /// List the names of all tables.
    fn tables(&self) -> PyResult<Vec<String>> {
        Ok(TableModel::names(self.handle.store()?))
    }
}
