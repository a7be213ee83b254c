//! Runs the simulator from the command line.
//!
//! ```text
//! timestrata-sim                    every workload of up to two steps, in full
//! timestrata-sim --length 3         every workload of three steps, sampled
//! timestrata-sim --drawn 100        so many long workloads drawn by the seed, sampled
//! timestrata-sim --workload afdc    one workload, all of its operations, in full
//! timestrata-sim --workload afdc --at 17    crashed and failed at operation 17 only
//! timestrata-sim --seed 7           other crash states and samples
//! timestrata-sim --schedules 100    so many orders of a store's threads and users, from the seed on
//! timestrata-sim --seconds 60       the same for so long, from a seed of its own unless one is given
//! timestrata-sim --of tables        workloads over tables, and not over plain streams; also topics, graphs, logs, timelogs, models
//! ```
//!
//! The last line is one of JSON, with what the run comes to.

use std::process::ExitCode;

use timestrata_io::{OsRng, Rng};
use timestrata_sim::{
    Effort, Graphs, LogEntries, Models, Report, Streams, Subject, Tables, Timelogs, Topics,
    Workload, run, run_for, run_schedules,
};

/// All words of a length: about twenty times as many as of the length before.
const LENGTH_MAX: u64 = 5;
/// Steps of a drawn workload.
const DRAWN_LENGTH: usize = 24;

/// Which workloads to run.
enum Choice {
    Short,
    Length(u32),
    Drawn(usize),
    One(String),
    Schedules(u64),
    Seconds(u64),
}

fn main() -> ExitCode {
    match report(std::env::args().skip(1)) {
        Ok((text, kept)) => {
            println!("{text}");
            if kept { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(problem) => {
            eprintln!("{problem}");
            ExitCode::from(2)
        }
    }
}

/// What the run says, and whether every promise was kept.
fn report(mut arguments: impl Iterator<Item = String>) -> Result<(String, bool), String> {
    let mut given: Option<u64> = None;
    let mut choice = Choice::Short;
    let mut only_at: Option<u64> = None;
    let mut kind = Streams::KIND.to_owned();
    while let Some(name) = arguments.next() {
        let value = arguments.next().ok_or_else(|| format!("{name} needs a value"))?;
        let number = || value.parse().map_err(|_| format!("{name} needs a number, not '{value}'"));
        match name.as_str() {
            "--seed" => given = Some(number()?),
            "--length" => choice = Choice::Length(number()?.min(LENGTH_MAX) as u32),
            "--drawn" => choice = Choice::Drawn(number()? as usize),
            "--workload" => choice = Choice::One(value),
            "--schedules" => choice = Choice::Schedules(number()?),
            "--seconds" => choice = Choice::Seconds(number()?),
            "--at" => only_at = Some(number()?),
            "--of" => kind = value,
            _ => return Err(format!("unknown option {name}")),
        }
    }
    if let Choice::Schedules(_) | Choice::Seconds(_) = choice {
        return scheduled(&choice, given, &kind);
    }
    let full = Effort { only_at, ..Effort::full(given.unwrap_or(1)) };
    let report = match kind.as_str() {
        Streams::KIND => chosen::<Streams>(choice, full),
        Tables::KIND => chosen::<Tables>(choice, full),
        Graphs::KIND => chosen::<Graphs>(choice, full),
        LogEntries::KIND => chosen::<LogEntries>(choice, full),
        Timelogs::KIND => chosen::<Timelogs>(choice, full),
        Models::KIND => chosen::<Models>(choice, full),
        Topics::KIND => chosen::<Topics>(choice, full),
        _ => Err(format!("there are no workloads of '{kind}'")),
    }?;
    Ok((format!("{report}\n{}", report.json()), report.violations.is_empty()))
}

/// Runs schedules, of which there are those of plain streams.
fn scheduled(choice: &Choice, seed: Option<u64>, kind: &str) -> Result<(String, bool), String> {
    if kind != Streams::KIND {
        return Err(format!("there are no schedules of '{kind}'"));
    }
    let totals = match choice {
        Choice::Seconds(seconds) => {
            run_for(seed.unwrap_or_else(|| OsRng::new().next_u64()), *seconds)
        }
        Choice::Schedules(count) => run_schedules(seed.unwrap_or(1), *count, None),
        _ => return Err("no schedule was asked for".to_owned()),
    };
    Ok((totals.to_string(), totals.violations.is_empty()))
}

/// Runs the workloads of a kind: all there is to try of few, a sample of many.
fn chosen<S: Subject>(choice: Choice, full: Effort) -> Result<Report, String> {
    let seed = full.seed;
    let sampled = Effort { only_at: full.only_at, ..Effort::sampled(seed) };
    Ok(match choice {
        Choice::Schedules(_) | Choice::Seconds(_) => return Err("no workload".to_owned()),
        Choice::Short => run(&Workload::<S>::short(2), &full),
        Choice::Length(length) => run(&Workload::<S>::all("", length), &sampled),
        Choice::Drawn(count) => run(&Workload::<S>::drawn(seed, count, DRAWN_LENGTH), &sampled),
        Choice::One(letters) => {
            let workload = Workload::<S>::parse(&letters)
                .ok_or_else(|| format!("'{letters}' has a letter without meaning"))?;
            run(&[workload.explored_whole()], &full)
        }
    })
}
