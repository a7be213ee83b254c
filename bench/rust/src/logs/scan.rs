//! Reading all entries with all of their fields.

use std::hint::black_box;

use timestrata_bench::{Bench, Better, Measure, Result, Samples, scratch, settle};
use timestrata_engine::{Durability, Settings, Store};
use timestrata_logs::{FieldValue, Logs, Query, Scalar};

use super::{ENTRY_BYTES, create, entries};

/// Microseconds an entry that the system which this replaces reports.
const PUBLISHED_US: f64 = 3.35;

pub(super) fn run(bench: &mut Bench) -> Result<()> {
    let count = bench.many(100_000) as usize;
    let rounds = bench.rounds(9);
    for (name, is_compacted) in [("just written", false), ("compacted", true)] {
        let dir = scratch(&bench.dir)?;
        // Nothing decoded is kept: each scan decodes what it reads.
        let settings = Settings { cache_bytes_max: 0, ..Settings::default() };
        let store = Store::open(dir.path(), settings)?;
        let logs = create(&store)?;
        for some in entries(count).chunks(1_000) {
            logs.write_many(some, Durability::Written)?;
        }
        if is_compacted {
            settle(&store)?;
            logs.compact()?;
        }
        let mut samples = Samples::new();
        for _ in 0..rounds {
            let seen = bench.watch.sample(&mut samples, 1e6 / count as f64, || scan(&logs))?;
            if seen != (count, count * 5) {
                return Err(format!("{seen:?} entries and fields of {count} entries").into());
            }
        }
        store.close()?;
        bench.report(
            Measure::new(format!("scan with all fields, {name}"), "us", samples.median())
                .against("what the system that it replaces reports", PUBLISHED_US, Better::Lower)
                .aim(20.0)
                .note(format!(
                    "an entry of {count} of {ENTRY_BYTES} B: message, level, both times and each of \
                     5 fields are looked at; median of {rounds}"
                )),
        );
    }
    Ok(())
}

/// Looks at everything; gives the numbers of entries and of fields.
pub(crate) fn scan(logs: &Logs) -> Result<(usize, usize)> {
    let (mut entries, mut seen) = (0, 0);
    for batch in logs.search(&Query::default())? {
        for entry in batch?.iter() {
            entries += 1;
            black_box((entry.timestamp(), entry.source_time(), entry.level(), entry.message()));
            entry.each_field(|name, value| {
                seen += 1;
                match value {
                    FieldValue::Scalar(Scalar::Text(text)) => black_box((name, text.len())),
                    _ => black_box((name, 0)),
                };
            });
        }
    }
    Ok((entries, seen))
}
