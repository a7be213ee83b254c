//! What a word is: one meaning for the words of compacted blocks and for those that people ask for.
//!
//! A word is a longest sequence of letters, digits and underscores, in any script, whatever its case.

use minicbor::Decoder;
use minicbor::data::Type;
use twox_hash::XxHash64;

/// Whether a character is part of a word.
pub fn is_word_char(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

/// A character in the case that words are compared in: the lower one of its upper one, so that both sigmas
/// are one letter, and the micro sign is a mu. ASCII and the rest keep apart, so that an ASCII word is found by
/// comparing bytes: the Kelvin sign is no `k`. What changes its length keeps apart too, as `ß` from `SS`.
pub fn fold(c: char) -> char {
    if c.is_ascii() {
        return c.to_ascii_lowercase();
    }
    // Scripts of East Asia, which have no cases, and many letters.
    if ('\u{2e80}'..'\u{a640}').contains(&c) {
        return c;
    }
    let upper = only(c.to_uppercase()).unwrap_or(c);
    let is_other = |lower: &char| !lower.is_ascii();
    let lower = only(upper.to_lowercase()).filter(is_other);
    lower.or_else(|| only(c.to_lowercase()).filter(is_other)).unwrap_or(c)
}

fn only(mut characters: impl Iterator<Item = char>) -> Option<char> {
    characters.next().filter(|_| characters.next().is_none())
}

/// Letters that earlier builds folded others apart from, such as the sigma that ends words, in order.
const FOLDED_MORE_SINCE: [char; 19] =
    ['β', 'ε', 'θ', 'ι', 'κ', 'μ', 'π', 'ρ', 'σ', 'φ', 'в', 'д', 'о', 'с', 'т', 'ъ', 'ѣ', 'ṡ', 'ꙋ'];

/// Of what letters a word is, by how far builds agree on how they are told and folded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Letters {
    /// All builds agree.
    Ascii,
    /// Builds with the same version of Unicode agree, however they fold.
    Unchanged,
    /// Builds that fold alike agree.
    Any,
}

impl Letters {
    /// Of a folded word.
    pub(crate) fn of(folded: &str) -> Self {
        if folded.is_ascii() {
            return Self::Ascii;
        }
        let has_changed = |c: char| FOLDED_MORE_SINCE.binary_search(&c).is_ok();
        if folded.contains(has_changed) { Self::Any } else { Self::Unchanged }
    }
}

/// Text in the case that words are compared in.
pub fn folded(text: &str) -> String {
    text.chars().map(fold).collect()
}

/// The hash of a folded word, by which filters of blocks know it.
pub(crate) fn hash(word: &[u8]) -> u64 {
    XxHash64::oneshot(0, word)
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
    let mut folded = Vec::new();
    let mut at = 0;
    loop {
        let separators = bytes.get(at..).unwrap_or_default().iter();
        at += separators.take_while(|byte| CLASSES[usize::from(**byte)] == SEPARATOR).count();
        let start = at;
        let mut seen = SEPARATOR;
        while let Some(byte) = bytes.get(at)
            && let class @ 1.. = CLASSES[usize::from(*byte)]
        {
            seen |= class;
            at += 1;
        }
        match bytes.get(start..at) {
            None | Some([]) => return,
            Some(word) if seen == AS_IT_IS => take(word),
            Some(word) if seen & NOT_ASCII == 0 => {
                folded.clear();
                folded.extend(word.iter().map(u8::to_ascii_lowercase));
                take(&folded);
            }
            Some(_) => each_of_any_script(text.get(start..at).unwrap_or_default(), &mut take),
        }
    }
}

/// As [`each`], a character at a time.
fn each_of_any_script(text: &str, take: &mut impl FnMut(&[u8])) {
    for word in text.split(|c| !is_word_char(c)).filter(|word| !word.is_empty()) {
        take(folded(word).as_bytes());
    }
}

/// What is open in a CBOR item: how many items are still to come, where that is known.
struct Open {
    left: Option<u64>,
    is_map: bool,
    is_key_next: bool,
}

impl Open {
    fn new(left: Option<u64>, is_map: bool) -> Self {
        Self { left, is_map, is_key_next: is_map }
    }

    /// Goes one item on; whether that is a key.
    fn step(&mut self) -> bool {
        self.left = self.left.map(|left| left.saturating_sub(1));
        let is_key = self.is_key_next;
        self.is_key_next = self.is_map && !is_key;
        is_key
    }
}

