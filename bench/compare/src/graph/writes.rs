//! Writing: single blocks, and edges in batches.

use std::path::Path;

use rocksdb::{DB, DBCompressionType, Options, WriteBatch, WriteOptions};
use timestrata_bench::{Bench, Better, Measure, Numbers, Prepared, Result, Samples, scratch};
use timestrata_engine::Durability;
use timestrata_graph::{BlockId, GraphChanges, NewBlock};

use crate::data::{KINDS, Link, Shape, id};
use crate::made::{Made, changes};

const BLOCKS: u64 = 20_000;
const SYNCED: u64 = 2_500;
const CONTENT_BYTES: usize = 1024;
const FLOOR_FILE_BYTES: u64 = 16 << 20;
const EDGES_BATCH: usize = 1_000;
const BATCHES: u64 = 300;
const PERCENTILES: [(&str, f64); 2] = [("p50", 0.5), ("p99", 0.99)];
/// How many times the floor a synced block may take.
const OVER_FLOOR: f64 = 1.5;

pub(crate) fn blocks(bench: &mut Bench) -> Result<()> {
    let dir = scratch(&bench.dir)?;
    written(bench, &dir.path().join("written"))?;
    synced(bench, &dir.path().join("synced"))
}

fn peer(dir: &Path) -> Result<DB> {
    let mut options = Options::default();
    options.create_if_missing(true);
    options.set_compression_type(DBCompressionType::None);
    Ok(DB::open(&options, dir)?)
}

/// A block of one side: an id and its content.
fn block(numbers: &mut Numbers) -> (BlockId, Vec<u8>) {
    (id(numbers), numbers.bytes(CONTENT_BYTES))
}

fn put(made: &Made, (id, content): &(BlockId, Vec<u8>), durability: Durability) -> Result<()> {
    let block = NewBlock { id: Some(*id), content, ..NewBlock::default() };
    made.graph.change(&GraphChanges::new().put(block), durability)?;
    Ok(())
}

fn written(bench: &mut Bench, dir: &Path) -> Result<()> {
    let (made, theirs) = (Made::empty(&dir.join("ours"))?, peer(&dir.join("theirs"))?);
    let (mut numbers, mut ours, mut others) = (Numbers::new(59), Samples::new(), Samples::new());
    for _ in 0..bench.many(BLOCKS) {
        let block = block(&mut numbers);
        ours.add(bench.watch.time(|| put(&made, &block, Durability::Written))?.0 * 1e6);
        let (id, content) = &block;
        others.add(bench.watch.time(|| theirs.put(id.bytes(), content))?.0 * 1e6);
    }
    for (name, share) in PERCENTILES {
        bench.report(
            Measure::new(format!("block write, `Written`, {name}"), "us", ours.percentile(share))
                .against("RocksDB put", others.percentile(share), Better::Lower)
                .aim(1.0)
                .note(format!(
                    "{} new blocks of {CONTENT_BYTES} bytes, a commit each, in turn with a put of the \
                     same bytes without a sync",
                    ours.count()
                )),
        );
    }
    made.close()
}

fn synced(bench: &mut Bench, dir: &Path) -> Result<()> {
    let made = Made::empty(&dir.join("ours"))?;
    let mut prepared = Prepared::create(&dir.join("prepared"), FLOOR_FILE_BYTES)?;
    let (mut numbers, mut ours, mut floor) = (Numbers::new(61), Samples::new(), Samples::new());
    for _ in 0..bench.many(SYNCED) {
        let block = block(&mut numbers);
        ours.add(bench.watch.time(|| put(&made, &block, Durability::Synced))?.0 * 1e6);
        bench.watch.sample(&mut floor, 1e6, || prepared.write_synced(&block.1))?;
    }
    for (name, share) in PERCENTILES {
        bench.report(
            Measure::new(format!("block write, `Synced`, {name}"), "us", ours.percentile(share))
                .against(
                    "write and fdatasync into a prepared file",
                    floor.percentile(share),
                    Better::Lower,
                )
                .aim(1.0 / OVER_FLOOR)
                .note(format!(
                    "{} new blocks of {CONTENT_BYTES} bytes, each in turn with the floor",
                    ours.count()
                )),
        );
    }
    made.close()
}

pub(crate) fn edges(bench: &mut Bench) -> Result<()> {
    let dir = scratch(&bench.dir)?;
    let dir = dir.path();
    let batches = bench.many(BATCHES);
    let shape = Shape::uniform(bench.many(100_000), batches * EDGES_BATCH as u64);
    let (made, theirs) = (Made::empty(&dir.join("ours"))?, peer(&dir.join("theirs"))?);
    let (mut ours, mut others) = (Samples::new(), Samples::new());
    for links in shape.links.chunks(EDGES_BATCH) {
        let changes = changes(&shape, links);
        let change = || made.graph.change(&changes, Durability::Written);
        ours.add(bench.watch.time(change)?.0 * 1e6);
        others.add(bench.watch.time(|| put_edges(&theirs, &shape, links))?.0 * 1e6);
    }
    let (each, [value, against]) = (EDGES_BATCH as f64, [ours.median(), others.median()]);
    bench.report(
        Measure::new("edge insert in batches of 1,000", "edge/s", each * 1e6 / value)
            .against("RocksDB batch put", each * 1e6 / against, Better::Higher)
            .aim(1.0)
            .note(format!(
                "median of {} batches, `Written`, each in turn with a batch of the same keys in \
                 RocksDB, by source and by target, without a sync",
                ours.count()
            )),
    );
    // The same with the edges in memory, where each batch is added as well.
    drop(made.adjacency()?);
    let more = Shape::uniform(shape.ids.len() as u64, shape.edges() / 4);
    let mut resident = Samples::new();
    for links in more.links.chunks(EDGES_BATCH) {
        let changes = changes(&more, links);
        let change = || made.graph.change(&changes, Durability::Written);
        resident.add(bench.watch.time(change)?.0 * 1e6);
    }
    bench.report(
        Measure::new(
            "edge insert in batches of 1,000, all edges in memory",
            "edge/s",
            each * 1e6 / resident.median(),
        )
        .against("RocksDB batch put", each * 1e6 / against, Better::Higher)
        .aim(1.0)
        .note(format!("median of {} batches after somebody has walked", resident.count())),
    );
    made.close()
}

fn put_edges(database: &DB, shape: &Shape, links: &[Link]) -> Result<()> {
    let mut batch = WriteBatch::default();
    let mut key = Vec::new();
    for (source, kind, target) in links {
        let ends = [source, target].map(|node| shape.ids[*node as usize]);
        for (side, [lead, last]) in [(0, ends), (1, [ends[1], ends[0]])] {
            key.clear();
            key.push(side);
            key.extend_from_slice(lead.bytes());
            key.extend_from_slice(KINDS[*kind].as_bytes());
            key.push(0);
            key.extend_from_slice(last.bytes());
            batch.put(&key, []);
        }
    }
    Ok(database.write_opt(batch, &WriteOptions::default())?)
}
