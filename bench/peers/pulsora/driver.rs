//! Drives Pulsora's own functions in an empty folder, with the rows and sizes of ours: see
//! bench/python/published/pulsora_live.py, which builds it against a clone and runs it. It prints one object of
//! JSON: of each row either the seconds of its calls or one figure.
//!
//!     driver FOLDER CALLS_OF_1000_ROWS ROWS_OF_A_TYPE

use std::collections::{BTreeMap, HashMap};
use std::error::Error;
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use pulsora::config::Config;
use pulsora::storage::columnar::{self, ColumnBlock};
use pulsora::storage::id_manager::IdManagerRegistry;
use pulsora::storage::schema::Schema;
use pulsora::storage::{StorageEngine, compression, ingestion, query};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

type Result<T> = std::result::Result<T, Box<dyn Error>>;
type Rows = Vec<HashMap<String, String>>;

const SYMBOLS: [(&str, f64); 4] =
    [("AAPL", 150.0), ("GOOGL", 2800.0), ("MSFT", 300.0), ("TSLA", 200.0)];
/// Rows of a column block, which is its default.
const BATCH: usize = 10_000;
/// How often columns of a type are packed and unpacked.
const TYPE_ROUNDS: usize = 15;

struct Driver {
    engine: StorageEngine,
    runtime: Runtime,
    tables: u64,
    calls: usize,
    told: BTreeMap<String, Value>,
}

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().ok_or("no folder was told")?;
    let calls = arguments.next().ok_or("no number of calls was told")?.parse()?;
    let typed = arguments.next().ok_or("no number of rows was told")?.parse()?;
    let runtime = Runtime::new()?;
    let mut config = Config::default();
    config.storage.data_dir = folder;
    let engine = runtime.block_on(StorageEngine::new(&config))?;
    let mut driver = Driver { engine, runtime, tables: 0, calls, told: BTreeMap::new() };
    driver.peak(typed)?;
    driver.ingestion()?;
    driver.queries()?;
    driver.blocks()?;
    driver.types(typed)?;
    println!("{}", serde_json::to_string(&driver.told)?);
    Ok(())
}

fn time_of(at: usize) -> String {
    let (days, seconds) = (1 + (at + 36_000) / 86_400, (at + 36_000) % 86_400);
    format!("2024-01-{days:02} {:02}:{:02}:{:02}", seconds / 3_600, seconds / 60 % 60, seconds % 60)
}

/// Rows a second apart, of four symbols, with prices that rise by a cent and volumes by ten.
fn cells(count: usize) -> impl Iterator<Item = [String; 4]> {
    (0..count).map(|at| {
        let (symbol, price) = SYMBOLS[at % SYMBOLS.len()];
        let price = format!("{:.2}", price + at as f64 * 0.01);
        [time_of(at), symbol.to_owned(), price, (1_000 + at * 10).to_string()]
    })
}

const NAMES: [&str; 4] = ["timestamp", "symbol", "price", "volume"];

fn csv(count: usize) -> String {
    let lines = cells(count).map(|cells| cells.join(","));
    std::iter::once(NAMES.join(",")).chain(lines).collect::<Vec<_>>().join("\n")
}

fn rows(count: usize) -> Rows {
    let row = |cells: [String; 4]| NAMES.iter().map(|name| (*name).to_owned()).zip(cells).collect();
    cells(count).map(row).collect()
}

/// The most memory that the process has had so far, in bytes.
fn peak_bytes() -> Result<f64> {
    let text = std::fs::read_to_string("/proc/self/status")?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:")).ok_or("no VmHWM")?;
    let kib: f64 = line.split_whitespace().next().ok_or("no number")?.parse()?;
    Ok(kib * 1024.0)
}

impl Driver {
    fn rounds(&self, count: usize) -> usize {
        (self.calls * 1_000 / count).clamp(5, self.calls)
    }

    fn tell(&mut self, id: String, value: f64) {
        self.told.insert(id, json!({ "value": value }));
    }

    /// Seconds of some calls, of which the first is not counted; `prepare` is not timed.
    fn calls<P, T>(
        &mut self,
        id: String,
        rounds: usize,
        mut prepare: impl FnMut(&mut Self) -> Result<P>,
        mut call: impl FnMut(&Self, P) -> Result<T>,
    ) -> Result<()> {
        let mut seconds = Vec::with_capacity(rounds);
        for round in 0..=rounds {
            let given = prepare(self)?;
            let start = Instant::now();
            black_box(call(self, given)?);
            if round > 0 {
                seconds.push(start.elapsed().as_secs_f64());
            }
        }
        seconds.sort_by(f64::total_cmp);
        let at = |share: f64| seconds[(share * (rounds - 1) as f64).round() as usize];
        let told = json!({ "p50": at(0.5), "p95": at(0.95), "p99": at(0.99), "calls": rounds });
        self.told.insert(id, told);
        Ok(())
    }

