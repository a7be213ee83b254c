//! What writing takes of memory, each in a process of its own: one that has let go of some doesn't show what it takes again.

use std::path::Path;

use timestrata_bench::child::{Figures, ask, part, tell};
use timestrata_bench::published::{Row, Rows, Side};
use timestrata_bench::{Bench, Result, anonymous_bytes, scratch};
use timestrata_engine::{Durability, Settings, Store};
use timestrata_graph::GraphChanges;

use super::{OURS, dls, kausaldb};
use crate::logs::{create, entries};

const PUTS: &str = "published-puts";
const LINKS: &str = "published-links";
const COMPACTION: &str = "published-compaction";
const ENTRIES: &str = "published-entries";

/// Whether a child of that role is one of these.
pub(crate) fn is_role(role: &str) -> bool {
    [PUTS, LINKS, COMPACTION, ENTRIES].contains(&role)
}

/// Plays a role.
pub(crate) fn play(arguments: &mut dyn Iterator<Item = String>) -> Result<()> {
    let (role, dir, amount) = part(arguments)?;
    match role.as_str() {
        PUTS => tell(&puts(&dir, amount)?),
        LINKS => tell(&links(&dir, amount)?),
        COMPACTION => tell(&compaction(&dir, amount)?),
        _ => tell(&written(&dir, amount)?),
    }
}

/// What memory rose by at most.
struct Rise {
    before: u64,
    most: u64,
}

impl Rise {
    fn begin() -> Result<Self> {
        let before = anonymous_bytes()?;
        Ok(Self { before, most: before })
    }

    fn look(&mut self) -> Result<()> {
        self.most = self.most.max(anonymous_bytes()?);
        Ok(())
    }

    fn figures(&self) -> Figures {
        [("bytes".to_owned(), self.most.saturating_sub(self.before) as f64)].into()
    }
}

fn puts(dir: &Path, count: u64) -> Result<(Figures, Store)> {
    let made = kausaldb::Made::new(dir, Settings::default())?;
    let blocks = kausaldb::blocks(count);
    let mut rise = Rise::begin()?;
    for block in &blocks {
        made.put(block, Durability::Written)?;
    }
    rise.look()?;
    Ok((rise.figures(), made.store))
}

fn links(dir: &Path, count: u64) -> Result<(Figures, Store)> {
    let made = kausaldb::Made::new(dir, Settings::default())?;
    let (_, edges) = kausaldb::links(count);
    made.adjacency()?;
    let mut rise = Rise::begin()?;
    for edge in edges {
        made.graph.change(&GraphChanges::new().link(edge), Durability::Written)?;
    }
    rise.look()?;
    Ok((rise.figures(), made.store))
}

fn compaction(dir: &Path, count: u64) -> Result<(Figures, Store)> {
    let made = kausaldb::Made::in_runs(dir, Settings::default(), &kausaldb::blocks(count))?;
    let mut rise = Rise::begin()?;
    std::thread::scope(|scope| -> Result<()> {
        let compacting = scope.spawn(|| made.store.compact(None));
        while !compacting.is_finished() {
            rise.look()?;
            std::thread::yield_now();
        }
        Ok(compacting.join().map_err(|_| "a thread panicked")??)
    })?;
    Ok((rise.figures(), made.store))
}

fn written(dir: &Path, count: u64) -> Result<(Figures, Store)> {
    let store = Store::open(dir, Settings::default())?;
    let logs = create(&store)?;
    let entries = entries(usize::try_from(count)?);
    let mut rise = Rise::begin()?;
    for some in entries.chunks(dls::FLUSH_ENTRIES) {
        for entry in some {
            logs.write(entry)?;
        }
        rise.look()?;
        logs.flush()?;
    }
    Ok((rise.figures(), store))
}

/// The bytes that a child's work took.
fn asked(bench: &Bench, role: &str, amount: u64) -> Result<f64> {
    let dir = scratch(&bench.dir)?;
    let figures = ask(role, &dir.path().join("store"), amount)?;
    Ok(figures.get("bytes").copied().ok_or("the child told no bytes")?)
}

/// Of blocks, edges and a compaction.
pub(super) fn of_graph(bench: &mut Bench, rows: &mut Rows) -> Result<()> {
    let blocks = bench.many(kausaldb::BLOCKS);
    let bytes = asked(bench, PUTS, blocks)?;
    let note = "memory that no file backs, of a process that does nothing else";
    rows.add(Row::new("put memory", Side::Ours, OURS, bytes / blocks as f64, 1).note(note));
    let before = "the same, with the rows of both directions until the next flush";
    let edges = bench.many(kausaldb::EDGES);
    let each = asked(bench, LINKS, edges)? / edges as f64;
    rows.add(Row::new("link memory", Side::Ours, OURS, each, 1).note(before));
    rows.add(Row::new("flush before", Side::Ours, OURS, bytes / 1e6, 1).note(note));
    let peak = asked(bench, COMPACTION, bench.many(kausaldb::COMPACTED))?;
    rows.add(Row::new("compact peak", Side::Ours, OURS, peak / 1e6, 1).note(note));
    Ok(())
}

/// Of entries.
pub(super) fn of_logs(bench: &mut Bench, rows: &mut Rows) -> Result<()> {
    let peak = asked(bench, ENTRIES, bench.many(dls::ENTRIES))?;
    let note = "looked at before each flush of 1,000 entries";
    rows.add(Row::new("peak", Side::Ours, OURS, peak / 1e6, 1).note(note));
    Ok(())
}
