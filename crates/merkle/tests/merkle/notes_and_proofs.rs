//! Keys, notes, checkpoints and proof files: what is believed, and all that is not.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use proptest::prelude::*;
use timestrata_merkle::{
    Checkpoint, Hash, KeyName, Note, NoteError, ProofError, SIGNATURES_MAX, Signer, TlogProof,
    Tree, Verifier, sign, verify_inclusion,
};

const ORIGIN: &str = "example.com/payments/0";

fn signer(name: &str, seed: u8) -> Signer {
    Signer::from_seed(KeyName::new(name).unwrap(), [seed; 32])
}

fn entry(index: u64) -> Vec<u8> {
    format!("entry {index}").into_bytes()
}

fn tree(size: u64) -> Tree {
    let mut tree = Tree::new();
    (0..size).for_each(|index| tree.append(Hash::of_leaf(&entry(index))));
    tree
}

fn proof(index: u64, size: u64, by: &Signer) -> TlogProof {
    let tree = tree(size);
    TlogProof {
        extra: None,
        index,
        hashes: tree.inclusion_proof(index, size).unwrap(),
        checkpoint: Checkpoint::new(ORIGIN, size, tree.root()).unwrap().sign(by).unwrap(),
    }
}

#[test]
fn a_proof_is_read_back_and_believed() {
    let key = signer("example.com/key", 1);
    for extra in [None, Some(Vec::new()), Some(b"some words".to_vec())] {
        let proof = TlogProof { extra, ..proof(3, 7, &key) };
        let read = TlogProof::parse(proof.to_string().as_bytes()).unwrap();
        assert_eq!(read, proof);
        let checkpoint = read.verify(&entry(3), key.verifier()).unwrap();
        assert_eq!((checkpoint.origin.as_str(), checkpoint.size), (ORIGIN, 7));
        assert_eq!(checkpoint.clone().of(ORIGIN).unwrap(), checkpoint);
        assert!(matches!(checkpoint.of("other"), Err(NoteError::Origin { .. })));
    }
}

#[test]
fn a_proof_for_another_entry_key_index_size_or_log_is_refused() {
    let (key, other) = (signer("example.com/key", 1), signer("example.com/key", 2));
    let good = proof(3, 7, &key);
    let root = |proof: &TlogProof, entry: &[u8]| proof.verify(entry, key.verifier());
    assert!(matches!(root(&good, &entry(4)), Err(NoteError::Proof(ProofError::Root { .. }))));
    // The same name, another key: known by its number.
    let refused = good.verify(&entry(3), other.verifier());
    assert!(matches!(refused, Err(NoteError::Unsigned { .. })), "{refused:?}");
    let moved = TlogProof { index: 2, ..good.clone() };
    assert!(matches!(root(&moved, &entry(3)), Err(NoteError::Proof(ProofError::Root { .. }))));
    let outside = TlogProof { index: 7, ..good.clone() };
    assert!(matches!(root(&outside, &entry(3)), Err(NoteError::Proof(ProofError::NoLeaf { .. }))));
    let shorter = TlogProof { hashes: good.hashes[1..].to_vec(), ..good.clone() };
    assert!(matches!(root(&shorter, &entry(3)), Err(NoteError::Proof(ProofError::Length { .. }))));
    // A checkpoint of another size of the same log.
    let later = TlogProof { checkpoint: proof(0, 8, &key).checkpoint, ..good };
    assert!(root(&later, &entry(3)).is_err());
}

#[test]
fn a_note_with_a_wrong_signature_of_a_known_key_is_refused_whole() {
    let key = signer("example.com/key", 1);
    let note = sign("words\n", &key).unwrap();
    let forged = sign("other words\n", &key).unwrap();
    let (_, line) = forged.split_once("\n\n").unwrap();
    let both = format!("{note}{line}");
    let refused = Note::parse(both.as_bytes()).unwrap().verify(key.verifier()).map(str::to_owned);
    assert!(matches!(refused, Err(NoteError::Forged { .. })), "{refused:?}");
    // Those of strangers are passed over.
    let stranger = sign("words\n", &signer("stranger", 9)).unwrap();
    let (_, line) = stranger.split_once("\n\n").unwrap();
    let both = format!("{note}{line}");
    assert_eq!(Note::parse(both.as_bytes()).unwrap().verify(key.verifier()).unwrap(), "words\n");
}

#[test]
fn texts_that_are_no_notes_are_named() {
    let line = "\u{2014} name AAAAAAA=\n";
    let wrong: [&[u8]; 9] = [
        b"",
        b"words\n",
        b"words\n\n",
        b"words\n\nwords\n",
        format!("words\n\n{}", line.trim_end()).leak().as_bytes(),
        format!("words\t\n\n{line}").leak().as_bytes(),
        "words\n\n\u{2014} na+me AAAAAAA=\n".as_bytes(),
        "words\n\n\u{2014} name AAAAAA==\n".as_bytes(),
        b"\xff\xfe\n\n",
    ];
    for bytes in wrong {
        assert!(Note::parse(bytes).is_err(), "{:?}", String::from_utf8_lossy(bytes));
    }
    let many = format!("words\n\n{}", line.repeat(SIGNATURES_MAX));
    assert_eq!(Note::parse(many.as_bytes()).unwrap().signatures().len(), SIGNATURES_MAX);
    assert!(Note::parse(format!("{many}{line}").as_bytes()).is_err());
    let key = signer("name", 1);
    assert!(sign("no end", &key).is_err() && sign("bell\u{7}\n", &key).is_err());
}

