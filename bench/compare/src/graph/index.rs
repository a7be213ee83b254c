//! Indexing real sources, beside the parser alone.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use timestrata_bench::{Bench, Better, Measure, Result, Samples, scratch};
use timestrata_codegraph::{Language, SourceOptions, sources};
use timestrata_codeindex::{IndexOptions, index};
use timestrata_engine::Io;
use tree_sitter::Parser;

use crate::made::Made;

const ROUNDS: usize = 3;
/// Share of the parser's speed hoped for.
const AIM: f64 = 0.5;
/// As many as indexing has here at most.
const THREADS_MAX: usize = 8;

pub(crate) fn run(bench: &mut Bench) -> Result<()> {
    let root = source_tree()?;
    let files = python_files(&root)?;
    for (where_, is_alone) in [("one core", true), ("all cores", false)] {
        let (mut taken, mut counted) = (Speeds::default(), (0, 0, 0));
        for _ in 0..bench.rounds(ROUNDS) {
            let mut round = || round(bench, &root, &files, &mut taken);
            counted = if is_alone { on_one_core(round)? } else { round()? };
        }
        report(bench, where_, &files, taken, counted);
    }
    Ok(())
}

/// Megabytes a second.
#[derive(Default)]
struct Speeds {
    parsed: Samples,
    indexed: Samples,
    again: Samples,
}

/// Both do their work once; gives how many files, blocks and edges were taken in.
fn round(
    bench: &Bench,
    root: &Path,
    files: &[Vec<u8>],
    taken: &mut Speeds,
) -> Result<(usize, usize, usize)> {
    let megabytes = files.iter().map(Vec::len).sum::<usize>() as f64 / 1e6;
    let nodes = bench.watch.rate(&mut taken.parsed, megabytes, || parse_all(files))?;
    let dir = scratch(&bench.dir)?;
    let made = Made::empty(dir.path())?;
    let io = Io::os();
    let into = || Ok(index(&made.graph, &io, root, IndexOptions::default(), &|_| {})?);
    let first = bench.watch.rate(&mut taken.indexed, megabytes, into)?;
    let second = bench.watch.rate(&mut taken.again, megabytes, into)?;
    if second.parsed != 0 || second.written.seq.is_some() || nodes == 0 {
        return Err("a tree that is as it was was indexed again".into());
    }
    made.close()?;
    Ok((first.parsed, first.written.blocks_put, first.written.edges_linked))
}

fn report(
    bench: &mut Bench,
    on: &str,
    files: &[Vec<u8>],
    taken: Speeds,
    (parsed, blocks, edges): (usize, usize, usize),
) {
    let note = format!(
        "median of {} rounds in turns, both with a thread a core; {} files of {} bytes below a Python's \
         standard library, {parsed} of all files taken in, {blocks} blocks and {edges} edges",
        taken.indexed.count(),
        files.len(),
        files.iter().map(Vec::len).sum::<usize>(),
    );
    let against = "tree-sitter parsing alone, in memory";
    let alone = taken.parsed.median();
    let name = format!("index of a new tree to a `Written` commit, {on}");
    bench.report(
        Measure::new(name, "MB/s", taken.indexed.median())
            .against(against, alone, Better::Higher)
            .aim(AIM)
            .note(note.clone()),
    );
    bench.report(
        Measure::new(
            format!("index of the same tree once more, {on}"),
            "MB/s",
            taken.again.median(),
        )
        .against(against, alone, Better::Higher)
        .note(note),
    );
}

/// Does something on one core, with all threads that it starts.
fn on_one_core<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    let all = sched_getaffinity(None)?;
    let first = (0..CpuSet::MAX_CPU).find(|core| all.is_set(*core)).ok_or("no core")?;
    let mut one = CpuSet::new();
    one.set(first);
    sched_setaffinity(None, &one)?;
    let outcome = work();
    sched_setaffinity(None, &all)?;
    outcome
}

/// The sources that are indexed: unless told, the standard library of the Python there is.
fn source_tree() -> Result<PathBuf> {
    if let Some(told) = std::env::var_os("TIMESTRATA_BENCH_SOURCES") {
        return Ok(told.into());
    }
    let ask = "import sysconfig; print(sysconfig.get_path('stdlib'))";
    let output = Command::new("python3").args(["-c", ask]).output()?;
    match output.status.success() {
        true => Ok(PathBuf::from(String::from_utf8(output.stdout)?.trim())),
        false => Err("no python3 tells where its standard library is".into()),
    }
}

/// The bytes of all files that indexing reads and that are in Python.
fn python_files(root: &Path) -> Result<Vec<Vec<u8>>> {
    let options = SourceOptions { with_scripts: true, ..SourceOptions::default() };
    let mut files = Vec::new();
    for source in sources(root, &options) {
        let source = source?;
        if source.language == Some(Language::Python) {
            files.push(std::fs::read(root.join(&source.path))?);
        }
    }
    Ok(files)
}

/// Parses all files, with a thread a core; gives how many nodes their trees have at the top.
fn parse_all(files: &[Vec<u8>]) -> Result<u64> {
    let next = AtomicUsize::new(0);
    let work = || -> Result<u64> {
        let (mut parser, mut nodes) = (Parser::new(), 0_u64);
        parser.set_language(&tree_sitter_python::LANGUAGE.into())?;
        while let Some(bytes) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
            let tree = parser.parse(bytes, None).ok_or("a file was not parsed")?;
            nodes += u64::from(tree.root_node().child_count());
        }
        Ok(nodes)
    };
    let threads = std::thread::available_parallelism().map_or(1, |count| count.get());
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads.min(THREADS_MAX)).map(|_| scope.spawn(work)).collect();
        let mut nodes = work()?;
        for other in others {
            nodes += other.join().map_err(|_| "a thread died")??;
        }
        Ok(nodes)
    })
}
