//! PageRank: how much a node counts, by the edges that lead to it.

use timestrata_engine::{Error, ErrorKind, Result};

use crate::adjacency::{Direction, EdgeFilter, View};

/// How to rank.
#[derive(Debug, Clone)]
pub struct RankOptions {
    /// How often one follows an edge instead of going anywhere: from 0 to 1.
    pub damping: f64,
    /// It is done once the ranks change by no more than this in all.
    pub tolerance: f64,
    /// It is done after so many rounds in any case.
    pub rounds_max: usize,
    /// Which edges count.
    pub edges: EdgeFilter,
}

impl Default for RankOptions {
    fn default() -> Self {
        Self { damping: 0.85, tolerance: 1e-9, rounds_max: 100, edges: EdgeFilter::all() }
    }
}

/// What a ranking came by.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Ranks {
    /// The rank of each node, by its number: 1 in all. 0 for nodes of which no edge counts: they
    /// are not ranked.
    pub of: Vec<f64>,
    /// Rounds it took.
    pub rounds: usize,
    /// Whether the ranks came to rest, within the tolerance.
    pub is_settled: bool,
}

/// Ranks nodes by `PageRank` (S. Brin and L. Page: The anatomy of a large-scale hypertextual Web
/// search engine, Computer Networks and ISDN Systems 30, 1998): a node's rank is how often one is
/// at it who follows edges at random and now and then goes to any node. Who comes to a node
/// without edges that go out goes to any node. Weights don't matter; each edge counts once.
///
/// # Errors
/// `InvalidArgument` if the damping is not from 0 to 1, or the tolerance below 0.
pub fn page_rank(view: &View, options: &RankOptions) -> Result<Ranks> {
    if !(0.0..=1.0).contains(&options.damping) || !(0.0..).contains(&options.tolerance) {
        let message = format!(
            "PageRank needs a damping from 0 to 1 and a tolerance of 0 or more, not {} and {}",
            options.damping, options.tolerance
        );
        return Err(Error::new(ErrorKind::InvalidArgument, message));
    }
    let numbers = 0..view.nodes() as u32;
    let degree = |number: u32, direction| view.degree_of(number, direction, &options.edges);
    let out: Vec<f64> = numbers.clone().map(|n| degree(n, Direction::Out) as f64).collect();
    let ranked: Vec<u32> = numbers
        .filter(|number| {
            let has_out = out.get(*number as usize).is_some_and(|degree| *degree > 0.0);
            has_out || degree(*number, Direction::In) > 0
        })
        .collect();
    let mut ranks = Ranks { of: vec![0.0; view.nodes()], rounds: 0, is_settled: true };
    let share = 1.0 / ranked.len() as f64;
    for number in &ranked {
        if let Some(rank) = ranks.of.get_mut(*number as usize) {
            *rank = share;
        }
    }
    let mut flows = vec![0.0; view.nodes()];
    ranks.is_settled = ranked.is_empty();
    while !ranks.is_settled && ranks.rounds < options.rounds_max {
        let change = round(view, options, &ranked, &out, &mut ranks.of, &mut flows);
        ranks.rounds += 1;
        ranks.is_settled = change <= options.tolerance;
    }
    Ok(ranks)
}

/// One round; gives by how much the ranks changed in all.
fn round(
    view: &View,
    options: &RankOptions,
    ranked: &[u32],
    out: &[f64],
    ranks: &mut [f64],
    flows: &mut [f64],
) -> f64 {
    let mut dangling = 0.0;
    for ((flow, rank), degree) in flows.iter_mut().zip(ranks.iter()).zip(out) {
        if *degree > 0.0 {
            *flow = rank / degree;
        } else {
            *flow = 0.0;
            dangling += rank;
        }
    }
    let share = (1.0 - options.damping + options.damping * dangling) / ranked.len() as f64;
    let mut change = 0.0;
    for number in ranked {
        let mut flow = 0.0;
        view.for_each(*number, Direction::In, &options.edges, |source| {
            flow += flows.get(source.number as usize).copied().unwrap_or_default();
        });
        if let Some(rank) = ranks.get_mut(*number as usize) {
            let before = std::mem::replace(rank, share + options.damping * flow);
            change += (*rank - before).abs();
        }
    }
    change
}
