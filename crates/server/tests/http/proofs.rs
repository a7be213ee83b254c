//! Proofs and tiles, read and verified by crates that others wrote, over HTTP as strangers would.

use serde_json::{Value, json};
use signed_note::{Note, StandardVerifier, VerifierList};
use timestrata_engine::{Io, Settings, Store};
use timestrata_merkle::{TlogProof, Verifier};
use timestrata_topic::{
    KeyFile, OwnedRecord, Topic, TopicOptions, origin_of, verifier_of_log, verify_record,
};
use tlog_tiles::{
    Checkpoint, Error, Hash, TileHashReader, TileReader, check_record, check_tree, prove_record,
    record_hash, tree_hash,
};

use crate::harness::{Answer, Harness};
use crate::until::until;

const RECORDS: u64 = 700;

/// A server that signs, with a topic that has records.
struct Signing {
    _dir: tempfile::TempDir,
    server: Harness,
    topic: Topic,
    key: Verifier,
}

fn signing() -> Signing {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("signing.key");
    let key = KeyFile::generate(&Io::os(), &path, "example.com/log").unwrap();
    let key = key.signer().verifier().clone();
    let store = Store::memory(Settings::default()).unwrap();
    let topic = Topic::create(&store, "t", &TopicOptions::default()).unwrap();
    let server = Harness::on(store, &[("topics.key_file", path.to_str().unwrap())], None);
    append(&server, 0..RECORDS);
    Signing { _dir: dir, server, topic, key }
}

fn append(server: &Harness, numbers: std::ops::Range<u64>) {
    let lines: String = numbers.map(|n| format!("{{\"value\":\"record {n}\"}}\n")).collect();
    server.post("/topics/t/records", "application/x-ndjson", lines.as_bytes()).data();
}

fn sign(server: &Harness) -> Answer {
    server.post("/topics/t/checkpoint", "", b"")
}

impl Signing {
    fn file(&self, path: &str) -> Answer {
        self.server.get_as(&format!("/topics/t/log/0/{path}"), "*/*")
    }

    fn checkpoint(&self) -> Checkpoint {
        let note = self.file("checkpoint");
        let note = Note::from_bytes(&note.body).unwrap();
        let name = origin_of(self.key.name(), "t", 0).unwrap();
        let vkey = self.key.named(name).to_string();
        let known = VerifierList::new(vec![Box::new(StandardVerifier::new(&vkey).unwrap())]);
        note.verify(&known).unwrap();
        Checkpoint::from_bytes(note.text()).unwrap()
    }
}

impl TileReader for Signing {
    fn height(&self) -> u8 {
        8
    }

    fn read_tiles(&self, tiles: &[tlog_tiles::Tile]) -> Result<Vec<Vec<u8>>, Error> {
        let read = |tile: &tlog_tiles::Tile| {
            // The crate's own paths name the height, which is always 8 in those of the standard.
            let answer = self.file(&tile.path().replacen("tile/8/", "tile/", 1));
            (answer.status == 200).then_some(answer.body).ok_or(Error::InvalidTile)
        };
        tiles.iter().map(read).collect()
    }

    fn save_tiles(&self, _tiles: &[tlog_tiles::Tile], _bytes: &[Vec<u8>]) {}
}

fn hash(text: &serde_json::Value) -> Hash {
    Hash(timestrata_merkle::Hash::from_base64(text.as_str().unwrap()).unwrap().0)
}

fn hashes(list: &serde_json::Value) -> Vec<Hash> {
    list.as_array().unwrap().iter().map(hash).collect()
}

