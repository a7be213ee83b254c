//! Of Pulsora's report what is of the Rust code alone: CSV read into Arrow rows, without a store.

use std::fmt::Write as _;
use std::hint::black_box;

use timestrata_bench::published::{Row, RowGroup, Rows, Side};
use timestrata_bench::{Bench, Result, Samples};
use timestrata_ingest::rows::{Format, ReadOptions, open_bytes};

use super::OURS;

pub(super) const GROUPS: [RowGroup; 1] = [RowGroup { name: "parse", run: parse }];

const SYMBOLS: [(&str, f64); 4] =
    [("AAPL", 150.0), ("GOOGL", 2800.0), ("MSFT", 300.0), ("TSLA", 200.0)];

/// Rows as its report makes them: a second apart, prices that rise by a cent, volumes by ten.
fn csv(rows: usize) -> Result<Vec<u8>> {
    let mut text = String::from("timestamp,symbol,price,volume\n");
    for (at, (symbol, price)) in SYMBOLS.iter().cycle().enumerate().take(rows) {
        let (days, seconds) = (1 + at / 86_400, at % 86_400);
        let (hour, minute, second) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
        let (price, volume) = (price + at as f64 * 0.01, 1_000 + at * 10);
        writeln!(
            text,
            "2024-01-{days:02} {hour:02}:{minute:02}:{second:02},{symbol},{price:.2},{volume}"
        )?;
    }
    Ok(text.into_bytes())
}

fn parse(bench: &mut Bench, rows: &mut Rows) -> Result<()> {
    for count in [100, 1_000, 10_000] {
        let text = csv(count)?;
        let mut samples = Samples::new();
        for _ in 0..bench.rounds(1_000_000 / count) {
            let text = text.clone();
            let options = ReadOptions { format: Some(Format::Csv), ..ReadOptions::default() };
            let found = bench.watch.sample(&mut samples, 1.0, || {
                let mut found = 0;
                for batch in open_bytes(text, "rows.csv", &options)? {
                    found += black_box(batch?).num_rows();
                }
                Ok(found)
            })?;
            if found != count {
                return Err(format!("{found} rows of {count} were read").into());
            }
        }
        let rate = |seconds: f64| count as f64 / seconds;
        let note = "types found from the text; Arrow rows, without a store";
        let id = format!("parse {count}");
        rows.add(Row::of_calls(&id, Side::Ours, OURS, &samples, rate).note(note));
    }
    Ok(())
}