#[test]
fn checkpoints_are_written_one_way() {
    let root = Hash::of_empty_tree();
    let good = Checkpoint::new(ORIGIN, 0, root).unwrap();
    assert_eq!(good.to_string(), format!("{ORIGIN}\n0\n{root}\n"));
    assert_eq!(good.to_string().parse(), Ok(good));
    let extended = format!("{ORIGIN}\n5\n{root}\nmore\n");
    assert_eq!(extended.parse::<Checkpoint>().unwrap().to_string(), extended);
    let wrong = [
        String::new(),
        format!("{ORIGIN}\n0\n"),
        format!("{ORIGIN}\n0\n{root}"),
        format!("\n0\n{root}\n"),
        format!("{ORIGIN}\n01\n{root}\n"),
        format!("{ORIGIN}\n+1\n{root}\n"),
        format!("{ORIGIN}\n-1\n{root}\n"),
        format!("{ORIGIN}\n18446744073709551616\n{root}\n"),
        format!("{ORIGIN}\n1\nAAAA\n"),
        format!("{ORIGIN}\n1\n{root}\n\n"),
        format!("{ORIGIN}\n1\n{root}\n\nmore\n"),
    ];
    for text in wrong {
        assert!(text.parse::<Checkpoint>().is_err(), "{text:?}");
    }
    assert!(Checkpoint::new("two\nlines", 0, root).is_err());
}

#[test]
fn keys_of_other_kinds_and_with_other_numbers_are_refused() {
    let key = signer("example.com/key", 1);
    let (public, secret) = (key.verifier().to_string(), key.secret_text());
    assert_eq!(secret.parse::<Signer>().unwrap().verifier(), key.verifier());
    let renamed = public.replacen("example.com/key", "example.com/kex", 1);
    let error = renamed.parse::<Verifier>().unwrap_err().to_string();
    assert!(error.contains("number"), "{error}");
    // A private key where a public one belongs: said, and not shown.
    let error = secret.parse::<Verifier>().unwrap_err().to_string();
    assert!(error.contains("a private key") && !error.contains("AQEB"), "{error}");
    assert!(public.parse::<Signer>().is_err());
    for text in ["", "name", "name+00000000", "name+0+AQ==", "name+zzzzzzzz+AQ==", "name+00000000+"]
    {
        assert!(text.parse::<Verifier>().is_err(), "{text}");
        assert!(format!("PRIVATE+KEY+{text}").parse::<Signer>().is_err(), "{text}");
    }
    // The number of a witness' key, algorithm 4.
    let error = "name+00000000+BAEB".parse::<Verifier>().unwrap_err().to_string();
    assert!(error.contains("kind 4"), "{error}");
    for name in ["", "a b", "a+b", "a\u{a0}b", "a\nb"] {
        assert!(KeyName::new(name).is_err(), "{name:?}");
    }
}

proptest! {
    /// Any byte changed: no proof, or one that proves the same (bits that base64 ignores are not
    /// ignored here, so nothing else is left).
    #[test]
    fn a_changed_byte_of_a_proof_is_noticed(at in any::<prop::sample::Index>(), flip in 1_u8..=255) {
        let key = signer("example.com/key", 1);
        let mut bytes = proof(3, 7, &key).to_string().into_bytes();
        let at = at.index(bytes.len());
        bytes[at] ^= flip;
        let believed = TlogProof::parse(&bytes)
            .map_err(NoteError::from)
            .and_then(|proof| proof.verify(&entry(3), key.verifier()));
        prop_assert!(believed.is_err(), "byte {at}");
    }

    #[test]
    fn bytes_of_strangers_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), text in ".{0,200}") {
        let _ = (Note::parse(&bytes), TlogProof::parse(&bytes), Hash::all_of(&bytes));
        let _ = (Note::parse(text.as_bytes()), TlogProof::parse(text.as_bytes()));
        let _ = (text.parse::<Checkpoint>(), text.parse::<Verifier>(), text.parse::<Signer>());
        let _ = (text.parse::<timestrata_merkle::Tile>(), Hash::from_base64(&text));
    }
}

/// What RFC 6962's first byte of each hash is there for.
#[test]
fn a_node_is_no_leaf() {
    let mut tree = Tree::new();
    let leaves = ["a", "b", "c", "d"].map(|entry| Hash::of_leaf(entry.as_bytes()));
    leaves.iter().for_each(|leaf| tree.append(*leaf));
    let [a, b, c, d] = leaves;
    let (left, right) = (Hash::of_node(a, b), Hash::of_node(c, d));
    assert!(verify_inclusion(a, 0, 4, &[b, right], tree.root()).is_ok());
    // A node where a leaf is due, and an entry that is made of what a node is hashed of.
    assert!(verify_inclusion(left, 0, 4, &[right], tree.root()).is_err());
    let forged = Hash::of_leaf(&[a.0, b.0].concat());
    assert!(verify_inclusion(forged, 0, 2, &[right], tree.root()).is_err());
    assert!(verify_inclusion(forged, 0, 4, &[right], tree.root()).is_err());
}
