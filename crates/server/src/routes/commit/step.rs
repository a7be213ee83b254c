//! A step of a commit: a JSON object that names a stream by its model, and what is to change there.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::auth::Right;
use crate::endpoint::shown;
use crate::error::{Failure, Result};

/// Whose stream it is, by the word that changes have for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Model {
    Table,
    Logs,
    Topic,
    Graph,
    Timelog,
}

const MODELS: [(&str, Model); 5] = [
    ("table", Model::Table),
    ("logs", Model::Logs),
    ("topic", Model::Topic),
    ("graph", Model::Graph),
    ("timelog", Model::Timelog),
];

/// One step, whose members are taken one by one.
#[derive(Debug)]
pub(super) struct Step<'b> {
    /// Which one it is, from 1 on.
    pub(super) place: usize,
    pub(super) model: Model,
    pub(super) name: String,
    members: BTreeMap<String, &'b RawValue>,
}

impl<'b> Step<'b> {
    /// The steps that lines are, but for empty ones.
    ///
    /// # Errors
    /// `400` that tells which step is none.
    pub(super) fn all(lines: &'b [u8]) -> Result<Vec<Self>> {
        let lines = lines.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
        let steps = (1..).zip(lines).map(|(place, line)| {
            Self::of(place, line)
                .map_err(|why| Failure::bad_request(format!("step {place}: {why}")))
        });
        steps.collect()
    }

    fn of(place: usize, line: &'b [u8]) -> std::result::Result<Self, String> {
        let mut members: BTreeMap<String, &RawValue> = serde_json::from_slice(line)
            .map_err(|error| format!("it is no JSON object: {error}"))?;
        let named = MODELS.iter().filter(|(word, _)| members.contains_key(*word));
        let (word, model) = match named.copied().collect::<Vec<_>>().as_slice() {
            [(word, model)] => (*word, *model),
            _ => {
                let words = MODELS.map(|(word, _)| word).join(", ");
                return Err(format!("it names one stream, by one of {words}"));
            }
        };
        let name = members.remove(word).map(|name| serde_json::from_str(name.get()));
        let Some(Ok(name)) = name else { return Err(format!("{word} must be a name")) };
        // One that is null is as one that is missing.
        members.retain(|_, value| value.get() != "null");
        Ok(Self { place, model, name, members })
    }

    /// What its caller must be allowed.
    pub(super) fn right(&self) -> Right {
        // Whoever reads says how far.
        if self.is_consumed() { Right::Read } else { Right::Write }
    }

    /// Whether it says how far a topic has been read.
    pub(super) fn is_consumed(&self) -> bool {
        self.model == Model::Topic && self.members.contains_key("group")
    }

    /// A member as it came.
    pub(super) fn raw(&mut self, name: &str) -> Option<&'b str> {
        self.members.remove(name).map(RawValue::get)
    }

    /// A member; `None` where it is missing or null.
    ///
    /// # Errors
    /// `400` where it is not as `expected`.
    pub(super) fn take<T: DeserializeOwned>(
        &mut self,
        name: &str,
        expected: &str,
    ) -> Result<Option<T>> {
        let Some(raw) = self.raw(name) else { return Ok(None) };
        let read = serde_json::from_str(raw);
        read.map(Some).map_err(|_| {
            Failure::bad_request(format!("{name} must be {expected}, not {}", shown(raw)))
        })
    }

    pub(super) fn text(&mut self, name: &str) -> Result<Option<String>> {
        self.take(name, "text")
    }

    /// A whole number from 0 on.
    pub(super) fn number<T: TryFrom<u64>>(&mut self, name: &str) -> Result<Option<T>> {
        let expected = "a whole number from 0 on that is not too large";
        let Some(number) = self.take::<u64>(name, expected)? else { return Ok(None) };
        let refused = || Failure::bad_request(format!("{name} must be {expected}, not {number}"));
        T::try_from(number).map(Some).map_err(|_| refused())
    }

    /// One of some words.
    pub(super) fn word<T: Copy>(&mut self, name: &str, words: &[(&str, T)]) -> Result<Option<T>> {
        let Some(given) = self.text(name)? else { return Ok(None) };
        let known = words.iter().find(|(word, _)| *word == given);
        known.map(|(_, value)| Some(*value)).ok_or_else(|| {
            let list: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            Failure::bad_request(format!(
                "{name} must be {}, not {}",
                list.join(" or "),
                shown(&given)
            ))
        })
    }

    /// The ends of a range of times, each as text, of which a missing one is open.
    ///
    /// # Errors
    /// `400` for what is no such object, and for one without an end that is not `"all"`.
    pub(super) fn deleted(&mut self) -> Result<Option<[Option<String>; 2]>> {
        let expected = "\"all\", or an object with from or to";
        let wrong = |found: &Value| {
            Failure::bad_request(format!(
                "delete must be {expected}, not {}",
                shown(&found.to_string())
            ))
        };
        let Some(range) = self.take::<Value>("delete", expected)? else { return Ok(None) };
        if range == "all" {
            return Ok(Some([None, None]));
        }
        let ends =
            range.as_object().filter(|ends| !ends.is_empty()).ok_or_else(|| wrong(&range))?;
        let is_known = |name: &String| matches!(name.as_str(), "from" | "to");
        if !ends.keys().all(is_known) || ends.values().all(Value::is_null) {
            return Err(wrong(&range));
        }
        let end = |name| match ends.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(Value::Number(number)) => Ok(Some(number.to_string())),
            Some(_) => Err(wrong(&range)),
        };
        Ok(Some([end("from")?, end("to")?]))
    }

    /// Refuses members that nobody took.
    ///
    /// # Errors
    /// `400` that names one, and `known` ones.
    pub(super) fn finish(self, known: &str) -> Result<()> {
        match self.members.keys().next() {
            None => Ok(()),
            Some(name) => {
                let name = shown(name);
                Err(Failure::bad_request(format!(
                    "there is no member '{name}' here; there are {known}"
                )))
            }
        }
    }
}