#[test]
fn another_crate_reads_a_partition_as_a_log_from_the_server() {
    let log = signing();
    assert!(log.server.get("/topics/t/checkpoint").error(404).contains("no checkpoint yet"));
    assert_eq!(log.file("checkpoint").status, 404);
    let signed = sign(&log.server);
    assert_eq!((signed.status, signed.kind.as_str()), (200, "text/plain; charset=utf-8"));
    assert_eq!(log.file("checkpoint").body, signed.body);
    let checkpoint = log.checkpoint();
    assert_eq!((checkpoint.origin(), checkpoint.size()), ("example.com/log/t/0", RECORDS));
    // What comes later is of the next checkpoint.
    append(&log.server, RECORDS..RECORDS + 300);
    let (size, root) = (checkpoint.size(), *checkpoint.hash());
    let reader = TileHashReader::new(size, root, &log);
    assert_eq!(tree_hash(size, &reader).unwrap(), root);
    for offset in [0, 255, 256, 600, size - 1] {
        let leaf = record_hash(&log.topic.entry(0, offset).unwrap());
        let proof = prove_record(size, offset, &reader).unwrap();
        check_record(&proof, size, root, offset, leaf).unwrap();
    }
    assert_eq!(log.file("tile/0/003.p/10").status, 404);
    sign(&log.server);
    assert_eq!(log.file("tile/0/003.p/10").status, 200);
    assert_eq!(log.checkpoint().size(), RECORDS + 300);
}

#[test]
fn files_of_a_log_may_be_kept_as_long_as_they_are_true() {
    let log = signing();
    sign(&log.server);
    let header = |answer: &Answer, name: &str| {
        let found = answer.headers.iter().find(|(header, _)| header == name);
        found.map(|(_, value)| value.clone()).unwrap_or_default()
    };
    let tile = log.file("tile/0/000");
    assert_eq!((tile.status, tile.kind.as_str()), (200, "application/octet-stream"));
    assert_eq!(tile.body.len(), 256 * 32);
    assert!(header(&tile, "cache-control").contains("immutable"));
    assert_eq!(header(&log.file("checkpoint"), "cache-control"), "no-cache");
    // Entries are those that the hashes are of.
    let entries = log.file("tile/entries/002.p/188").body;
    let length = usize::from(u16::from_be_bytes([entries[0], entries[1]]));
    assert_eq!(entries[2..2 + length], log.topic.entry(0, 512).unwrap());
    for path in ["tile/0/0", "tile/9/000", "tile/x/000", "tile/0/000.p/0", "nothing", "tile/64/000"]
    {
        assert_eq!(log.file(path).status, 404, "{path}");
    }
    assert_eq!(log.server.get("/topics/t/log/7/checkpoint").status, 400);
    // Of records that are gone the entries are, and the hashes are not.
    log.server.json("PATCH", "/topics/t", &serde_json::json!({ "retention_records": 10 })).data();
    log.server.post("/topics/t/retain", "", b"").data();
    assert_eq!(log.file("tile/entries/000").status, 404);
    assert_eq!(log.file("tile/0/000").body, tile.body);
}

#[test]
fn proofs_are_accepted_by_another_crate() {
    let log = signing();
    let root = log.server.get("/topics/t/root?size=300").data();
    let inclusion = log.server.get("/topics/t/inclusion?offset=17&size=300").data();
    assert_eq!((&inclusion["size"], &inclusion["root"]), (&300.into(), &root["root"]));
    let leaf = record_hash(&log.topic.entry(0, 17).unwrap());
    let proof = hashes(&inclusion["hashes"]);
    check_record(&proof, 300, hash(&root["root"]), 17, leaf).unwrap();
    let consistency = log.server.get("/topics/t/consistency?old=300").data();
    assert_eq!((&consistency["new"], &consistency["old_root"]), (&RECORDS.into(), &root["root"]));
    let (old, new) = (hash(&consistency["old_root"]), hash(&consistency["new_root"]));
    check_tree(&hashes(&consistency["hashes"]), RECORDS, new, 300, old).unwrap();
    assert!(log.server.get("/topics/t/root?size=9999").error(404).contains("700 records"));
    assert!(log.server.get("/topics/t/inclusion").error(400).contains("offset"));
    assert_eq!(log.server.get("/topics/t/consistency?old=0").status, 400);
}

