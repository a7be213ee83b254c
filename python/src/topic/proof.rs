//! Keys, proofs, and whether they hold.

use std::path::PathBuf;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};
use timestrata_engine::Io;
use timestrata_merkle::{Hash, Note, TextError, TlogProof, Verifier};
use timestrata_topic::{KeyFile, verify_record};

use super::arguments::GivenRecord;
use crate::error::{invalid, to_python};
use crate::path::GivenPath;

/// A private key that signs checkpoints, in a file outside of the store.
///
/// Examples
/// --------
/// >>> import tempfile, timestrata
/// >>> path = tempfile.mkdtemp() + "/key"
/// >>> key = timestrata.SigningKey.generate(path, "example.org/log")
/// >>> key.vkey == timestrata.SigningKey.open(path).vkey
/// True
#[pyclass(frozen, module = "timestrata", weakref)]
#[derive(Debug)]
pub(crate) struct SigningKey {
    pub(super) file: KeyFile,
    path: PathBuf,
}

#[pymethods]
impl SigningKey {
    /// Make a new key in a file that isn't there yet, which nobody else may read.
    ///
    /// Parameters
    /// ----------
    /// path : path
    /// name : str
    ///     What signatures call it by, best a domain and path of yours; no spaces, no plus sign.
    #[staticmethod]
    fn generate(path: GivenPath, name: &str) -> PyResult<Self> {
        let GivenPath(path) = path;
        let file = KeyFile::generate(&Io::os(), &path, name).map_err(to_python)?;
        Ok(Self { file, path })
    }

    /// The key in a file.
    #[staticmethod]
    fn open(path: GivenPath) -> PyResult<Self> {
        let GivenPath(path) = path;
        let file = KeyFile::open(&Io::os(), &path).map_err(to_python)?;
        Ok(Self { file, path })
    }

    /// Its name.
    #[getter]
    fn name(&self) -> String {
        self.file.signer().verifier().name().to_string()
    }

    /// Its public half as text, for those who verify: ``NAME+NUMBER+BASE64``.
    #[getter]
    fn vkey(&self) -> String {
        self.file.signer().verifier().to_string()
    }

    /// Its file.
    #[getter]
    fn path(&self) -> PathBuf {
        self.path.clone()
    }

    fn __repr__(&self) -> String {
        format!("<SigningKey {:?}>", self.name())
    }
}

fn wrong(error: TextError) -> PyErr {
    invalid(error.to_string())
}

/// The proof that a record is in a topic: the text of a ``.tlog-proof`` file. Made by `Topic.prove`.
///
/// Examples
/// --------
/// >>> import tempfile, timestrata
/// >>> folder = tempfile.TemporaryDirectory()
/// >>> key = timestrata.SigningKey.generate(folder.name + "/key", "example.org/log")
/// >>> payments = timestrata.open().topic("payments")
/// >>> receipt = payments.send("10")
/// >>> checkpoint = payments.checkpoint(key)
/// >>> proof = payments.prove(0)
/// >>> proof.offset, proof.check(payments.get(0), key.vkey)
/// (0, None)
/// >>> folder.cleanup()
#[pyclass(frozen, module = "timestrata", weakref)]
#[derive(Debug)]
pub(crate) struct Proof(pub(super) TlogProof);

impl Proof {
    /// A `Proof`, or the text or bytes of one.
    fn given(proof: &Bound<'_, PyAny>) -> PyResult<TlogProof> {
        if let Ok(proof) = proof.cast::<Self>() {
            return Ok(proof.get().0.clone());
        }
        if let Ok(text) = proof.cast::<PyString>() {
            return TlogProof::parse(text.to_string().as_bytes()).map_err(wrong);
        }
        match proof.cast::<PyBytes>() {
            Ok(bytes) => TlogProof::parse(bytes.as_bytes()).map_err(wrong),
            Err(_) => Err(PyTypeError::new_err("a proof must be Proof, str or bytes")),
        }
    }
}

#[pymethods]
impl Proof {
    /// The proof in the text or bytes of a ``.tlog-proof`` file.
    #[new]
    fn new(text: &Bound<'_, PyAny>) -> PyResult<Self> {
        Self::given(text).map(Self)
    }

    /// The record's offset.
    #[getter]
    fn offset(&self) -> u64 {
        self.0.index
    }

    /// The checkpoint that it is by, a signed note.
    #[getter]
    fn checkpoint(&self) -> &str {
        &self.0.checkpoint
    }

    /// The log that it is of, as its checkpoint says: ``KEYNAME/TOPIC/PARTITION``.
    #[getter]
    fn origin(&self) -> PyResult<String> {
        let note = Note::parse(self.0.checkpoint.as_bytes()).map_err(wrong)?;
        Ok(note.text().lines().next().unwrap_or_default().to_owned())
    }

