//! Files of formats, in TOML.

use std::collections::BTreeMap;

use regex::Regex;
use serde::Deserialize;
use timestrata_engine::{Error, ErrorKind, Result};
use timestrata_logs::Level;
use timestrata_values::time_format::TimeFormat;

use super::{MESSAGE, Pattern, anchored};
use crate::lines::Format;

const NAME_BYTES_MAX: usize = 40;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    format: Vec<Described>,
}

/// A format as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Described {
    name: String,
    /// What its lines are called, in the plural.
    lines: Option<String>,
    pattern: String,
    #[serde(default)]
    time: OneOrMore,
    #[serde(default)]
    levels: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMore {
    One(String),
    More(Vec<String>),
}

impl OneOrMore {
    fn list(&self) -> &[String] {
        match self {
            Self::One(one) => std::slice::from_ref(one),
            Self::More(all) => all,
        }
    }
}

impl Default for OneOrMore {
    fn default() -> Self {
        Self::More(Vec::new())
    }
}

/// The formats of a file that is known to be right: to try all expressions takes longer than to read a small log.
pub(super) fn known_patterns(text: &str) -> Result<Vec<Pattern>> {
    read(text, "known.toml", |_| Ok(()))
}

/// The formats of a file.
///
/// # Errors
/// `InvalidArgument` that says which of them is wrong, and what of it.
pub(super) fn patterns(text: &str, file: &str) -> Result<Vec<Pattern>> {
    read(text, file, Described::check)
}

fn read(
    text: &str,
    file: &str,
    check: impl Fn(&Described) -> std::result::Result<(), String>,
) -> Result<Vec<Pattern>> {
    let wrong = |what: String| Error::new(ErrorKind::InvalidArgument, format!("{file}: {what}"));
    let read: File =
        toml::from_str(text).map_err(|error| wrong(error.to_string().trim_end().to_owned()))?;
    let mut patterns: Vec<Pattern> = Vec::new();
    for described in read.format {
        let name = described.name.clone();
        let pattern = check(&described).and_then(|()| described.pattern());
        let pattern = pattern.map_err(|what| wrong(format!("format {name:?}: {what}")))?;
        if patterns.iter().any(|known| known.name.eq_ignore_ascii_case(&name)) {
            return Err(wrong(format!("format {name:?} is there twice")));
        }
        patterns.push(pattern);
    }
    Ok(patterns)
}

impl Described {
    /// Says what is wrong with it, but for what [`pattern`](Self::pattern) does.
    fn check(&self) -> std::result::Result<(), String> {
        check_name(&self.name)?;
        let whole =
            |pattern: &str| Regex::new(pattern).map_err(|error| format!("pattern: {error}"));
        // First as it was written, so that what is wrong is shown so.
        let regex = whole(&self.pattern).and(whole(&anchored(&self.pattern)))?;
        let has = |group: &str| regex.capture_names().flatten().any(|name| name == group);
        if regex.captures_len() != regex.capture_names().flatten().count() + 1 {
            return Err("pattern: a group without a name says nothing: write (?:...)".to_owned());
        }
        if !has("message") && !self.pattern.ends_with(MESSAGE) {
            return Err("pattern: it has no group (?<message>...)".to_owned());
        }
        if self.time.list().is_empty() == has("time") {
            return Err("a pattern with a group (?<time>...) has a `time`, which says how it is \
                        written, and no other has one"
                .to_owned());
        }
        Ok(())
    }

    fn pattern(self) -> std::result::Result<Pattern, String> {
        let times = self.time.list().iter().map(|time| TimeFormat::new(time));
        let times = times.collect::<Result<_>>().map_err(|error| error.message().to_owned())?;
        let level = |(word, name): (String, String)| match Level::of_name(name.as_bytes()) {
            Some(level) => Ok((word, level)),
            None => Err(format!("levels: {word} = {name:?}: there is no such level")),
        };
        let levels = self.levels.into_iter().map(level).collect::<std::result::Result<_, _>>()?;
        let noun = self.lines.unwrap_or_else(|| format!("in the format {}", self.name));
        let regex = std::sync::OnceLock::new();
        Ok(Pattern { name: self.name, noun, text: self.pattern, times, levels, regex })
    }
}

fn check_name(name: &str) -> std::result::Result<(), String> {
    let is_plain =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_".contains(&byte);
    if name.is_empty() || name.len() > NAME_BYTES_MAX || !name.bytes().all(is_plain) {
        return Err(format!("a name is 1 to {NAME_BYTES_MAX} of a-z, 0-9, - and _"));
    }
    match Format::CODED.iter().any(|format| format.name() == name) {
        true => Err("the name is that of a format which is read by code of its own".to_owned()),
        false => Ok(()),
    }
}
