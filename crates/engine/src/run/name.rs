//! Names of run files: the run's id in 16 hexadecimal digits, then the format's ending.

use timestrata_format::{RunFormat, RunId};

const ID_DIGITS: usize = 16;

/// Name of a run's file in the directory of runs.
pub(crate) fn file_name(id: RunId, format: RunFormat) -> String {
    format!("{:016x}.{}", id.0, ending(format))
}

/// What a file name in the directory of runs says; `None` if it is not a run's.
pub(crate) fn parse_file_name(name: &str) -> Option<(RunId, RunFormat)> {
    let (digits, rest) = name.split_once('.')?;
    let format =
        [RunFormat::Hot, RunFormat::Cold].into_iter().find(|format| ending(*format) == rest)?;
    let plain = digits.len() == ID_DIGITS
        && digits.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'));
    let id = u64::from_str_radix(digits, 16).ok().filter(|_| plain)?;
    Some((RunId(id), format))
}

fn ending(format: RunFormat) -> &'static str {
    match format {
        RunFormat::Hot => "arrow",
        RunFormat::Cold => "parquet",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back() {
        for id in [0, 1, 0xabc, u64::MAX] {
            for format in [RunFormat::Hot, RunFormat::Cold] {
                let name = file_name(RunId(id), format);
                assert_eq!(parse_file_name(&name), Some((RunId(id), format)));
            }
        }
        assert_eq!(file_name(RunId(0x1f), RunFormat::Hot), "000000000000001f.arrow");
    }

    #[test]
    fn other_names_are_not_runs() {
        for name in
            ["", "1f.arrow", "000000000000001F.arrow", "000000000000001f.arrow.tmp", "MANIFEST"]
        {
            assert_eq!(parse_file_name(name), None, "{name}");
        }
    }
}