#[test]
fn a_proof_stands_alone_and_a_server_without_a_key_signs_nothing() {
    let log = signing();
    let early = log.server.get_as("/topics/t/proof?offset=17", "*/*");
    assert!(early.error(404).contains("no checkpoint yet"), "{}", early.text());
    sign(&log.server);
    let proof = log.server.get_as("/topics/t/proof?offset=17", "*/*");
    let proof = TlogProof::parse(&proof.body).unwrap();
    let json = log.server.get("/topics/t/records/17").data();
    let record = OwnedRecord::of_json(&json).unwrap();
    let proved = verify_record(&proof, &record.record(), &log.key).unwrap();
    assert_eq!((proved.topic.as_str(), proved.offset), ("t", 17));
    let forged = OwnedRecord { value: Some(b"forged".to_vec()), ..record };
    assert!(verify_record(&proof, &forged.record(), &log.key).is_err());
    let server = Harness::new();
    server.json("PUT", "/topics/t", &serde_json::json!({})).data();
    assert!(sign(&server).error(403).contains("topics.key_file"));
}

#[test]
fn a_server_audits_its_own_topic() {
    let signing = signing();
    sign(&signing.server);
    let audited = signing.server.get("/topics/t/audit").data();
    let root = signing.server.get("/topics/t/root").data();
    assert_eq!((&audited["records"], &audited["size"]), (&RECORDS.into(), &RECORDS.into()));
    assert_eq!(audited["root"], root["root"]);
    signing.server.get("/topics/t/audit?partition=7").error(400);
    assert!(signing.server.get("/topics/none/audit").error(404).contains("'none'"));
    let query = signing.topic.store().begin_query("an audit", None);
    query.cancel();
    let ended = signing.topic.audit_for(0, &query).unwrap_err();
    assert_eq!(ended.kind(), timestrata_engine::ErrorKind::Cancelled);
}

#[test]
fn all_partitions_are_signed_at_once_and_verified_by_the_key_that_the_server_gives() {
    let signing = signing();
    let server = &signing.server;
    server.json("PATCH", "/topics/t", &json!({ "partitions": 2 })).data();
    let signed = server.post("/topics/t/checkpoints", "", b"").data();
    let is_new: Vec<&Value> = signed.as_array().unwrap().iter().map(|one| &one["new"]).collect();
    assert_eq!(is_new, [&json!(true), &json!(true)]);
    for partition in 0..2 {
        let key = server.get(&format!("/topics/t/vkey?partition={partition}")).text().to_owned();
        let key: Verifier = key.trim().parse().unwrap();
        assert_eq!(key, verifier_of_log(&signing.key, "t", partition).unwrap());
        let note =
            server.get(&format!("/topics/t/checkpoint?partition={partition}")).text().to_owned();
        timestrata_merkle::Checkpoint::open(note.as_bytes(), &key).unwrap();
    }
    append(server, 0..1);
    let again = server.post("/topics/t/checkpoints", "", b"").data();
    let changed: Vec<&Value> = again.as_array().unwrap().iter().map(|one| &one["new"]).collect();
    assert_eq!(changed.iter().filter(|new| ***new == json!(true)).count(), 1);
    server.get("/topics/t/vkey?partition=2").error(400);
    let server = Harness::new();
    server.json("PUT", "/topics/t", &json!({})).data();
    assert!(server.post("/topics/t/checkpoints", "", b"").error(403).contains("key_file"));
    assert!(server.get("/topics/t/vkey").error(403).contains("key_file"));
}

#[test]
fn a_server_signs_what_is_new_by_itself_where_it_is_told_how_often() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("signing.key");
    KeyFile::generate(&Io::os(), &path, "example.com/log").unwrap();
    let store = Store::memory(Settings::default()).unwrap();
    let topic = Topic::create(&store, "t", &TopicOptions::default()).unwrap();
    let settings =
        [("topics.key_file", path.to_str().unwrap()), ("topics.checkpoint_interval", "5ms")];
    let server = Harness::on(store, &settings, None);
    let size = || {
        let note = topic.last_checkpoint(0).unwrap().unwrap_or_default();
        String::from_utf8(note).unwrap().lines().nth(1).map(str::to_owned)
    };
    until(|| size().as_deref() == Some("0"));
    append(&server, 0..7);
    until(|| size().as_deref() == Some("7"));
}
