//! The tail struct of a run as text in the file's metadata, and its agreement with what
//! the manifest says of the run.

use std::fmt::Display;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use timestrata_format::{
    HeaderError, LeadKey, RunAggregates, RunFormat, RunLayout, RunMeta, RunOrigin, StoreId,
    WordFilters,
};
pub(super) use timestrata_format::{RunTail, Zone};

use super::sink::Sums;
use super::{AGGREGATES_KEY, LAYOUT_KEY, METADATA_KEY, ORIGIN_KEY, WORDS_KEY};
use crate::{Error, ErrorKind, FORMAT_VERSION, Result, Stream};

/// What the manifest says of the run that a tail is of.
pub(super) fn meta_of(
    tail: &RunTail,
    format: RunFormat,
    level: u8,
    created_wall_ns: i64,
    sums: &Sums,
) -> RunMeta {
    RunMeta {
        id: tail.run_id,
        stream: tail.stream_id,
        format,
        level,
        key_min: tail.key_min,
        key_max: tail.key_max,
        seq_min: tail.seq_min,
        seq_max: tail.seq_max,
        tombstones_applied_through: tail.tombstones_applied_through,
        rows: tail.rows,
        delete_markers: tail.delete_markers,
        file_bytes: sums.file_bytes,
        file_crc: sums.file_crc,
        tail_offset: tail.data_bytes,
        tail_crc: sums.tail_crc,
        created_wall_ns,
    }
}

