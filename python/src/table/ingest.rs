//! Files in.

use std::io::{self, Cursor, Read};
use std::path::PathBuf;
use std::sync::PoisonError;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use timestrata_engine::{ErrorKind, Io, Result};
use timestrata_ingest::rows::{
    Format, OnError, ReadOptions, ReadReport, Source, open_path, open_reader,
};
use timestrata_table::{Commits, IngestOptions, Table as TableModel, WriteOptions, ingest};

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
    /// stays bounded. Types are inferred from a sample, and all values are held to them.
    ///
    /// Parameters
    /// ----------
    /// source : path or file object
    ///     A path, or an object whose ``read(n)`` gives bytes.
    /// format : {"csv", "jsonl", "arrow", "arrows", "parquet", "protobuf"}, optional
    ///     By the content and the name unless given.
    /// delimiter : str, optional
    ///     What separates the fields of CSV; found unless given.
    /// header : bool, optional
    ///     Whether CSV begins with a line of names.
    /// batch_rows : int, optional
    ///     Commit each time that so many rows are there, instead of once.
    /// on_error : {"fail", "skip"}, optional
    ///     What to do with rows that don't fit: nothing is kept, or they are left out.
    /// on_mismatch : {"error", "widen"}, optional
    ///     As in ``append``.
    /// sync : bool, default True
    ///     Return only once the rows would survive a power cut; without, they survive the end of the
    ///     process, as what ``append`` stores. Many small files are taken in sooner without.
    ///
    /// Returns
    /// -------
    /// dict
    ///     ``rows``, ``skipped``, and ``errors``, the first of what was skipped.
    ///
    /// Raises
    /// ------
    /// InvalidDataError
    ///     A row doesn't fit; it names file, line, column and value.
    ///
    /// Examples
    /// --------
    /// >>> import io, timestrata
    /// >>> flights = timestrata.open().table("flights")
    /// >>> file = io.BytesIO(b"time,delay\n2024-05-01,5\n2024-05-02,7\n")
    /// >>> flights.ingest(file, format="csv")["rows"], flights.count()
    /// (2, 2)
    #[pyo3(signature = (source, format=None, *, delimiter=None, header=true, batch_rows=None,
                        on_error="fail", on_mismatch="error", sync=true))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of a Python method")]
    fn ingest<'py>(
        &self,
        py: Python<'py>,
        source: &Bound<'py, PyAny>,
        format: Option<&str>,
        delimiter: Option<char>,
        header: bool,
        batch_rows: Option<usize>,
        on_error: &str,
        on_mismatch: &str,
        sync: bool,
    ) -> PyResult<Bound<'py, PyDict>> {
        let on_mismatch = on_mismatch_of(on_mismatch)?;
        let mut read = ReadOptions {
            format: format.map(str::parse::<Format>).transpose().map_err(to_python)?,
            delimiter: delimiter
                .map(u8::try_from)
                .transpose()
                .map_err(|_| PyValueError::new_err("delimiter: it must be an ASCII character"))?,
            has_header: header,
            time: self.wanted.time.clone(),
            on_error: word(
                "on_error",
                on_error,
                &[("fail", OnError::Fail), ("skip", OnError::Skip)],
            )?,
            ..ReadOptions::default()
        };
        if let Some(model) = self.existing(py)? {
            read.expect_of(&model, on_mismatch).map_err(to_python)?;
        }
        let options = IngestOptions {
            table: self.wanted.clone(),
            write: WriteOptions { durability: self.handle.durability(sync), on_mismatch },
            commits: batch_rows.map_or(Commits::One, Commits::Every),
            ..IngestOptions::default()
        };
        let store = self.handle.store()?.clone();
        let name = self.name.clone();
        let load = move |source| load(&store, &name, source, options);
        let (table, report) = match from(source)? {
            From::Path(path) => {
                interruptible(py, move || load(open_path(&Io::os(), &path, &read)?))?
            }
            From::Object(object) => object.feed(py, batch_rows.is_none(), move |reader| {
                load(open_reader(reader, "the file object", &read)?)
            })?,
        };
        if let Some(table) = table {
            self.has_become(table);
        }
        shown(py, &report)
    }
}

type Loaded = (Option<TableModel>, ReadReport);

fn load(
    store: &timestrata_engine::Store,
    name: &str,
    mut source: Source,
    options: IngestOptions,
) -> Result<Loaded> {
    let (widened, spoils_time) = (source.widened(), source.spoils_time());
    let options = IngestOptions { widened, spoils_time, ..options };
    let done = ingest(store, name, &mut source, &options)?;
    Ok((done.table, source.report().clone()))
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
