//! The two ends of benchmarks of lines over TCP: clients that send lines and wait for as many answers, and
//! a server that sends back what it gets.

use std::io::{Read, Write};
use std::net::TcpStream;

use timestrata_bench::{Result, Watch};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::http::{at_once, latencies};

/// `line-load HOST:PORT FILE CLIENTS LINES SECONDS`: prints answers a second, how many there were, and
/// latencies of turns.
pub(crate) const LOAD: &str = "line-load";
/// `line-echo`: sends back what it gets.
pub(crate) const ECHO: &str = "line-echo";

/// Sends the lines of a file again and again, so many at once, over connections with a thread each.
#[expect(clippy::disallowed_methods, reason = "a benchmark's file, not a file of a store")]
pub(crate) fn load(arguments: &[String]) -> Result<()> {
    let [address, path, clients, lines, seconds] = arguments else {
        return Err("line-load HOST:PORT FILE CLIENTS LINES SECONDS".into());
    };
    let (clients, lines, seconds): (usize, usize, u64) =
        (clients.parse()?, lines.parse()?, seconds.parse()?);
    let text = std::fs::read(path)?;
    let parts = parts(&text, lines);
    if parts.is_empty() {
        return Err(format!("{path}: fewer than {lines} lines").into());
    }
    let watch = Watch::new();
    let begun_ns = watch.now_ns();
    let end_ns = begun_ns + seconds * 1_000_000_000;
    let taken = at_once(clients, || client(address, &parts, lines, &watch, end_ns))?;
    // Each client ends with a whole turn, so that all of its lines are answered.
    let seconds = (watch.now_ns() - begun_ns) as f64 / 1e9;
    let answers = taken.len() * lines;
    let per_second = answers as f64 / seconds;
    println!("{{\"per_second\": {per_second}, \"answers\": {answers}, {}}}", latencies(taken));
    Ok(())
}

/// A text in parts of so many lines; what is left over is left out.
fn parts(text: &[u8], lines: usize) -> Vec<Vec<u8>> {
    let all: Vec<&[u8]> = text.split_inclusive(|byte| *byte == b'\n').collect();
    all.chunks_exact(lines.max(1)).map(<[&[u8]]>::concat).collect()
}

/// Nanoseconds of each turn over one connection: from sending so many lines to the last answer.
fn client(
    address: &str,
    parts: &[Vec<u8>],
    lines: usize,
    watch: &Watch,
    end_ns: u64,
) -> Result<Vec<u64>> {
    let mut socket = TcpStream::connect(address)?;
    socket.set_nodelay(true)?;
    let (mut taken, mut buffer) = (Vec::new(), vec![0; 256 << 10]);
    for part in parts.iter().cycle() {
        let begun_ns = watch.now_ns();
        if begun_ns >= end_ns {
            break;
        }
        // So many lines and their answers fit into the system's buffers.
        socket.write_all(part)?;
        let mut missing = lines;
        while missing > 0 {
            let read = match socket.read(&mut buffer)? {
                0 => return Err("the server hung up".into()),
                read => buffer.get(..read).unwrap_or_default(),
            };
            let ends = read.iter().filter(|byte| **byte == b'\n').count();
            missing = missing.checked_sub(ends).ok_or("more answers than lines")?;
        }
        taken.push(watch.now_ns() - begun_ns);
    }
    Ok(taken)
}

/// Sends back what it gets, in the runtime that the real server has, until it is killed.
pub(crate) fn echo(arguments: &[String]) -> Result<()> {
    if !arguments.is_empty() {
        return Err(ECHO.into());
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        eprintln!("listening on {}", listener.local_addr()?);
        loop {
            let (mut socket, _) = listener.accept().await?;
            socket.set_nodelay(true)?;
            tokio::spawn(async move {
                let mut bytes = vec![0; 64 << 10];
                while let Ok(read @ 1..) = socket.read(&mut bytes).await {
                    let read = bytes.get(..read).unwrap_or_default();
                    if socket.write_all(read).await.is_err() {
                        break;
                    }
                }
            });
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_into_parts_of_so_many_whole_lines() {
        assert_eq!(parts(b"a\nb\nc\n", 2), [b"a\nb\n".to_vec()]);
        assert_eq!(parts(b"a\nb\n", 1), [b"a\n".to_vec(), b"b\n".to_vec()]);
        assert!(parts(b"a\n", 2).is_empty());
    }
}
