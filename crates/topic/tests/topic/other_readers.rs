//! An exported topic, read and verified by crates that others wrote: `signed_note` and `tlog_tiles`.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(clippy::disallowed_methods, reason = "files are read as a stranger reads them")]

use std::fs;
use std::path::{Path, PathBuf};

use signed_note::{Note, StandardVerifier, VerifierList};
use timestrata_engine::{Settings, Store};
use timestrata_io::Io;
use timestrata_merkle::{Hash, KeyName, Signer};
use timestrata_topic::{Record, SendOptions, Topic, TopicOptions, origin_of};
use tlog_tiles::{
    Checkpoint, Error, TileHashReader, TileReader, check_record, check_tree, prove_record,
    prove_tree, record_hash, tree_hash,
};

const RECORDS: u64 = 700;
const NAME: &str = "example.com/log";

/// A topic, and the folder that its tiles were exported to.
struct Exported {
    _directory: tempfile::TempDir,
    topic: Topic,
    out: PathBuf,
    key: Signer,
}

impl Exported {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path().join("store"), Settings::default()).unwrap();
        let topic = Topic::create(&store, "payments", &TopicOptions::default()).unwrap();
        for n in 0..RECORDS {
            let text = format!("record {n}");
            let record = Record { value: Some(text.as_bytes()), ..Record::default() };
            topic.send(&record, &SendOptions::default()).unwrap();
        }
        let key = Signer::from_seed(KeyName::new(NAME).unwrap(), [7; 32]);
        topic.checkpoint(0, &key, None).unwrap();
        let out = directory.path().join("tiles");
        topic.export_tiles(&Io::os(), 0, &out).unwrap();
        Self { _directory: directory, topic, out, key }
    }

    fn note(&self) -> Vec<u8> {
        fs::read(self.out.join("checkpoint")).unwrap()
    }

    /// The log's key as the crate reads it.
    fn known(&self) -> VerifierList {
        let name = origin_of(self.key.verifier().name(), "payments", 0).unwrap();
        verifiers(&self.key.verifier().named(name).to_string())
    }

    fn checkpoint(&self) -> Checkpoint {
        Checkpoint::from_bytes(Note::from_bytes(&self.note()).unwrap().text()).unwrap()
    }

    fn reader(&self) -> Folder<'_> {
        Folder { out: &self.out, changed: None }
    }
}

fn verifiers(vkey: &str) -> VerifierList {
    VerifierList::new(vec![Box::new(StandardVerifier::new(vkey).unwrap())])
}

/// Tiles of an exported folder, one of which may come with another byte than it has.
struct Folder<'a> {
    out: &'a Path,
    changed: Option<&'a str>,
}

impl TileReader for Folder<'_> {
    fn height(&self) -> u8 {
        8
    }

    fn read_tiles(&self, tiles: &[tlog_tiles::Tile]) -> Result<Vec<Vec<u8>>, Error> {
        let read = |tile: &tlog_tiles::Tile| {
            // The crate's own paths name the height, which is always 8 in those of the standard.
            let path = tile.path().replacen("tile/8/", "tile/", 1);
            let mut bytes = fs::read(self.out.join(&path)).map_err(|_| Error::InvalidTile)?;
            if self.changed == Some(path.as_str()) {
                bytes[40] ^= 1;
            }
            Ok(bytes)
        };
        tiles.iter().map(read).collect()
    }

    fn save_tiles(&self, _tiles: &[tlog_tiles::Tile], _bytes: &[Vec<u8>]) {}
}

/// Hashes of ours, as the crate has them.
fn theirs(hashes: &[Hash]) -> Vec<tlog_tiles::Hash> {
    hashes.iter().map(|hash| tlog_tiles::Hash(hash.0)).collect()
}

#[test]
fn another_crate_opens_the_checkpoint_and_refuses_a_changed_one() {
    let exported = Exported::new();
    let note = exported.note();
    let opened = |bytes: &[u8], known: &VerifierList| {
        Note::from_bytes(bytes).is_ok_and(|note| note.verify(known).is_ok())
    };
    assert!(opened(&note, &exported.known()));
    for place in 0..note.len() {
        let mut changed = note.clone();
        changed[place] ^= 1;
        assert!(!opened(&changed, &exported.known()), "byte {place} of the note was changed");
    }
    let name = origin_of(exported.key.verifier().name(), "payments", 0).unwrap();
    let other = Signer::from_seed(name, [8; 32]);
    assert!(!opened(&note, &verifiers(&other.verifier().to_string())), "another's key");

    let checkpoint = exported.checkpoint();
    assert_eq!((checkpoint.origin(), checkpoint.size()), ("example.com/log/payments/0", RECORDS));
    assert_eq!(checkpoint.hash().0, exported.topic.root(0, None).unwrap().1.0);
}

