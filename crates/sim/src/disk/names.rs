//! Names: which file or directory is where, and changes to that.

use std::path::{Path, PathBuf};

use timestrata_io::parts::Tree;

/// Which names exist, with the numbers of the files.
pub(super) type Names = Tree<u64>;

/// Removes what stands in directories that do not exist.
pub(super) fn drop_unreachable(names: &mut Names) {
    let all = std::mem::take(&mut names.dirs);
    // Sorted order visits a directory before what is in it.
    for dir in all {
        if dir.parent().is_some_and(|parent| names.is_dir(parent)) {
            names.dirs.insert(dir);
        }
    }
    let files = std::mem::take(&mut names.files);
    names.files = files
        .into_iter()
        .filter(|(path, _)| path.parent().is_some_and(|parent| names.is_dir(parent)))
        .collect();
}

/// One change of names. Each is atomic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum NameOp {
    Create { path: PathBuf, node: u64 },
    CreateDir { path: PathBuf },
    Remove { path: PathBuf },
    Rename { from: PathBuf, to: PathBuf, node: u64 },
}

impl NameOp {
    pub(super) fn apply(&self, names: &mut Names) {
        match self {
            Self::Create { path, node } => {
                names.files.insert(path.clone(), *node);
            }
            Self::CreateDir { path } => {
                names.dirs.insert(path.clone());
            }
            Self::Remove { path } => {
                names.files.remove(path);
            }
            Self::Rename { from, to, node } => {
                names.files.remove(from);
                names.files.insert(to.clone(), *node);
            }
        }
    }

    fn paths(&self) -> (&Path, Option<&Path>) {
        match self {
            Self::Create { path, .. } | Self::CreateDir { path } | Self::Remove { path } => {
                (path, None)
            }
            Self::Rename { from, to, .. } => (from, Some(to)),
        }
    }

    fn touches_dir(&self, dir: &Path) -> bool {
        let (one, other) = self.paths();
        one.parent() == Some(dir) || other.is_some_and(|path| path.parent() == Some(dir))
    }

    /// Whether both change the same name, so that the later can't hold without the earlier.
    fn shares_name(&self, other: &Self) -> bool {
        let (a, b) = self.paths();
        let (c, d) = other.paths();
        a == c || Some(a) == d || b == Some(c) || (b.is_some() && b == d)
    }
}

/// Splits changes into those that a sync of `dir` makes durable (its own, and earlier ones
/// of the same names) and the rest, both in order.
pub(super) fn synced_with(dir: &Path, ops: Vec<NameOp>) -> (Vec<NameOp>, Vec<NameOp>) {
    let mut taken = vec![false; ops.len()];
    for index in (0..ops.len()).rev() {
        taken[index] = ops[index].touches_dir(dir)
            || (index + 1..ops.len())
                .any(|later| taken[later] && ops[later].shares_name(&ops[index]));
    }
    let mut synced = Vec::new();
    let mut rest = Vec::new();
    for (op, taken) in ops.into_iter().zip(taken) {
        if taken { synced.push(op) } else { rest.push(op) }
    }
    (synced, rest)
}

/// The changes that `wanted` picks, without those whose names an unpicked earlier one changed.
pub(super) fn closed_subset(ops: &[NameOp], mut wanted: impl FnMut() -> bool) -> Vec<&NameOp> {
    let mut kept: Vec<&NameOp> = Vec::new();
    let mut dropped: Vec<&NameOp> = Vec::new();
    for op in ops {
        if wanted() && !dropped.iter().any(|earlier| earlier.shares_name(op)) {
            kept.push(op);
        } else {
            dropped.push(op);
        }
    }
    kept
}
