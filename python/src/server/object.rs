//! `_Server`: an address, and what it is asked by.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow_schema::DataType;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::Value;
use timestrata_client::{Request, Server as Client, ServerOptions};
use timestrata_engine::{Error, ErrorKind, Io, Result};
use timestrata_ingest::rows::{Format, ReadOptions, open_path};
use timestrata_timelog::Unit;

use super::body::{ArrowBody, ObjectBody, Times, whole_stream};
use crate::error::{invalid, refused, to_python};
use crate::fork::Guarded;
use crate::interrupt::{asker_stays, detached};
use crate::payload::Payload;
use crate::settings::{duration, word};
use crate::table::{Rows, batch_of};
use crate::timestamp::timestamp;

/// The types of what is sent and answered, as HTTP calls them.
const JSON: &str = "application/json";
const TEXT: &str = "text/plain";
const METHODS: [(&str, &str); 5] =
    [("GET", "GET"), ("POST", "POST"), ("PUT", "PUT"), ("PATCH", "PATCH"), ("DELETE", "DELETE")];

/// A server that is asked over HTTP. What `timestrata.connect` stands on.
///
/// Calls let go of the interpreter while they wait, hear Ctrl-C, and can be given up by another thread. Safe to use
/// from several threads.
#[pyclass(frozen, module = "timestrata", name = "_Server", weakref)]
#[derive(Debug)]
pub(crate) struct Server {
    client: Guarded<Client>,
    is_closed: AtomicBool,
}

/// What a request is, but for its body.
#[derive(Debug, Clone)]
pub(super) struct Target {
    client: Client,
    method: &'static str,
    path: Vec<String>,
    parameters: Vec<(String, String)>,
    is_repeatable: bool,
}

impl Target {
    pub(super) fn request(&self) -> Request<'_> {
        let path: Vec<&str> = self.path.iter().map(String::as_str).collect();
        let mut request = self.client.request(self.method, &path);
        for (name, value) in &self.parameters {
            request = request.with(name, value);
        }
        if self.is_repeatable { request.repeatable() } else { request }
    }
}

impl Target {
    /// The name of what is asked for, which is the second part of a path.
    pub(super) fn name(&self) -> &str {
        self.path.get(1).map_or("?", String::as_str)
    }
}

impl Server {
    pub(super) fn target(
        &self,
        method: &str,
        path: Vec<String>,
        parameters: Vec<(String, String)>,
    ) -> PyResult<Target> {
        let client = self.client.get()?.clone();
        if self.is_closed.load(Ordering::Acquire) {
            return Err(refused(ErrorKind::Closed, "the connection to the server has been closed"));
        }
        let method = word("method", method, &METHODS)?;
        Ok(Target { client, method, path, parameters, is_repeatable: method == "GET" })
    }
}

fn members(body: &str) -> Result<Value> {
    serde_json::from_str(body).map_err(|error| {
        Error::new(ErrorKind::InvalidArgument, format!("the body is no JSON: {error}"))
    })
}

#[pymethods]
impl Server {
    #[new]
    #[pyo3(signature = (url, *, token=None, certificates=None, timeout=None))]
    fn new(
        url: &str,
        token: Option<String>,
        certificates: Option<Vec<u8>>,
        timeout: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let mut options = ServerOptions {
            token,
            certificates,
            is_wanted: Some(Arc::new(asker_stays)),
            ..ServerOptions::default()
        };
        if let Some(timeout) = timeout {
            options.silence_max = duration("timeout", timeout)?;
            if options.silence_max.is_zero() {
                return Err(invalid("timeout: it must be more than nothing"));
            }
        }
        let client = Client::new(url, &options).map_err(to_python)?;
        Ok(Self { client: Guarded::new(client), is_closed: AtomicBool::new(false) })
    }

    /// Its address.
    #[getter]
    fn url(&self) -> PyResult<&str> {
        Ok(self.client.get()?.url())
    }

    /// Whether it was closed.
    #[getter]
    fn closed(&self) -> bool {
        self.is_closed.load(Ordering::Acquire)
    }

