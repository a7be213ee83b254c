//! A server that speaks the protocol on a port of its own, and clients of it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::{Value, json};
use timestrata_engine::{Result, Settings, Store};
use timestrata_server::Server;
use timestrata_server::config::Layers;
use tokio::sync::oneshot;

/// Longer than anything that a test waits for takes.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Harness {
    pub(crate) address: SocketAddr,
    pub(crate) url: String,
    /// The store that it serves.
    pub(crate) store: Store,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<Result<()>>>,
}

impl Harness {
    pub(crate) fn new() -> Self {
        Self::with(&[])
    }

    pub(crate) fn with(set: &[(&str, &str)]) -> Self {
        Self::on(Store::memory(Settings::default()).unwrap(), set)
    }

    pub(crate) fn on(store: Store, set: &[(&str, &str)]) -> Self {
        let mut layers = Layers::default();
        layers.flag("test", "server.listen", "127.0.0.1:0").unwrap();
        layers.flag("test", "logs.tcp_listen", "127.0.0.1:0").unwrap();
        for (key, value) in set {
            layers.flag("test", key, *value).unwrap();
        }
        let config = layers.config().unwrap();
        let (stop, stopped) = oneshot::channel();
        let (told, hears) = std::sync::mpsc::channel();
        let served = store.clone();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
            runtime.block_on(async move {
                let server = Server::bind(served, config, None).await?;
                told.send((server.address()?, server.log_tcp_address()?.unwrap())).unwrap();
                server.run(async move { stopped.await.unwrap_or(()) }).await
            })
        });
        let (http, address) = hears.recv().unwrap();
        let (stop, thread) = (Some(stop), Some(thread));
        Self { address, url: format!("http://{http}"), store, stop, thread }
    }

    pub(crate) fn connect(&self) -> Client {
        Client::to(self.address)
    }

    /// Stops it, as a signal would.
    pub(crate) fn stop(&mut self) -> Result<()> {
        self.tell_to_stop();
        self.thread.take().map_or(Ok(()), |thread| thread.join().unwrap())
    }

    /// Tells it to stop, and doesn't wait for that.
    pub(crate) fn tell_to_stop(&mut self) {
        drop(self.stop.take());
    }
}

impl Drop for Harness {
    fn drop(&mut self) {
        let _ = self.stop();
    }
}

/// One connection.
pub(crate) struct Client {
    pub(crate) socket: TcpStream,
    lines: BufReader<TcpStream>,
}

impl Client {
    pub(crate) fn to(address: SocketAddr) -> Self {
        let socket = TcpStream::connect(address).unwrap();
        socket.set_nodelay(true).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        socket.set_write_timeout(Some(PATIENCE)).unwrap();
        let lines = BufReader::new(socket.try_clone().unwrap());
        Self { socket, lines }
    }

    pub(crate) fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.socket.write_all(bytes.as_ref()).unwrap();
    }

    /// The next line, with its end; empty where there are no more.
    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        line
    }

    /// What a line is answered with, as it is.
    pub(crate) fn raw(&mut self, line: &str) -> String {
        self.send(format!("{line}\n"));
        self.line()
    }

    pub(crate) fn ask(&mut self, line: &str) -> Value {
        let answer = self.raw(line);
        serde_json::from_str(&answer).unwrap_or_else(|error| panic!("{error}: {answer:?}"))
    }

    /// Writes an entry that must be taken.
    pub(crate) fn write(&mut self, source_ts: u64, message: &str) {
        assert_eq!(self.raw(&write(source_ts, message)), OK);
    }

    /// The rows of a range.
    pub(crate) fn read(&mut self, start: u64, end: u64) -> Vec<Value> {
        let asked = json!({ "action": "read", "start_ts": start, "end_ts": end });
        let mut answer = self.ask(&asked.to_string());
        assert_eq!(answer["status"], "ok", "{answer}");
        match answer["data"].take() {
            Value::Array(rows) => rows,
            other => panic!("{other}"),
        }
    }

    /// The messages of all rows.
    pub(crate) fn messages(&mut self) -> Vec<String> {
        let rows = self.read(0, u64::MAX);
        rows.iter().map(|row| row["message"].as_str().unwrap().to_owned()).collect()
    }

    /// Sends no more.
    pub(crate) fn end(&self) {
        self.socket.shutdown(Shutdown::Write).unwrap();
    }

    /// All that still comes until the server closes.
    pub(crate) fn rest(&mut self) -> String {
        let mut rest = String::new();
        self.lines.read_to_string(&mut rest).unwrap();
        rest
    }
}

pub(crate) const OK: &str = "{\"status\":\"ok\"}\n";

pub(crate) fn write(source_ts: u64, message: &str) -> String {
    json!({ "action": "write", "source_ts": source_ts, "message": message }).to_string()
}

/// The line of a refusal without a detail.
pub(crate) fn refusal(code: &str) -> String {
    format!("{{\"status\":\"error\",\"errcode\":\"{code}\"}}\n")
}
