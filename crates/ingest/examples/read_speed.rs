//! How fast CSV is read: `cargo run --release -p timestrata-ingest --example read_speed`
//! `<rows> <threads> [file]`. Without a file, rows are made up: time, symbol, price, volume. Beside it, how
//! long the crate `csv` takes to split the made up rows into fields, which converts nothing.

use std::fmt::Write;
use std::io::Read;

use timestrata_engine::Io;
use timestrata_ingest::rows::{ReadOptions, open_path, open_reader};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let rows: u64 = arguments.next().unwrap_or_else(|| "1000000".to_owned()).parse()?;
    let threads: usize = arguments.next().unwrap_or_else(|| "1".to_owned()).parse()?;
    let options = ReadOptions { threads, ..ReadOptions::default() };
    let io = Io::os();
    let started = io.clock.monotonic_ns();
    let made_up = || MadeUp { row: 0, rows, text: String::new(), at: 0 };
    let mut source = match arguments.next() {
        Some(path) => open_path(&io, path.as_ref(), &options)?,
        None => open_reader(made_up(), "csv", &options)?,
    };
    for batch in source.by_ref() {
        batch?;
    }
    let seconds = (io.clock.monotonic_ns() - started) as f64 / 1e9;
    let read = source.report().rows;
    println!(
        "{read} rows, {threads} threads: {seconds:.2} s, {:.2} M rows/s",
        read as f64 / seconds / 1e6
    );
    let started = io.clock.monotonic_ns();
    let mut others = csv::Reader::from_reader(made_up());
    let (mut record, mut split, mut fields) = (csv::ByteRecord::new(), 0u64, 0);
    while others.read_byte_record(&mut record)? {
        split += 1;
        fields += record.len();
    }
    let seconds = (io.clock.monotonic_ns() - started) as f64 / 1e9;
    println!(
        "split alone by csv, one thread: {seconds:.2} s, {:.2} M rows/s ({fields} fields)",
        split as f64 / seconds / 1e6
    );
    Ok(())
}

/// Trades as CSV text, made as they are read.
struct MadeUp {
    row: u64,
    rows: u64,
    text: String,
    at: usize,
}

impl Read for MadeUp {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.at == self.text.len() {
            self.fill();
        }
        let read = (&self.text.as_bytes()[self.at..]).read(buffer)?;
        self.at += read;
        Ok(read)
    }
}

impl MadeUp {
    fn fill(&mut self) {
        self.text.clear();
        self.at = 0;
        if self.row == 0 {
            self.text.push_str("timestamp,symbol,price,volume\n");
        }
        for row in self.row..self.rows.min(self.row + 1_000) {
            let (seconds, symbol) = (row / 100, row * 2_654_435_761 % 50);
            let price = 10_000 + row * 40_503 % 5_000;
            let _ = writeln!(
                self.text,
                "2024-01-{:02} {:02}:{:02}:{:02},S{symbol:03},{}.{:02},{}",
                1 + seconds / 86_400 % 28,
                seconds / 3_600 % 24,
                seconds / 60 % 60,
                seconds % 60,
                price / 100,
                price % 100,
                row * 7 % 1_000
            );
        }
        self.row = self.rows.min(self.row + 1_000);
    }
}
