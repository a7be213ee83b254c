//! What the command line of a benchmark program asks for.

use std::path::PathBuf;

use crate::{Result, raw};

/// The options of all programs, for their usage.
pub const OPTIONS: &str =
    "  --quick             small sizes: shows that it works, the figures say little
  --only SUBSTRING    only groups of measures whose name holds this
  --dir PATH          where stores are made (default: next to the program)
  --out PATH          the report (default: bench/results/latest.json)";

/// A request, read from the command line.
#[derive(Debug)]
pub struct Request {
    /// Small sizes.
    pub quick: bool,
    /// What the names of the wanted must hold; empty for all.
    pub only: String,
    /// Where stores are made.
    pub dir: PathBuf,
    /// The report.
    pub out: PathBuf,
}

impl Request {
    /// Reads options. `suites` are the words that may stand among them, of which each means
    /// everything so far; what is not known is refused with the `usage`.
    pub fn read(
        mut arguments: impl Iterator<Item = String>,
        suites: &[&str],
        usage: &str,
    ) -> Result<Self> {
        let mut request = Self {
            quick: false,
            only: String::new(),
            dir: raw::default_dir(),
            out: PathBuf::from("bench/results/latest.json"),
        };
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or(format!("{argument}: a value is missing"));
            match argument.as_str() {
                "--quick" => request.quick = true,
                "--only" => request.only = value()?,
                "--dir" => request.dir = value()?.into(),
                "--out" => request.out = value()?.into(),
                suite if suites.contains(&suite) => {}
                _ => return Err(format!("{argument}: not known\n{usage}").into()),
            }
        }
        Ok(request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &[&str]) -> Result<Request> {
        Request::read(words.iter().map(|word| (*word).to_owned()), &["engine"], "usage")
    }

    #[test]
    fn options_are_read_and_others_refused() -> Result<()> {
        let request = read(&["engine", "--quick", "--only", "append", "--dir", "a", "--out", "b"])?;
        assert!(request.quick && request.only == "append");
        assert_eq!((request.dir, request.out), ("a".into(), "b".into()));
        assert!(!read(&[])?.quick);
        assert!(read(&["--only"]).is_err());
        for unknown in ["--fast", "sql"] {
            assert!(read(&[unknown]).is_err_and(|error| error.to_string().contains("usage")));
        }
        Ok(())
    }
}
