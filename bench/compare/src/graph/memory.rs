//! Memory that edges take, in a process of its own.

use timestrata_bench::child::{Figures, ask, part, tell};
use timestrata_bench::{Bench, Better, Measure, Result, anonymous_bytes, scratch};

use crate::data::Shape;
use crate::made::Made;

/// The role of the child.
const WALK: &str = "walk";
/// Bytes of an edge hoped for, in both directions.
const AIM: f64 = 24.0;

pub(crate) fn run(bench: &mut Bench) -> Result<()> {
    let (nodes, edges) = (bench.many(100_000), bench.many(1_000_000));
    let dir = scratch(&bench.dir)?;
    Made::of(dir.path(), &Shape::uniform(nodes, edges))?.close()?;
    let figures = ask(WALK, dir.path(), edges)?;
    let figure = |name: &str| figures.get(name).copied().ok_or("no figure");
    let note = format!("{nodes} nodes, {edges} edges in both directions, in a process of its own");
    for (what, name) in [
        ("adjacency alone", "adjacency"),
        ("all that the process grew by, from opening the store to the first walk", "process"),
    ] {
        bench.report(
            Measure::new(format!("memory an edge: {what}"), "B/edge", figure(name)? / edges as f64)
                .against("the aim (what it replaces tells 128 B, its peer 250)", AIM, Better::Lower)
                .aim(1.0)
                .note(note.clone()),
        );
    }
    Ok(())
}

/// Plays what the arguments say.
pub(crate) fn play(arguments: impl Iterator<Item = String>) -> Result<()> {
    let (role, dir, _) = part(arguments)?;
    if role != WALK {
        return Err(format!("a child can't play '{role}'").into());
    }
    let before = anonymous_bytes()?;
    let made = Made::open(&dir)?;
    let view = made.adjacency()?;
    let grown = anonymous_bytes()?.saturating_sub(before);
    let figures = Figures::from([
        ("adjacency".to_owned(), view.base().bytes() as f64),
        ("process".to_owned(), grown as f64),
    ]);
    tell(&(figures, made))
}
