//! Files in.

use std::io::{self, Cursor, Read};
use std::path::PathBuf;
use std::sync::PoisonError;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyBytes, PyDict};
use timestrata_engine::{ErrorKind, Io, Result};
use timestrata_ingest::rows::{
    Format, Input, Load, OnError, Plan, ReadReport, Spelling, input_of_path,
};
use timestrata_table::{Commits, IngestOptions, Table as TableModel, WriteOptions};

use super::Table;
use super::write::on_mismatch_of;
use crate::error::{refused, to_python, type_name};
use crate::interrupt::{detached, interruptible};
use crate::path::GivenPath;
use crate::settings::word;

/// Bytes that are asked of a file object at once.
const PIECE_BYTES: usize = 1 << 20;
/// An object that has no more is taken in by the thread that asked.
const SMALL_BYTES: usize = 64 << 10;

/// Where pieces of an object go.
type Pieces = SyncSender<io::Result<Vec<u8>>>;

/// What is read.
enum From {
    Path(PathBuf),
    Object(FileObject),
}

#[pymethods]
impl Table {
    /// Load the rows of a file: CSV, JSON lines, Arrow, Parquet, each packed by gzip or zstd or not.
    ///
    /// A file is one atomic commit that survives a power cut, however many rows it has, unless told otherwise; memory
    /// stays bounded. Types are found from a sample. A value behind it that has another type makes a path be read anew, with
    /// types that hold all values; a file object, which is read once, is refused, and so is a value that doesn't fit a column
    /// that the table has already.
    ///
    /// Dates are found in most ways in which people write them, if all values of a column tell the day from the month.
    ///
    /// Parameters
    /// ----------
    /// source : path or file object
    ///     A path, or an object whose ``read(n)`` gives bytes.
    /// format : {"csv", "jsonl", "arrow", "arrows", "parquet", "protobuf"}, optional
    ///     By the content and the name unless given.
    /// delimiter : str, optional
    ///     What separates the fields of CSV: a character or a few ("||"), "tab", or "blanks", as many as there are; found unless
    ///     given.
    /// header : bool, optional
    ///     Whether CSV begins with a line of names.
    /// quote : str, optional
    ///     What encloses fields of CSV that hold delimiters or line ends; ``"`` unless given.
    /// comment : str, optional
    ///     What lines of CSV begin with that are left out.
    /// skip_lines : int, optional
    ///     Lines at the beginning that are left out.
    /// decimal : {".", ","}, optional
    ///     What stands before a fraction. A point unless given; a comma where semicolons separate fields and all values of a
    ///     column have it.
    /// thousands : str, optional
    ///     What stands between thousands, such as ``","`` in ``1,234.5``. Nothing unless given: nobody can tell it from a fraction.
    /// null_text : str or list of str, optional
    ///     What stands for no value, in every column. Unless given nothing at all does, and in columns other than text also
    ///     ``NA``, ``NULL`` and the like.
    /// fill_short_rows : bool, optional
    ///     Whether rows of CSV with fewer fields than there are columns end with nulls.
    /// encoding : str, optional
    ///     How text is encoded, such as "windows-1252". UTF-8 unless given, or UTF-16 where it begins with its mark.
    /// sample_rows : int or "all", optional
    ///     Rows from which types are found; with "all" a file is read twice, and a file object taken into memory.
    /// time_unit : {"s", "ms", "us", "ns"}, optional
    ///     The unit of whole numbers in the time column; by its name or their size unless given.
    /// time_format : str, optional
    ///     How times are written, as ``strftime`` has it: ``"%d.%m.%Y %H:%M"``. Found unless given.
    /// time_of_load : bool, optional
    ///     Give each row the time of this load, in a column ``time`` or the one that ``store.table`` was told: for files without any.
    /// batch_rows : int, optional
    ///     Commit each time that so many rows are there, instead of once.
    /// on_error : {"fail", "skip"}, optional
    ///     What to do with rows that don't fit: nothing is kept, or they are left out.
    /// on_mismatch : {"error", "widen"}, optional
    ///     As in ``append``.
    /// dry_run : bool, optional
    ///     Tell what would be made of the file, and write nothing.
    /// sync : bool, default True
    ///     Return only once the rows would survive a power cut; without, they survive the end of the
    ///     process, as what ``append`` stores. Many small files are taken in sooner without.
    ///
    /// Returns
    /// -------
    /// dict
    ///     ``rows``, ``skipped``, ``errors``, the first of what was skipped, and ``notes``, what had to be told apart in columns, by their
    ///     names (``{"day": "day before month"}``). With ``dry_run``, in place of these notes, ``format``, ``delimiter``, ``columns`` (a
    ///     dict each, of ``name``, ``type``, ``new``, ``widened`` and ``note``), ``time``, the time column, and ``refusal``, why
    ///     the file would be refused.
    ///
    /// Raises
    /// ------
    /// InvalidDataError
    ///     A row doesn't fit; it names file, line, column and value, and what can be done.
    ///
    /// Examples
    /// --------
    /// >>> import io, timestrata
    /// >>> flights = timestrata.open().table("flights")
    /// >>> file = io.BytesIO(b"time,delay\n31.05.2024,5\n01.06.2024,7\n")
    /// >>> flights.ingest(file, dry_run=True)["columns"][0]["note"]
    /// 'day before month'
    /// >>> file.seek(0)
    /// 0
    /// >>> done = flights.ingest(file, format="csv")
    /// >>> done["rows"], done["notes"]
    /// (2, {'time': 'day before month'})
    #[pyo3(signature = (source, format=None, *, delimiter=None, header=true, quote=None, comment=None, skip_lines=0,
                        decimal=None, thousands=None, null_text=None, fill_short_rows=false, encoding=None, sample_rows=None,
                        time_unit=None, time_format=None, time_of_load=false, batch_rows=None,
                        on_error="fail", on_mismatch="error", dry_run=false, sync=true))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of a Python method")]
    #[expect(clippy::fn_params_excessive_bools, reason = "keyword arguments of a Python method")]
    fn ingest<'py>(
        &self,
        py: Python<'py>,
        source: &Bound<'py, PyAny>,
        format: Option<&str>,
        delimiter: Option<String>,
        header: bool,
        quote: Option<String>,
        comment: Option<String>,
        skip_lines: u64,
        decimal: Option<String>,
        thousands: Option<String>,
        null_text: Option<NullText>,
        fill_short_rows: bool,
        encoding: Option<String>,
        sample_rows: Option<SampleRows>,
        time_unit: Option<String>,
        time_format: Option<String>,
        time_of_load: bool,
        batch_rows: Option<usize>,
        on_error: &str,
        on_mismatch: &str,
        dry_run: bool,
        sync: bool,
    ) -> PyResult<Bound<'py, PyDict>> {
        let given = [
            ("delimiter", delimiter),
            ("quote", quote),
            ("comment", comment),
            ("decimal", decimal),
            ("thousands", thousands),
            ("encoding", encoding),
            ("time_unit", time_unit),
            ("time_format", time_format),
            ("sample_rows", sample_rows.map(SampleRows::text)),
            ("header", Some(header.to_string())),
            ("skip_lines", Some(skip_lines.to_string())),
            ("fill_short_rows", Some(fill_short_rows.to_string())),
            ("time_of_load", Some(time_of_load.to_string())),
        ];
        let mut load = load_of(given, null_text)?;
        load.read.format = format.map(str::parse::<Format>).transpose().map_err(to_python)?;
        load.read.time.clone_from(&self.wanted.time);
        let what = [("fail", OnError::Fail), ("skip", OnError::Skip)];
        load.read.on_error = word("on_error", on_error, &what)?;
        let on_mismatch = on_mismatch_of(on_mismatch)?;
        load.ingest = IngestOptions {
            table: self.wanted.clone(),
            write: WriteOptions { durability: self.handle.durability(sync), on_mismatch },
            commits: batch_rows.map_or(Commits::One, Commits::Every),
            ..IngestOptions::default()
        };
        let work = Work {
            store: self.handle.store()?.clone(),
            table: self.name.clone(),
            load,
            is_dry: dry_run,
        };
        match work.done(py, from(source)?, batch_rows.is_none())? {
            Done::Loaded(table, report, notes) => {
                if let Some(table) = table {
                    self.has_become(table);
                }
                let shown = shown(py, &report)?;
                shown.set_item("notes", notes.into_py_dict(py)?)?;
                Ok(shown)
            }
            Done::Planned(plan) => shown_plan(py, &plan),
        }
    }
}

