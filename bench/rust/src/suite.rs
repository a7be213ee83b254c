//! A suite of benchmarks: groups of measures, run one after the other, and their report.

use std::path::PathBuf;
use std::process::ExitCode;

use timestrata_engine::Store;

use crate::Result;
use crate::measure::Measure;
use crate::report::{self, Others};
use crate::request::Request;
use crate::sample::Watch;

/// A run of benchmarks: what all groups share, and what came out so far.
#[derive(Debug)]
pub struct Bench {
    /// The clock of all figures.
    pub watch: Watch,
    /// Where stores are made.
    pub dir: PathBuf,
    quick: bool,
    suite: &'static str,
    measures: Vec<Measure>,
}

/// A group of measures that are taken together.
#[derive(Debug)]
pub struct Group {
    /// What `--only` looks for.
    pub name: &'static str,
    /// Takes them.
    pub run: fn(&mut Bench) -> Result<()>,
}

impl Bench {
    /// A run that has measured nothing yet.
    pub(crate) fn new(watch: Watch, dir: PathBuf, quick: bool, suite: &'static str) -> Self {
        Self { watch, dir, quick, suite, measures: Vec::new() }
    }

    /// How many of something: `full`, or few of them in a quick run.
    pub fn many(&self, full: u64) -> u64 {
        if self.quick { (full / 50).max(3) } else { full }
    }

    /// How often something is repeated.
    pub fn rounds(&self, full: usize) -> usize {
        if self.quick { full.min(3) } else { full }
    }

    /// Takes in a measure, and prints it.
    pub fn report(&mut self, measure: Measure) {
        let measure = Measure { suite: self.suite.to_owned(), ..measure };
        println!("{}", report::line(&measure));
        self.measures.push(measure);
    }
}

/// Runs the wanted groups of a suite and puts their measures into the report. Gives whether all
/// of them came through.
///
/// # Errors
/// Those of the report; a group's are printed.
pub fn run(suite: &'static str, groups: &[Group], request: Request) -> Result<bool> {
    let Request { quick, only, dir, out } = request;
    let mut bench = Bench::new(Watch::new(), dir, quick, suite);
    println!("{}", report::heading());
    let mut whole = only.is_empty();
    for group in groups.iter().filter(|group| group.name.contains(&only)) {
        let start = bench.watch.now_ns();
        if let Err(error) = (group.run)(&mut bench) {
            eprintln!("{}: {error}", group.name);
            whole = false;
        }
        eprintln!("({}: {:.1} s)", group.name, (bench.watch.now_ns() - start) as f64 / 1e9);
    }
    let others = if whole { Others::Replace } else { Others::Keep };
    report::merge_into(&out, suite, &bench.measures, others)?;
    println!("\n{} measures in {}", bench.measures.len(), out.display());
    Ok(whole || !only.is_empty())
}

/// What a program of benchmarks ends with: whether all of it came through, or why it gave up.
pub fn end(program: &str, outcome: Result<bool>) -> ExitCode {
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{program}: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Does all maintenance that is due.
///
/// # Errors
/// Those of the store.
pub fn settle(store: &Store) -> Result<()> {
    store.flush()?;
    while store.maintain_step()? {}
    Ok(())
}