#[test]
fn another_crate_reads_the_tiles_and_refuses_changed_ones() {
    let exported = Exported::new();
    let (checkpoint, folder) = (exported.checkpoint(), exported.reader());
    let (size, root) = (checkpoint.size(), *checkpoint.hash());
    let reader = TileHashReader::new(size, root, &folder);
    assert_eq!(tree_hash(size, &reader).unwrap(), root);
    for offset in [0, 1, 255, 256, 511, 600, size - 1] {
        let proof = prove_record(size, offset, &reader).unwrap();
        let ours = exported.topic.inclusion_proof(0, offset, size).unwrap();
        assert_eq!(proof, theirs(&ours), "of record {offset}");
    }
    for old in [1, 2, 255, 256, 257, 511, 699] {
        let proof = prove_tree(size, old, &reader).unwrap();
        let ours = exported.topic.consistency_proof(0, old, size).unwrap();
        assert_eq!(proof, theirs(&ours), "from size {old}");
    }
    // The crate checks most tiles against those above them; what it takes unseen, the proof shows.
    let is_proved = |reader: &TileHashReader<'_>, offset: u64| {
        let leaf = record_hash(&exported.topic.entry(0, offset).unwrap());
        let proof = prove_record(size, offset, reader);
        proof.is_ok_and(|proof| check_record(&proof, size, root, offset, leaf).is_ok())
    };
    assert!((0..size).all(|offset| is_proved(&reader, offset)));
    for changed in ["tile/0/000", "tile/0/001", "tile/0/002.p/188", "tile/1/000.p/2"] {
        assert!(exported.out.join(changed).exists(), "{changed} is not there");
        let folder = Folder { out: &exported.out, changed: Some(changed) };
        let reader = TileHashReader::new(size, root, &folder);
        assert!(!(0..size).all(|offset| is_proved(&reader, offset)), "{changed} was changed");
    }
}

#[test]
fn another_crate_accepts_proofs_of_the_topic_and_refuses_all_others() {
    let exported = Exported::new();
    let topic = &exported.topic;
    let (size, root) = (RECORDS, tlog_tiles::Hash(topic.root(0, None).unwrap().1.0));
    for offset in (0..size).step_by(37) {
        let leaf = record_hash(&topic.entry(0, offset).unwrap());
        let proof = theirs(&topic.inclusion_proof(0, offset, size).unwrap());
        let holds = |proof: &Vec<_>, size, offset, leaf| {
            check_record(proof, size, root, offset, leaf).is_ok()
        };
        assert!(holds(&proof, size, offset, leaf), "of record {offset}");
        assert!(!holds(&proof, size, offset ^ 1, leaf), "another record");
        assert!(!holds(&proof, size - 256, offset, leaf), "another size");
        assert!(!holds(&proof, size, offset, record_hash(b"forged")), "another entry");
        assert!(!holds(&proof, size, offset, root), "a node in place of a leaf");
        let (mut long, short) = (proof.clone(), proof[1..].to_vec());
        long.push(root);
        assert!(!holds(&long, size, offset, leaf) && !holds(&short, size, offset, leaf));
        for place in 0..proof.len() {
            let mut changed = proof.clone();
            changed[place].0[31] ^= 1;
            assert!(!holds(&changed, size, offset, leaf), "hash {place} was changed");
        }
    }
    for old in (1..size).step_by(41) {
        let was = tlog_tiles::Hash(topic.root(0, Some(old)).unwrap().1.0);
        let proof = theirs(&topic.consistency_proof(0, old, size).unwrap());
        assert!(check_tree(&proof, size, root, old, was).is_ok(), "from size {old}");
        assert!(check_tree(&proof, size, was, old, root).is_err(), "the roots changed places");
        let mut changed = proof.clone();
        if let Some(hash) = changed.last_mut() {
            hash.0[0] ^= 1;
            assert!(check_tree(&changed, size, root, old, was).is_err(), "a hash was changed");
        }
    }
}
