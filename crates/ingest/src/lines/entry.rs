//! An entry as JSON says it where all of its parts are named, which is how answers have them.

use arrow_schema::{DataType, TimeUnit};
use jiter::{Jiter, JiterError, Peek};
use timestrata_logs::NewEntry;
use timestrata_values::time::parse as parse_time;

use super::json::{JsonFlaw, read_object};
use super::members::Members;

/// Reads an object with the parts of an entry: `message`, and maybe `level`, `source_time` (text, or nanoseconds),
/// `labels` and `fields`. What an entry that was read says of its place (`timestamp`, `position`) is passed over.
///
/// ```
/// use timestrata_ingest::lines::{Members, read_entry};
/// use timestrata_logs::NewEntry;
///
/// let line = br#"{"message":"slow","labels":{"host":"a"},"fields":{"level":"high","ms":812}}"#;
/// let mut entry = NewEntry::default();
/// read_entry(line, &mut entry, &mut Members::default()).unwrap();
/// assert_eq!((entry.message.as_str(), entry.level), ("slow", None));
/// assert_eq!((entry.labels.get("host"), entry.fields.len()), (Some("a"), 2));
/// ```
///
/// # Errors
/// What is wrong, as text; `entry` may have anything then.
pub fn read_entry(line: &[u8], entry: &mut NewEntry, members: &mut Members) -> Result<(), String> {
    entry.clear();
    let mut json = Jiter::new(line);
    let mut has_message = false;
    let said = |error: JiterError| format!("no JSON: {error}");
    if json.peek().map_err(said)? != Peek::Object {
        return Err("an entry must be an object".to_owned());
    }
    let mut name = json.known_object().map_err(said)?;
    while let Some(known) = name {
        let part = known.to_owned();
        let peek = json.peek().map_err(said)?;
        match (part.as_str(), peek) {
            ("message", Peek::String) => {
                has_message = true;
                entry.message.clear();
                entry.message.push_str(json.known_str().map_err(said)?);
            }
            ("level", Peek::String) => {
                let level = json.known_str().map_err(said)?.parse();
                entry.level = Some(
                    level.map_err(|error: timestrata_engine::Error| error.message().to_owned())?,
                );
            }
            ("source_time", _) if peek != Peek::Null => {
                entry.source_time = Some(time(&mut json, peek)?);
            }
            ("labels", Peek::Object) => labels(&mut json, entry)?,
            ("fields", Peek::Object) => {
                read_object(&mut json, members).map_err(|flaw| why(&flaw))?;
                for member in members.iter() {
                    entry.fields.item(member.name, |out| out.extend_from_slice(member.value));
                }
            }
            ("level" | "source_time" | "labels" | "fields", Peek::Null)
            | ("timestamp" | "position", _) => json.known_skip(peek).map_err(said)?,
            ("message" | "level", _) => return Err(format!("'{part}' must be text")),
            ("labels" | "fields", _) => return Err(format!("'{part}' must be an object")),
            _ => {
                let shown: String = part.chars().take(40).collect();
                return Err(format!(
                    "an entry has no part {shown:?}: it has message, level, source_time, labels and fields; put \
                     it among the fields"
                ));
            }
        }
        name = json.next_key().map_err(said)?;
    }
    json.finish().map_err(said)?;
    if has_message { Ok(()) } else { Err("an entry has no message".to_owned()) }
}

fn why(flaw: &JsonFlaw) -> String {
    match flaw {
        JsonFlaw::Malformed(error) => format!("no JSON: {error}"),
        JsonFlaw::TooDeep => "too many objects and lists in each other".to_owned(),
        JsonFlaw::NumberOutOfRange => "a number beyond those of 64 bits".to_owned(),
    }
}

fn time(json: &mut Jiter<'_>, peek: Peek) -> Result<i64, String> {
    let wrong = "'source_time' must be a time as text, or a whole number of nanoseconds";
    let kind = DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into()));
    let found = match peek {
        Peek::String => json.known_str().ok().and_then(|text| parse_time(text, &kind).ok()),
        _ if peek.is_num() => {
            let digits = json.known_number_bytes(peek).ok();
            digits.and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok())
        }
        _ => None,
    };
    found.ok_or_else(|| wrong.to_owned())
}

fn labels(json: &mut Jiter<'_>, entry: &mut NewEntry) -> Result<(), String> {
    let said = |error: JiterError| format!("no JSON: {error}");
    let mut name = json.known_object().map_err(said)?;
    while let Some(known) = name {
        let label = known.to_owned();
        if json.peek().map_err(said)? != Peek::String {
            return Err(format!("label {label:?} must be text"));
        }
        let value = json.known_str().map_err(said)?;
        let set = entry.labels.set(&label, value);
        set.map_err(|error| error.message().to_owned())?;
        name = json.next_key().map_err(said)?;
    }
    Ok(())
}