/// One text that stands for no value, or several.
#[derive(FromPyObject)]
enum NullText {
    One(String),
    Several(Vec<String>),
}

/// A number of rows, or a word.
#[derive(FromPyObject)]
enum SampleRows {
    Number(u64),
    Word(String),
}

impl SampleRows {
    fn text(self) -> String {
        match self {
            Self::Number(rows) => rows.to_string(),
            Self::Word(word) => word,
        }
    }
}

/// What is said of reading, by names.
fn load_of<const N: usize>(
    given: [(&str, Option<String>); N],
    null_text: Option<NullText>,
) -> PyResult<Load> {
    let mut load = Load::default();
    load.read.spelling = Spelling::Keyword;
    for (name, value) in given {
        if let Some(value) = value {
            load.set(name, &value).map_err(to_python)?;
        }
    }
    load.read.null_text = null_text.map(|text| match text {
        NullText::One(text) => vec![text],
        NullText::Several(texts) => texts,
    });
    Ok(load)
}

/// A file on its way.
struct Work {
    store: timestrata_engine::Store,
    table: String,
    load: Load,
    is_dry: bool,
}

/// What became of it.
enum Done {
    Loaded(Option<TableModel>, ReadReport, Vec<(String, String)>),
    Planned(Plan),
}

impl Work {
    fn done(self, py: Python<'_>, source: From, as_one: bool) -> PyResult<Done> {
        match source {
            From::Path(path) => interruptible(py, move || {
                self.take(input_of_path(&Io::os(), &path)?, &path.to_string_lossy())
            }),
            From::Object(object) => object.feed(py, as_one, move |reader| {
                self.take(Input::Reader(Box::new(reader)), "the file object")
            }),
        }
    }