/// Calls `take` with each text in a CBOR item: texts of lists and values of maps at any depth, not
/// the keys of maps. A stack of its own, so that no depth is too much.
///
/// # Errors
/// For bytes that are no CBOR item; texts before the fault have been taken.
///
/// ```
/// // {"path": "/a b", "sizes": [1, "large"]}
/// let item = b"\xa2\x64path\x64/a b\x65sizes\x82\x01\x65large";
/// let mut texts = Vec::new();
/// timestrata_engine::words::each_text_in_cbor(item, |text| texts.push(text.to_owned())).unwrap();
/// assert_eq!(texts, ["/a b", "large"]);
/// ```
pub fn each_text_in_cbor(
    item: &[u8],
    mut take: impl FnMut(&str),
) -> Result<(), minicbor::decode::Error> {
    let mut decoder = Decoder::new(item);
    let mut open: Vec<Open> = Vec::new();
    loop {
        let is_key = open.last_mut().is_some_and(Open::step);
        while decoder.datatype()? == Type::Tag {
            decoder.tag()?;
        }
        match decoder.datatype()? {
            Type::String if !is_key => take(decoder.str()?),
            Type::StringIndef if !is_key => {
                let pieces: String = decoder.str_iter()?.collect::<Result<_, _>>()?;
                take(&pieces);
            }
            Type::Array | Type::ArrayIndef => open.push(Open::new(decoder.array()?, false)),
            Type::Map | Type::MapIndef => {
                let pairs = decoder.map()?;
                open.push(Open::new(pairs.map(|pairs| pairs.saturating_mul(2)), true));
            }
            _ => decoder.skip()?,
        }
        loop {
            let is_over = match open.last() {
                None => return Ok(()),
                Some(Open { left: Some(left), .. }) => *left == 0,
                Some(Open { left: None, .. }) => {
                    let is_over = decoder.datatype()? == Type::Break;
                    if is_over {
                        decoder.set_position(decoder.position() + 1);
                    }
                    is_over
                }
            };
            if !is_over {
                break;
            }
            open.pop();
        }
    }
}

/// What bytes are, as bits of which a word has some: between words; of words, in the case that words are
/// compared in, or in another; of characters outside ASCII.
const SEPARATOR: u8 = 0;
const AS_IT_IS: u8 = 1;
const UPPER: u8 = 2;
const NOT_ASCII: u8 = 4;

const CLASSES: [u8; 256] = {
    let mut classes = [NOT_ASCII; 256];
    let mut byte = 0;
    while byte < 128 {
        let c = byte as u8;
        classes[byte] = match c {
            b'A'..=b'Z' => UPPER,
            b'a'..=b'z' | b'0'..=b'9' | b'_' => AS_IT_IS,
            _ => SEPARATOR,
        };
        byte += 1;
    }
    classes
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

    #[test]
    fn both_sigmas_are_one_letter() {
        assert_eq!(words("ΟΔΟΣ οδος"), ["οδοσ", "οδοσ"]);
        assert_eq!(words("5 µs"), ["5", "μs"]);
    }

    /// As builds folded before, by the lower case alone.
    fn folded_before(c: char) -> char {
        let lower = only(c.to_lowercase()).filter(|lower| lower.is_ascii() == c.is_ascii());
        lower.unwrap_or(c)
    }

    #[test]
    fn letters_that_are_folded_otherwise_than_before_are_known() {
        for c in '\0'..=char::MAX {
            let folded = fold(c);
            let is_known = FOLDED_MORE_SINCE.contains(&folded);
            assert!(is_known || folded == folded_before(c), "{c:?}");
            assert!(folded == c || !('\u{2e80}'..'\u{a640}').contains(&c), "{c:?}");
        }
        assert!(FOLDED_MORE_SINCE.is_sorted());
        assert_eq!(Letters::of("disk"), Letters::Ascii);
        assert_eq!(Letters::of("été"), Letters::Unchanged);
        assert_eq!(Letters::of("οδοσ"), Letters::Any);
    }

    fn texts(item: &[u8]) -> Result<Vec<String>, minicbor::decode::Error> {
        let mut texts = Vec::new();
        each_text_in_cbor(item, |text| texts.push(text.to_owned())).map(|()| texts)
    }

    #[test]
    fn texts_in_cbor_are_values_at_any_depth() {
        // {"a": [1, "x", {"b": "y"}], "c": 2("no"), "d": (_ "p", "q"), "e": []}, a list in pieces
        let item = b"\xa4\x61a\x9f\x01\x61x\xbf\x61b\x61y\xff\xff\x61c\xc2\x42no\x61d\x7f\x61p\x61q\xff\x61e\x80";
        assert_eq!(texts(item).unwrap(), ["x", "y", "pq"]);
        assert_eq!(texts(b"\x61x").unwrap(), ["x"]);
        assert_eq!(texts(b"\xa0").unwrap(), Vec::<String>::new());
        for cut in 0..item.len() {
            assert!(texts(&item[..cut]).is_err(), "cut at {cut}");
        }
        let deep = [vec![0x81; 1_000_000], vec![0x61, b'x']].concat();
        assert_eq!(texts(&deep).unwrap(), ["x"]);
    }

    proptest! {
        #[test]
        fn any_bytes_are_walked_without_a_panic(bytes: Vec<u8>) {
            let _ = texts(&bytes);
        }

        #[test]
        fn words_are_the_pieces_between_other_characters(text in "\\PC{0,40}") {
            let folded = folded(&text);
            let expected: Vec<&str> =
                folded.split(|c| !is_word_char(c)).filter(|word| !word.is_empty()).collect();
            prop_assert_eq!(words(&text), expected);
        }
    }
}
