//! The report: a table for people, and a file for whoever compares runs.

use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;
use timestrata_io::{Disk, OpenMode, OsDisk};

use crate::Result;
use crate::measure::Measure;

/// What a new report does with the lines of its suite that are in the file already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Others {
    /// The run was whole: lines that it did not give are of the past.
    Replace,
    /// The run was a part: other lines stay.
    Keep,
}

/// The lines of a report file; none if it is missing.
///
/// # Errors
/// Those of the disk, and a file that is no report.
pub(crate) fn read_lines<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>> {
    let disk = OsDisk::new();
    if !disk.exists(path)? {
        return Ok(Vec::new());
    }
    let file = disk.open(path, OpenMode::Read)?;
    let mut text = vec![0; usize::try_from(file.len()?)?];
    file.read_at(0, &mut text)?;
    serde_json::from_slice(&text)
        .map_err(|error| format!("{}: not a report: {error}", path.display()).into())
}

/// Puts new lines into a report file, among those of other suites.
///
/// # Errors
/// Those of the disk, and a file that is no report.
pub fn merge_into(path: &Path, suite: &str, new: &[Measure], others: Others) -> Result<()> {
    write_lines(path, &merge(read_lines(path)?, suite, new, others))
}

/// Puts a file of these lines in the place of the one that there is.
pub(crate) fn write_lines<T: Serialize>(path: &Path, lines: &[T]) -> Result<()> {
    let text = text(lines)?;
    let disk = OsDisk::new();
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        disk.create_dir(folder)?;
    }
    let unfinished = path.with_extension("json.new");
    if disk.exists(&unfinished)? {
        disk.remove(&unfinished)?;
    }
    disk.open(&unfinished, OpenMode::CreateNew)?.write_at(0, text.as_bytes())?;
    Ok(disk.rename(&unfinished, path)?)
}

/// A line a measure, so that a difference of two reports shows which ones differ.
fn text<T: Serialize>(lines: &[T]) -> Result<String> {
    let lines: std::result::Result<Vec<_>, _> = lines.iter().map(serde_json::to_string).collect();
    Ok(format!("[\n{}\n]\n", lines?.join(",\n")))
}

fn merge(old: Vec<Measure>, suite: &str, new: &[Measure], others: Others) -> Vec<Measure> {
    let is_replaced = |old: &Measure| {
        old.suite == suite
            && (others == Others::Replace || new.iter().any(|new| new.name == old.name))
    };
    let mut merged: Vec<Measure> = old.into_iter().filter(|old| !is_replaced(old)).collect();
    merged.extend_from_slice(new);
    merged.sort_by(|a, b| a.suite.cmp(&b.suite));
    merged
}

/// A value with three digits and, where it is long, a word for its size.
pub fn readable(value: f64) -> String {
    let (scaled, word) = match value.abs() {
        size if size >= 1e9 => (value / 1e9, " G"),
        size if size >= 1e6 => (value / 1e6, " M"),
        size if size >= 1e4 => (value / 1e3, " K"),
        _ => (value, ""),
    };
    match scaled.abs() {
        size if size >= 100.0 => format!("{scaled:.0}{word}"),
        size if size >= 10.0 => format!("{scaled:.1}{word}"),
        _ => format!("{scaled:.2}{word}"),
    }
}

/// One line of the table.
pub fn line(measure: &Measure) -> String {
    let aim = measure.aim.map_or("-".to_owned(), readable);
    let verdict = match (measure.aim, measure.is_reached()) {
        (None, _) => "told",
        (_, true) => "reached",
        (_, false) => "SHORT",
    };
    format!(
        "{:<70} {:>9} {:<7} {:>9}  {:>7}  {:>5}  {:<7}  against {}",
        measure.name,
        readable(measure.value),
        measure.unit,
        readable(measure.against_value),
        readable(measure.ratio),
        aim,
        verdict,
        measure.against,
    )
}

/// The heading of the table.
pub fn heading() -> String {
    format!(
        "{:<70} {:>9} {:<7} {:>9}  {:>7}  {:>5}",
        "measure", "value", "unit", "against", "ratio", "aim"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measure(suite: &str, name: &str, value: f64) -> Measure {
        Measure { suite: suite.to_owned(), ..Measure::new(name, "us", value) }
    }

    #[test]
    fn a_part_of_a_suite_leaves_the_rest_of_the_file_alone() {
        let old = vec![measure("sql", "a", 1.0), measure("engine", "a", 1.0)];
        let old = [old, vec![measure("engine", "b", 1.0)]].concat();
        let new = [measure("engine", "b", 2.0)];
        let part = merge(old.clone(), "engine", &new, Others::Keep);
        let names: Vec<_> = part.iter().map(|m| (m.suite.as_str(), m.value)).collect();
        assert_eq!(names, [("engine", 1.0), ("engine", 2.0), ("sql", 1.0)]);
        let whole = merge(old, "engine", &new, Others::Replace);
        assert_eq!(whole.len(), 2);
    }

    #[test]
    fn a_report_comes_back_from_its_file() -> Result<()> {
        let dir = tempfile::tempdir()?;
        let path = dir.path().join("folder").join("latest.json");
        merge_into(&path, "engine", &[measure("engine", "a", 1.0)], Others::Replace)?;
        merge_into(&path, "engine", &[measure("engine", "b", 2.0)], Others::Keep)?;
        let found: Vec<Measure> = read_lines(&path)?;
        let names: Vec<_> = found.iter().map(|measure| measure.name.as_str()).collect();
        assert_eq!(names, ["a", "b"]);
        assert_eq!(text(&found)?.lines().count(), 4, "a line each");
        merge_into(&path, "engine", &[], Others::Replace)?;
        assert_eq!(read_lines::<Measure>(&path)?.len(), 0);
        Ok(())
    }
}