    fn take(&self, input: Input, name: &str) -> Result<Done> {
        let nobody = &mut |_: &ReadReport| {};
        if self.is_dry {
            return self
                .load
                .plan(&self.store, &self.table, input, name, nobody)
                .map(Done::Planned);
        }
        let loaded = self.load.take(&self.store, &self.table, input, name, nobody)?;
        Ok(Done::Loaded(loaded.table, loaded.report, loaded.notes))
    }
}

fn shown_plan<'py>(py: Python<'py>, plan: &Plan) -> PyResult<Bound<'py, PyDict>> {
    let shown = shown(py, &plan.report)?;
    shown.set_item("format", plan.format.to_string())?;
    shown.set_item("delimiter", plan.delimiter.map(|delimiter| delimiter.to_string()))?;
    let columns = plan.columns.fields().iter().map(|field| {
        let (column, name) = (PyDict::new(py), field.name());
        let note = plan.notes.iter().find(|(noted, _)| noted == name);
        column.set_item("name", name)?;
        column.set_item("type", field.data_type().to_string())?;
        column.set_item("new", plan.added.contains(name))?;
        column.set_item("widened", plan.widened.iter().any(|(widened, _)| widened == name))?;
        column.set_item("note", note.map(|(_, note)| note))?;
        Ok(column)
    });
    shown.set_item("columns", columns.collect::<PyResult<Vec<_>>>()?)?;
    shown.set_item("time", plan.time.as_ref())?;
    shown.set_item("refusal", plan.refusal.as_ref())?;
    Ok(shown)
}

fn shown<'py>(py: Python<'py>, report: &ReadReport) -> PyResult<Bound<'py, PyDict>> {
    let shown = PyDict::new(py);
    shown.set_item("rows", report.rows)?;
    shown.set_item("skipped", report.skipped)?;
    let errors: Vec<_> = report.skips.iter().map(ToString::to_string).collect();
    shown.set_item("errors", errors)?;
    Ok(shown)
}

