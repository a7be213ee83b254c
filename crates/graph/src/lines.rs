//! A graph as lines of JSON: one object for each block, then one for each edge. An export can be imported
//! without loss: bytes are marked as such, and numbers keep all of their digits.

use std::collections::BTreeMap;
use std::io::BufRead;

use arrow_schema::{DataType, TimeUnit};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use timestrata_engine::{Durability, Error, ErrorKind, Result};
use timestrata_values::lines::NumberedLines;
use timestrata_values::time::parse as parse_time;

use super::adjacency::BlockId;
use super::block::{Block, NewBlock, id_of_content};
use super::changes::GraphChanges;
use super::edge::{Edge, EdgeKey};
use super::edge_list::{EdgeList, ImportedEdges};
use super::handle::Graph;

const BASE64: &str = "base64";

/// A block as a line, without the line's end.
#[must_use]
pub fn block_line(block: &Block) -> String {
    let text = std::str::from_utf8(block.content()).ok().filter(|_| block.is_text());
    let content = match text {
        Some(text) => Value::from(text),
        None => json!({ BASE64: STANDARD.encode(block.content()) }),
    };
    format!("{},\"content\":{content}}}", said_of(block))
}

/// The same without its content.
#[must_use]
pub fn block_line_without_content(block: &Block) -> String {
    said_of(block) + "}"
}

/// All of a block's line but its content and its end.
fn said_of(block: &Block) -> String {
    format!(
        "{{\"block\":\"{}\",\"version\":{},\"source_uri\":{},\"metadata\":{}",
        block.id(),
        block.version(),
        json!(block.source_uri()),
        on_one_line(block.metadata()),
    )
}

/// An edge as a line, without the line's end.
#[must_use]
pub fn edge_line(edge: &Edge) -> String {
    let Edge { key: EdgeKey { source, kind, target }, weight, valid_from_ns, properties } = edge;
    format!(
        "{{\"source\":\"{source}\",\"kind\":{},\"target\":\"{target}\",\"weight\":{},\
         \"valid_from\":{},\"properties\":{}}}",
        json!(&**kind),
        json!(weight),
        json!(valid_from_ns),
        on_one_line(properties.as_deref()),
    )
}

/// A JSON object as it is; ends of lines are never in its texts, and so are nothing but space.
fn on_one_line(object: Option<&str>) -> String {
    object.map_or_else(|| "null".to_owned(), |object| object.replace(['\n', '\r'], " "))
}

/// A block that was read from a line.
#[derive(Debug)]
pub(super) struct ReadBlock {
    /// `None`: that of its content.
    id: Option<BlockId>,
    version: Option<u32>,
    source_uri: Option<String>,
    metadata: Option<String>,
    is_text: bool,
    content: Vec<u8>,
}

pub(super) type LineParts<'l> = BTreeMap<String, &'l RawValue>;

pub(super) fn wrong(what: &str, expected: &str, found: &RawValue) -> String {
    let shown: String = found.get().chars().take(60).collect();
    format!("'{what}' must be {expected}, not {shown}")
}

/// A part that may be missing or null.
pub(super) fn part<'l>(parts: &LineParts<'l>, name: &str) -> Option<&'l RawValue> {
    parts.get(name).copied().filter(|part| part.get() != "null")
}

pub(super) fn text(
    parts: &LineParts<'_>,
    name: &str,
) -> std::result::Result<Option<String>, String> {
    let text =
        |part: &RawValue| serde_json::from_str(part.get()).map_err(|_| wrong(name, "text", part));
    part(parts, name).map(text).transpose()
}

pub(super) fn needed<T>(part: Option<T>, name: &str) -> std::result::Result<T, String> {
    part.ok_or_else(|| format!("it has no '{name}'"))
}

pub(super) fn id(text: &str, name: &str) -> std::result::Result<BlockId, String> {
    text.parse().map_err(|error: Error| format!("'{name}': {}", error.message()))
}

/// An object, as it is written; or the text of one.
fn object(parts: &LineParts<'_>, name: &str) -> std::result::Result<Option<String>, String> {
    let object = |part: &RawValue| match part.get().starts_with('"') {
        true => serde_json::from_str(part.get()).map_err(|_| wrong(name, "an object", part)),
        false => Ok(part.get().to_owned()),
    };
    part(parts, name).map(object).transpose()
}

pub(super) fn expect_known(
    what: &str,
    parts: &LineParts<'_>,
    known: &[&str],
) -> std::result::Result<(), String> {
    match parts.keys().find(|name| !known.contains(&name.as_str())) {
        None => Ok(()),
        Some(name) => {
            Err(format!("{what} have no column '{name}': they have {}", known.join(", ")))
        }
    }
}

impl ReadBlock {
    pub(super) fn of(parts: &LineParts<'_>) -> std::result::Result<Self, String> {
        expect_known("blocks", parts, &["block", "version", "source_uri", "metadata", "content"])?;
        let version = |part: &RawValue| {
            part.get().parse().map_err(|_| wrong("version", "a number from 0 on", part))
        };
        let content = needed(part(parts, "content"), "content")?;
        let encoded = || -> Option<Vec<u8>> {
            let parts: BTreeMap<String, String> = serde_json::from_str(content.get()).ok()?;
            let encoded = parts.get(BASE64).filter(|_| parts.len() == 1)?;
            STANDARD.decode(encoded).ok()
        };
        let of_text = serde_json::from_str::<String>(content.get());
        let is_text = of_text.is_ok();
        Ok(Self {
            id: text(parts, "block")?.map(|text| id(&text, "block")).transpose()?,
            version: part(parts, "version").map(version).transpose()?,
            source_uri: text(parts, "source_uri")?,
            metadata: object(parts, "metadata")?,
            is_text,
            content: match of_text {
                Ok(text) => text.into_bytes(),
                Err(_) => encoded()
                    .ok_or_else(|| wrong("content", "text or {\"base64\": \"...\"}", content))?,
            },
        })
    }

