//! How many entries a second the line protocol of logs takes, beside a server in the same runtime that
//! sends back what it gets.
//!
//! `cargo run --release -p timestrata-server --example log_tcp_load [DIR [SECONDS]]`: eight clients, each of
//! which sends some lines at once, waits for all of their answers, and sends the next. The store is made
//! in DIR, on the disk under test.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a measurement fails by panicking")]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;

use timestrata_engine::{Clock, Io, Settings, Store};
use timestrata_server::Server;
use timestrata_server::config::Layers;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const CLIENTS: usize = 8;
const LINES_AT_ONCE: [usize; 4] = [1, 32, 256, 2_000];

fn line(number: usize) -> String {
    format!(
        "{{\"action\":\"write\",\"source_ts\":1700000000{:03},\"message\":\"GET /orders/{number} took \
         {} ms\",\"metadata\":{{\"level\":\"info\",\"status\":200,\"path\":\"/orders/{number}\"}}}}\n",
        number % 1_000,
        number % 97
    )
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let dir = arguments.next().map_or_else(std::env::temp_dir, PathBuf::from);
    let seconds: u64 =
        arguments.next().map_or(3, |text| text.parse().expect("a number of seconds"));
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let echo = runtime.block_on(echo());
    let kinds = ["synced", "written"].map(|durability| {
        let store = tempfile::tempdir_in(&dir).unwrap();
        let address = runtime.block_on(serve(store.path().to_owned(), durability));
        (durability, address, store)
    });
    println!("lines at once   echo/s   synced/s (share)   written/s (share)");
    for lines in LINES_AT_ONCE {
        let echoed = load(echo, lines, seconds);
        print!("{lines:>13} {echoed:>8.0}");
        for (_, address, _) in &kinds {
            let taken = load(*address, lines, seconds);
            print!(" {taken:>10.0} ({:.2})", taken / echoed);
        }
        println!();
    }
    runtime.shutdown_background();
}

/// A server that sends back what it gets.
async fn echo() -> SocketAddr {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            socket.set_nodelay(true).unwrap();
            tokio::spawn(async move {
                let mut bytes = vec![0; 64 << 10];
                while let Ok(read @ 1..) = socket.read(&mut bytes).await {
                    if socket.write_all(&bytes[..read]).await.is_err() {
                        break;
                    }
                }
            });
        }
    });
    address
}

/// A store in a directory of its own, served until the program ends.
async fn serve(dir: PathBuf, durability: &str) -> SocketAddr {
    let mut layers = Layers::default();
    for (key, value) in [
        ("server.listen", "127.0.0.1:0"),
        ("logs.tcp_listen", "127.0.0.1:0"),
        ("logs.tcp_durability", durability),
    ] {
        layers.flag("load", key, value).unwrap();
    }
    let store = Store::open(dir, Settings::default()).unwrap();
    let server = Server::bind(store, layers.config().unwrap(), None).await.unwrap();
    let address = server.log_tcp_address().unwrap().unwrap();
    tokio::spawn(server.run(std::future::pending()));
    address
}

/// Lines that are answered a second.
fn load(address: SocketAddr, lines: usize, seconds: u64) -> f64 {
    let clock = Io::os().clock;
    let begun_ns = clock.monotonic_ns();
    let end_ns = begun_ns + seconds * 1_000_000_000;
    let answered: usize = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|_| {
                let clock = Arc::clone(&clock);
                scope.spawn(move || client(address, lines, &*clock, end_ns))
            })
            .collect();
        clients.into_iter().map(|client| client.join().unwrap()).sum()
    });
    answered as f64 / ((clock.monotonic_ns() - begun_ns) as f64 / 1e9)
}

fn client(address: SocketAddr, lines: usize, clock: &dyn Clock, end_ns: u64) -> usize {
    let mut socket = TcpStream::connect(address).unwrap();
    socket.set_nodelay(true).unwrap();
    let sent: String = (0..lines).map(line).collect();
    let mut buffer = vec![0; 256 << 10];
    let mut answered = 0;
    while clock.monotonic_ns() < end_ns {
        // So many lines and their answers fit into the system's buffers.
        socket.write_all(sent.as_bytes()).unwrap();
        let mut missing = lines;
        while missing > 0 {
            let read = socket.read(&mut buffer).unwrap();
            assert!(read > 0, "the server hung up");
            missing -= buffer[..read].iter().filter(|byte| **byte == b'\n').count();
        }
        answered += lines;
    }
    answered
}