fn from(source: &Bound<'_, PyAny>) -> PyResult<From> {
    if source.hasattr("read")? {
        return Ok(From::Object(FileObject { object: source.clone().unbind() }));
    }
    source.extract::<GivenPath>().map(|GivenPath(path)| From::Path(path)).map_err(|_| {
        PyTypeError::new_err(format!(
            "source must be a path or an object with read(), not '{}'",
            type_name(source)
        ))
    })
}

/// A Python object that is read in Python's thread, while another one takes the rows in.
struct FileObject {
    object: Py<PyAny>,
}

impl FileObject {
    /// Takes in what the object has; `as_one` if that is one commit.
    fn feed<T: Send + 'static>(
        self,
        py: Python<'_>,
        as_one: bool,
        work: impl FnOnce(PieceReader) -> Result<T> + Send + 'static,
    ) -> PyResult<T> {
        let (sender, receiver) = sync_channel::<io::Result<Vec<u8>>>(2);
        let first = self.piece(py)?.unwrap_or_default();
        // Rows that are committed as they come don't wait for what may come much later.
        let is_all = first.is_empty()
            || (as_one && first.len() <= SMALL_BYTES && self.piece_behind(py, &sender)?);
        let reader =
            PieceReader { pieces: std::sync::Mutex::new(receiver), piece: Cursor::new(first) };
        if is_all {
            // To take it in takes less than a thread does to begin.
            drop(sender);
            return detached(py, || work(reader));
        }
        let worker = std::thread::Builder::new()
            .name("timestrata-ingest".into())
            .spawn(move || work(reader))?;
        let fed = self.give(py, &sender);
        if fed.is_err() {
            // What was read so far must not pass for all.
            let _ = py.detach(|| sender.send(Err(io::Error::other("reading the object failed"))));
        }
        drop(sender);
        let worked = py.detach(|| worker.join());
        fed?;
        match worked {
            Ok(done) => done.map_err(to_python),
            Err(_) => Err(refused(ErrorKind::Io, "the thread that took the rows in died")),
        }
    }

    /// Hands on all that the object has, until nobody wants more.
    fn give(&self, py: Python<'_>, sender: &Pieces) -> PyResult<()> {
        while let Some(piece) = self.piece(py)? {
            if py.detach(|| sender.send(Ok(piece))).is_err() {
                break;
            }
            py.check_signals()?;
        }
        Ok(())
    }

    /// What the object gives next; `None` at its end.
    fn piece(&self, py: Python<'_>) -> PyResult<Option<Vec<u8>>> {
        let piece = self.object.bind(py).call_method1("read", (PIECE_BYTES,))?;
        let Ok(bytes) = piece.cast::<PyBytes>() else {
            return Err(PyTypeError::new_err("read() gave no bytes: open the file as 'rb'"));
        };
        let bytes = bytes.as_bytes();
        Ok((!bytes.is_empty()).then(|| bytes.to_vec()))
    }

    /// Whether nothing more comes; what does is handed on, for which there must be room.
    fn piece_behind(&self, py: Python<'_>, sender: &Pieces) -> PyResult<bool> {
        let piece = self.piece(py)?;
        Ok(piece.map(|piece| sender.try_send(Ok(piece))).is_none())
    }
}

/// Reads what another thread sends.
struct PieceReader {
    pieces: std::sync::Mutex<Receiver<io::Result<Vec<u8>>>>,
    piece: Cursor<Vec<u8>>,
}

impl Read for PieceReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let read = self.piece.read(buffer)?;
            if read > 0 || buffer.is_empty() {
                return Ok(read);
            }
            let pieces = self.pieces.get_mut().unwrap_or_else(PoisonError::into_inner);
            match pieces.recv() {
                Ok(piece) => self.piece = Cursor::new(piece?),
                Err(_) => return Ok(0),
            }
        }
    }
}
