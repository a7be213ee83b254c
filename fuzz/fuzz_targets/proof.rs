//! Notes, checkpoints, proofs, keys and tiles' paths: reading never panics, and what is read is written
//! again as it was.
#![no_main]

use libfuzzer_sys::fuzz_target;
use timestrata_merkle::{Checkpoint, KeyName, Note, Signer, Tile, TlogProof, Verifier};

fuzz_target!(|bytes: &[u8]| {
    let signer = Signer::from_seed(KeyName::new("example.org/log").unwrap(), [1; 32]);
    if let Ok(note) = Note::parse(bytes) {
        // Nobody has this key: what verifies was signed here.
        assert!(note.verify(signer.verifier()).is_err());
        if let Ok(checkpoint) = note.text().parse::<Checkpoint>() {
            let signed = checkpoint.sign(&signer).unwrap();
            let again = Checkpoint::open(signed.as_bytes(), signer.verifier()).unwrap();
            assert_eq!(again, checkpoint);
        }
    }
    if let Ok(proof) = TlogProof::parse(bytes) {
        assert_eq!(TlogProof::parse(proof.to_string().as_bytes()), Ok(proof.clone()));
        assert!(proof.verify(b"entry", signer.verifier()).is_err());
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        if let Ok(tile) = text.parse::<Tile>() {
            assert_eq!(tile.to_string(), text);
        }
        if let Ok(key) = text.parse::<Verifier>() {
            assert_eq!(key.to_string().parse(), Ok(key));
        }
        if let Ok(key) = text.parse::<Signer>() {
            assert_eq!(key.secret_text(), text);
        }
    }
});
