//! Connected components: the parts of a graph between which there is no edge.

use crate::adjacency::{Direction, EdgeFilter, View};

/// The parts of a graph between which there is no edge, whatever its direction.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Components {
    /// The part of each node, by its number; none for nodes of which no edge counts. Parts are
    /// numbered in order of their first nodes.
    pub of: Vec<Option<u32>>,
    /// How many nodes each part has.
    pub sizes: Vec<usize>,
}

/// Finds the weakly connected components, by union and find.
pub fn components(view: &View, filter: &EdgeFilter) -> Components {
    let nodes = view.nodes() as u32;
    let mut trees = Trees { parents: (0..nodes).collect() };
    let mut is_end = vec![false; nodes as usize];
    for number in 0..nodes {
        view.for_each(number, Direction::Out, filter, |neighbor| {
            trees.join(number, neighbor.number);
            for end in [number, neighbor.number] {
                if let Some(is_end) = is_end.get_mut(end as usize) {
                    *is_end = true;
                }
            }
        });
    }
    let mut components = Components { of: vec![None; nodes as usize], sizes: Vec::new() };
    for number in (0..nodes).filter(|number| is_end.get(*number as usize) == Some(&true)) {
        // The root is the first node of its tree, and so has its part when the others come.
        let root = trees.root(number);
        let part = components.of.get(root as usize).copied().flatten();
        let part = part.unwrap_or(components.sizes.len() as u32);
        match components.sizes.get_mut(part as usize) {
            Some(size) => *size += 1,
            None => components.sizes.push(1),
        }
        if let Some(of) = components.of.get_mut(number as usize) {
            *of = Some(part);
        }
    }
    components
}

/// Trees of nodes, each with its least node as the root.
struct Trees {
    parents: Vec<u32>,
}

impl Trees {
    fn parent(&self, number: u32) -> u32 {
        self.parents.get(number as usize).copied().unwrap_or(number)
    }

    fn hang(&mut self, number: u32, parent: u32) {
        if let Some(own) = self.parents.get_mut(number as usize) {
            *own = parent;
        }
    }

    /// The root of a node. Every node on the way is hung two higher, which keeps ways short.
    fn root(&mut self, mut number: u32) -> u32 {
        loop {
            let parent = self.parent(number);
            if parent == number {
                return number;
            }
            let above = self.parent(parent);
            self.hang(number, above);
            number = above;
        }
    }

    fn join(&mut self, a: u32, b: u32) {
        let (a, b) = (self.root(a), self.root(b));
        self.hang(a.max(b), a.min(b));
    }
}
