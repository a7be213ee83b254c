//! What of a table needs SQL: conditions, and joins as of each other's times.

use pyo3::prelude::*;
use pyo3::types::{PyDelta, PyDeltaAccess, PyString};
use timestrata_sql::{AsofOptions, Direction, Input, Params, Selection, Tolerance, delete_rows};
use timestrata_table::{TableScan, TableView};

use super::params::params_of;
use super::{Rows, asked, rows_of};
use crate::error::to_python;
use crate::interrupt::detached;
use crate::settings::word;
use crate::store::names_of;
use crate::table::Table;

impl Table {
    /// The rows in a range that a condition picks.
    pub(crate) fn select(
        &self,
        py: Python<'_>,
        view: &TableView,
        scan: TableScan,
        offset: usize,
        (condition, params): (&str, Option<&Bound<'_, PyAny>>),
    ) -> PyResult<Rows> {
        let time = timestrata_sql::quoted(view.schema().field(view.stream().lead_column()).name());
        let selection = Selection {
            range: scan.range,
            columns: scan.columns,
            condition: Some(condition.to_owned()),
            order: scan.reverse.then(|| format!("{time} DESC")),
            limit: scan.limit,
            offset,
            params: params.map_or_else(|| Ok(Params::none()), params_of)?,
        };
        let sql = self.handle.sql()?;
        // Of a snapshot of one stream nothing else could be asked, and nothing is.
        let sql = sql.at_snapshot(view.snapshot().clone());
        let name = view.name().to_owned();
        let store = self.handle.store()?.clone();
        let text = format!("scan of {name}: {condition}");
        rows_of(py, move || asked(&sql, &store, &text, None).select_blocking(&name, &selection))
    }
}

const DIRECTIONS: [(&str, Direction); 3] = [
    ("backward", Direction::Backward),
    ("forward", Direction::Forward),
    ("nearest", Direction::Nearest),
];

#[pymethods]
impl Table {
    /// Delete rows. Gives how many there were.
    ///
    /// Parameters
    /// ----------
    /// start, end : time, optional
    ///     From ``start`` to before ``end``.
    /// where : str, optional
    ///     A condition in SQL; without one all rows of the range are deleted.
    /// params : list or dict, optional
    ///     Values for placeholders in the condition.
    /// sync : bool, optional
    ///     Wait until it survives a power cut.
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> rooms = timestrata.open().table("rooms")
    /// >>> rooms.append({"time": ["2024-05-01", "2024-05-02"], "celsius": [20.0, 21.5]})
    /// 2
    /// >>> rooms.delete("2024-05-02")
    /// 1
    /// >>> rooms.delete(where="celsius > 30")
    /// 0
    #[pyo3(signature = (start=None, end=None, *, r#where=None, params=None, sync=false))]
    fn delete(
        &self,
        py: Python<'_>,
        start: Option<&Bound<'_, PyAny>>,
        end: Option<&Bound<'_, PyAny>>,
        r#where: Option<&str>,
        params: Option<&Bound<'_, PyAny>>,
        sync: bool,
    ) -> PyResult<u64> {
        let view = self.view(py)?;
        let model = self.model(py)?.with_times_of(view.stream());
        let range = Self::range(&view, start, end)?;
        let durability = self.handle.durability(sync);
        let Some(condition) = r#where else {
            return detached(py, || model.delete_ranges(&[range], durability));
        };
        let params = params.map_or_else(|| Ok(Params::none()), params_of)?;
        let sql = self.handle.sql()?;
        let store = self.handle.store()?;
        detached(py, || {
            let sql = asked(&sql, store, condition, None);
            let predicate = sql.predicate(&model.name()?, condition, params)?;
            delete_rows(&model, &range, &predicate, durability)
        })
    }

    /// Join each row with the last one of another table that is not later.
    ///
    /// Rows without a partner are kept, with nulls; columns of the other table whose names this
    /// one has too get a suffix.
    ///
    /// Parameters
    /// ----------
    /// other : Table
    /// on : str, optional
    ///     The time column of this table, and of the other one unless ``right_on`` names it; each
    ///     table's own time column unless given.
    /// by : str or list of str, optional
    ///     Columns that must be equal.
    /// tolerance : timedelta or str, optional
    ///     Partners further apart are none: ``timedelta(hours=1)``, "5 minutes".
    /// direction : {"backward", "forward", "nearest"}, optional
    ///     The last row that is not later, the first that is not earlier, or the nearer one of both.
    /// suffix : str, optional
    /// allow_exact : bool, optional
    ///     Whether rows of the same time belong together.
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> store = timestrata.open()
    /// >>> trades, quotes = store.table("trades"), store.table("quotes")
    /// >>> trades.append({"time": "2024-05-01T10:00:01Z", "shares": 100})
    /// 1
    /// >>> quotes.append({"time": "2024-05-01T10:00:00Z", "price": 10.5})
    /// 1
    /// >>> [(row["shares"], row["price"]) for row in trades.asof_join(quotes)]
    /// [(100, 10.5)]
    #[pyo3(signature = (other, on=None, by=None, tolerance=None, *, right_on=None,
                        direction="backward", suffix="_right", allow_exact=true))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of a Python method")]
    fn asof_join(
        &self,
        py: Python<'_>,
        other: &Table,
        on: Option<String>,
        by: Option<&Bound<'_, PyAny>>,
        tolerance: Option<&Bound<'_, PyAny>>,
        right_on: Option<String>,
        direction: &str,
        suffix: &str,
        allow_exact: bool,
    ) -> PyResult<Rows> {
        let (left, right) = (self.model(py)?, other.model(py)?);
        let given = on.is_some();
        let on = on.map_or_else(|| left.time_column().map_err(to_python), Ok)?;
        let right_on = match right_on {
            Some(name) => Some(name),
            None if given => None,
            None => Some(right.time_column().map_err(to_python)?),
        };
        let options = AsofOptions {
            right_on,
            by: names_of(by)?,
            tolerance: tolerance.map(tolerance_of).transpose()?,
            direction: word("direction", direction, &DIRECTIONS)?,
            suffix: suffix.to_owned(),
            allow_exact,
            ..AsofOptions::on(on)
        };
        let names = (left.name().map_err(to_python)?, right.name().map_err(to_python)?);
        let store = self.handle.store()?;
        let snapshot = detached(py, || store.snapshot())?;
        let sql = self.handle.sql()?.at_snapshot(snapshot);
        let store = store.clone();
        let text = format!("asof_join({}, {})", names.0, names.1);
        rows_of(py, move || {
            let (left, right) = names.clone();
            asked(&sql, &store, &text, None).asof_join_blocking(
                Input::Table(left),
                Input::Table(right),
                &options,
            )
        })
    }
}

fn tolerance_of(value: &Bound<'_, PyAny>) -> PyResult<Tolerance> {
    if let Ok(delta) = value.cast::<PyDelta>() {
        let seconds = i64::from(delta.get_days()) * 86_400 + i64::from(delta.get_seconds());
        let text = format!("{seconds} seconds {} microseconds", delta.get_microseconds());
        return Tolerance::parse(&text).map_err(to_python);
    }
    if let Ok(text) = value.cast::<PyString>() {
        return Tolerance::parse(&text.to_string()).map_err(to_python);
    }
    Ok(Tolerance::Units(value.extract()?))
}
