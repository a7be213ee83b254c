//! `Topic`: its hash trees, and what is signed, proved and published of them.

use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyBytes, PyDict};
use timestrata_engine::Io;
use timestrata_merkle::Hash;
use timestrata_topic::verifier_of_log;

use super::number::{maybe_number, number};
use super::{Proof, SigningKey, Topic};
use crate::path::GivenPath;

#[pymethods]
impl Topic {
    /// Size and root hash of a partition's tree, now or when it had ``size`` records.
    #[pyo3(signature = (partition=0, size=None))]
    fn root<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = number)] partition: u32,
        #[pyo3(from_py_with = maybe_number)] size: Option<u64>,
    ) -> PyResult<(u64, Bound<'py, PyBytes>)> {
        let (size, root) = self.topic.detached(py, |topic| topic.root(partition, size))?;
        Ok((size, PyBytes::new(py, root.as_bytes())))
    }

    /// The hashes that prove a record to be in the tree of ``size`` records (RFC 6962).
    #[pyo3(signature = (offset, size, partition=0))]
    fn inclusion_proof<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = number)] offset: u64,
        #[pyo3(from_py_with = number)] size: u64,
        #[pyo3(from_py_with = number)] partition: u32,
    ) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let proof =
            self.topic.detached(py, |topic| topic.inclusion_proof(partition, offset, size))?;
        Ok(hashes(py, &proof))
    }

    /// The hashes that prove the tree of ``old`` records to be the beginning of that of ``new``.
    #[pyo3(signature = (old, new, partition=0))]
    fn consistency_proof<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = number)] old: u64,
        #[pyo3(from_py_with = number)] new: u64,
        #[pyo3(from_py_with = number)] partition: u32,
    ) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let proof =
            self.topic.detached(py, |topic| topic.consistency_proof(partition, old, new))?;
        Ok(hashes(py, &proof))
    }

    /// The bytes that a record is hashed as (docs/format.md): the entry of its partition's tree.
    #[pyo3(signature = (offset, partition=0))]
    fn entry<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = number)] offset: u64,
        #[pyo3(from_py_with = number)] partition: u32,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let entry = self.topic.detached(py, |topic| topic.entry(partition, offset))?;
        Ok(PyBytes::new(py, &entry))
    }

    /// Sign what a partition is now, and give the checkpoint, a signed note.
    ///
    /// It is stored too, and beside the key: a store that doesn't go on from there signs no other.
    ///
    /// Raises
    /// ------
    /// ConflictError
    ///     The partition doesn't begin with what was signed last: it was changed, or put back to an
    ///     older copy.
    #[pyo3(signature = (key, partition=0))]
    fn checkpoint(
        &self,
        py: Python<'_>,
        key: &SigningKey,
        #[pyo3(from_py_with = number)] partition: u32,
    ) -> PyResult<String> {
        self.topic.detached(py, |topic| topic.checkpoint_by(partition, &key.file))
    }

    /// Sign every partition that has records since its last checkpoint, with one sync. Gives the last checkpoint of each
    /// partition.
    ///
    /// Raises
    /// ------
    /// ConflictError
    ///     A partition doesn't begin with what was signed last. The others are signed nevertheless.
    ///
    /// Examples
    /// --------
    /// >>> import tempfile, timestrata
    /// >>> folder = tempfile.TemporaryDirectory()
    /// >>> key = timestrata.SigningKey.generate(folder.name + "/key", "example.org/log")
    /// >>> payments = timestrata.open().topic("payments", partitions=2)
    /// >>> [note.splitlines()[0] for note in payments.checkpoint_all(key)]
    /// ['example.org/log/payments/0', 'example.org/log/payments/1']
    /// >>> folder.cleanup()
    fn checkpoint_all(&self, py: Python<'_>, key: &SigningKey) -> PyResult<Vec<String>> {
        let signed = self.topic.detached(py, |topic| topic.checkpoint_all(&key.file))?;
        Ok(signed.into_iter().map(|each| each.note).collect())
    }

    /// The public key of a partition's log, as software of others verifies its checkpoints:
    /// ``KEYNAME/TOPIC/PARTITION+NUMBER+BASE64``. `verify` takes this and the key's own.
    ///
    /// Examples
    /// --------
    /// >>> import tempfile, timestrata
    /// >>> folder = tempfile.TemporaryDirectory()
    /// >>> key = timestrata.SigningKey.generate(folder.name + "/key", "example.org/log")
    /// >>> timestrata.open().topic("payments").log_vkey(key).split("+")[0]
    /// 'example.org/log/payments/0'
    /// >>> folder.cleanup()
    #[pyo3(signature = (key, partition=0))]
    fn log_vkey(
        &self,
        py: Python<'_>,
        key: &SigningKey,
        #[pyo3(from_py_with = number)] partition: u32,
    ) -> PyResult<String> {
        self.topic
            .detached(py, |topic| {
                // A partition that isn't there has no log.
                topic.offsets(partition)?;
                verifier_of_log(key.file.signer().verifier(), topic.name(), partition)
            })
            .map(|key| key.to_string())
    }

    /// The checkpoint that was signed last; None if none was.
    #[pyo3(signature = (partition=0))]
    fn last_checkpoint(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = number)] partition: u32,
    ) -> PyResult<Option<String>> {
        let note = self.topic.detached(py, |topic| topic.last_checkpoint(partition))?;
        Ok(note.map(|note| String::from_utf8_lossy(&note).into_owned()))
    }

    /// The proof that a record is in its partition, by the last checkpoint.
    ///
    /// Raises
    /// ------
    /// OutOfRangeError
    ///     The last checkpoint doesn't have it yet, or there is none.
    #[pyo3(signature = (offset, partition=0))]
    fn prove(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = number)] offset: u64,
        #[pyo3(from_py_with = number)] partition: u32,
    ) -> PyResult<Proof> {
        self.topic.detached(py, |topic| topic.prove(partition, offset)).map(Proof)
    }

    /// Write a partition, as it was at its last checkpoint, as the files of C2SP's tlog-tiles. Gives
    /// ``{"size": records, "tiles": files, "gone": files of entries that are not all kept}``.
    #[pyo3(signature = (path, partition=0))]
    fn export_tiles<'py>(
        &self,
        py: Python<'py>,
        path: GivenPath,
        #[pyo3(from_py_with = number)] partition: u32,
    ) -> PyResult<Bound<'py, PyDict>> {
        let done = self
            .topic
            .interruptible(py, move |topic| topic.export_tiles(&Io::os(), partition, &path.0))?;
        [("size", done.size), ("tiles", done.tiles), ("gone", done.gone)].into_py_dict(py)
    }

    /// Hold each record of a partition against the hash of the day it was appended, the hashes against
    /// each other, and all against the last checkpoint. Gives how many records were looked at.
    ///
    /// Raises
    /// ------
    /// CorruptionError
    ///     A record, a hash or the checkpoint is another than it was; it says which.
    ///
    /// Examples
    /// --------
    /// >>> import timestrata
    /// >>> payments = timestrata.open().topic("payments")
    /// >>> receipts = payments.send_batch([{"key": "ada", "value": "10"}, {"key": "bob", "value": "20"}])
    /// >>> payments.audit()
    /// 2
    #[pyo3(signature = (partition=0))]
    fn audit(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = number)] partition: u32,
    ) -> PyResult<u64> {
        self.topic
            .interruptible(py, move |topic| topic.audit(partition))
            .map(|audited| audited.records)
    }
}

fn hashes<'py>(py: Python<'py>, proof: &[Hash]) -> Vec<Bound<'py, PyBytes>> {
    proof.iter().map(|hash| PyBytes::new(py, hash.as_bytes())).collect()
}
