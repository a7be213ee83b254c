//! Taking in many lines of an access log, and how much of that is taking them apart.

use std::hint::black_box;
use std::path::Path;

use timestrata_bench::{Bench, Better, Measure, Result, Samples, scratch};
use timestrata_engine::{Durability, Settings, Store};
use timestrata_ingest::lines::{Format, LineReader, SourceOptions};
use timestrata_io::{Clock as _, Disk, OpenMode, OsClock, OsDisk};
use timestrata_logs::{Logs, NewEntry};

use super::{corpus, create};

/// Bytes of entries that are one commit.
const BATCH_BYTES: usize = 32 << 20;

pub(super) fn run(bench: &mut Bench) -> Result<()> {
    let count = bench.many(2_000_000);
    let dir = scratch(&bench.dir)?;
    let text = dir.path().join("access.log");
    corpus::write(&text, "apache_logs.log", count)?;
    let (mut whole, mut parsing) = (Samples::new(), Samples::new());
    for round in 0..bench.rounds(3) {
        let store = Store::open(dir.path().join(format!("store{round}")), Settings::default())?;
        let logs = create(&store)?;
        let count = count as f64;
        bench.watch.rate(&mut whole, count, || take_in(&logs, &text, Format::Access))?;
        bench.watch.rate(&mut parsing, count, || {
            read(&text, Format::Access, |entry| {
                black_box(entry);
                Ok(())
            })
        })?;
        store.close()?;
    }
    bench.report(
        Measure::new("access log into a log", "lines/s", whole.median())
            .against("taking it apart only", parsing.median(), Better::Higher)
            .note(format!("{count} lines, durable at the end; median of {}", whole.count())),
    );
    Ok(())
}

/// Commits all lines of a file, in batches.
pub(super) fn take_in(logs: &Logs, text: &Path, format: Format) -> Result<()> {
    let mut batch = logs.batch()?;
    read(text, format, |entry| {
        batch.push(entry)?;
        if batch.bytes() >= BATCH_BYTES {
            logs.write_batch(&mut batch, Durability::Written)?;
        }
        Ok(())
    })?;
    logs.write_batch(&mut batch, Durability::Synced)?;
    Ok(())
}

fn read(text: &Path, format: Format, mut take: impl FnMut(&NewEntry) -> Result<()>) -> Result<()> {
    let file = OsDisk::new().open(text, OpenMode::Read)?;
    let options =
        SourceOptions { format: Some(format), ..SourceOptions::new(OsClock::new().wall_ns()) };
    let bytes = file.map()?;
    let mut reader = LineReader::new(bytes.as_ref(), options);
    let mut entry = NewEntry::default();
    while reader.next(&mut entry)?.is_some() {
        take(&entry)?;
    }
    Ok(())
}
