//! A log held against its model: entries in their order, whole, and what is found among them.

use timestrata_logs::{FieldValue, Logs, Query, Scalar};

use super::session::{LogModel, NAME, WORD};
use crate::subject::{Judgement, Showing, wrong};

/// Holds a snapshot against a model; a log without an entry may be missing if it isn't promised.
pub(super) fn compare(showing: &Showing<'_>, model: &LogModel) -> Judgement<()> {
    let Showing { store, snapshot, is_made } = *showing;
    if store.stream(NAME).is_none() && !is_made && snapshot.seq().0 == 0 {
        return Ok(());
    }
    let view = Logs::open(store, NAME)?.view_of(snapshot.clone())?;
    let wrong = |what: String| wrong(format!("the log {what}"));
    let mut last = i64::MIN;
    let mut expected = model.entries.iter();
    for batch in view.search(&Query::default())? {
        for entry in batch?.iter() {
            if entry.timestamp() <= last {
                return wrong(format!("goes back in time at {last}"));
            }
            last = entry.timestamp();
            let number = match entry.field("n") {
                Some(FieldValue::Scalar(Scalar::Int(number))) => number,
                other => return wrong(format!("has {other:?} for a field")),
            };
            let found = (entry.message().to_owned(), number);
            if expected.next() != Some(&found) {
                return wrong(format!("has an entry {found:?} that is not the next one"));
            }
        }
    }
    if expected.next().is_some() {
        return wrong(format!("lacks entries: {} are expected", model.entries.len()));
    }
    let with_word = model.entries.iter().filter(|(text, _)| text.contains(WORD)).count() as u64;
    let query = Query::of(WORD)?;
    for (what, found, expected) in [
        ("counts", view.len()?, model.entries.len() as u64),
        ("finds a word in", view.count(&query)?, with_word),
    ] {
        if found != expected {
            return wrong(format!("{what} {found} entries, expected {expected}"));
        }
    }
    Ok(())
}
