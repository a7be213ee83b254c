//! Reading: everything, a thousand, one.

use timestrata_bench::{Bench, Better, Measure, Numbers, Result, Samples, grouped, scratch};

use crate::data::{Maker, Seen};
use crate::expect_count;
use crate::ours::Ours;
use crate::peer::{self, Peer};

const RANGE: u64 = 1_000;
/// Ranges and single records of a turn.
const RANGES: u64 = 200;
const SINGLES: u64 = 5_000;

/// What one side did, one sample a turn.
#[derive(Default)]
struct Figures {
    all: Samples,
    ranges: Samples,
    single: Samples,
}

/// One of the figures.
type Pick = fn(&Figures) -> &Samples;

/// A side's calls.
struct Reader<'a> {
    records: u64,
    all: &'a dyn Fn() -> Result<Seen>,
    range: &'a dyn Fn(u64, u64) -> Result<Seen>,
    single: &'a dyn Fn(u64) -> Result<Seen>,
}

impl Reader<'_> {
    fn turn(&self, bench: &Bench, figures: &mut Figures, numbers: &mut Numbers) -> Result<()> {
        let seen = bench.watch.rate(&mut figures.all, self.records as f64, || (self.all)())?;
        expect_count("all", seen.records, self.records)?;
        let range = RANGE.min(self.records / 2);
        let starts: Vec<u64> = (0..RANGES).map(|_| numbers.below(self.records - range)).collect();
        bench.watch.rate(&mut figures.ranges, (RANGES * range) as f64, || {
            starts.iter().try_for_each(|start| {
                expect_count("a range", (self.range)(*start, start + range)?.records, range)
            })
        })?;
        let offsets: Vec<u64> = (0..SINGLES).map(|_| numbers.below(self.records)).collect();
        bench.watch.sample(&mut figures.single, 1e6 / SINGLES as f64, || {
            offsets.iter().try_for_each(|offset| (self.single)(*offset).map(|_| ()))
        })
    }
}

pub(crate) fn run(bench: &mut Bench) -> Result<()> {
    let rounds = bench.rounds(9);
    let (many, few) = (bench.many(1_000_000), bench.many(50_000));
    let dir = scratch(&bench.dir)?;
    let large = Ours::filled(&dir.path().join("large"), &mut Maker::new(), many)?;
    let small = Ours::filled(&dir.path().join("small"), &mut Maker::new(), few)?;
    let theirs = Peer::filled(&dir.path().join("theirs"), &mut Maker::new(), few)?;
    let readers = [
        Reader {
            records: many,
            all: &|| large.scan(0, 0, u64::MAX),
            range: &|from, to| large.scan(0, from, to),
            single: &|offset| large.get(offset),
        },
        Reader {
            records: few,
            all: &|| small.scan(0, 0, u64::MAX),
            range: &|from, to| small.scan(0, from, to),
            single: &|offset| small.get(offset),
        },
        Reader {
            records: few,
            all: &|| theirs.poll(),
            range: &|from, to| theirs.range(from, to),
            single: &|offset| theirs.get(offset),
        },
    ];
    let mut figures = [Figures::default(), Figures::default(), Figures::default()];
    let mut numbers = Numbers::new(22);
    for round in 0..rounds {
        for place in 0..readers.len() {
            let side = (round + place) % readers.len();
            let (Some(reader), Some(figures)) = (readers.get(side), figures.get_mut(side)) else {
                continue;
            };
            reader.turn(bench, figures, &mut numbers)?;
        }
    }
    let [of_large, of_small, of_theirs] = figures;
    for (records, ours) in [(few, of_small), (many, of_large)] {
        lines(bench, records, few, rounds, &ours, &of_theirs);
    }
    large.close()?;
    small.close()
}

fn lines(
    bench: &mut Bench,
    records: u64,
    few: u64,
    rounds: usize,
    ours: &Figures,
    theirs: &Figures,
) {
    let kinds: [(&str, &str, Pick, Better, f64); 3] = [
        ("sequential read", "rec/s", |figures| &figures.all, Better::Higher, 10.0),
        ("ranges of 1,000", "rec/s", |figures| &figures.ranges, Better::Higher, 10.0),
        ("random read", "us", |figures| &figures.single, Better::Lower, 5.0),
    ];
    for (name, unit, of, better, aim) in kinds {
        let against = format!("{} with {} records", peer::NAME, grouped(few));
        bench.report(
            Measure::new(format!("{name}, {} records", grouped(records)), unit, of(ours).median())
                .against(against, of(theirs).median(), better)
                .aim(aim)
                .note(format!(
                    "median of {rounds} turns; values of 256 B, each read as a record; flushed, no \
                     maintenance due, in the page cache; the peer polls all at once"
                )),
        );
    }
}
