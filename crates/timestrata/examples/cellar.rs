//! A cellar's thermometer: late readings, a look back, a correction.
//!
//! Run it with `cargo run -p timestrata --example cellar [DIRECTORY]`; without a directory
//! the store is in memory.

use timestrata::timelog::{Codec, EntryBatch, Timelog, TimelogOptions, Unit};
use timestrata::{Durability, Result, Settings, Store};

const MINUTE: i64 = 60;
const NOON: i64 = 1_700_049_600;

fn main() -> Result<()> {
    let store = match std::env::args().nth(1) {
        Some(directory) => Store::open(directory, Settings::default())?,
        None => Store::memory(Settings::default())?,
    };
    let options =
        TimelogOptions { codec: Codec::Cbor, unit: Unit::Second, ..TimelogOptions::default() };
    let log = Timelog::create(&store, "cellar", options)?;
    log.delete_range(..)?; // begin afresh if the directory has been used before

    // One reading at a time, as they come.
    log.append_value(NOON, &11.5)?;
    log.append_value(NOON + 10 * MINUTE, &11.75)?;

    // A radio that was out of reach delivers five minutes later: one atomic commit, late.
    let mut late = EntryBatch::new();
    for minute in 1..=5 {
        late.push_value(NOON + minute * MINUTE, &(11.5 + minute as f64 / 32.0))?;
    }
    log.extend_batch(late, Durability::Synced)?;

    println!("readings: {}", log.len()?);
    for reading in log.range(NOON..NOON + 5 * MINUTE)?.decode::<f64>() {
        let (time, celsius) = reading?;
        println!("  {time}  {celsius:.2} °C");
    }

    // A frozen view isn't touched by what follows.
    let before = log.snapshot()?;
    log.delete_range(NOON + MINUTE..=NOON + 3 * MINUTE)?;
    println!("after the correction: {} (the view still has {})", log.len()?, before.len()?);
    println!("latest at {:?}, the one before at {:?}", log.max_time()?, {
        match log.max_time()? {
            Some(latest) => log.previous_time(latest)?,
            None => None,
        }
    });
    store.close()
}
