//! `timestrata logs histogram`.

use std::fmt::Write as _;

use clap::{Args, ValueEnum};
use serde_json::{Map, Value, json};
use timestrata::logs::{Bucket, Level};
use timestrata::timelog::Unit;

use super::line::colour_of;
use super::{LogOfStore, Wanted};
use crate::failure::Result;
use crate::message::tell;
use crate::output::{Form, FormArg, print};
use crate::terminal::{FAINT, Look};
use crate::times;
use crate::verbs::{counted_entries, grouped};

/// Characters of the longest bar, however narrow the terminal is.
const BAR_WIDTH_MIN: usize = 10;
/// Parts of a character that a bar may end with.
const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
const FULL: &str = "█";

/// Print how many entries a filter lets through in each stretch of time.
#[derive(Debug, Args)]
#[command(after_help = "\
Stretches begin at multiples of their length since 1970-01-01 UTC. Those from the first entry to the \
last are printed, also where nothing happened; a line with '…' stands for very many of these. On a terminal a bar has the colours of its levels, the \
worst first; each level that is there has at least one character.

Examples:
  timestrata logs histogram ./store app 'level>=error' --since 24h --step 1h
  timestrata logs histogram ./store web 'status:5*' --by source_time --format json")]
pub(super) struct HistogramArgs {
    #[command(flatten)]
    of: LogOfStore,
    #[command(flatten)]
    wanted: Wanted,
    /// Length of a stretch: 100ms, 30s, 5m, 1h, 1d. Default: one that makes about 60 lines.
    #[arg(long, value_name = "SPAN", value_parser = step)]
    step: Option<i64>,
    #[command(flatten)]
    form: FormArg<HistogramFormat>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum HistogramFormat {
    /// A line each: its beginning, entries, a bar.
    Text,
    /// A JSON object a line.
    Json,
}

impl Form for HistogramFormat {
    const DEFAULT: &'static str = "text";
    const JSON: Self = Self::Json;
}

fn step(text: &str) -> std::result::Result<i64, String> {
    let step = i64::try_from(times::span(text)?.as_nanos()).map_err(|_| "too long".to_owned())?;
    if step > 0 { Ok(step) } else { Err("must be longer than nothing".to_owned()) }
}

pub(super) fn run(arguments: &HistogramArgs) -> Result<()> {
    let query = arguments.wanted.query()?;
    let (step, buckets) = arguments.of.view()?.histogram(&query, arguments.step)?;
    let mut out = String::new();
    match arguments.form.get() {
        HistogramFormat::Text => push_text(&buckets, step, Look::of_stdout(), &mut out),
        HistogramFormat::Json => push_json(&buckets, step, &mut out),
    }
    print(out)?;
    if arguments.step.is_none()
        && arguments.form.get() == HistogramFormat::Text
        && !buckets.is_empty()
    {
        let count = buckets.iter().map(|bucket| bucket.count).sum();
        tell(format_args!("{}, a line for each {}", counted_entries(count), span_shown(step)));
    }
    Ok(())
}

/// The beginning of a stretch, with the digits that the length of all of them needs.
fn start_shown(start: i64, step: i64) -> String {
    let unit = [Unit::Second, Unit::Milli, Unit::Micro]
        .into_iter()
        .find(|unit| step % (Unit::Nano.per_second() / unit.per_second()) == 0)
        .unwrap_or(Unit::Nano);
    times::format(start / (Unit::Nano.per_second() / unit.per_second()), unit)
}

/// A length as `--step` takes it.
fn span_shown(ns: i64) -> String {
    const UNITS: [(i64, &str); 7] = [
        (86_400_000_000_000, "d"),
        (3_600_000_000_000, "h"),
        (60_000_000_000, "m"),
        (1_000_000_000, "s"),
        (1_000_000, "ms"),
        (1_000, "us"),
        (1, "ns"),
    ];
    let found = UNITS.iter().find(|(unit, _)| ns % unit == 0);
    found.map_or_else(String::new, |(unit, name)| format!("{}{name}", ns / unit))
}

fn push_text(buckets: &[Bucket], step: i64, look: Look, out: &mut String) {
    let most = buckets.iter().map(|bucket| bucket.count).max().unwrap_or(0);
    let digits = grouped(most).len();
    let time_width = buckets.first().map_or(0, |first| start_shown(first.start, step).len());
    let bar_width = look.width.saturating_sub(time_width + digits + 4).max(BAR_WIDTH_MIN);
    let mut next = None;
    for bucket in buckets {
        if next.is_some_and(|next| next < bucket.start) {
            // Where stretches without an entry are too many, they were left out.
            look.paint(FAINT, "…", out);
            out.push('\n');
        }
        next = Some(bucket.start.saturating_add(step));
        look.paint(FAINT, &start_shown(bucket.start, step), out);
        // Memory takes what is written to it.
        let _ = write!(out, "  {:>digits$}", grouped(bucket.count));
        if bucket.count > 0 {
            out.push_str("  ");
            push_bar(bucket, most, bar_width, look, out);
        }
        out.push('\n');
    }
}

/// A bar whose length stands to `width` as the bucket's count to `most`.
fn push_bar(bucket: &Bucket, most: u64, width: usize, look: Look, out: &mut String) {
    let eighths_max = 8 * width as u64;
    let eighths = (u128::from(bucket.count) * u128::from(eighths_max)).div_ceil(most.into());
    // Not more than `eighths_max`, as no count is more than `most`.
    let eighths = usize::try_from(eighths).unwrap_or(8 * width);
    let end = EIGHTHS.get(eighths % 8).copied().unwrap_or_default();
    if !look.has_colours {
        out.extend(std::iter::repeat_n(FULL, eighths / 8));
        return out.push_str(end);
    }
    let parts = cells_of_levels(bucket, eighths.div_ceil(8));
    let mut left = eighths / 8;
    for (colour, cells) in parts {
        let full = cells.min(left);
        left -= full;
        look.painted(colour, out, |out| {
            out.extend(std::iter::repeat_n(FULL, full));
            if cells > full {
                out.push_str(end);
            }
        });
    }
}

/// How many of a bar's characters each level has, in its colour: the worst first, and what has no level
/// last.
fn cells_of_levels(bucket: &Bucket, cells: usize) -> Vec<(&'static str, usize)> {
    let without_level = bucket.count.saturating_sub(bucket.levels.iter().sum());
    let levels = Level::ALL.iter().map(|level| colour_of(*level)).zip(bucket.levels).rev();
    let mut parts: Vec<(&str, u64)> = levels.chain([("", without_level)]).collect();
    parts.retain(|(_, count)| *count > 0);
    let (mut cells_left, mut count_left) = (cells as u64, bucket.count);
    let mut others = parts.len() as u64;
    let mut shares = Vec::with_capacity(parts.len());
    for (colour, count) in parts {
        others -= 1;
        // Of what is left, by its share; but one at least, as those behind it have too.
        let share = (cells_left * count + count_left / 2) / count_left.max(1);
        let share = share.max(1).min(cells_left.saturating_sub(others).max(1)).min(cells_left);
        cells_left -= share;
        count_left -= count;
        shares.push((colour, usize::try_from(share).unwrap_or(0)));
    }
    shares
}

fn push_json(buckets: &[Bucket], step: i64, out: &mut String) {
    for bucket in buckets {
        let levels: Map<String, Value> = Level::ALL
            .iter()
            .zip(bucket.levels)
            .filter(|(_, count)| *count > 0)
            .map(|(level, count)| (level.name().to_owned(), count.into()))
            .collect();
        let line = json!({
            "start": start_shown(bucket.start, step),
            "end": start_shown(bucket.start.saturating_add(step), step),
            "count": bucket.count,
            "levels": levels,
        });
        let _ = writeln!(out, "{line}");
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SECOND: i64 = 1_000_000_000;

    fn bucket(start: i64, count: u64, levels: [u64; 6]) -> Bucket {
        Bucket { start, count, levels }
    }

    #[test]
    fn bars_are_as_long_as_counts_are_great() {
        let buckets = [bucket(0, 1_000, [0; 6]), bucket(60 * SECOND, 0, [0; 6])];
        let small = bucket(120 * SECOND, 1, [0; 6]);
        let far = bucket(1_200_000 * SECOND, 1, [0; 6]);
        let mut out = String::new();
        let look = Look { width: 39, ..Look::PLAIN };
        push_text(&[buckets[0], buckets[1], small, far], 60 * SECOND, look, &mut out);
        let expected = "1970-01-01T00:00:00Z  1,000  ██████████\n\
                        1970-01-01T00:01:00Z      0\n\
                        1970-01-01T00:02:00Z      1  ▏\n\
                        …\n\
                        1970-01-14T21:20:00Z      1  ▏\n";
        assert_eq!(out, expected);
    }

    #[test]
    fn colours_have_the_worst_level_first_and_leave_out_none() {
        let mixed = bucket(0, 1_000, [0, 0, 900, 0, 1, 0]);
        let cells = cells_of_levels(&mixed, 20);
        let expected = [(colour_of(Level::Error), 1), (colour_of(Level::Info), 17), ("", 2)];
        assert_eq!(cells, expected);
        let mut out = String::new();
        let look = Look { has_colours: true, ..Look::PLAIN };
        push_bar(&mixed, 1_000, 4, look, &mut out);
        assert_eq!(out.matches(FULL).count(), 4, "{out:?}");
        assert!(out.starts_with("\x1b[31m█\x1b[0m\x1b[32m"), "{out:?}");
    }

    #[test]
    fn lengths_are_told_as_they_are_asked_for() {
        for text in ["1d", "12h", "90s", "100ms", "5us", "1ns"] {
            assert_eq!(step(text).map(span_shown).as_deref(), Ok(text));
        }
        assert!(step("0s").is_err() && step("x").is_err());
        assert_eq!(start_shown(1_500_000_000, 100_000_000), "1970-01-01T00:00:01.500Z");
        assert_eq!(start_shown(-SECOND, SECOND), "1969-12-31T23:59:59Z");
    }

    proptest! {
        #[test]
        fn a_bar_has_the_same_length_with_and_without_colours(
            levels in prop::array::uniform6(0_u64..1_000_000),
            more in 1_u64..1_000,
            factor in 1_u64..100,
            width in 1_usize..200,
        ) {
            let count = levels.iter().sum::<u64>() + more;
            let (bucket, most) = (bucket(0, count, levels), count * factor);
            let bar = |has_colours| {
                let mut out = String::new();
                let look = Look { has_colours, ..Look::PLAIN };
                push_bar(&bucket, most, width, look, &mut out);
                out.chars().filter(|c| ('▉'..='▏').contains(c) || *c == '█').collect::<String>()
            };
            prop_assert_eq!(bar(true), bar(false));
        }
    }
}
