//! What a word is: one meaning for the words of compacted blocks and for those that people ask for.
//!
//! A word is a longest sequence of letters, digits and underscores, in any script, whatever its case.

/// Whether a character is part of a word.
pub fn is_word_char(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

/// A character in the case that words are compared in. ASCII and the rest keep apart, so that an ASCII
/// word is found by comparing bytes: the Kelvin sign is no `k`.
pub fn fold(c: char) -> char {
    if c.is_ascii() {
        return c.to_ascii_lowercase();
    }
    let mut lower = c.to_lowercase();
    match (lower.next(), lower.next()) {
        (Some(one), None) if !one.is_ascii() => one,
        _ => c,
    }
}

/// Text in the case that words are compared in.
pub fn folded(text: &str) -> String {
    text.chars().map(fold).collect()
}

/// Calls `take` with each word of a text, folded.
///
/// ```
/// let mut words = Vec::new();
/// timestrata_engine::words::each("GET /Über_uns?x=1", |word| words.push(word.to_vec()));
/// assert_eq!(words, [&b"get"[..], "über_uns".as_bytes(), b"x", b"1"]);
/// ```
pub fn each(text: &str, mut take: impl FnMut(&[u8])) {
    let bytes = text.as_bytes();
    let mut word = Vec::new();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let folded = FOLDED[usize::from(byte)];
        if folded != 0 {
            word.push(folded);
            at += 1;
            continue;
        }
        if byte >= 0x80 {
            let Some(c) = text.get(at..).and_then(|rest| rest.chars().next()) else { return };
            at += c.len_utf8();
            if c.is_alphanumeric() {
                word.extend_from_slice(fold(c).encode_utf8(&mut [0; 4]).as_bytes());
                continue;
            }
        } else {
            at += 1;
        }
        if !word.is_empty() {
            take(&word);
            word.clear();
        }
    }
    if !word.is_empty() {
        take(&word);
    }
}

/// What an ASCII byte of a word is folded to; 0 for all others.
const FOLDED: [u8; 256] = {
    let mut folded = [0; 256];
    let mut byte = 0;
    while byte < 128 {
        let c = byte as u8;
        if c.is_ascii_alphanumeric() || c == b'_' {
            folded[byte] = c.to_ascii_lowercase();
        }
        byte += 1;
    }
    folded
};

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn words(text: &str) -> Vec<String> {
        let mut words = Vec::new();
        each(text, |word| words.push(String::from_utf8(word.to_vec()).unwrap()));
        words
    }

    #[test]
    fn words_are_letters_digits_and_underscores_in_any_case() {
        assert_eq!(words("Disk FULL: /dev/sda_1 (98%)"), ["disk", "full", "dev", "sda_1", "98"]);
        assert_eq!(words("  "), Vec::<String>::new());
        assert_eq!(words("ÉTÉ — “Straße” 東京"), ["été", "straße", "東京"]);
    }

    #[test]
    fn ascii_and_the_rest_keep_apart() {
        assert_eq!(words("\u{212A}elvin"), ["\u{212A}elvin"]);
        assert_eq!(fold('\u{130}'), '\u{130}');
    }

    proptest! {
        #[test]
        fn words_are_the_pieces_between_other_characters(text in "\\PC{0,40}") {
            let folded = folded(&text);
            let expected: Vec<&str> =
                folded.split(|c| !is_word_char(c)).filter(|word| !word.is_empty()).collect();
            prop_assert_eq!(words(&text), expected);
        }
    }
}
