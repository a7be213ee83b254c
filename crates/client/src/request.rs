//! One request, and what becomes of it.

use std::io::{self, Read};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;
use timestrata_engine::{Error, ErrorKind, Result};
use timestrata_logs::Clock;
use ureq::http::{Response, header};
use ureq::{Body, SendBody};

use crate::answer::{AnswerReader, Lines, ReceivedRows, Told};
use crate::problem::error_of;
use crate::server::Server;

/// What names have as it is; all else is percent-encoded.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'.').remove(b'_').remove(b'-').remove(b'~');
/// Bytes of an answer that is taken whole: what a server gives of what is not streamed.
const WHOLE_BYTES_MAX: u64 = 256 << 20;
/// Bytes of an answer that says what is wrong.
const PROBLEM_BYTES_MAX: u64 = 64 << 10;
/// How often a request that reads is sent, and how long is waited between: so long a server may take to start.
const ATTEMPTS: u32 = 4;
const BETWEEN_MS: u64 = 200;

const JSON: &str = "application/json";
/// The form in which rows are streamed.
pub(crate) const ARROW: &str = "application/vnd.apache.arrow.stream";
const LINES: &str = "application/x-ndjson";

/// A request that is being made.
#[derive(Debug)]
pub struct Request<'a> {
    server: &'a Server,
    method: &'static str,
    target: String,
    has_parameters: bool,
    headers: Vec<(&'static str, String)>,
    is_repeatable: bool,
}

