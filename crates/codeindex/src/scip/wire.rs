//! The bytes of an index, taken apart piece by piece.
//!
//! They come from strangers. As a whole an index would take many times its bytes in memory, so only
//! one occurrence or one symbol's description is decoded at a time. What is decoded is walked first:
//! the decoder can't be given lengths that lead out of it, nor groups, which it skips without care.

use std::path::{Component, Path};

use protobuf::Message;
use scip::types::{Metadata, Occurrence, PositionEncoding, SymbolInformation};
use timestrata_engine::{Error, ErrorKind, Result};

use crate::files::Skipped;

/// More documents than any tree has files.
const DOCUMENTS_MAX: usize = 1 << 20;
/// What one occurrence or one description of a symbol may take; more would be decoded to too much.
const PIECE_BYTES_MAX: usize = 1 << 20;
/// Longer paths are no file's.
const PATH_BYTES_MAX: usize = 4_096;

/// Indexers that count in UTF-16 and don't say so, or didn't always: what they are written in does.
const COUNT_IN_UTF16: [&str; 4] = ["scip-dotnet", "scip-java", "scip-python", "scip-typescript"];

/// Numbers of fields, as the format has them.
mod field {
    pub(super) const INDEX_METADATA: u64 = 1;
    pub(super) const INDEX_DOCUMENTS: u64 = 2;
    pub(super) const INDEX_EXTERNAL_SYMBOLS: u64 = 3;
    pub(super) const DOCUMENT_PATH: u64 = 1;
    pub(super) const DOCUMENT_OCCURRENCES: u64 = 2;
    pub(super) const DOCUMENT_SYMBOLS: u64 = 3;
    pub(super) const DOCUMENT_LANGUAGE: u64 = 4;
    pub(super) const DOCUMENT_TEXT: u64 = 5;
    pub(super) const DOCUMENT_ENCODING: u64 = 6;
}

/// An index whose documents are known and not yet decoded.
#[derive(Debug)]
pub(super) struct Index<'a> {
    bytes: &'a [u8],
    /// Where the tree is that it tells of, as a URI.
    pub(super) root: String,
    /// Sorted by path, each path once.
    pub(super) documents: Vec<Document<'a>>,
}

/// A file of the tree.
#[derive(Debug)]
pub(super) struct Document<'a> {
    bytes: &'a [u8],
    pub(super) path: &'a str,
    pub(super) language: &'a str,
    /// Its text, where the index has it.
    pub(super) text: Option<&'a str>,
    pub(super) encoding: PositionEncoding,
}

/// What is wrong with bytes.
pub(super) type Wrong = String;
pub(super) type Decoded<T> = std::result::Result<T, Wrong>;

enum WireValue<'a> {
    Number(u64),
    Bytes(&'a [u8]),
    Other,
}

/// The fields of a message, one after the other.
struct WireFields<'a> {
    rest: &'a [u8],
}

impl<'a> WireFields<'a> {
    fn number(&mut self) -> Decoded<u64> {
        let mut number = 0_u64;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self.rest.split_first().ok_or("it ends within a number")?;
            self.rest = rest;
            number |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err("a number has more than ten bytes".to_owned())
    }

    fn take(&mut self, length: u64) -> Decoded<&'a [u8]> {
        let taken =
            usize::try_from(length).ok().and_then(|length| self.rest.split_at_checked(length));
        let (taken, rest) = taken
            .ok_or_else(|| format!("it ends {} bytes into a field of {length}", self.rest.len()))?;
        self.rest = rest;
        Ok(taken)
    }

    fn field(&mut self) -> Decoded<(u64, WireValue<'a>)> {
        let tag = self.number()?;
        let value = match tag & 7 {
            0 => WireValue::Number(self.number()?),
            1 => self.take(8).map(|_| WireValue::Other)?,
            2 => {
                let length = self.number()?;
                WireValue::Bytes(self.take(length)?)
            }
            5 => self.take(4).map(|_| WireValue::Other)?,
            kind => return Err(format!("a field is of kind {kind}, which the format hasn't")),
        };
        match tag >> 3 {
            0 => Err("a field has the number 0".to_owned()),
            number => Ok((number, value)),
        }
    }
}

impl<'a> Iterator for WireFields<'a> {
    type Item = Decoded<(u64, WireValue<'a>)>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_err() {
            self.rest = &[];
        }
        Some(field)
    }
}

fn fields(bytes: &[u8]) -> WireFields<'_> {
    WireFields { rest: bytes }
}

/// One message, whose fields have been walked.
fn decode<M: Message>(bytes: &[u8]) -> Decoded<M> {
    if bytes.len() > PIECE_BYTES_MAX {
        return Err(format!(
            "a {} has {} bytes, at most {PIECE_BYTES_MAX} are read",
            M::NAME,
            bytes.len()
        ));
    }
    fields(bytes).try_for_each(|field| field.map(drop))?;
    M::parse_from_bytes(bytes).map_err(|error| format!("a {}: {error}", M::NAME))
}

/// The messages in the fields of one number, decoded as they are asked for.
fn messages<M: Message>(bytes: &[u8], wanted: u64) -> impl Iterator<Item = Decoded<M>> {
    fields(bytes).filter_map(move |field| match field {
        Ok((number, WireValue::Bytes(bytes))) if number == wanted => Some(decode(bytes)),
        Ok(_) => None,
        Err(wrong) => Some(Err(wrong)),
    })
}