    /// Say nothing if a record is where this proof says, by a public key that the caller trusts; and where
    /// the record says that it is, as far as it says its topic, partition or offset.
    ///
    /// Raises
    /// ------
    /// VerificationError
    ///     It isn't, and why.
    fn check(&self, record: &Bound<'_, PyAny>, vkey: &str) -> PyResult<()> {
        let key: Verifier = vkey.parse().map_err(wrong)?;
        let given = GivenRecord::of(record)?;
        if given.timestamp_ns.is_none() {
            let what = "the record needs its timestamp, which is part of what was proved";
            return Err(PyValueError::new_err(what));
        }
        let proved = verify_record(&self.0, &given.record(), &key);
        match proved.and_then(|proved| proved.expect_at(&given.claimed)) {
            Ok(()) => Ok(()),
            Err(error) => Err(crate::error::unverified(&error.to_string())),
        }
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __repr__(&self) -> PyResult<String> {
        Ok(format!("<Proof {} @{}>", self.origin()?, self.0.index))
    }
}

/// Whether a record is where a proof says, by a public key that the caller trusts. Needs no store.
///
/// Parameters
/// ----------
/// proof : Proof, str or bytes
///     The text of a ``.tlog-proof`` file.
/// record : Record or mapping
///     With its timestamp. The topic, partition and offset that it says must be those that are proved.
/// vkey : str
///     The log's own public key, or the one that signs for several.
///
/// Raises
/// ------
/// InvalidArgumentError
///     The proof or the key is no such text.
///
/// Examples
/// --------
/// >>> import tempfile, timestrata
/// >>> folder = tempfile.TemporaryDirectory()
/// >>> key = timestrata.SigningKey.generate(folder.name + "/key", "example.org/log")
/// >>> payments = timestrata.open().topic("payments")
/// >>> receipt = payments.send("10")
/// >>> checkpoint = payments.checkpoint(key)
/// >>> timestrata.verify(str(payments.prove(0)), payments.get(0), key.vkey)
/// True
/// >>> folder.cleanup()
#[pyfunction]
pub(crate) fn verify(
    proof: &Bound<'_, PyAny>,
    record: &Bound<'_, PyAny>,
    vkey: &str,
) -> PyResult<bool> {
    match Proof(Proof::given(proof)?).check(record, vkey) {
        Ok(()) => Ok(true),
        Err(error) if crate::error::is_unverified(proof.py(), &error) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Whether a log of ``old`` records with one root is the beginning of one of ``new`` with another.
/// Roots and the hashes of the proof are 32 bytes each.
///
/// Examples
/// --------
/// >>> import timestrata
/// >>> payments = timestrata.open().topic("payments")
/// >>> receipts = payments.send_batch(["10", "20", "30"])
/// >>> (old, old_root), (new, new_root) = payments.root(size=2), payments.root()
/// >>> proof = payments.consistency_proof(old, new)
/// >>> timestrata.verify_consistency(old, old_root, new, new_root, proof)
/// True
#[pyfunction]
pub(crate) fn verify_consistency(
    old: u64,
    old_root: &[u8],
    new: u64,
    new_root: &[u8],
    proof: Vec<Vec<u8>>,
) -> PyResult<bool> {
    let proof = hashes_of(&proof)?;
    let (old_root, new_root) = (hash_of(old_root)?, hash_of(new_root)?);
    Ok(timestrata_merkle::verify_consistency(old, new, &proof, old_root, new_root).is_ok())
}

/// Whether a log was only appended to between two checkpoints. Needs no store.
///
/// Parameters
/// ----------
/// old, new : str
///     The earlier checkpoint and the later one, signed notes of one log.
/// proof : list of bytes
///     What `Topic.consistency_proof` gives for the numbers of records that both have.
/// vkey : str
///     The log's own public key, or the one that signs for several.
///
/// Raises
/// ------
/// InvalidArgumentError
///     The key is no such text, or a hash has another length than 32 bytes.
///
/// Examples
/// --------
/// >>> import tempfile, timestrata
/// >>> folder = tempfile.TemporaryDirectory()
/// >>> key = timestrata.SigningKey.generate(folder.name + "/key", "example.org/log")
/// >>> payments = timestrata.open().topic("payments")
/// >>> old, receipt = payments.checkpoint(key), payments.send("10")
/// >>> new, proof = payments.checkpoint(key), []  # every log begins with nothing
/// >>> timestrata.verify_checkpoints(old, new, proof, key.vkey)
/// True
/// >>> timestrata.verify_checkpoints(new, old, proof, key.vkey)
/// False
/// >>> folder.cleanup()
#[pyfunction]
pub(crate) fn verify_checkpoints(
    old: &str,
    new: &str,
    proof: Vec<Vec<u8>>,
    vkey: &str,
) -> PyResult<bool> {
    let key: Verifier = vkey.parse().map_err(wrong)?;
    let proof = hashes_of(&proof)?;
    let verified =
        timestrata_topic::verify_checkpoints(old.as_bytes(), new.as_bytes(), &proof, &key);
    Ok(verified.is_ok())
}

fn hash_of(bytes: &[u8]) -> PyResult<Hash> {
    let bytes = bytes.try_into().map(Hash);
    bytes.map_err(|_| invalid("a hash must have 32 bytes"))
}

fn hashes_of(proof: &[Vec<u8>]) -> PyResult<Vec<Hash>> {
    proof.iter().map(|bytes| hash_of(bytes)).collect()
}
