//! The two ends of benchmarks over HTTP: a client that asks as fast as answers come, and a server
//! that has its answer at hand.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use axum::Router;
use axum::http::header;
use axum::routing::get;
use axum::serve::ListenerExt;
use bytes::Bytes;
use timestrata_bench::{Result, Watch};

/// `http-load HOST:PORT PATH CONNECTIONS SECONDS`: prints requests a second and latencies.
pub(crate) const LOAD: &str = "http-load";
/// `http-constant FILE`: serves the file's bytes at `/`, from memory.
pub(crate) const CONSTANT: &str = "http-constant";

/// Asks the same again and again, over some connections at once, each with a thread of its own.
pub(crate) fn load(arguments: &[String]) -> Result<()> {
    let [address, path, connections, seconds] = arguments else {
        return Err("http-load HOST:PORT PATH CONNECTIONS SECONDS".into());
    };
    let (connections, seconds): (usize, u64) = (connections.parse()?, seconds.parse()?);
    let watch = Watch::new();
    let end_ns = watch.now_ns() + seconds * 1_000_000_000;
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n");
    let taken = at_once(connections, || client(address, &request, &watch, end_ns))?;
    let per_second = taken.len() as f64 / seconds as f64;
    println!("{{\"per_second\": {per_second}, {}}}", latencies(taken));
    Ok(())
}

/// Has clients at work at once, each with a thread of its own; the nanoseconds that they all took.
pub(crate) fn at_once(
    clients: usize,
    client: impl Fn() -> Result<Vec<u64>> + Sync,
) -> Result<Vec<u64>> {
    let taken: Result<Vec<Vec<u64>>> = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..clients).map(|_| scope.spawn(&client)).collect();
        clients.into_iter().map(|client| client.join().map_err(|_| "a client died")?).collect()
    });
    Ok(taken?.concat())
}

/// Latencies, as members of an object of JSON.
pub(crate) fn latencies(mut taken: Vec<u64>) -> String {
    taken.sort_unstable();
    let at = |share: f64| {
        let place = share * taken.len().saturating_sub(1) as f64;
        taken.get(place.round() as usize).map_or(0.0, |ns| *ns as f64 / 1e3)
    };
    format!("\"p50_us\": {}, \"p99_us\": {}", at(0.5), at(0.99))
}

/// Nanoseconds of each request over one connection.
fn client(address: &str, request: &str, watch: &Watch, end_ns: u64) -> Result<Vec<u64>> {
    let mut connection = Connection::open(address)?;
    let mut taken = Vec::new();
    loop {
        let begun_ns = watch.now_ns();
        if begun_ns >= end_ns {
            return Ok(taken);
        }
        connection.ask(&[request.as_bytes()])?;
        taken.push(watch.now_ns() - begun_ns);
    }
}

/// A connection that is kept open, and its last answer.
pub(crate) struct Connection {
    socket: TcpStream,
    answers: BufReader<TcpStream>,
    line: String,
    body: Vec<u8>,
}

impl Connection {
    pub(crate) fn open(address: &str) -> Result<Self> {
        let socket = TcpStream::connect(address)?;
        socket.set_nodelay(true)?;
        let answers = BufReader::with_capacity(256 << 10, socket.try_clone()?);
        Ok(Self { socket, answers, line: String::new(), body: Vec::new() })
    }

    /// Sends a request, which may be in parts; gives the body of its answer.
    pub(crate) fn ask(&mut self, request: &[&[u8]]) -> Result<&[u8]> {
        request.iter().try_for_each(|part| self.socket.write_all(part))?;
        let (mut length, mut is_chunked) = (None, false);
        loop {
            let line = self.line()?;
            if let Some(status) = line.strip_prefix("http/1.1 ")
                && !status.starts_with("200")
            {
                return Err(format!("the server answered {status}").into());
            }
            if let Some(bytes) = line.strip_prefix("content-length:") {
                length = Some(bytes.trim().parse::<usize>()?);
            }
            is_chunked |= line == "transfer-encoding: chunked";
            if line.is_empty() {
                break;
            }
        }
        match length {
            Some(bytes) => self.read(0, bytes)?,
            None if is_chunked => {
                self.body.clear();
                loop {
                    let bytes = usize::from_str_radix(&self.line()?, 16)?;
                    self.read(self.body.len(), bytes)?;
                    self.line()?;
                    if bytes == 0 {
                        break;
                    }
                }
            }
            None => return Err("an answer without a length".into()),
        }
        Ok(&self.body)
    }

    fn line(&mut self) -> Result<String> {
        self.line.clear();
        match self.answers.read_line(&mut self.line)? {
            0 => Err("the server hung up".into()),
            _ => Ok(self.line.trim_end().to_ascii_lowercase()),
        }
    }

    /// The body of the last answer, which may be changed, or taken away. Memory that is left is used for the next one.
    pub(crate) fn body(&mut self) -> &mut Vec<u8> {
        &mut self.body
    }

    /// Reads so many bytes of a body, behind those that it has.
    fn read(&mut self, start: usize, bytes: usize) -> Result<()> {
        self.body.resize(start + bytes, 0);
        self.answers
            .read_exact(&mut self.body[start..])
            .map_err(|error| format!("the server hung up: {error}").into())
    }
}

/// Serves the bytes of a file in the runtime that the real server has, until it is killed.
#[expect(clippy::disallowed_methods, reason = "a benchmark's file, not a file of a store")]
pub(crate) fn constant(arguments: &[String]) -> Result<()> {
    let [path] = arguments else { return Err("http-constant FILE".into()) };
    let body = Bytes::from(std::fs::read(path)?);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let kind = [(header::CONTENT_TYPE, "application/json")];
        let answer = move || std::future::ready((kind, body.clone()));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        eprintln!("listening on http://{}", listener.local_addr()?);
        let listener = listener.tap_io(|stream| stream.set_nodelay(true).unwrap_or(()));
        Ok(axum::serve(listener, Router::new().route("/", get(answer))).await?)
    })
}