    fn new_name(&mut self) -> String {
        self.tables += 1;
        format!("table_{}", self.tables)
    }

    fn schema_of(&self, table: &str, rows: &Rows) -> Result<Schema> {
        let mut schemas = self.runtime.block_on(self.engine.schemas.write());
        Ok(schemas.get_or_create_schema(table, rows)?)
    }

    /// Rows that are parsed already into a table, as many a block.
    fn insert(&self, table: &str, rows: Rows, batch: usize) -> Result<u64> {
        let schema = self.schema_of(table, &rows)?;
        let db = &self.engine.db;
        let mut ids = IdManagerRegistry::new(Arc::clone(db));
        Ok(ingestion::insert_rows(db, table, &schema, &mut ids, rows, batch)?)
    }

    fn ingest(&self, table: &str, text: String) -> Result<u64> {
        Ok(self.runtime.block_on(self.engine.ingest_csv(table, text))?.rows_inserted)
    }

    fn ask(
        &self,
        (table, schema): (&str, &Schema),
        from: Option<usize>,
        to: Option<usize>,
        limit: usize,
        offset: usize,
    ) -> Result<usize> {
        let (from, to) = (from.map(time_of), to.map(time_of));
        let db = &self.engine.db;
        let found =
            query::execute_query(db, table, schema, from, to, Some(limit), Some(offset), 0)?;
        Ok(black_box(found).len())
    }

    fn peak(&mut self, count: usize) -> Result<()> {
        let text = csv(count);
        let before = peak_bytes()?;
        let table = self.new_name();
        self.ingest(&table, text)?;
        self.runtime.block_on(self.engine.flush_table(&table))?;
        self.tell("peak".to_owned(), (peak_bytes()? - before) / 1e6);
        Ok(())
    }

    fn ingestion(&mut self) -> Result<()> {
        for count in [100, 1_000, 10_000] {
            let (text, parsed, rounds) = (csv(count), rows(count), self.rounds(count));
            self.calls(
                format!("parse {count}"),
                rounds,
                |_| Ok(()),
                |_, ()| Ok(ingestion::parse_csv(&text)?),
            )?;
            self.calls(
                format!("insert {count}"),
                rounds,
                |driver| Ok((driver.new_name(), parsed.clone())),
                |driver, (table, rows)| driver.insert(&table, rows, BATCH),
            )?;
            self.calls(
                format!("whole {count}"),
                rounds,
                |driver| Ok((driver.new_name(), text.clone())),
                |driver, (table, text)| driver.ingest(&table, text),
            )?;
        }
        let parsed = rows(10_000);
        let rounds = self.rounds(10_000);
        for (id, batch) in [
            ("batch 100", 100),
            ("batch 1000", 1_000),
            ("batch 2500", 2_500),
            ("batch 10000", 10_000),
            ("symbols", BATCH),
        ] {
            self.calls(
                id.to_owned(),
                rounds,
                |driver| Ok((driver.new_name(), parsed.clone())),
                |driver, (table, rows)| driver.insert(&table, rows, batch),
            )?;
        }
        let few = rows(1_000);
        self.calls(
            "tables".to_owned(),
            rounds,
            |driver| Ok((0..10).map(|_| (driver.new_name(), few.clone())).collect::<Vec<_>>()),
            |driver, tables| {
                tables
                    .into_iter()
                    .try_for_each(|(table, rows)| driver.insert(&table, rows, BATCH).map(drop))
            },
        )
    }

