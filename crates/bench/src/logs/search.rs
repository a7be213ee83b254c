//! Taking in many lines of real logs, what they take on the disk, and finding something in them,
//! beside ripgrep over the text.

use std::path::Path;
use std::process::Command;

use timestrata_bench::Result;
use timestrata_bench::measure::{Better, Measure};
use timestrata_bench::raw::scratch;
use timestrata_bench::sample::Samples;
use timestrata_bench::suite::{Bench, settle};
use timestrata_engine::{Durability, Settings, Store};
use timestrata_io::{Clock as _, Disk, OpenMode, OsClock, OsDisk};
use timestrata_models::logs::source::{Format, LineReader, SourceOptions};
use timestrata_models::logs::{Logs, NewEntry, Query};

use super::corpus::{self, RARE};
use super::create;

/// Bytes of entries that are one commit.
const BATCH_BYTES: usize = 32 << 20;

/// What is looked for: a name, the filter, ripgrep's arguments, and the aim.
const SOUGHT: [(&str, &str, &[&str], Option<f64>); 4] = [
    ("rare word", RARE, &["-c", "-i", "-w", "-F", RARE], Some(20.0)),
    ("phrase", "\"invalid user\"", &["-c", "-i", "-w", "-F", "invalid user"], None),
    ("usual word", "googlebot", &["-c", "-i", "-w", "-F", "googlebot"], None),
    ("regular expression", "/port 4[0-9]{4} ssh/", &["-c", "port 4[0-9]{4} ssh"], None),
];

pub(super) fn run(bench: &mut Bench) -> Result<()> {
    let count = bench.many(5_000_000);
    let dir = scratch(&bench.dir)?;
    let text = dir.path().join("all.log");
    let bytes = corpus::write(&text, corpus::all(), count)?;
    let store = Store::open(dir.path().join("store"), Settings::default())?;
    let logs = create(&store)?;
    // Each line whole, as ripgrep sees it.
    take_in(&logs, &text, Format::Plain)?;
    settle(&store)?;
    logs.compact()?;
    let note = format!("{count} lines of real logs, {} MB", bytes / 1_000_000);
    for (name, filter, arguments, aim) in SOUGHT {
        let query = Query::of(filter)?;
        let (mut ours, mut theirs) = (Samples::new(), Samples::new());
        let mut found = (0, 0);
        for _ in 0..bench.rounds(5) {
            let (seconds, hits) = bench.watch.time(|| logs.count(&query))?;
            ours.add(seconds * 1e3);
            let (seconds, lines) = bench.watch.time(|| ripgrep(arguments, &text))?;
            theirs.add(seconds * 1e3);
            found = (hits, lines);
        }
        if found.0 != found.1 {
            return Err(format!("{name}: {} entries, ripgrep {} lines", found.0, found.1).into());
        }
        let measure = Measure::new(format!("count of a {name}"), "ms", ours.median())
            .against("ripgrep over the text", theirs.median(), Better::Lower)
            .note(format!("{note}; {} hits", found.0));
        bench.report(match aim {
            Some(aim) => measure.aim(aim),
            None => measure,
        });
    }
    store.close()?;
    Ok(())
}

/// Access logs: how fast they come in, and what they take.
pub(super) fn run_ingest(bench: &mut Bench) -> Result<()> {
    let count = bench.many(2_000_000);
    let dir = scratch(&bench.dir)?;
    let text = dir.path().join("access.log");
    corpus::write(&text, &["apache_logs.log"], count)?;
    let (mut ours, mut parsing, mut theirs) = (Samples::new(), Samples::new(), Samples::new());
    for round in 0..bench.rounds(3) {
        let store = Store::open(dir.path().join(format!("store{round}")), Settings::default())?;
        let logs = create(&store)?;
        let (seconds, ()) = bench.watch.time(|| take_in(&logs, &text, Format::Access))?;
        ours.add(count as f64 / seconds);
        let (seconds, ()) = bench.watch.time(|| read(&text, Format::Access, |_| Ok(())))?;
        parsing.add(count as f64 / seconds);
        let (seconds, lines) = bench.watch.time(|| ripgrep(&["-c", ""], &text))?;
        theirs.add(lines as f64 / seconds);
        store.close()?;
    }
    let note = format!("{count} lines, durable at the end; median of {}", ours.count());
    bench.report(
        Measure::new("access log into a log", "lines/s", ours.median())
            .against("ripgrep counting the lines", theirs.median(), Better::Higher)
            .aim(0.5)
            .note(note.clone()),
    );
    bench.report(
        Measure::new("access log taken apart only", "lines/s", parsing.median())
            .against("ripgrep counting the lines", theirs.median(), Better::Higher)
            .note(note),
    );
    Ok(())
}

/// What a real log takes, once, beside gzip of its text.
pub(super) fn run_size(bench: &mut Bench) -> Result<()> {
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

/// Commits all lines of a file, in batches.
fn take_in(logs: &Logs, text: &Path, format: Format) -> Result<()> {
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

/// How many lines of a text match.
fn ripgrep(arguments: &[&str], text: &Path) -> Result<u64> {
    let output = Command::new("rg").args(["--no-config", "-a"]).args(arguments).arg(text).output();
    let output = output.map_err(|error| format!("rg: {error}; it is ripgrep's command"))?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().parse().unwrap_or(0))
}
