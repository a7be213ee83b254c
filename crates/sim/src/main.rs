//! Runs the simulator from the command line.
//!
//! ```text
//! timestrata-sim                    every workload of up to two steps, in full
//! timestrata-sim --length 3         every workload of three steps, sampled
//! timestrata-sim --workload afdc    one workload, all of its operations, in full
//! timestrata-sim --seed 7           other crash states and samples
//! ```

use std::process::ExitCode;

use timestrata_sim::{Effort, Workload, run};

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
    let (mut seed, mut length, mut one) = (1, None, None);
    while let Some(name) = arguments.next() {
        let value = arguments.next().ok_or_else(|| format!("{name} needs a value"))?;
        let number = || value.parse().map_err(|_| format!("{name} needs a number, not '{value}'"));
        match name.as_str() {
            "--seed" => seed = number()?,
            "--length" => length = Some(number()?),
            "--workload" => {
                let parsed = Workload::parse(&value);
                one =
                    Some(parsed.ok_or_else(|| format!("'{value}' has a letter without meaning"))?);
            }
            _ => return Err(format!("unknown option {name}: --seed, --length or --workload")),
        }
    }
    let effort = Effort::full(seed);
    let report = match (one, length) {
        (Some(workload), _) => run(&[workload.explored_whole()], &effort),
        (None, None) => run(&Workload::short(2), &effort),
        (None, Some(length)) => {
            let length = u32::try_from(length).map_err(|_| "--length is too large".to_owned())?;
            run(&Workload::all("", length), &Effort::sampled(seed))
        }
    };
    Ok((report.to_string(), report.violations.is_empty()))
}