    /// Refuse all further calls.
    fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
    }

    /// Ask for an answer that comes whole: the JSON of it, or its text or bytes where `accept` says so.
    ///
    /// A request with `repeats` comes to the same when it is sent twice, so it is sent again where the connection broke.
    #[pyo3(signature = (method, path, parameters, *, body=None, content_type=None, accept=None, repeats=false))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of a Python method")]
    fn ask<'py>(
        &self,
        py: Python<'py>,
        method: &str,
        path: Vec<String>,
        parameters: Vec<(String, String)>,
        body: Option<&Bound<'py, PyAny>>,
        content_type: Option<&str>,
        accept: Option<&str>,
        repeats: bool,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let mut target = self.target(method, path, parameters)?;
        target.is_repeatable |= repeats;
        let accept = match accept {
            Some(kind) => word("accept", kind, &[(JSON, JSON), (TEXT, TEXT)])?,
            None => JSON,
        };
        let body = body.map(Payload::of).transpose()?.flatten();
        let kind = content_type.unwrap_or(JSON);
        let answer = detached(py, || {
            let body = body.as_ref().map(|body| (kind, body.bytes()));
            target.request().bytes(accept, body)
        })?;
        Ok(PyBytes::new(py, &answer))
    }

    /// Ask for rows, which come while they are read. A second reading asks again; without `again` all are read now.
    #[pyo3(signature = (method, path, parameters, *, body=None, again=true))]
    fn rows(
        &self,
        py: Python<'_>,
        method: &str,
        path: Vec<String>,
        parameters: Vec<(String, String)>,
        body: Option<&str>,
        again: bool,
    ) -> PyResult<Rows> {
        let mut target = self.target(method, path, parameters)?;
        target.is_repeatable = again;
        let body = body.map(members).transpose().map_err(to_python)?;
        let ask = move || match &body {
            Some(body) => target.request().send_json_for_rows(body),
            None => target.request().rows(),
        };
        if again {
            return Rows::asked(py, |rows| rows.schema(), ask);
        }
        let (schema, batches) = detached(py, || {
            let rows = ask()?;
            Ok((rows.schema(), rows.collect::<Result<Vec<_>>>()?))
        })?;
        Ok(Rows::of_batches(schema, batches))
    }

    /// Send rows, as anything that `Table.append` takes, while they are read. Gives the data of the answer, as JSON.
    ///
    /// `time` is the table's time column and its type, of a table that is there; `wanted` the one that a new table is to have.
    #[pyo3(signature = (path, parameters, rows, time, wanted))]
    fn append(
        &self,
        py: Python<'_>,
        path: Vec<String>,
        parameters: Vec<(String, String)>,
        rows: &Bound<'_, PyAny>,
        time: Option<(String, String)>,
        wanted: Option<String>,
    ) -> PyResult<String> {
        let target = self.target("POST", path, parameters)?;
        let times = match time {
            Some((name, kind)) => {
                let data_type = kind.parse::<DataType>();
                Times::Known(name, data_type.map_err(|error| invalid(error.to_string()))?)
            }
            None => Times::New(wanted),
        };
        let mut body = ArrowBody::of(rows, &times)?;
        let sent = detached(py, || {
            let sent = target.request().send(Format::ArrowStream.mime(), &mut body);
            // Where the rows themselves failed, the server knows only that it didn't get all.
            body.failure().map_or(sent, Err)
        });
        Ok(sent?.to_string())
    }

    /// Rows, as anything that `Table.append` takes, as an Arrow stream in the types that they have; and how many there are.
    #[staticmethod]
    fn arrow_of<'py>(rows: &Bound<'py, PyAny>) -> PyResult<(Bound<'py, PyBytes>, usize)> {
        let batch = batch_of(rows)?;
        let stream = detached(rows.py(), || whole_stream(&batch))?;
        Ok((PyBytes::new(rows.py(), &stream), batch.num_rows()))
    }

    /// Send what a file object has, while it is read. Gives the data of the answer, as JSON.
    fn send(
        &self,
        py: Python<'_>,
        path: Vec<String>,
        parameters: Vec<(String, String)>,
        content_type: &str,
        source: Py<PyAny>,
    ) -> PyResult<String> {
        let target = self.target("POST", path, parameters)?;
        let mut body = ObjectBody::new(source);
        let sent = detached(py, || target.request().send(content_type, &mut body));
        match body.raised() {
            Some(raised) => Err(raised),
            None => sent.map(|data| data.to_string()),
        }
    }

    /// What HTTP calls the rows of a file, whose format is found as `Table.ingest` finds it unless it is named.
    #[staticmethod]
    #[pyo3(signature = (path, format=None))]
    fn content_type(
        py: Python<'_>,
        path: Option<PathBuf>,
        format: Option<&str>,
    ) -> PyResult<&'static str> {
        let named = format.map(str::parse::<Format>).transpose().map_err(to_python)?;
        let format = match (named, path) {
            (Some(format), _) => format,
            (None, Some(path)) => {
                detached(py, || Ok(open_path(&Io::os(), &path, &ReadOptions::default())?.format()))?
            }
            (None, None) => {
                return Err(invalid(
                    "format: a server is told what an object has before it comes: say it, as format='csv'",
                ));
            }
        };
        Ok(format.mime())
    }

    /// A time in nanoseconds: an int of them, a datetime, ISO text, a numpy or pandas time; None of None.
    #[staticmethod]
    fn time_ns(value: &Bound<'_, PyAny>) -> PyResult<Option<i64>> {
        crate::timestamp::time_ns(value)
    }

    /// A time as a count of a unit, as `Timelog` takes it.
    #[staticmethod]
    fn time_in(value: &Bound<'_, PyAny>, unit: &str) -> PyResult<i64> {
        timestamp(value, unit.parse::<Unit>().map_err(to_python)?)
    }

    /// A length of time in nanoseconds: seconds, a timedelta, or text such as "100ms".
    #[staticmethod]
    fn duration_ns(name: &str, value: &Bound<'_, PyAny>) -> PyResult<u128> {
        Ok(duration(name, value)?.as_nanos())
    }

    /// The token in a file, as the command's `--token-file` takes it.
    #[staticmethod]
    fn token_in(py: Python<'_>, path: PathBuf) -> PyResult<String> {
        detached(py, || timestrata_cli::read_token(&path))
    }

    /// Whether a statement of SQL only reads.
    #[staticmethod]
    fn is_query(py: Python<'_>, statement: &str) -> PyResult<bool> {
        #[cfg(feature = "sql")]
        return detached(py, || timestrata_sql::is_query(statement));
        #[cfg(not(feature = "sql"))]
        {
            let _ = (py, statement);
            Ok(false)
        }
    }

    fn __repr__(&self) -> String {
        self.client
            .get()
            .map_or("<_Server>".to_owned(), |client| format!("<_Server {}>", client.url()))
    }
}
