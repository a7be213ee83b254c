//! The tail struct of a run as text in the file's metadata, and its agreement with what
//! the manifest says of the run.

use std::fmt::Display;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use timestrata_format::{HeaderError, RunMeta, StoreId};
pub(super) use timestrata_format::{RunTail, Zone};

use crate::{Error, ErrorKind, FORMAT_VERSION, LeadKey, LeadKind, Result, Stream};

/// The tail as the value of the metadata entry.
pub(super) fn to_text(tail: &RunTail) -> String {
    STANDARD.encode(tail.encode())
}

/// Reads the metadata entry and holds it against the manifest's word for the run.
///
/// # Errors
/// `UnsupportedVersion` for a newer format; `Corruption` where the entry is missing or
/// unreadable, or is that of another run.
pub(super) fn from_text(
    path: &Path,
    text: Option<&str>,
    store_id: StoreId,
    stream: &Stream,
    meta: &RunMeta,
) -> Result<RunTail> {
    let bad = |message: String| Error::corruption(path, meta.tail_offset, message);
    let text = text
        .ok_or_else(|| bad(format!("not a run: its metadata has no '{}'", super::METADATA_KEY)))?;
    let bytes = STANDARD.decode(text).map_err(|error| {
        let what = format!("bad '{}' in the metadata: not base64", super::METADATA_KEY);
        bad(what).caused_by(error)
    })?;
    let tail = RunTail::decode(&bytes).map_err(|error| match error {
        HeaderError::NewerVersion { found } => Error::new(
            ErrorKind::UnsupportedVersion,
            format!("run of format version {found}; this build reads up to {FORMAT_VERSION}"),
        )
        .at(path),
        HeaderError::Damaged(error) => {
            bad(format!("bad '{}' in the metadata: {error}", super::METADATA_KEY)).caused_by(error)
        }
    })?;
    check_identity(path, &tail, store_id, meta)?;
    check_zones(path, &tail, stream, meta)?;
    Ok(tail)
}

fn check_identity(path: &Path, tail: &RunTail, store_id: StoreId, meta: &RunMeta) -> Result<()> {
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
    same("smallest key", &meta.key_min, &tail.key_min, meta.key_min == tail.key_min)?;
    same("greatest key", &meta.key_max, &tail.key_max, meta.key_max == tail.key_max)?;
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
    let of_kind = |key: LeadKey| {
        matches!(
            (key, stream.lead_kind()),
            (LeadKey::Time(_), LeadKind::Time)
                | (LeadKey::Offset(_), LeadKind::Offset)
                | (LeadKey::Id16(_), LeadKind::Id16)
                | (LeadKey::Id32(_), LeadKind::Id32)
        )
    };
    if !tail.zones.iter().all(|zone| of_kind(zone.key_min) && of_kind(zone.key_max)) {
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