/// What is sent with a request.
enum Sent<'a> {
    Nothing,
    Bytes(&'a [u8]),
    Read(&'a mut dyn Read),
}

impl<'a> Request<'a> {
    pub(crate) fn new(server: &'a Server, method: &'static str, path: &[&str]) -> Self {
        let mut target = server.base.clone();
        for part in path {
            target.push('/');
            target.extend(utf8_percent_encode(part, ENCODED));
        }
        let is_repeatable = method == "GET";
        Self { server, method, target, has_parameters: false, headers: Vec::new(), is_repeatable }
    }

    /// One that comes to the same when it is sent twice: it is sent again as one that reads is, unless its body is read
    /// while it is sent.
    #[must_use]
    pub fn repeatable(mut self) -> Self {
        self.is_repeatable = true;
        self
    }

    /// With a parameter behind the path.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl AsRef<str>) -> Self {
        self.target.push(if self.has_parameters { '&' } else { '?' });
        self.has_parameters = true;
        self.target.extend(utf8_percent_encode(name, ENCODED));
        self.target.push('=');
        self.target.extend(utf8_percent_encode(value.as_ref(), ENCODED));
        self
    }

    /// With a parameter where there is one.
    #[must_use]
    pub fn with_some(self, name: &str, value: Option<impl AsRef<str>>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    /// With a header.
    #[must_use]
    pub fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// Sends it; gives the `data` of its answer.
    ///
    /// # Errors
    /// What the server refuses; `Io` where it can't be reached or answers otherwise than it should.
    pub fn json(self) -> Result<Value> {
        self.json_of(Sent::Nothing)
    }

    /// The same with an object as its body.
    ///
    /// # Errors
    /// As [`json`](Self::json).
    pub fn send_json(self, body: &Value) -> Result<Value> {
        let body = body.to_string();
        self.header("content-type", JSON).json_of(Sent::Bytes(body.as_bytes()))
    }

    /// The same with a body that is read while it is sent.
    ///
    /// # Errors
    /// As [`json`](Self::json); `Io` where the body can't be read.
    pub fn send(self, content_type: &str, body: &mut dyn Read) -> Result<Value> {
        self.header("content-type", content_type).json_of(Sent::Read(body))
    }

    /// Sends it; gives the text of its answer.
    ///
    /// # Errors
    /// As [`json`](Self::json).
    pub fn text(self) -> Result<String> {
        let server = self.server.clone();
        let answer = self.answer(Sent::Nothing)?;
        let bytes = whole(&server, answer, WHOLE_BYTES_MAX)?;
        String::from_utf8(bytes).map_err(|_| unlike(&server, "the answer is no text"))
    }

    /// Sends it, with a body of the type that is named if there is one; gives its answer as it came, which must be of the
    /// type `accept`.
    ///
    /// # Errors
    /// As [`json`](Self::json).
    pub fn bytes(self, accept: &'static str, body: Option<(&str, &[u8])>) -> Result<Vec<u8>> {
        let server = self.server.clone();
        let request = self.header("accept", accept);
        let answer = match body {
            Some((kind, body)) => request.header("content-type", kind).answer(Sent::Bytes(body))?,
            None => request.answer(Sent::Nothing)?,
        };
        expect_kind(&server, &answer, accept)?;
        whole(&server, answer, WHOLE_BYTES_MAX)
    }

    /// Sends it; gives the rows of its answer, as they come.
    ///
    /// # Errors
    /// As [`json`](Self::json).
    pub fn rows(self) -> Result<ReceivedRows> {
        self.rows_of(Sent::Nothing)
    }

    /// The same with an object as its body.
    ///
    /// # Errors
    /// As [`json`](Self::json).
    pub fn send_json_for_rows(self, body: &Value) -> Result<ReceivedRows> {
        let body = body.to_string();
        self.header("content-type", JSON).rows_of(Sent::Bytes(body.as_bytes()))
    }

    /// Sends it; gives the lines of its answer, as they come.
    ///
    /// # Errors
    /// As [`json`](Self::json).
    pub fn lines(self) -> Result<Lines> {
        let server = self.server.clone();
        let answer = self.header("accept", LINES).answer(Sent::Nothing)?;
        let next = next_of(&answer);
        Ok(Lines::new(AnswerReader::new(&server, answer.into_body()), next))
    }

    fn rows_of(self, sent: Sent<'_>) -> Result<ReceivedRows> {
        let server = self.server.clone();
        let answer = self.header("accept", ARROW).answer(sent)?;
        expect_kind(&server, &answer, ARROW)?;
        let told = Told { next: next_of(&answer), clock: clock_of(&answer) };
        ReceivedRows::new(AnswerReader::new(&server, answer.into_body()), told)
    }

    fn json_of(self, sent: Sent<'_>) -> Result<Value> {
        let server = self.server.clone();
        let answer = self.header("accept", JSON).answer(sent)?;
        expect_kind(&server, &answer, JSON)?;
        let bytes = whole(&server, answer, WHOLE_BYTES_MAX)?;
        let mut answer: Value = serde_json::from_slice(&bytes)
            .map_err(|error| unlike(&server, &format!("its JSON can't be read: {error}")))?;
        answer.get_mut("data").map(Value::take).ok_or_else(|| unlike(&server, "it has no data"))
    }

    /// Sends a body to a server of another make, and gives the status of its answer and the text, whatever they are. It is sent
    /// again where there was no connection, and where the answer says that the server failed.
    ///
    /// # Errors
    /// Where no answer came, or one that is too long or no text.
    pub fn exchange(self, content_type: &str, body: &[u8]) -> Result<(u16, String)> {
        let asking = self.header("content-type", content_type);
        let mut attempt = 1;
        loop {
            let is_last = attempt == ATTEMPTS || !asking.server.is_still_wanted();
            match asking.once(&mut Sent::Bytes(body)) {
                Ok(answer) if is_last || !answer.status().is_server_error() => {
                    let status = answer.status().as_u16();
                    let bytes = whole(asking.server, answer, PROBLEM_BYTES_MAX)?;
                    let text = String::from_utf8(bytes)
                        .map_err(|_| unlike(asking.server, "it is no text"))?;
                    return Ok((status, text));
                }
                Ok(_) => {}
                Err(error) => {
                    if let Some(distrusted) = asking.server.distrusts(&error) {
                        return Err(distrusted);
                    }
                    if is_last || !is_of_connection(&error) {
                        return Err(asking.server.could_not(&error));
                    }
                }
            }
            std::thread::sleep(std::time::Duration::from_millis(BETWEEN_MS * u64::from(attempt)));
            attempt += 1;
        }
    }

    /// Sends it, more than once where that is safe; an answer that refuses is an error.
    fn answer(self, mut sent: Sent<'_>) -> Result<Response<Body>> {
        let is_whole = !matches!(sent, Sent::Read(_));
        let attempts = if self.is_repeatable && is_whole { ATTEMPTS } else { 1 };
        let mut attempt = 1;
        loop {
            let failed = match self.once(&mut sent) {
                Ok(answer) if answer.status().is_success() => return Ok(answer),
                Ok(answer) => {
                    let status = answer.status().as_u16();
                    let is_for_now = answer.headers().contains_key(header::RETRY_AFTER);
                    let body = whole(self.server, answer, PROBLEM_BYTES_MAX).unwrap_or_default();
                    let error = error_of(status, &body);
                    if !is_for_now {
                        return Err(error);
                    }
                    error
                }
                Err(error) => {
                    if let Some(distrusted) = self.server.distrusts(&error) {
                        return Err(distrusted);
                    }
                    let failed = self.unanswered(&error);
                    if !is_of_connection(&error) {
                        return Err(failed);
                    }
                    failed
                }
            };
            if attempt == attempts || !self.server.is_still_wanted() {
                return Err(failed);
            }
            std::thread::sleep(std::time::Duration::from_millis(BETWEEN_MS * u64::from(attempt)));
            attempt += 1;
        }
    }

    /// The error of a request that brought no answer. Whether what it asked for was done, nobody knows here.
    fn unanswered(&self, error: &ureq::Error) -> Error {
        let failed = self.server.could_not(error);
        if self.is_repeatable || !may_have_been_heard(error) {
            return failed;
        }
        let message = format!("{}; it may have been done all the same", failed.message());
        Error::new(failed.kind(), message)
            .hinting("look whether it was done before you ask for it again")
    }

    fn once(&self, sent: &mut Sent<'_>) -> std::result::Result<Response<Body>, ureq::Error> {
        let mut request = ureq::http::Request::builder().method(self.method).uri(&self.target);
        for (name, value) in &self.headers {
            request = request.header(*name, value);
        }
        if let Some(authorization) = &self.server.authorization {
            request = request.header(header::AUTHORIZATION, authorization);
        }
        let agent = &self.server.agent;
        match sent {
            Sent::Nothing if matches!(self.method, "GET" | "DELETE") => {
                agent.run(request.body(())?)
            }
            Sent::Nothing => agent.run(request.body(&[][..])?),
            Sent::Bytes(bytes) => agent.run(request.body(*bytes)?),
            Sent::Read(reader) => agent.run(request.body(SendBody::from_reader(*reader))?),
        }
    }
}

/// Whether there was no connection, or it went before an answer began.
fn is_of_connection(error: &ureq::Error) -> bool {
    use io::ErrorKind::{
        BrokenPipe, ConnectionAborted, ConnectionRefused, ConnectionReset, NotConnected,
        UnexpectedEof,
    };
    match error {
        ureq::Error::ConnectionFailed => true,
        ureq::Error::Io(cause) => matches!(
            cause.kind(),
            BrokenPipe
                | ConnectionAborted
                | ConnectionRefused
                | ConnectionReset
                | NotConnected
                | UnexpectedEof
        ),
        _ => false,
    }
}

/// Whether a server may have heard a request that failed: one was connected to.
fn may_have_been_heard(error: &ureq::Error) -> bool {
    match error {
        ureq::Error::ConnectionFailed
        | ureq::Error::HostNotFound
        | ureq::Error::Timeout(ureq::Timeout::Connect | ureq::Timeout::Resolve) => false,
        ureq::Error::Io(cause) => cause.kind() != io::ErrorKind::ConnectionRefused,
        _ => true,
    }
}

impl Server {
    /// A request that reads. It is sent again where the server couldn't be reached or was too busy.
    pub fn get(&self, path: &[&str]) -> Request<'_> {
        Request::new(self, "GET", path)
    }

    /// A request by another method, which is sent once unless it is [`repeatable`](Request::repeatable).
    pub fn request(&self, method: &'static str, path: &[&str]) -> Request<'_> {
        Request::new(self, method, path)
    }

    pub(crate) fn is_still_wanted(&self) -> bool {
        self.is_wanted.as_ref().is_none_or(|is_wanted| is_wanted())
    }

    /// The error where both sides don't agree on TLS: to ask again would not help.
    fn distrusts(&self, error: &ureq::Error) -> Option<Error> {
        let ureq::Error::Io(cause) = error else { return None };
        let (what, hint) = match cause.get_ref()?.downcast_ref::<rustls::Error>()? {
            rustls::Error::InvalidCertificate(why) => (
                format!("the certificate of {} is not trusted: {why}", self.base),
                "give the certificate that signed it, in PEM, once you know that it is the server's ('--ca-file FILE')",
            ),
            why => (
                format!("{} can't be spoken to in secret: {why}", self.base),
                "see that the server has a certificate ('--tls-cert'), or say http://",
            ),
        };
        Some(Error::new(ErrorKind::Io, what).hinting(hint))
    }

    /// The error of a request that brought no answer, or only a part of one.
    pub(crate) fn could_not(&self, cause: &dyn std::fmt::Display) -> Error {
        if !self.is_still_wanted() {
            return Error::new(ErrorKind::Cancelled, "the request was given up");
        }
        Error::new(ErrorKind::Io, format!("no whole answer from {}: {cause}", self.base))
            .hinting("see that a server runs there ('timestrata serve DIR'), and what it says")
    }
}

/// Where to go on behind an answer, where its head says so.
fn next_of(answer: &Response<Body>) -> Option<i64> {
    answer.headers().get("timestrata-next")?.to_str().ok()?.parse().ok()
}

/// By which clock entries of an answer are in order. Servers that don't say know no other than that of arrivals.
fn clock_of(answer: &Response<Body>) -> Clock {
    let named = answer.headers().get("timestrata-clock").and_then(|name| name.to_str().ok());
    named.and_then(|name| name.parse().ok()).unwrap_or_default()
}

/// An answer that no server of ours gives.
fn unlike(server: &Server, why: &str) -> Error {
    let message = format!("{} doesn't answer as Timestrata does: {why}", server.base);
    Error::new(ErrorKind::Io, message).hinting("see what runs there, and that it isn't older")
}

fn expect_kind(server: &Server, answer: &Response<Body>, kind: &str) -> Result<()> {
    let found = answer.headers().get(header::CONTENT_TYPE).and_then(|found| found.to_str().ok());
    let found = found.unwrap_or_default();
    match found.split(';').next().unwrap_or_default().trim() == kind {
        true => Ok(()),
        false => Err(unlike(server, &format!("the answer is '{found}', and not {kind}"))),
    }
}

fn whole(server: &Server, answer: Response<Body>, bytes_max: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let reader = answer.into_body().into_reader();
    let read = reader.take(bytes_max + 1).read_to_end(&mut bytes);
    read.map_err(|cause| server.could_not(&cause))?;
    match bytes.len() as u64 > bytes_max {
        true => Err(unlike(server, "the answer is too long")),
        false => Ok(bytes),
    }
}