    pub(super) fn as_new(&self) -> NewBlock<'_> {
        NewBlock {
            id: self.id,
            version: self.version,
            source_uri: self.source_uri.as_deref(),
            metadata: self.metadata.as_deref(),
            is_text: self.is_text,
            content: &self.content,
        }
    }
}

/// Nanoseconds since the epoch, or a time as text.
fn time(part: &RawValue) -> std::result::Result<i64, String> {
    if let Ok(ns) = part.get().parse() {
        return Ok(ns);
    }
    let unit = DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into()));
    let text: Option<String> = serde_json::from_str(part.get()).ok();
    let expected = "whole nanoseconds since 1970, or a time as text";
    text.and_then(|text| parse_time(&text, &unit).ok())
        .ok_or_else(|| wrong("valid_from", expected, part))
}

/// An end of an edge: an id, or a name, which is added to those that get blocks.
fn end(
    list: &EdgeList,
    parts: &LineParts<'_>,
    column: &str,
    names: &mut BTreeMap<BlockId, String>,
) -> std::result::Result<BlockId, String> {
    let name = match part(parts, column) {
        // Names that are numbers are names too.
        Some(number) if list.are_names && !number.get().starts_with(['"', '{', '[']) => {
            number.get().to_owned()
        }
        _ => needed(text(parts, column)?, column)?,
    };
    if !list.are_names {
        return id(&name, column);
    }
    let id = id_of_content(name.as_bytes());
    names.entry(id).or_insert(name);
    Ok(id)
}

pub(super) fn edge_of(
    list: &EdgeList,
    parts: &LineParts<'_>,
    names: &mut BTreeMap<BlockId, String>,
) -> std::result::Result<Edge, String> {
    let columns: [&str; 3] = [&list.source, &list.kind, &list.target];
    expect_known(
        "edges",
        parts,
        &[&columns[..], &["weight", "valid_from", "properties"]].concat(),
    )?;
    let kind = match (text(parts, &list.kind)?, &list.kind_of_all) {
        (Some(kind), _) => kind,
        (None, Some(kind)) => kind.clone(),
        (None, None) => return Err(format!("edges need a column '{}'", list.kind)),
    };
    let weight = |part: &RawValue| {
        let number = part.get().parse::<f64>();
        number.map_err(|_| wrong("weight", "a number", part))
    };
    let mut edge = Edge::new(
        end(list, parts, &list.source, names)?,
        kind,
        end(list, parts, &list.target, names)?,
    );
    edge.weight = part(parts, "weight").map(weight).transpose()?;
    edge.valid_from_ns = part(parts, "valid_from").map(time).transpose()?;
    edge.properties = object(parts, "properties")?.map(Into::into);
    Ok(edge)
}

/// Takes in the parts of each line. An `Err` of `take` says what is wrong with one.
///
/// # Errors
/// `InvalidData` that names the line.
pub(super) fn for_each_line(
    lines: impl BufRead,
    mut take: impl FnMut(LineParts<'_>) -> std::result::Result<(), String>,
) -> Result<()> {
    let mut lines = NumberedLines::new(lines);
    let invalid = |number: u64, why: &str| {
        Error::new(ErrorKind::InvalidData, format!("line {number}: {why}"))
    };
    while lines.advance().map_err(|error| invalid(lines.number(), &error.to_string()))? {
        let Some(row) = lines.row() else { continue };
        let parts = serde_json::from_slice(row).map_err(|error| error.to_string());
        parts.and_then(&mut take).map_err(|why| invalid(lines.number(), &why))?;
    }
    Ok(())
}

impl Graph {
    /// Takes in lines of JSON, in one commit: blocks as [`block_line`] writes them, and edges as
    /// [`edge_line`] does, or with the names that a list gives their parts. Times may be whole nanoseconds
    /// or text.
    ///
    /// # Errors
    /// `InvalidData` that names the line, for what is no block and no edge; `Conflict` for a block
    /// that is there in a later version; what a commit may fail with. Nothing is taken in then.
    pub fn import_lines(
        &self,
        lines: impl BufRead,
        list: &EdgeList,
        durability: Durability,
    ) -> Result<ImportedEdges> {
        let (mut blocks, mut edges, mut names) = (Vec::new(), Vec::new(), BTreeMap::new());
        for_each_line(lines, |parts| {
            match parts.contains_key("block") {
                true => blocks.push(ReadBlock::of(&parts)?),
                false => edges.push(edge_of(list, &parts, &mut names)?),
            }
            Ok(())
        })?;
        let mut changes = GraphChanges::new();
        for block in &blocks {
            changes = changes.put(block.as_new());
        }
        let mut imported = ImportedEdges {
            edges: edges.len() as u64,
            blocks_put: blocks.len() as u64,
            ..ImportedEdges::default()
        };
        changes = self.with_names(changes, &names, &mut imported)?;
        imported.seq = self.change(&changes.link_many(edges), durability)?.seq;
        Ok(imported)
    }
}
