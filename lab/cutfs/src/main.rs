//! A file system in memory that loses at a power cut what was not synced.
//!
//! `timestrata-cutfs DIRECTORY` mounts it there, says `ready`, and does what lines on its standard input
//! say, answering each with a line; at their end it unmounts.
//!
//! | line | what it does |
//! | --- | --- |
//! | `freeze` | the moment of the cut: no change reaches the disk any more, each fails |
//! | `cut nothing\|everything\|mixture SEED` | what was not synced survives so; the disk works again |
//! | `lie` | from now on a sync does nothing, and says that it did |
//! | `syncs` | how many syncs there were |

use std::process::ExitCode;

#[cfg(target_os = "linux")]
mod file;
#[cfg(target_os = "linux")]
mod served;
#[cfg(target_os = "linux")]
mod world;

#[cfg(target_os = "linux")]
fn main() -> ExitCode {
    let Some(directory) = std::env::args().nth(1) else {
        eprintln!("usage: timestrata-cutfs DIRECTORY");
        return ExitCode::from(2);
    };
    match serve(&directory) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("cannot mount a file system at {directory}: {error}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn main() -> ExitCode {
    eprintln!("cannot mount a file system: this system has no FUSE as Linux has it");
    ExitCode::FAILURE
}

#[cfg(target_os = "linux")]
fn serve(directory: &str) -> std::io::Result<()> {
    use std::io::{BufRead as _, Write as _};
    use std::sync::{Arc, Mutex, PoisonError};

    let world = Arc::new(Mutex::new(world::World::default()));
    let mut options = fuser::Config::default();
    options.mount_options = vec![fuser::MountOption::FSName("cutfs".to_owned())];
    let session = fuser::spawn_mount(served::Served(Arc::clone(&world)), directory, &options)?;
    let mut output = std::io::stdout().lock();
    writeln!(output, "ready")?;
    output.flush()?;
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let answer = obey(&mut world.lock().unwrap_or_else(PoisonError::into_inner), &line);
        writeln!(output, "{answer}")?;
        output.flush()?;
    }
    session.umount_and_join()
}

/// Does what a line says; gives the answer.
#[cfg(target_os = "linux")]
fn obey(world: &mut world::World, line: &str) -> String {
    use world::Survival::{Everything, Mixture, Nothing};

    let words: Vec<&str> = line.split_whitespace().collect();
    let survival = match words.as_slice() {
        ["freeze"] => {
            world.is_frozen = true;
            return "frozen".to_owned();
        }
        ["lie"] => {
            world.is_lying = true;
            return "lying".to_owned();
        }
        ["syncs"] => return world.syncs.to_string(),
        ["cut", "nothing", _] => Nothing,
        ["cut", "everything", _] => Everything,
        ["cut", "mixture", _] => Mixture,
        _ => return format!("cannot read the line '{line}'"),
    };
    match words.last().and_then(|seed| seed.parse().ok()) {
        Some(seed) => {
            let found = world.cut(survival, seed);
            format!("cut {} changes, {} names unsynced", found.changes, found.names)
        }
        None => format!("cannot read the line '{line}'"),
    }
}