fn text(bytes: &[u8]) -> Decoded<&str> {
    std::str::from_utf8(bytes).map_err(|_| "a text is not UTF-8".to_owned())
}

impl<'a> Index<'a> {
    /// The index that a file's bytes are; documents that can't be taken are told.
    pub(super) fn of(bytes: &'a [u8], file: &Path, skipped: &mut Vec<Skipped>) -> Result<Self> {
        let broken = |wrong: Wrong| refused(file, &wrong);
        let (mut metadata, mut documents) = (None, Vec::new());
        for field in fields(bytes) {
            match field.map_err(broken)? {
                (field::INDEX_METADATA, WireValue::Bytes(bytes)) => {
                    let found: Metadata = decode(bytes).map_err(broken)?;
                    metadata = Some(found);
                }
                (field::INDEX_DOCUMENTS, WireValue::Bytes(bytes)) => {
                    documents.push(Document::of(bytes).map_err(broken)?);
                }
                _ => {}
            }
            if documents.len() > DOCUMENTS_MAX {
                let message =
                    format!("the index has more than {DOCUMENTS_MAX} documents; split it");
                return Err(Error::new(ErrorKind::TooLarge, message).at(file));
            }
        }
        let Some(metadata) = metadata else {
            return Err(refused(file, "it doesn't say how it was made"));
        };
        if metadata.project_root.is_empty() {
            return Err(refused(file, "it names no project root"));
        }
        if COUNT_IN_UTF16.contains(&metadata.tool_info.name.as_str()) {
            documents.iter_mut().for_each(Document::count_in_utf16);
        }
        let documents = usable(documents, skipped);
        Ok(Self { bytes, root: metadata.project_root, documents })
    }

    /// Descriptions of symbols of other trees.
    pub(super) fn external_symbols(&self) -> impl Iterator<Item = Decoded<SymbolInformation>> {
        messages(self.bytes, field::INDEX_EXTERNAL_SYMBOLS)
    }
}

/// The documents that have a path of their own within the tree, by path.
fn usable<'a>(documents: Vec<Document<'a>>, skipped: &mut Vec<Skipped>) -> Vec<Document<'a>> {
    let mut usable: Vec<Document<'_>> = Vec::with_capacity(documents.len());
    let skip = |document: &Document<'_>, why: &str| {
        let path: String = document.path.chars().take(PATH_BYTES_MAX).collect();
        Skipped { path, why: why.to_owned() }
    };
    for document in documents {
        match is_inside(document.path) {
            true => usable.push(document),
            false => skipped.push(skip(&document, "not a path below the project root")),
        }
    }
    // Of several with one path the first counts, which sorting leaves in front.
    usable.sort_by_key(|document| document.path);
    usable.dedup_by(|later, first| {
        let is_same = later.path == first.path;
        if is_same {
            skipped.push(skip(later, "a second document of this path"));
        }
        is_same
    });
    usable
}

/// Whether a path leads to a file below the folder it is taken from, and is written plainly.
fn is_inside(path: &str) -> bool {
    let is_plain = path.split('/').all(|part| !matches!(part, "" | "." | ".."));
    let mut parts = Path::new(path).components();
    let is_normal = parts.all(|part| matches!(part, Component::Normal(_)));
    is_plain && is_normal && path.len() <= PATH_BYTES_MAX && !path.contains(['\\', '\0'])
}

impl<'a> Document<'a> {
    fn of(bytes: &'a [u8]) -> Decoded<Self> {
        let encoding = PositionEncoding::UnspecifiedPositionEncoding;
        let mut document = Self { bytes, path: "", language: "", text: None, encoding };
        for field in fields(bytes) {
            match field? {
                (field::DOCUMENT_PATH, WireValue::Bytes(path)) => document.path = text(path)?,
                (field::DOCUMENT_LANGUAGE, WireValue::Bytes(name)) => {
                    document.language = text(name)?
                }
                (field::DOCUMENT_TEXT, WireValue::Bytes(all)) => {
                    document.text = Some(text(all)?).filter(|text| !text.is_empty());
                }
                (field::DOCUMENT_ENCODING, WireValue::Number(number)) => {
                    let known = i32::try_from(number).ok().and_then(protobuf::Enum::from_i32);
                    document.encoding = known.unwrap_or(encoding);
                }
                _ => {}
            }
        }
        Ok(document)
    }

    /// Unless it says that it counts in something else.
    fn count_in_utf16(&mut self) {
        if self.encoding == PositionEncoding::UnspecifiedPositionEncoding {
            self.encoding = PositionEncoding::UTF16CodeUnitOffsetFromLineStart;
        }
    }

    pub(super) fn occurrences(&self) -> impl Iterator<Item = Decoded<Occurrence>> {
        messages(self.bytes, field::DOCUMENT_OCCURRENCES)
    }

    /// Descriptions of the symbols that it defines.
    pub(super) fn symbols(&self) -> impl Iterator<Item = Decoded<SymbolInformation>> {
        messages(self.bytes, field::DOCUMENT_SYMBOLS)
    }
}

/// The error for a file that isn't as an index has to be.
pub(super) fn refused(file: &Path, wrong: &str) -> Error {
    let message = format!(
        "this is no SCIP index, or not all of one: {wrong}; let the indexer write it again"
    );
    Error::new(ErrorKind::InvalidData, message).at(file)
}
