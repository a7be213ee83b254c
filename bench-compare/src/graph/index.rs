//! Indexing real sources, beside the parser alone.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use timestrata_bench::Result;
use timestrata_bench::measure::{Better, Measure};
use timestrata_bench::raw::scratch;
use timestrata_bench::sample::Samples;
use timestrata_bench::suite::Bench;
use timestrata_codegraph::{Language, SourceOptions, sources};
use timestrata_codeindex::{IndexOptions, index};
use timestrata_engine::Io;
use tree_sitter::Parser;

use crate::made::Made;

const ROUNDS: usize = 5;
/// Share of the parser's speed hoped for.
const AIM: f64 = 0.5;
/// As many as indexing has here at most.
const THREADS_MAX: usize = 8;

pub(crate) fn run(bench: &mut Bench) -> Result<()> {
    let root = source_tree()?;
    let files = python_files(&root)?;
    let bytes: usize = files.iter().map(Vec::len).sum();
    let io = Io::os();
    let [mut ours, mut again, mut parsed] = [(); 3].map(|()| Samples::new());
    let mut counted = (0, 0, 0);
    for _ in 0..bench.rounds(ROUNDS) {
        let (seconds, nodes) = bench.watch.time(|| parse_all(&files))?;
        parsed.add(bytes as f64 / seconds / 1e6);
        let dir = scratch(&bench.dir)?;
        let made = Made::empty(dir.path())?;
        let into = || index(&made.graph, &io, &root, IndexOptions::default(), &|_| {});
        let (seconds, indexed) = bench.watch.time(into)?;
        ours.add(bytes as f64 / seconds / 1e6);
        counted = (indexed.parsed, indexed.written.blocks_put, indexed.written.edges_linked);
        let (seconds, second) = bench.watch.time(into)?;
        again.add(bytes as f64 / seconds / 1e6);
        if second.parsed != 0 || second.written.seq.is_some() || nodes == 0 {
            return Err("a tree that is as it was was indexed again".into());
        }
        made.close()?;
    }
    let (parsed_files, blocks, edges) = counted;
    let note = format!(
        "median of {} rounds in turns; {} files of {bytes} bytes below a Python's standard library, \
         {parsed_files} of them taken in, {blocks} blocks and {edges} edges; both with a thread a core",
        ours.count(),
        files.len(),
    );
    bench.report(
        Measure::new("index of a new tree, all of it to a `Written` commit", "MB/s", ours.median())
            .against("tree-sitter parsing alone, in memory", parsed.median(), Better::Higher)
            .aim(AIM)
            .note(note.clone()),
    );
    bench.report(
        Measure::new("index of the same tree once more", "MB/s", again.median())
            .against("tree-sitter parsing alone, in memory", parsed.median(), Better::Higher)
            .note(note),
    );
    Ok(())
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
