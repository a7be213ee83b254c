//! `timestrata timelog create`.

use std::time::Duration;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use timestrata::Access;
use timestrata::timelog::{Codec, Unit};

use crate::faces::{NewTimelog, StoreArg, TimelogRetention};
use crate::failure::{Failure, Result};
use crate::times::{self, Integers};

/// Make a time log. Fine if it exists with the same options.
#[derive(Debug, Args)]
#[command(after_help = "\
What is older than --retention-age by its time, and the oldest beyond --retention-bytes, go by themselves, a \
file at a time; 'timestrata timelog set' changes that. --min-ts stays as it is for the log's life: entries \
with smaller times are refused, whoever writes them.

Examples:
  timestrata timelog create ./store door
  timestrata timelog create ./store ticks --unit us --codec json --min-ts 2020-01-01 --retention-age 365d")]
pub(super) struct CreateArgs {
    #[command(flatten)]
    store: StoreArg,
    /// The time log.
    name: String,
    /// How values are kept.
    #[arg(long, value_name = "CODEC", default_value = "cbor", value_parser = codec())]
    codec: Codec,
    /// The unit of its times.
    #[arg(long, value_name = "UNIT", default_value = "ms", value_parser = unit())]
    unit: Unit,
    /// Throw away what is older: 90s, 15m, 12h, 30d.
    #[arg(long, value_name = "SPAN", value_parser = times::span)]
    retention_age: Option<Duration>,
    /// Throw away the oldest beyond so many bytes.
    #[arg(long, value_name = "BYTES")]
    retention_bytes: Option<u64>,
    /// Refuse entries with times before this one; integers are in the log's unit.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    min_ts: Option<String>,
}

fn codec() -> impl TypedValueParser<Value = Codec> {
    PossibleValuesParser::new(["cbor", "json", "bytes"]).try_map(|name| name.parse::<Codec>())
}

fn unit() -> impl TypedValueParser<Value = Unit> {
    PossibleValuesParser::new(["s", "ms", "us", "ns"]).try_map(|name| name.parse::<Unit>())
}

pub(super) fn run(arguments: &CreateArgs) -> Result<()> {
    let unit = arguments.unit;
    let min_time = arguments.min_ts.as_deref().map(|text| {
        times::parse(text, Integers::Of(unit), unit).map_err(|why| {
            let hint = format!("integers are in the log's unit, '{unit}'");
            Failure::usage(format!("--min-ts: {why}"), hint)
        })
    });
    let wanted = NewTimelog {
        codec: arguments.codec,
        unit,
        retention: TimelogRetention {
            keep_all: false,
            age_ns: arguments.retention_age.map(times::nanoseconds),
            bytes: arguments.retention_bytes,
        },
        min_time: min_time.transpose()?,
    };
    let store = arguments.store.open(Access::Write, None)?;
    store.create_timelog(&arguments.name, &wanted)?;
    store.sync()?;
    store.close()
}
