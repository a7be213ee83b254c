//! Rows of published reports: what was measured of each, on each side, in a file of its own.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::Result;
use crate::report;
use crate::request::Request;
use crate::sample::{Samples, Watch};
use crate::suite::Bench;

/// Who did what was measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// We.
    Ours,
    /// The system whose report it is, here and now.
    Peer,
    /// The least that has to be done for it.
    Floor,
}

/// A row of a report, on one side.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The report's name.
    pub report: String,
    /// The row's.
    pub id: String,
    /// Who.
    pub side: Side,
    /// What that is called, with its version.
    pub label: String,
    /// The figure, in the row's unit.
    pub value: f64,
    /// How many runs or calls it is of.
    pub runs: u64,
    /// Seconds that half of the calls take at most,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p50: Option<f64>,
    /// 95 of 100,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p95: Option<f64>,
    /// and 99.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99: Option<f64>,
    /// Seconds of processor time a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<f64>,
    /// Bytes that memory rose by at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak: Option<f64>,
    /// How it was measured.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
}

impl Row {
    /// A figure of so many runs.
    pub fn new(id: &str, side: Side, label: &str, value: f64, runs: u64) -> Self {
        Self {
            report: String::new(),
            id: id.to_owned(),
            side,
            label: label.to_owned(),
            value: crate::measure::short(value),
            runs,
            p50: None,
            p95: None,
            p99: None,
            cpu: None,
            peak: None,
            note: String::new(),
        }
    }

    /// One of single calls, of which each took so many seconds: its figure is made of their median.
    pub fn of_calls(
        id: &str,
        side: Side,
        label: &str,
        seconds: &Samples,
        figure: impl FnOnce(f64) -> f64,
    ) -> Self {
        let share = |share| Some(crate::measure::short(seconds.percentile(share)));
        Self {
            p50: share(0.5),
            p95: share(0.95),
            p99: share(0.99),
            ..Self::new(id, side, label, figure(seconds.median()), seconds.count() as u64)
        }
    }

    /// How it was measured.
    #[must_use]
    pub fn note(self, note: impl Into<String>) -> Self {
        Self { note: note.into(), ..self }
    }
}

/// What a run has measured of the rows of one report.
#[derive(Debug)]
pub struct Rows {
    report: &'static str,
    rows: Vec<Row>,
}

impl Rows {
    /// Takes in a row, and prints it.
    pub fn add(&mut self, row: Row) {
        println!(
            "{:<20} {:<6} {:>12}  {}",
            row.id,
            format!("{:?}", row.side),
            report::readable(row.value),
            row.label
        );
        self.rows.push(Row { report: self.report.to_owned(), ..row });
    }
}

/// Rows that are measured together.
#[derive(Debug)]
pub struct RowGroup {
    /// What `--only` looks for.
    pub name: &'static str,
    /// Measures them.
    pub run: fn(&mut Bench, &mut Rows) -> Result<()>,
}

/// Runs the wanted groups of a report's rows, and puts what they measured into the file. Gives whether all of them came through.
///
/// # Errors
/// Those of the file; a group's are printed.
pub fn run(report: &'static str, groups: &[RowGroup], request: Request) -> Result<bool> {
    let Request { quick, only, dir, out } = request;
    let mut bench = Bench::new(Watch::new(), dir, quick, report);
    let mut rows = Rows { report, rows: Vec::new() };
    let mut is_whole = true;
    for group in groups.iter().filter(|group| group.name.contains(&only)) {
        println!("\n== {report}: {}", group.name);
        if let Err(error) = (group.run)(&mut bench, &mut rows) {
            eprintln!("{report}, {}: {error}", group.name);
            is_whole = false;
        }
    }
    merge_into(&out, &rows.rows)?;
    println!("\n{} rows in {}", rows.rows.len(), out.display());
    Ok(is_whole)
}

/// Puts rows in the place of those of the same names, which are of the past on all sides.
fn merge_into(path: &Path, new: &[Row]) -> Result<()> {
    let is_new = |row: &Row| new.iter().any(|new| (&new.report, &new.id) == (&row.report, &row.id));
    let mut rows: Vec<Row> = report::read_lines(path)?;
    rows.retain(|row| !is_new(row));
    rows.extend_from_slice(new);
    rows.sort_by(|a, b| a.report.cmp(&b.report));
    report::write_lines(path, &rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_that_was_measured_again_leaves_no_side_of_before() -> Result<()> {
        let dir = tempfile::tempdir()?;
        let path = dir.path().join("report.json");
        let row = |id: &str, side, value| Row {
            report: "topic".to_owned(),
            ..Row::new(id, side, "x", value, 3)
        };
        merge_into(&path, &[row("a", Side::Ours, 1.0), row("a", Side::Peer, 2.0)])?;
        merge_into(&path, &[row("b", Side::Ours, 3.0)])?;
        merge_into(&path, &[row("a", Side::Ours, 4.0)])?;
        let found: Vec<Row> = report::read_lines(&path)?;
        let found: Vec<(&str, f64)> = found.iter().map(|row| (&*row.id, row.value)).collect();
        assert_eq!(found, [("b", 3.0), ("a", 4.0)]);
        Ok(())
    }

    #[test]
    fn latencies_of_calls_are_seconds_and_the_figure_is_made_of_their_median() {
        let mut seconds = Samples::new();
        (1..=100).for_each(|at| seconds.add(f64::from(at) * 1e-6));
        let row = Row::of_calls("put", Side::Ours, "x", &seconds, |median| median * 1e6);
        assert_eq!((row.p50, row.p95, row.p99), (Some(5.1e-5), Some(9.5e-5), Some(9.9e-5)));
        assert_eq!((row.value, row.runs), (51.0, 100));
    }
}
