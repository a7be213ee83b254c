//! Cosignatures: those of witnesses that are trusted are believed and kept, all others not.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use timestrata_merkle::{
    AddCheckpoint, Checkpoint, Hash, KeyName, Note, NoteError, Signer, Verifier, Witness, cosign,
    with_cosignatures,
};

fn key(name: &str, seed: u8) -> Signer {
    Signer::from_seed(KeyName::new(name).unwrap(), [seed; 32])
}

fn checkpoint(size: u64) -> String {
    let root = Hash::of_leaf(b"x");
    Checkpoint::new("example.org/log", size, root)
        .unwrap()
        .sign(&key("example.org/log", 1))
        .unwrap()
}

fn parsed(note: &str) -> Note {
    Note::parse(note.as_bytes()).unwrap()
}

/// The example of the standard: what it says can be told apart without the witness's key.
const EXAMPLE: &str = "example.com/behind-the-sofa\n20852163\n\
CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n\n\
\u{2014} example.com/behind-the-sofa Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=\n\
\u{2014} witness.example.com/w1 jWbPPwAAAABkGFDLEZMHwSRaJNiIDoe9DYn/zXcrtPHeolMI5OWXEhZCB9dlrDJsX3b2oyin1nPZqhf5nNo0xUe+mbIUBkBIfZ+qnA==\n";

#[test]
fn the_published_example_is_read_and_its_time_is_where_the_standard_has_it() {
    let note = parsed(EXAMPLE);
    let by_witness = &note.signatures()[1];
    assert_eq!(by_witness.bytes.len(), 8 + 64);
    assert_eq!(by_witness.bytes[..8], 1_679_315_147_u64.to_be_bytes());
}

#[test]
fn a_cosignature_is_of_one_witness_one_note_and_one_time() {
    let (witness, note) = (key("witness.example", 2), parsed(&checkpoint(5)));
    let trusted = Witness::of(&witness);
    assert_eq!(trusted.to_string().parse::<Witness>().unwrap(), trusted);
    let line = cosign(&note, &witness, 1_700_000_000);
    let cosigned = format!("{}{line}", checkpoint(5));
    assert_eq!(trusted.saw(&parsed(&cosigned)).unwrap(), 1_700_000_000);
    // The log's own signature is as good as before.
    let log = key("example.org/log", 1);
    assert_eq!(Checkpoint::open(cosigned.as_bytes(), log.verifier()).unwrap().size, 5);
    assert!(matches!(trusted.saw(&note), Err(NoteError::Unsigned { .. })));
    let of_another = format!("{}{line}", checkpoint(6));
    assert!(matches!(trusted.saw(&parsed(&of_another)), Err(NoteError::Forged { .. })));
    let stranger = Witness::of(&key("witness.example", 3));
    assert!(matches!(stranger.saw(&parsed(&cosigned)), Err(NoteError::Unsigned { .. })));
    // A signature of notes by the same key is none of a witness, nor the other way about.
    let plain = timestrata_merkle::sign(note.text(), &witness).unwrap();
    assert!(matches!(trusted.saw(&parsed(&plain)), Err(NoteError::Unsigned { .. })));
    assert!(parsed(&cosigned).verify(witness.verifier()).is_err());
    assert!(witness.verifier().to_string().parse::<Witness>().is_err());
    assert!(trusted.to_string().parse::<Verifier>().is_err());
}

#[test]
fn an_altered_time_is_not_believed() {
    let (witness, note) = (key("witness.example", 2), parsed(&checkpoint(5)));
    let line = cosign(&note, &witness, 7);
    let later = cosign(&note, &witness, 8);
    // Number and time of one, signature of the other.
    let (name, bytes) = line.trim_end().rsplit_once(' ').unwrap();
    let (_, others) = later.trim_end().rsplit_once(' ').unwrap();
    let mixed = format!("{}{name} {}{}\n", checkpoint(5), &bytes[..16], &others[16..]);
    assert!(matches!(Witness::of(&witness).saw(&parsed(&mixed)), Err(NoteError::Forged { .. })));
}

#[test]
fn an_answer_s_lines_of_trusted_witnesses_are_taken_in_once_each() {
    let (one, two, stranger) =
        (key("w.example/1", 2), key("w.example/2", 3), key("w.example/3", 4));
    let trusted = [Witness::of(&one), Witness::of(&two)];
    let (own, note) = (checkpoint(5), parsed(&checkpoint(5)));
    let answer = format!("{}{}", cosign(&note, &one, 10), cosign(&note, &stranger, 11));
    let (first, names) = with_cosignatures(&own, &answer, &trusted).unwrap();
    assert_eq!(names, [KeyName::new("w.example/1").unwrap()]);
    assert_eq!(parsed(&first).signatures().len(), 2, "the stranger's is left out");
    let answer = format!("{}{}", cosign(&note, &one, 20), cosign(&note, &two, 21));
    let (second, names) = with_cosignatures(&first, &answer, &trusted).unwrap();
    assert_eq!((names.len(), parsed(&second).signatures().len()), (2, 3));
    assert_eq!(trusted[0].saw(&parsed(&second)).unwrap(), 20);
    assert_eq!(with_cosignatures(&second, "", &trusted).unwrap().0, second);
    // In a witness's name, of another note; and what is no answer.
    let wrong = cosign(&parsed(&checkpoint(6)), &two, 30);
    assert!(matches!(with_cosignatures(&own, &wrong, &trusted), Err(NoteError::Forged { .. })));
    for nonsense in ["no line\n", "\u{2014} w.example/1 AAAA\n", "\n\n"] {
        assert!(with_cosignatures(&own, nonsense, &trusted).is_err(), "{nonsense:?}");
    }
}

#[test]
fn a_request_is_read_as_it_was_written_and_nothing_else_is_one() {
    let hashes = vec![Hash::of_leaf(b"a"), Hash::of_leaf(b"b")];
    let asked = AddCheckpoint { old: 3, proof: hashes, checkpoint: checkpoint(5) };
    let text = asked.to_string();
    assert!(text.starts_with("old 3\n"));
    assert_eq!(AddCheckpoint::parse(&text).unwrap(), asked);
    let many = AddCheckpoint { proof: vec![Hash::of_leaf(b"a"); 64], ..asked };
    for wrong in [
        "",
        "old 3\nnote",
        "old 03\n\nnote",
        "new 3\n\nnote",
        "old 3\nx\n\nnote",
        &many.to_string(),
    ] {
        assert!(AddCheckpoint::parse(wrong).is_err(), "{wrong:?}");
    }
}
