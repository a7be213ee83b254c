//! What a server keeps of a secret to take part in SCRAM-SHA-256 (RFC 5802, RFC 7677): it can tell who
//! knows the secret, and can't say what it is.
//!
//! A bearer token needs none of it. It is made when a token is, because then only is the token known; a
//! protocol that lets clients in by SCRAM takes tokens that are there.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::digest::Key;
use hmac::{Hmac, KeyInit, Mac};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// As RFC 7677 has it at least. A token is 256 random bits: nobody tries them all, however fast.
const ITERATIONS: u32 = 4_096;
pub(super) const SALT_BYTES: usize = 16;

/// Salt, iterations, StoredKey and ServerKey, in Base64 where they are bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Verifier {
    salt: String,
    iterations: u32,
    stored_key: String,
    server_key: String,
}

impl Verifier {
    /// The verifier of a secret in plain ASCII, which is what SASLprep leaves as it is.
    pub(super) fn new(secret: &str, salt: [u8; SALT_BYTES]) -> Self {
        Self::with(secret, &salt, ITERATIONS)
    }

    fn with(secret: &str, salt: &[u8], iterations: u32) -> Self {
        let mut salted = [0; 32];
        pbkdf2::pbkdf2_hmac::<Sha256>(secret.as_bytes(), salt, iterations, &mut salted);
        let stored_key = Sha256::digest(keyed(&salted, b"Client Key"));
        Self {
            salt: STANDARD.encode(salt),
            iterations,
            stored_key: STANDARD.encode(stored_key),
            server_key: STANDARD.encode(keyed(&salted, b"Server Key")),
        }
    }
}

/// HMAC-SHA-256.
fn keyed(key: &[u8; 32], text: &[u8]) -> [u8; 32] {
    // It takes keys of a block's length, and shorter ones with zeros behind them.
    let mut block = Key::<Hmac<Sha256>>::default();
    block.iter_mut().zip(key).for_each(|(to, from)| *to = *from);
    let mut mac = Hmac::<Sha256>::new(&block);
    mac.update(text);
    mac.finalize().into_bytes().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The exchange of RFC 7677, section 3: user `user`, password `pencil`.
    #[test]
    fn the_example_of_rfc_7677_is_verified_and_answered() {
        let decode = |text: &str| STANDARD.decode(text).unwrap();
        let verifier = Verifier::with("pencil", &decode("W22ZaJ0SNY7soEsUEjb6gQ=="), 4_096);
        let messages = "n=user,r=rOprNGfwEbeRWgbNEkqO,\
                        r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096,\
                        c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0";
        let key = |text: &str| <[u8; 32]>::try_from(decode(text)).unwrap();
        let signature = keyed(&key(&verifier.stored_key), messages.as_bytes());
        let proof = decode("dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=");
        let client_key: Vec<u8> = proof.iter().zip(signature).map(|(a, b)| a ^ b).collect();
        assert_eq!(Sha256::digest(client_key)[..], key(&verifier.stored_key));
        let answer = keyed(&key(&verifier.server_key), messages.as_bytes());
        assert_eq!(STANDARD.encode(answer), "6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=");
    }
}
