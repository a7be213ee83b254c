//! A materialised view beside rows that come at a steady pace: how far it is behind, and what it answers.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt64Type};
use arrow_array::{
    ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray, TimestampNanosecondArray,
};
use timestrata_bench::{Bench, Better, Measure, Numbers, Result, Samples, Watch, scratch};
use timestrata_engine::{Durability, ScanSpec, SeqNo, Settings, Store};
use timestrata_sql::{Params, Sql, SqlOptions};
use timestrata_table::{Table, TableOptions, WriteOptions, place_of};

const ROWS_PER_SECOND: u64 = 1_000_000;
const BATCH_ROWS: u64 = 50_000;
const HOSTS: u64 = 100;
/// The lag that is asked for.
const LAG_MS: f64 = 1_000.0;
/// How often the view is asked meanwhile.
const ASK_EVERY_NS: u64 = 250_000_000;

const QUERY: &str = "SELECT time_bucket('1 minute', time) AS bucket, host, count(*) AS rows, sum(n) AS total, min(n) AS low, max(x) AS high, avg(x) AS mean, \
                     first(n, time) AS opened, last(n, time) AS closed FROM t GROUP BY bucket, host";

/// What the writer has committed, and when.
type Commits = Mutex<Vec<(SeqNo, u64)>>;

