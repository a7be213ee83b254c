//! `Topic.cosign`: what witnesses say that they have seen of a topic's partitions.

use std::collections::BTreeMap;
use std::sync::Arc;

use pyo3::prelude::*;
use timestrata_client::{Server, ServerOptions};
use timestrata_engine::{Error, ErrorKind, Result};
use timestrata_merkle::Witness;
use timestrata_topic::{KeyFile, Topic as TopicModel};

use super::number::maybe_number;
use super::{SigningKey, Topic};
use crate::error::invalid;
use crate::interrupt::asker_stays;

/// One key, or several.
#[derive(FromPyObject)]
enum GivenKeys {
    One(String),
    Several(Vec<String>),
}

impl GivenKeys {
    fn witnesses(&self) -> PyResult<Vec<Witness>> {
        let texts = match self {
            Self::One(text) => std::slice::from_ref(text),
            Self::Several(texts) => texts,
        };
        if texts.is_empty() {
            return Err(invalid("vkey: give at least one key of a witness"));
        }
        let key =
            |text: &String| text.trim().parse().map_err(|error| invalid(format!("vkey: {error}")));
        texts.iter().map(key).collect()
    }
}

#[pymethods]
impl Topic {
    /// Have a witness (C2SP tlog-witness) cosign the last checkpoint of each partition, or of one.
    ///
    /// It holds each checkpoint against the one that it saw before, and signs that the log was only appended to. Its operator
    /// has to know the log: its origin and its key (`log_vkey`). Cosignatures are kept with the checkpoint, and are in
    /// proofs that are made from then on.
    ///
    /// Parameters
    /// ----------
    /// url : str
    ///     Where the witness takes checkpoints: what stands before ``/add-checkpoint``.
    /// vkey : str, or list of str
    ///     The witness's public key; several while it changes keys.
    /// key : SigningKey, optional
    ///     Signs partitions that have records since their last checkpoint first, and keeps the cosignatures beside it, too.
    /// partition : int, optional
    ///     Default: all.
    ///
    /// Returns
    /// -------
    /// dict of int to list of str
    ///     The witnesses that have cosigned the last checkpoint of each partition, by name.
    ///
    /// Raises
    /// ------
    /// ConflictError
    ///     The witness has seen another log of this name: it was changed, or is signed in two places. Other partitions are
    ///     cosigned nevertheless.
    /// NotFoundError
    ///     The witness doesn't know the log.
    /// OutOfRangeError
    ///     There is no checkpoint.
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> payments = timestrata.open().topic("payments")
    /// >>> vkey = "witness.example+82bca4dd+BNdamAGCsQq31Uv+08lkBzoO4XLz2qYjJa8CGmj3B1Ea"
    /// >>> try:
    /// ...     payments.cosign("https://witness.example", vkey)
    /// ... except timestrata.OutOfRangeError:
    /// ...     print("there is no checkpoint to cosign yet")
    /// there is no checkpoint to cosign yet
    #[pyo3(signature = (url, vkey, key=None, partition=None))]
    fn cosign(
        &self,
        py: Python<'_>,
        url: &str,
        vkey: GivenKeys,
        key: Option<&SigningKey>,
        #[pyo3(from_py_with = maybe_number)] partition: Option<u32>,
    ) -> PyResult<BTreeMap<u32, Vec<String>>> {
        let witnesses = vkey.witnesses()?;
        let key = key.map(|key| &key.file);
        self.topic.detached(py, |topic| cosigned(topic, url, &witnesses, key, partition))
    }
}

/// Has partitions cosigned, and says by whom. One that isn't holds up no other.
fn cosigned(
    topic: &TopicModel,
    url: &str,
    witnesses: &[Witness],
    key: Option<&KeyFile>,
    partition: Option<u32>,
) -> Result<BTreeMap<u32, Vec<String>>> {
    let options =
        ServerOptions { is_wanted: Some(Arc::new(asker_stays)), ..ServerOptions::default() };
    let server = Server::new(url, &options)?;
    if let Some(key) = key {
        topic.checkpoint_all(key)?;
    }
    let partitions = match partition {
        Some(partition) => partition..partition.saturating_add(1),
        None => 0..topic.partitions(),
    };
    let (mut seen, mut failed) = (BTreeMap::new(), None);
    for partition in partitions {
        match cosigned_one(topic, &server, witnesses, key, partition) {
            Ok(names) => drop(seen.insert(partition, names)),
            Err(error) => drop(failed.get_or_insert(error)),
        }
    }
    failed.map_or(Ok(seen), Err)
}

fn cosigned_one(
    topic: &TopicModel,
    server: &Server,
    witnesses: &[Witness],
    key: Option<&KeyFile>,
    partition: u32,
) -> Result<Vec<String>> {
    let log = format!("{}/{partition}", topic.name());
    let (asked, answer) = server.cosign(&log, |old| topic.cosignature_request(partition, old))?;
    let names = topic.add_cosignatures(partition, &asked, &answer, witnesses, key)?;
    if names.is_empty() {
        let what = format!(
            "{log}: no signature of the witness's answer is by a key that was given: ask its operator for its key"
        );
        return Err(Error::new(ErrorKind::InvalidArgument, what));
    }
    Ok(names.into_iter().map(|name| name.to_string()).collect())
}
