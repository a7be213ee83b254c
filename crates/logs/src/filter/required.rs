//! The texts that every match of a regular expression must contain, as far as they are easily found.

use regex_syntax::hir::{Class, Hir, HirKind, Look, Repetition};
use timestrata_engine::words;

/// Cases that a letter may have: no more are looked at.
const CASES_MAX: usize = 4;
/// Characters of a class without letters and digits: no more are looked at.
const CLASS_CHARS_MAX: usize = 64;

/// A piece of all matches, in order.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Piece {
    /// A character that is folded to this one.
    Char(char),
    /// At least one character, or none at an end of the text or line: neither before it nor behind it
    /// does a word go on.
    Gap,
    /// Nobody knows what, maybe nothing.
    Unknown,
}

/// What every text with a match must hold.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Required {
    /// A folded text; may be empty.
    pub(super) text: String,
    /// Whole words, folded.
    pub(super) words: Vec<String>,
}

impl Required {
    pub(super) fn of(hir: &Hir) -> Self {
        let mut pieces = vec![Piece::Unknown];
        push_pieces(&mut pieces, hir);
        pieces.push(Piece::Unknown);
        Self { text: longest_text(&pieces), words: bounded_words(&pieces) }
    }
}

fn push_pieces(pieces: &mut Vec<Piece>, hir: &Hir) {
    match hir.kind() {
        HirKind::Empty => {}
        HirKind::Literal(literal) => match std::str::from_utf8(&literal.0) {
            Ok(text) => pieces.extend(text.chars().map(words::fold).map(Piece::Char)),
            Err(_) => pieces.push(Piece::Unknown),
        },
        HirKind::Class(class) => pieces.push(of_class(class)),
        HirKind::Look(look) => pieces.extend(of_look(*look)),
        HirKind::Repetition(repetition) => pieces.push(of_repetition(repetition)),
        HirKind::Capture(capture) => push_pieces(pieces, &capture.sub),
        HirKind::Concat(parts) => parts.iter().for_each(|part| push_pieces(pieces, part)),
        HirKind::Alternation(_) => pieces.push(Piece::Unknown),
    }
}

/// A class is a character in several cases, or one between words.
fn of_class(class: &Class) -> Piece {
    let Class::Unicode(class) = class else { return Piece::Unknown };
    let chars = || class.iter().flat_map(|range| range.start()..=range.end());
    let Some(first) = chars().next() else { return Piece::Unknown };
    let folded = words::fold(first);
    let is_one = chars().take(CASES_MAX + 1).all(|c| words::fold(c) == folded);
    if is_one && chars().nth(CASES_MAX).is_none() {
        return Piece::Char(folded);
    }
    let is_gap = chars().take(CLASS_CHARS_MAX + 1).all(|c| !words::is_word_char(c));
    if is_gap && chars().nth(CLASS_CHARS_MAX).is_none() { Piece::Gap } else { Piece::Unknown }
}

/// What `\b` takes for a word is a little less than what our words are, so it bounds none.
fn of_look(look: Look) -> Option<Piece> {
    match look {
        Look::Start | Look::End | Look::StartLF | Look::EndLF | Look::StartCRLF | Look::EndCRLF => {
            Some(Piece::Gap)
        }
        _ => None,
    }
}

fn of_repetition(repetition: &Repetition) -> Piece {
    let mut inner = Vec::new();
    push_pieces(&mut inner, &repetition.sub);
    let is_gap = match *inner {
        [Piece::Gap] => true,
        [Piece::Char(c)] => !words::is_word_char(c),
        _ => false,
    };
    if is_gap && repetition.min > 0 { Piece::Gap } else { Piece::Unknown }
}

/// The longest text of characters side by side.
fn longest_text(pieces: &[Piece]) -> String {
    let texts = pieces.split(|piece| !matches!(piece, Piece::Char(_)));
    let longest = texts.max_by_key(|text| text.len()).unwrap_or_default();
    longest.iter().filter_map(|piece| piece.char()).collect()
}

/// Words with a character of no word, or an end, on both sides.
fn bounded_words(pieces: &[Piece]) -> Vec<String> {
    let mut words = Vec::new();
    // The word that has begun, if its beginning is known.
    let mut word: Option<String> = None;
    for piece in pieces {
        match piece {
            Piece::Char(c) if words::is_word_char(*c) => {
                if let Some(word) = &mut word {
                    word.push(*c);
                }
            }
            Piece::Char(_) | Piece::Gap => {
                words.extend(word.replace(String::new()).filter(|word| !word.is_empty()));
            }
            Piece::Unknown => word = None,
        }
    }
    words
}

impl Piece {
    fn char(self) -> Option<char> {
        match self {
            Self::Char(c) => Some(c),
            _ => None,
        }
    }
}