    fn queries(&mut self) -> Result<()> {
        for count in [1_000, 10_000, 100_000] {
            let (table, parsed) = (self.new_name(), rows(count));
            let schema = self.schema_of(&table, &parsed)?;
            self.insert(&table, parsed, BATCH)?;
            let rounds = self.rounds(1_000);
            for (id, from, to, wanted) in [
                ("scan", None, None, count),
                ("range10", Some(count / 2), Some(count / 2 + count / 10 - 1), count / 10),
                ("recent1", Some(count - count / 100), None, count / 100),
            ] {
                // A limit is of the rows of a block that it looks at, not of those in the range.
                let found = self.ask((&table, &schema), from, to, count, 0)?;
                if found != wanted {
                    return Err(format!("{id} {count}: {found} rows instead of {wanted}").into());
                }
                let rounds = if wanted > 10_000 { rounds.min(50) } else { rounds };
                self.calls(
                    format!("{id} {count}"),
                    rounds,
                    |_| Ok(()),
                    |driver, ()| driver.ask((&table, &schema), from, to, count, 0),
                )?;
            }
            if count != 10_000 {
                continue;
            }
            for size in [10, 100, 1_000] {
                let mut place = 0;
                let next = |_: &mut Self| {
                    place += size;
                    Ok(place % count)
                };
                self.calls(format!("page {size}"), rounds, next, |driver, offset| {
                    driver.ask((&table, &schema), None, None, size, offset)
                })?;
            }
            let batch = rows(100);
            self.calls(
                "mixed".to_owned(),
                rounds,
                |_| Ok(batch.clone()),
                |driver, batch| {
                    driver.insert(&table, batch, BATCH)?;
                    for at in 0..10 {
                        let from = at * 900;
                        driver.ask((&table, &schema), Some(from), Some(from + 99), 5 * count, 0)?;
                    }
                    Ok(())
                },
            )?;
        }
        Ok(())
    }

    /// Blocks of columns from bytes in memory to rows.
    fn blocks(&mut self) -> Result<()> {
        for count in [1_000, 10_000] {
            let parsed = rows(count);
            let table = self.new_name();
            let schema = self.schema_of(&table, &parsed)?;
            let rows: Vec<(u64, HashMap<String, String>)> = (1..)
                .zip(parsed)
                .map(|(id, mut row)| {
                    row.insert(schema.id_column.clone(), id.to_string());
                    (id, row)
                })
                .collect();
            let bytes = ColumnBlock::from_rows(&rows, &schema)?.serialize()?;
            let rounds = self.rounds(count);
            self.calls(
                format!("block {count}"),
                rounds,
                |_| Ok(()),
                |_, ()| Ok(ColumnBlock::deserialize(&bytes)?.to_rows(&schema)?),
            )?;
        }
        Ok(())
    }

    /// Columns of 100,000 values: plain bytes over packed ones, and both ways.
    fn types(&mut self, count: usize) -> Result<()> {
        let times: Vec<i64> = (0..count as i64).map(|at| 1_704_103_200_000 + at * 1_000).collect();
        let integers: Vec<i64> = (0..count as i64).map(|at| 1_000 + at * 10).collect();
        let floats: Vec<f64> = (0..count).map(|at| 150.0 + (at * 7 % 400) as f64 / 100.0).collect();
        let strings: Vec<String> = (0..count).map(|at| SYMBOLS[at * 7 % 4].0.to_owned()).collect();
        let booleans: Vec<bool> = (0..count).map(|at| at % 97 == 0).collect();
        self.packed(
            "timestamp",
            &times,
            compression::compress_timestamps,
            compression::decompress_timestamps,
        )?;
        self.packed(
            "integer",
            &integers,
            compression::compress_integers,
            compression::decompress_integers,
        )?;
        self.packed(
            "float",
            &floats,
            compression::compress_values,
            compression::decompress_values,
        )?;
        // With four bytes of length each, as ours counts.
        let bytes: usize = strings.iter().map(|text| text.len() + 4).sum();
        let packed = columnar::compress_string_column(&strings)?;
        self.tell("ratio string".to_owned(), bytes as f64 / packed.len() as f64);
        self.calls(
            "pack string".to_owned(),
            TYPE_ROUNDS,
            |_| Ok(()),
            |_, ()| Ok(columnar::compress_string_column(&strings)?),
        )?;
        let packed = columnar::compress_bool_column(&booleans)?;
        self.tell("ratio boolean".to_owned(), count as f64 / packed.len() as f64);
        Ok(())
    }

    /// Values of eight bytes, packed into what begins with one of them, and unpacked again.
    fn packed<T: Copy>(
        &mut self,
        kind: &str,
        values: &[T],
        pack: impl Fn(&[T]) -> pulsora::Result<(T, Vec<u8>)>,
        unpack: impl Fn(T, &[u8], usize) -> pulsora::Result<Vec<T>>,
    ) -> Result<()> {
        let (base, bytes) = pack(values)?;
        self.tell(format!("ratio {kind}"), size_of_val(values) as f64 / bytes.len() as f64);
        self.calls(format!("pack {kind}"), TYPE_ROUNDS, |_| Ok(()), |_, ()| Ok(pack(values)?))?;
        self.calls(
            format!("unpack {kind}"),
            TYPE_ROUNDS,
            |_| Ok(()),
            |_, ()| Ok(unpack(base, &bytes, values.len())?),
        )
    }
}
