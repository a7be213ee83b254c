//! Real logs, repeated until there are many: each repetition at later times.

use std::path::{Path, PathBuf};

use timestrata_bench::Result;
use timestrata_io::{Disk, OpenMode, OsDisk};

/// Real access, authentication and server logs.
const FILES: [&str; 3] = ["apache_logs.log", "auth.log", "kafka_state-change.log"];
/// A word that no real line has; it is put into so many lines.
pub(super) const RARE: &str = "zyxwv7";
const RARE_LINES: u64 = 3;

/// Where the real logs are: `TIMESTRATA_LOGS`, or beside the clone.
fn folder() -> PathBuf {
    std::env::var_os("TIMESTRATA_LOGS")
        .map_or_else(|| Path::new("../shared/data/logs").to_owned(), PathBuf::from)
}

/// The lines of a real log.
pub(super) fn lines(name: &str) -> Result<Vec<String>> {
    let path = folder().join(name);
    let file = OsDisk::new().open(&path, OpenMode::Read).map_err(|error| {
        format!("{}: {error}; TIMESTRATA_LOGS names a folder of real logs", path.display())
    })?;
    let bytes = file.map()?;
    Ok(String::from_utf8_lossy(&bytes).lines().map(str::to_owned).collect())
}

/// A line of another repetition, a day later each: only its day differs.
fn shifted(line: &str, repetition: u64) -> String {
    let day = |of: u64| format!("{:02}", (of + repetition) % 28 + 1);
    if let Some(rest) = line.strip_prefix("[2016-12-19") {
        return format!("[{}-12-{}{rest}", 2016 + repetition / 28 % 80, day(18));
    }
    if let Some(rest) = line.strip_prefix("Mar ")
        && let Some(rest) = rest.get(2..)
    {
        return format!("Mar {}{rest}", day(0));
    }
    match line.split_once("/May/2015:") {
        Some((before, rest)) if before.len() > 2 => {
            let before = before.get(..before.len() - 2).unwrap_or(before);
            format!("{before}{}/May/{}:{rest}", day(0), 2015 + repetition / 28 % 80)
        }
        _ => line.to_owned(),
    }
}

/// Writes `count` lines of the named logs into a file; the bytes of them.
pub(super) fn write(path: &Path, names: &[&str], count: u64) -> Result<u64> {
    let all = names.iter().map(|name| lines(name)).collect::<Result<Vec<_>>>()?;
    let file = OsDisk::new().open(path, OpenMode::CreateNew)?;
    let mut text = String::new();
    let (mut written, mut bytes, mut repetition) = (0, 0, 0);
    while written < count {
        for line in all.iter().flatten().take((count - written) as usize) {
            text.push_str(&shifted(line, repetition));
            if written % (count / RARE_LINES) == count / RARE_LINES / 2 {
                text.push(' ');
                text.push_str(RARE);
            }
            text.push('\n');
            written += 1;
        }
        file.append(text.as_bytes())?;
        bytes += text.len() as u64;
        text.clear();
        repetition += 1;
    }
    Ok(bytes)
}

/// All of the real logs.
pub(super) fn all() -> &'static [&'static str] {
    &FILES
}
