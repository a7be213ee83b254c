//! Names of streams: the rules for topics, groups, graphs and logs (Kafka's, so that a name can be part of
//! a file name or a URL), and finding streams by name and model.

use std::fmt::Debug;
use std::sync::Arc;

use timestrata_engine::{Durability, Error, ErrorKind, Result, Store, Stream, StreamId};

/// Longest name.
pub const NAME_BYTES_MAX: usize = 249;
/// How much of a wrong name an error repeats.
const SHOWN_CHARS_MAX: usize = 60;

/// An error for a name that can't be; `what` has it.
///
/// # Errors
/// `InvalidArgument`.
pub fn check(what: &str, name: &str) -> Result<()> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    let fits = (1..=NAME_BYTES_MAX).contains(&name.len()) && name.bytes().all(is_plain);
    if fits && name != "." && name != ".." && !name.starts_with("__") {
        return Ok(());
    }
    let shown: String = name.chars().take(SHOWN_CHARS_MAX).collect();
    Err(Error::new(
        ErrorKind::InvalidArgument,
        format!(
            "{what} {shown:?} ({} bytes): must be 1 to {NAME_BYTES_MAX} of A-Z a-z 0-9 . _ -, not \
             '.' or '..', and not begin with two underscores",
            name.len()
        ),
    ))
}

/// The property of a stream that says whose it is.
pub const MODEL_PROPERTY: &str = "model";

/// An error unless a stream is of a model; `what` is what people call one of those.
///
/// # Errors
/// `InvalidArgument`.
pub fn expect_model(stream: &Stream, what: &str, model: &str) -> Result<()> {
    let why = match stream.property(MODEL_PROPERTY) {
        Some(found) if found == model => return Ok(()),
        Some(other) => format!("its model is '{other}'"),
        None => "it has no model".to_owned(),
    };
    let message = format!("stream '{}' is not a {what}; {why}", stream.name());
    Err(Error::new(ErrorKind::InvalidArgument, message))
}

/// Names of the streams that `is_wanted`, in order.
pub fn all(store: &Store, is_wanted: impl Fn(&Stream) -> bool) -> Vec<String> {
    let streams = store.streams();
    let wanted = streams.iter().filter(|stream| is_wanted(stream));
    wanted.map(|stream| stream.name().to_owned()).collect()
}

/// What a word stands for, among those that there are.
///
/// # Errors
/// `InvalidArgument`, with all of them.
pub fn of_word<T: Copy>(what: &str, word: &str, all: &[(&'static str, T)]) -> Result<T> {
    if let Some((_, found)) = all.iter().find(|(known, _)| *known == word) {
        return Ok(*found);
    }
    let words: Vec<String> = all.iter().map(|(known, _)| format!("'{known}'")).collect();
    let (last, others) = words.split_last().map_or(("", &[][..]), |(last, rest)| (last, rest));
    let message = format!("{what} '{word}': must be {} or {last}", others.join(", "));
    Err(Error::new(ErrorKind::InvalidArgument, message))
}

/// The stream of this name, which is what somebody opens.
///
/// # Errors
/// `InvalidArgument` for a name that can't be, `NotFound` if the store has none.
pub fn stream(store: &Store, what: &str, name: &str) -> Result<Arc<Stream>> {
    check(what, name)?;
    store.stream(name).ok_or_else(|| not_found(store, what, name))
}

/// The error of what a store doesn't have.
pub fn not_found(store: &Store, what: &str, name: &str) -> Error {
    let place = store.path().map(|path| format!(" in {}", path.display()));
    let message = format!("no {what} '{name}'{}", place.unwrap_or_default());
    Error::new(ErrorKind::NotFound, message)
}

/// The stream of somebody who opened it earlier, if it is still there: one of its name may be another.
///
/// # Errors
/// `NotFound`.
pub fn still_there(store: &Store, what: &str, name: &str, id: StreamId) -> Result<Arc<Stream>> {
    store.stream_of(id).map_err(|_| removed(what, name))
}

/// The error of what was removed since it was opened.
pub fn removed(what: &str, name: &str) -> Error {
    let message = format!(
        "{what} '{name}' was removed; one of that name that was made since has to be opened anew"
    );
    Error::new(ErrorKind::NotFound, message)
}

/// What `create` says of what exists already: that it is there, which a store that takes no writes any
/// more says of nothing. One that is opened for reading makes nothing, and opens what there is.
///
/// # Errors
/// `Poisoned`, `Closed`; those of the disk where it was made for a commit that is not durable yet.
pub fn acknowledge_existing(store: &Store, name: &str) -> Result<()> {
    if store.is_read_only() {
        return Ok(());
    }
    store.acknowledge(Durability::Written)?;
    // But for what was made for a commit it was durable before anybody could see it.
    store.settle_stream(name)
}

/// An error unless what was made earlier was made as it is asked for now.
///
/// # Errors
/// `AlreadyExists`.
pub fn expect_same<T: Debug + PartialEq>(
    what: &str,
    name: &str,
    found: &T,
    asked: &T,
) -> Result<()> {
    match found == asked {
        true => Ok(()),
        false => Err(Error::new(
            ErrorKind::AlreadyExists,
            format!("{what} '{name}' exists with {found:?}; {asked:?} was asked for"),
        )),
    }
}
