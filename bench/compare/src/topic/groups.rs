//! A group of consumers, beside reading the same partitions in order.

use std::time::Duration;

use timestrata_bench::{Bench, Better, Measure, Result, Samples, grouped, scratch, settle};
use timestrata_topic::{Consumer, ConsumerOptions, PollLimits, SendOptions};

use crate::data::{Maker, Seen};
use crate::expect_count;
use crate::ours::{Ours, TOPIC, WRITTEN, see};

const PARTITIONS: u32 = 4;
/// Polls at most until each member has its share.
const JOINS: usize = 100;
/// Records of a poll: the default, and what a busy consumer asks for.
const LIMITS: [usize; 2] = [500, 10_000];

pub(crate) fn run(bench: &mut Bench) -> Result<()> {
    let rounds = bench.rounds(9);
    let records = bench.many(1_000_000) / u64::from(PARTITIONS);
    let all = records * u64::from(PARTITIONS);
    let dir = scratch(&bench.dir)?;
    let ours = Ours::open(dir.path(), PARTITIONS)?;
    let mut maker = Maker::new();
    for partition in 0..PARTITIONS {
        let options = SendOptions { partition: Some(partition), ..WRITTEN };
        ours.fill(&mut maker, records, &options)?;
    }
    settle(&ours.store)?;
    let mut scanned = Samples::new();
    let mut polled = LIMITS.map(|limit| (limit, Samples::new()));
    for round in 0..rounds {
        let seen = bench.watch.rate(&mut scanned, all as f64, || -> Result<u64> {
            let parts = (0..PARTITIONS).map(|partition| ours.scan(partition, 0, u64::MAX));
            parts.map(|seen| Ok(seen?.records)).sum()
        })?;
        expect_count("the scans", seen, all)?;
        for (limit, samples) in &mut polled {
            let mut members = members(&ours, &format!("group-{round}-{limit}"))?;
            bench.watch.rate(samples, all as f64, || read_all(&mut members, *limit, all))?;
        }
    }
    for (limit, samples) in polled {
        let measure = Measure::new(
            format!("group of 4, polls of {}", grouped(limit as u64)),
            "rec/s",
            samples.median(),
        )
        .against("sequential read of the 4 partitions", scanned.median(), Better::Higher)
        .note(format!(
            "median of {rounds} turns; {} records of 256 B, a partition for each member, polled in \
             turns by one thread, one commit a member at the end; joining is not in it",
            grouped(all)
        ));
        bench.report(if limit == PollLimits::default().records {
            measure.aim(0.5)
        } else {
            measure
        });
    }
    ours.close()
}

/// Members that have a partition each, at its first record.
fn members(ours: &Ours, group: &str) -> Result<Vec<Consumer>> {
    let mut members = Vec::new();
    for _ in 0..PARTITIONS {
        let group = Some(group.to_owned());
        let mut member =
            Consumer::new(&ours.store, ConsumerOptions { group, ..ConsumerOptions::default() })?;
        member.subscribe([TOPIC])?;
        members.push(member);
    }
    let one = PollLimits { records: 1, ..PollLimits::default() };
    for _ in 0..JOINS {
        for member in &mut members {
            member.poll(Duration::ZERO, one)?;
        }
        if members.iter().all(|member| member.assignment().count() == 1) {
            for member in &mut members {
                let places: Vec<_> = member.assignment().cloned().collect();
                places.iter().try_for_each(|place| member.seek(place, 0))?;
            }
            return Ok(members);
        }
    }
    Err("the members don't come to have one partition each".into())
}

fn read_all(members: &mut [Consumer], limit: usize, all: u64) -> Result<()> {
    let limits = PollLimits { records: limit, ..PollLimits::default() };
    let mut seen = Seen::default();
    while seen.records < all {
        let before = seen.records;
        for member in members.iter_mut() {
            for polled in member.poll(Duration::ZERO, limits)? {
                see(&polled.records, &mut seen);
            }
        }
        if seen.records == before {
            break;
        }
    }
    expect_count("the polls", seen.records, all)?;
    for member in members {
        member.commit()?;
    }
    Ok(())
}
