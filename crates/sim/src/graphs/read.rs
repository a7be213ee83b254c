//! A graph held against its model: blocks, their versions, and edges as both streams and walks have them.

use std::collections::BTreeSet;

use timestrata_graph::{Along, Block, BlockId, Direction, Graph, GraphView};

use super::model::GraphModel;
use super::session::{NAME, id, kind};
use super::step::{BLOCKS, KINDS};
use crate::subject::{Judgement, Showing, wrong};

/// Holds a snapshot against a model; a graph without a block may be missing if it isn't promised.
pub(super) fn compare(showing: &Showing<'_>, model: &GraphModel) -> Judgement<()> {
    let Showing { store, snapshot, is_made } = *showing;
    if store.stream(NAME).is_none() && !is_made && snapshot.seq().0 == 0 {
        return Ok(());
    }
    let view = Graph::open(store, NAME)?.view_at(snapshot.clone());
    let expect = |what: &str, found: String, expected: String| match found == expected {
        true => Ok(()),
        false => wrong(format!("the graph's {what} are {found}, expected {expected}")),
    };
    for number in 0..BLOCKS {
        let found: Vec<_> = view.versions(id(number))?.iter().map(shown).collect();
        let expected: Vec<_> = [&model.blocks, &model.before]
            .iter()
            .filter_map(|blocks| blocks.get(&number).cloned())
            .collect();
        expect(&format!("versions of {number}"), format!("{found:?}"), format!("{expected:?}"))?;
    }
    let expected = format!("{:?}", model.edges);
    let both = [Direction::Out, Direction::In];
    // Before any walk: a walk reads edges of one direction into memory, and then those of both are told from there.
    for direction in both {
        let stored = edges(&view, direction)?;
        expect(&format!("edges {direction:?}"), format!("{stored:?}"), expected.clone())?;
    }
    for direction in both {
        let walked = walked(&view, direction)?;
        expect(&format!("walks {direction:?}"), format!("{walked:?}"), expected.clone())?;
        let loaded = edges(&view, direction)?;
        expect(&format!("loaded edges {direction:?}"), format!("{loaded:?}"), expected.clone())?;
    }
    let counts = (view.block_count()?, view.edge_count()?);
    let wanted = (model.blocks.len() as u64, model.edges.len() as u64);
    expect("counts", format!("{counts:?}"), format!("{wanted:?}"))
}

fn shown(block: &Block) -> (u32, String) {
    (block.version(), String::from_utf8_lossy(block.content()).into_owned())
}

/// The number of a block; one that is none if nobody put it.
fn number(of: BlockId) -> u8 {
    (0..BLOCKS).find(|number| id(*number) == of).unwrap_or(u8::MAX)
}

fn kind_number(name: &str) -> u8 {
    (0..KINDS).find(|number| kind(*number) == name).unwrap_or(u8::MAX)
}

fn edges(view: &GraphView, direction: Direction) -> Judgement<BTreeSet<(u8, u8, u8)>> {
    let mut found = BTreeSet::new();
    for block in 0..BLOCKS {
        for edge in view.edges(id(block), direction, &[])? {
            let key = edge.key;
            found.insert((number(key.source), kind_number(&key.kind), number(key.target)));
        }
    }
    Ok(found)
}

fn walked(view: &GraphView, direction: Direction) -> Judgement<BTreeSet<(u8, u8, u8)>> {
    let ids: Vec<BlockId> = (0..BLOCKS).map(id).collect();
    let mut found = BTreeSet::new();
    let others = view.neighbors(&ids, &Along { direction, ..Along::default() })?;
    for (block, others) in (0..).zip(others) {
        for (other, name) in others {
            let (other, of) = (number(other), kind_number(&name));
            found.insert(match direction {
                Direction::In => (other, of, block),
                _ => (block, of, other),
            });
        }
    }
    Ok(found)
}