pub(super) fn run(bench: &mut Bench) -> Result<()> {
    let seconds = bench.many(30);
    let dir = scratch(&bench.dir)?;
    let settings = Settings { history_min: Duration::from_secs(60), ..Settings::default() };
    let store = Store::open(dir.path(), settings)?;
    let mut rows = Rows { numbers: Numbers::new(7), next: 0 };
    let table = Table::create_for(&store, "t", &rows.batch(0)?, &TableOptions::default())?;
    let sql = Sql::open(&store, SqlOptions::default())?;
    ask(&sql, &format!("CREATE MATERIALIZED VIEW v AS {QUERY}"))?;
    let (commits, done) = (Commits::default(), AtomicBool::new(false));
    let (mut lag, mut asked) = (Samples::new(), Samples::new());
    let watch = Watch::new();
    let rate = std::thread::scope(|scope| -> Result<f64> {
        let writer = scope.spawn(|| {
            let written = write(&table, &mut rows, seconds, &commits);
            done.store(true, Ordering::SeqCst);
            written.map_err(|error| error.to_string())
        });
        let (mut seen, mut next_ask_ns) = (0, watch.now_ns());
        loop {
            let is_done = done.load(Ordering::SeqCst);
            let folded = folded(&store)?;
            let now_ns = watch.now_ns();
            let known = commits.lock().map_err(|_| "the writer has failed")?.clone();
            for (_, committed_ns) in known.iter().skip(seen).take_while(|(seq, _)| *seq <= folded) {
                lag.add(now_ns.saturating_sub(*committed_ns) as f64 / 1e6);
                seen += 1;
            }
            if is_done && seen == known.len() {
                break;
            }
            if now_ns >= next_ask_ns {
                watch.sample(&mut asked, 1e3, || ask(&sql, "SELECT sum(rows) FROM v"))?;
                next_ask_ns = now_ns + ASK_EVERY_NS;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(writer.join().map_err(|_| "the writer has failed")??)
    })?;
    check(&sql)?;
    store.close()?;
    let shape = format!(
        "{seconds} s of batches of {BATCH_ROWS} rows, {rate:.2} M rows/s came ({ROWS_PER_SECOND} asked for), {HOSTS} groups a minute, nine columns; \
         the view checked equal to its query behind that"
    );
    for (name, samples, what) in [
        (
            "view: behind its table",
            &lag,
            "from a commit of the table to the one that has it in the view",
        ),
        (
            "view: asked meanwhile",
            &asked,
            "a query over all of the view, which answers as of its snapshot",
        ),
    ] {
        for (share, word) in [(0.5, "p50"), (0.99, "p99")] {
            bench.report(
                Measure::new(format!("{name}, {word}"), "ms", samples.percentile(share))
                    .against("what is asked for", LAG_MS, Better::Lower)
                    .aim(1.0)
                    .note(format!("{word} of {}: {what}; {shape}", samples.count())),
            );
        }
    }
    Ok(())
}

/// Rows of this run.
struct Rows {
    numbers: Numbers,
    next: u64,
}

impl Rows {
    /// The next ones; their times are in order but for one in fifty, which is up to a minute late.
    fn batch(&mut self, rows: u64) -> Result<RecordBatch> {
        let (mut times, mut hosts) = (Vec::new(), Vec::new());
        let (mut numbers, mut values) = (Vec::new(), Vec::new());
        for _ in 0..rows {
            let late = match self.numbers.below(50) {
                // Between two others, as which of two rows of one time is the last one may differ.
                0 => self.numbers.below(60_000_000) as i64 * 1_000 + 500,
                _ => 0,
            };
            times.push(1_700_000_000_000_000_000 + self.next as i64 * 1_000 - late);
            hosts.push(format!("host-{}", self.numbers.below(HOSTS)));
            numbers.push(self.next as i64);
            // Sums of such floats are exact, whatever they come by.
            values.push(self.numbers.below(4_000) as f64 / 4.0);
            self.next += 1;
        }
        let columns: [(&str, ArrayRef); 4] = [
            ("time", Arc::new(TimestampNanosecondArray::from(times).with_timezone("UTC"))),
            ("host", Arc::new(StringArray::from(hosts))),
            ("n", Arc::new(Int64Array::from(numbers))),
            ("x", Arc::new(Float64Array::from(values))),
        ];
        Ok(RecordBatch::try_from_iter(columns)?)
    }
}

/// Appends at a steady pace; gives the millions of rows a second that it came to.
fn write(table: &Table, rows: &mut Rows, seconds: u64, commits: &Commits) -> Result<f64> {
    let watch = Watch::new();
    let began_ns = watch.now_ns();
    let options = WriteOptions { durability: Durability::Written, ..WriteOptions::default() };
    let batches = seconds * ROWS_PER_SECOND / BATCH_ROWS;
    for number in 0..batches {
        let batch = rows.batch(BATCH_ROWS)?;
        let due_ns = began_ns + number * BATCH_ROWS * 1_000_000_000 / ROWS_PER_SECOND;
        let early_ns = due_ns.saturating_sub(watch.now_ns());
        std::thread::sleep(Duration::from_nanos(early_ns));
        let seq = table.append(&batch, options)?.ok_or("a batch without rows")?;
        commits.lock().map_err(|_| "the reader has failed")?.push((seq, watch.now_ns()));
    }
    let took_ns = watch.now_ns() - began_ns;
    Ok((batches * BATCH_ROWS) as f64 / (took_ns as f64 / 1e9) / 1e6)
}

/// The commit up to which the view has what its table has.
fn folded(store: &Store) -> Result<SeqNo> {
    let place = store.expect_stream(&place_of("v"))?;
    let rows = store.snapshot_of(place.id())?.collect(place.id(), &ScanSpec::default())?;
    let folded = rows.column_by_name("folded").and_then(|c| c.as_primitive_opt::<UInt64Type>());
    let last = folded.and_then(|folded| folded.values().last());
    Ok(SeqNo(last.copied().unwrap_or(0)))
}

fn ask(sql: &Sql, query: &str) -> Result<Vec<RecordBatch>> {
    Ok(sql.query_blocking(query, Params::none())?.collect::<std::result::Result<_, _>>()?)
}

/// The view is its query, row by row.
fn check(sql: &Sql) -> Result<()> {
    let differing = format!(
        "SELECT count(*) AS n FROM ((SELECT * FROM v EXCEPT SELECT * FROM ({QUERY}) AS q) \
         UNION ALL (SELECT * FROM ({QUERY}) AS r EXCEPT SELECT * FROM v)) AS d"
    );
    let count = |query: &str| -> Result<i64> {
        let batches = ask(sql, query)?;
        let column = batches.first().and_then(|b| b.column(0).as_primitive_opt::<Int64Type>());
        Ok(column.and_then(|column| column.values().first()).copied().ok_or("no count")?)
    };
    let (differ, rows) = (count(&differing)?, count("SELECT count(*) AS n FROM v")?);
    match (differ, rows) {
        (0, 1..) => Ok(()),
        _ => {
            Err(format!("{differ} rows of the view, which has {rows}, differ from its query")
                .into())
        }
    }
}
