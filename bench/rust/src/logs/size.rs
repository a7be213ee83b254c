//! What real logs take on the disk.

use std::process::Command;

use timestrata_bench::{Bench, Better, Measure, Result, scratch, settle};
use timestrata_engine::{Settings, Store};
use timestrata_ingest::lines::Format;
use timestrata_io::{Disk, OpenMode, OsDisk};

use super::ingest::take_in;
use super::{corpus, create};

/// What a real log takes, once, beside gzip of its text.
pub(super) fn run(bench: &mut Bench) -> Result<()> {
    for (name, format) in [
        ("apache_logs.log", Format::Access),
        ("auth.log", Format::Syslog),
        ("kafka_state-change.log", Format::Plain),
        ("nginxplus_json_logs.ndjson", Format::Json),
    ] {
        let dir = scratch(&bench.dir)?;
        let text = dir.path().join(name);
        let lines = corpus::lines(name)?;
        let file = OsDisk::new().open(&text, OpenMode::CreateNew)?;
        file.append((lines.join("\n") + "\n").as_bytes())?;
        let store = Store::open(dir.path().join("store"), Settings::default())?;
        let logs = create(&store)?;
        take_in(&logs, &text, format)?;
        settle(&store)?;
        logs.compact()?;
        let ours: u64 = store.stats().streams.iter().map(|stream| stream.run_bytes).sum();
        let gzip = Command::new("gzip").args(["-6", "-c"]).arg(&text).output()?.stdout.len();
        store.close()?;
        bench.report(
            Measure::new(format!("size of {name}"), "B", ours as f64)
                .against("gzip -6 of the text", gzip as f64, Better::Lower)
                .aim(1.0)
                .note(format!("{} lines, filters of words included", lines.len())),
        );
    }
    Ok(())
}