/// Bytes as the value of a metadata entry.
pub(super) fn to_text(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// Reads a metadata entry's value.
///
/// # Errors
/// `UnsupportedVersion` for a newer format; `Corruption` where it is unreadable.
fn entry<T>(
    (path, offset): (&Path, u64),
    key: &str,
    text: &str,
    decode: impl FnOnce(&[u8]) -> std::result::Result<T, HeaderError>,
) -> Result<T> {
    let bad = |message: String| Error::corruption(path, offset, message);
    let bytes = STANDARD.decode(text).map_err(|error| {
        bad(format!("bad '{key}' in the metadata: not base64")).caused_by(error)
    })?;
    decode(&bytes).map_err(|error| match error {
        HeaderError::NewerVersion { found } => Error::new(
            ErrorKind::UnsupportedVersion,
            format!("run of format version {found}; this build reads up to {FORMAT_VERSION}"),
        )
        .at(path),
        HeaderError::Damaged(error) => {
            bad(format!("bad '{key}' in the metadata: {error}")).caused_by(error)
        }
    })
}

/// Reads the metadata entry and holds it against the manifest's word for the run. The file's times may be of a unit of which
/// one is `factor` of the stream's of today, which are those of the manifest.
///
/// # Errors
/// `UnsupportedVersion` for a newer format; `Corruption` where the entry is missing or
/// unreadable, or is that of another run.
pub(super) fn from_text(
    path: &Path,
    text: Option<&str>,
    store_id: StoreId,
    (stream, factor): (&Stream, i64),
    meta: &RunMeta,
) -> Result<RunTail> {
    let tail = of_file(path, meta.tail_offset, text)?;
    check_identity(path, &tail, store_id, meta, factor)?;
    check_zones(path, &tail, stream, meta)?;
    Ok(tail)
}

/// Reads the metadata entry of a file, whatever run it is of; `offset` is where errors say it is.
///
/// # Errors
/// `UnsupportedVersion` for a newer format; `Corruption` where the entry is missing or unreadable.
pub(super) fn of_file(path: &Path, offset: u64, text: Option<&str>) -> Result<RunTail> {
    let missing = || {
        let message = format!("not a run: its metadata has no '{METADATA_KEY}'");
        Error::corruption(path, offset, message)
    };
    entry((path, offset), METADATA_KEY, text.ok_or_else(missing)?, RunTail::decode)
}

/// Reads where a run's word filters lie, one for each of its blocks.
///
/// # Errors
/// As [`from_text`].
pub(super) fn word_filters(
    path: &Path,
    text: &str,
    blocks: usize,
    meta: &RunMeta,
) -> Result<WordFilters> {
    let place = (path, meta.tail_offset);
    let words = entry(place, WORDS_KEY, text, WordFilters::decode)?;
    match words.lengths.len() == blocks {
        true => Ok(words),
        false => Err(Error::corruption(
            path,
            meta.tail_offset,
            format!("a run has {blocks} blocks and {} word filters", words.lengths.len()),
        )),
    }
}

/// Reads where a run comes from; `None` where an earlier build has written it.
///
/// # Errors
/// As [`from_text`].
pub(super) fn origin(path: &Path, offset: u64, text: Option<&str>) -> Result<Option<RunOrigin>> {
    text.map(|text| entry((path, offset), ORIGIN_KEY, text, RunOrigin::decode)).transpose()
}

/// Reads how rows and columns are stored; `None` where they are as the stream has them.
///
/// # Errors
/// As [`from_text`].
pub(super) fn layout(path: &Path, offset: u64, text: Option<&str>) -> Result<Option<RunLayout>> {
    text.map(|text| entry((path, offset), LAYOUT_KEY, text, RunLayout::decode)).transpose()
}

/// Reads where a run's aggregates lie; `None` where it has none.
///
/// # Errors
/// As [`from_text`].
pub(super) fn aggregates(
    path: &Path,
    offset: u64,
    text: Option<&str>,
) -> Result<Option<RunAggregates>> {
    text.map(|text| entry((path, offset), AGGREGATES_KEY, text, RunAggregates::decode)).transpose()
}

/// A key of a file as one of its stream's of today.
///
/// # Errors
/// `Corruption` for a time that can't be told in the stream's unit: no such unit was ever given to a stream with it.
pub(super) fn key_of_today(path: &Path, key: LeadKey, factor: i64) -> Result<LeadKey> {
    let today = if factor == 1 { Some(key) } else { key.in_finer_unit(factor) };
    today.ok_or_else(|| {
        let message = format!("a run has the time {key}, too far for the unit of its stream");
        Error::corruption(path, 0, message)
    })
}

/// Zone maps of a file as those of its stream of today.
///
/// # Errors
/// As [`key_of_today`].
pub(super) fn zones_of_today(path: &Path, zones: Vec<Zone>, factor: i64) -> Result<Vec<Zone>> {
    if factor == 1 {
        return Ok(zones);
    }
    let today = |key| key_of_today(path, key, factor);
    let refined = |zone: Zone| {
        Ok(Zone { key_min: today(zone.key_min)?, key_max: today(zone.key_max)?, ..zone })
    };
    zones.into_iter().map(refined).collect()
}

fn check_identity(
    path: &Path,
    tail: &RunTail,
    store_id: StoreId,
    meta: &RunMeta,
    factor: i64,
) -> Result<()> {
    let same = |what: &str, expected: &dyn Display, found: &dyn Display, equal: bool| {
        if equal {
            return Ok(());
        }
        let message = format!("not the run expected here: {what} should be {expected}, is {found}");
        Err(Error::corruption(path, meta.tail_offset, message))
    };
    same("store", &store_id, &tail.store_id, store_id == tail.store_id)?;
    same("stream", &meta.stream, &tail.stream_id, meta.stream == tail.stream_id)?;
    same("run", &meta.id, &tail.run_id, meta.id == tail.run_id)?;
    let key_min = key_of_today(path, tail.key_min, factor)?;
    let key_max = key_of_today(path, tail.key_max, factor)?;
    same("smallest key", &meta.key_min, &key_min, meta.key_min == key_min)?;
    same("greatest key", &meta.key_max, &key_max, meta.key_max == key_max)?;
    for (what, expected, found) in [
        ("oldest commit", meta.seq_min.0, tail.seq_min.0),
        ("newest commit", meta.seq_max.0, tail.seq_max.0),
        (
            "last tombstone applied",
            meta.tombstones_applied_through.0,
            tail.tombstones_applied_through.0,
        ),
        ("number of rows", meta.rows, tail.rows),
        ("number of delete markers", meta.delete_markers, tail.delete_markers),
        ("length of data", meta.tail_offset, tail.data_bytes),
    ] {
        same(what, &expected, &found, expected == found)?;
    }
    Ok(())
}

/// Zone maps must be of the stream's kind of key, in order, and add up to the run.
fn check_zones(path: &Path, tail: &RunTail, stream: &Stream, meta: &RunMeta) -> Result<()> {
    let bad = |message: &str| Err(Error::corruption(path, meta.tail_offset, message));
    let kind = stream.lead_kind();
    if !tail.zones.iter().all(|zone| kind.has(zone.key_min) && kind.has(zone.key_max)) {
        return bad("zone maps have another kind of key than the stream");
    }
    let sound = |zone: &Zone| zone.rows > 0 && zone.key_min <= zone.key_max;
    if !tail.zones.iter().all(sound)
        || !tail.zones.is_sorted_by(|one, next| one.key_max <= next.key_min)
    {
        return bad("zone maps are not in order");
    }
    let rows: u64 = tail.zones.iter().map(|zone| u64::from(zone.rows)).sum();
    if rows != tail.rows {
        return bad("zone maps don't add up to the number of rows");
    }
    let ends = (tail.zones.first().map(|z| z.key_min), tail.zones.last().map(|z| z.key_max));
    if ends != (Some(tail.key_min), Some(tail.key_max)) {
        return bad("zone maps don't reach from the smallest to the greatest key");
    }
    Ok(())
}
