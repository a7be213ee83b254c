//! `timestrata kcat`: the command line of kcat, read as those of `consume`, `produce` and `topic list`.

use std::ffi::OsString;

use clap::{Args, Parser};

use super::super::topic::TopicCommand;
use super::{admin, consume, produce};
use crate::failure::{Failure, Result};

/// Read and write topics by the options of kcat.
#[derive(Debug, Args)]
#[command(after_help = "\
-b is the store's directory or a server's URL, -t the topic. -C consumes, and waits for more unless -e or -c ends it; -P \
produces; -L lists topics; -G consumes as a group. All other options are those of 'consume' and 'produce': -o, -p, -c, -e, -f, \
-K, -k, -H, -Z, -D.

Examples:
  timestrata kcat -b ./store -t payments -C -o -5 -e -f '%p:%o %k=%s\\n'
  echo 'alice:5' | timestrata kcat -b http://127.0.0.1:8080 -t payments -P -K :
  timestrata kcat -b ./store -L
  timestrata kcat -b ./store -G ledger -t payments -e")]
pub(crate) struct KcatArgs {
    /// As kcat takes them.
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        required = true,
        value_name = "OPTION"
    )]
    words: Vec<String>,
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Mode {
    Consume,
    Produce,
    List,
    Group(String),
}

/// The options that are kcat's own, and all others.
#[derive(Debug, Default, PartialEq, Eq)]
struct Read {
    store: Option<String>,
    topic: Option<String>,
    mode: Option<Mode>,
    others: Vec<String>,
}

/// Options of `consume` and `produce` behind which a value stands.
const WITH_VALUE: &str = "opcfKkHD";

#[derive(Debug, Parser)]
#[command(name = "timestrata kcat", disable_help_flag = true)]
struct Consume {
    #[command(flatten)]
    arguments: consume::ConsumeArgs,
}

#[derive(Debug, Parser)]
#[command(name = "timestrata kcat", disable_help_flag = true)]
struct Produce {
    #[command(flatten)]
    arguments: produce::ProduceArgs,
}

#[derive(Debug, Parser)]
#[command(name = "timestrata kcat", disable_help_flag = true)]
struct List {
    #[command(flatten)]
    arguments: TopicCommand,
}

fn wrong(message: impl Into<String>) -> Failure {
    Failure::usage(
        message,
        "write such as 'timestrata kcat -b STORE -t TOPIC -C -e', or see --help",
    )
}

fn read(words: &[String]) -> Result<Read> {
    let mut read = Read::default();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let mut letters = word.chars();
        let letter = match (letters.next(), letters.next()) {
            (Some('-'), Some(letter)) if letter != '-' => letter,
            _ => {
                read.others.push(word.clone());
                continue;
            }
        };
        // -tNAME and -t NAME.
        let mut value = || {
            let rest = letters.as_str();
            match rest.is_empty() {
                false => Ok(rest.to_owned()),
                true => {
                    words.next().cloned().ok_or_else(|| wrong(format!("-{letter} needs a value")))
                }
            }
        };
        let mode = match letter {
            'b' => {
                read.store = Some(value()?);
                continue;
            }
            't' => {
                read.topic = Some(value()?);
                continue;
            }
            'C' => Mode::Consume,
            'P' => Mode::Produce,
            'L' => Mode::List,
            'G' => Mode::Group(value()?),
            // All is told at once here, and nothing beside the records.
            'q' | 'u' => continue,
            letter if WITH_VALUE.contains(letter) => {
                // Its value may begin with a hyphen, as -o -5.
                let value = value()?;
                read.others.push(format!("-{letter}{value}"));
                continue;
            }
            _ => {
                read.others.push(word.clone());
                continue;
            }
        };
        if read.mode.replace(mode).is_some() {
            return Err(wrong("of -C, -P, -L and -G one can be said"));
        }
    }
    Ok(read)
}

pub(crate) fn run(arguments: &KcatArgs) -> Result<()> {
    let Read { store, topic, mode, others } = read(&arguments.words)?;
    let store = store.ok_or_else(|| wrong("-b says which store"))?;
    let mode = mode.ok_or_else(|| wrong("say what is to be done: -C, -P, -L or -G"))?;
    let named = |topic: Option<String>| topic.ok_or_else(|| wrong("-t says which topic"));
    let ends = |others: &[String]| others.iter().any(|word| word == "-e" || word.starts_with("-c"));
    let mut words: Vec<String> = vec!["timestrata kcat".to_owned()];
    match mode {
        Mode::List => {
            words.extend(["list".to_owned(), store]);
            words.extend(others);
            admin::run(&parsed::<List>(words)?.arguments)
        }
        Mode::Produce => {
            words.extend([store, named(topic)?]);
            words.extend(others);
            produce::run(&parsed::<Produce>(words)?.arguments)
        }
        Mode::Consume | Mode::Group(_) => {
            words.extend([store, named(topic)?]);
            if let Mode::Group(group) = mode {
                words.extend(["--group".to_owned(), group]);
            }
            if !ends(&others) {
                words.push("--follow".to_owned());
            }
            words.extend(others);
            consume::run(&parsed::<Consume>(words)?.arguments)
        }
    }
}

fn parsed<P: Parser>(words: Vec<String>) -> Result<P> {
    P::try_parse_from(words.into_iter().map(OsString::from)).map_err(|error| {
        let text = error.to_string();
        let line = text.lines().next().unwrap_or_default();
        wrong(line.strip_prefix("error: ").unwrap_or(line))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_options_of_kcat_are_told_from_those_of_the_verbs() {
        let words = ["-C", "-b", "./store", "-tpayments", "-o", "-5", "-e", "-f", "%s", "-q"];
        let found = read(&words.map(str::to_owned)).unwrap();
        assert_eq!(found.store.as_deref(), Some("./store"));
        assert_eq!(found.topic.as_deref(), Some("payments"));
        assert_eq!(found.mode, Some(Mode::Consume));
        assert_eq!(found.others, ["-o-5", "-e", "-f%s"]);
        for wrong in [&["-C", "-P"][..], &["-b"], &["-C", "-G", "g"]] {
            let words: Vec<String> = wrong.iter().map(|word| (*word).to_owned()).collect();
            assert!(read(&words).is_err(), "{wrong:?}");
        }
    }
}
