//! Real logs, as they are, and access logs repeated until there are many: each repetition at later times.

use std::path::{Path, PathBuf};

use timestrata_bench::Result;
use timestrata_io::{Disk, OpenMode, OsDisk};

/// Where the real logs are: `TIMESTRATA_LOGS`, or beside the clone.
fn folder() -> PathBuf {
    std::env::var_os("TIMESTRATA_LOGS")
        .map_or_else(|| Path::new("../shared/data/logs").to_owned(), PathBuf::from)
}

/// The lines of a real log.
pub(super) fn lines(name: &str) -> Result<Vec<String>> {
    let path = folder().join(name);
    let file = OsDisk::new().open(&path, OpenMode::Read).map_err(|error| {
        format!(
            "{}: {error}; TIMESTRATA_LOGS names a folder of logs, and python -m bench.logs.stand_in makes one",
            path.display()
        )
    })?;
    let bytes = file.map()?;
    Ok(String::from_utf8_lossy(&bytes).lines().map(str::to_owned).collect())
}

/// A line of an access log in another repetition, a day later each: only its day differs.
fn shifted(line: &str, repetition: u64) -> String {
    match line.split_once("/May/2015:") {
        Some((before, rest)) if before.len() > 2 => {
            let before = before.get(..before.len() - 2).unwrap_or(before);
            let (day, year) = (repetition % 28 + 1, 2015 + repetition / 28 % 80);
            format!("{before}{day:02}/May/{year}:{rest}")
        }
        _ => line.to_owned(),
    }
}

/// Writes `count` lines of the named access log into a file.
pub(super) fn write(path: &Path, name: &str, count: u64) -> Result<()> {
    let all = lines(name)?;
    let file = OsDisk::new().open(path, OpenMode::CreateNew)?;
    let mut text = String::new();
    let (mut written, mut repetition) = (0, 0);
    while written < count {
        for line in all.iter().take((count - written) as usize) {
            text.push_str(&shifted(line, repetition));
            text.push('\n');
            written += 1;
        }
        file.append(text.as_bytes())?;
        text.clear();
        repetition += 1;
    }
    Ok(())
}
