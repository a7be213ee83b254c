//! All files and names, what of them is synced, and what a power cut makes of both.
//!
//! Names are kept apart from contents: a sync of a directory makes its names durable, and a sync of a
//! file its bytes, and neither does the other's work.

use std::collections::{BTreeMap, HashMap};
use std::ffi::{OsStr, OsString};

use timestrata_io::{Rng, SeededRng};

use crate::file::File;

/// The number of the topmost directory, which no cut changes.
pub const ROOT: u64 = 1;

/// A directory's number, and a name in it.
pub type Place = (u64, OsString);
/// What each name stands for.
pub type Names = BTreeMap<Place, u64>;

/// What a name stands for.
#[derive(Debug, Clone)]
pub enum Node {
    Directory,
    File(File),
}

/// A change of names, atomic: what each of some names stands for from now on.
#[derive(Debug, Clone)]
struct NameChange(Vec<(Place, Option<u64>)>);

/// What of the unsynced survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Survival {
    Nothing,
    Everything,
    Mixture,
}

/// What a cut found unsynced.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Unsynced {
    pub changes: usize,
    pub names: usize,
}

#[derive(Debug)]
pub struct World {
    nodes: HashMap<u64, Node>,
    names: Names,
    durable_names: Names,
    pending_names: Vec<NameChange>,
    /// Numbers are never used again, so nothing of before a cut is taken for something after it.
    next: u64,
    /// Between the moment of a cut and what it leaves: nothing can be changed.
    pub is_frozen: bool,
    /// A disk that says it has synced and has not: what is to be noticed.
    pub is_lying: bool,
    pub syncs: u64,
}

impl Default for World {
    fn default() -> Self {
        Self {
            nodes: HashMap::from([(ROOT, Node::Directory)]),
            names: Names::new(),
            durable_names: Names::new(),
            pending_names: Vec::new(),
            next: ROOT + 1,
            is_frozen: false,
            is_lying: false,
            syncs: 0,
        }
    }
}

impl World {
    pub fn node(&self, number: u64) -> Option<&Node> {
        self.nodes.get(&number)
    }

    pub fn file(&mut self, number: u64) -> Option<&mut File> {
        match self.nodes.get_mut(&number) {
            Some(Node::File(file)) => Some(file),
            _ => None,
        }
    }

    pub fn find(&self, directory: u64, name: &OsStr) -> Option<u64> {
        self.names.get(&(directory, name.to_owned())).copied()
    }

    /// The names in a directory, in order.
    pub fn list(&self, directory: u64) -> impl Iterator<Item = (&OsStr, u64)> {
        let from = (directory, OsString::new());
        let names = self.names.range(from..(directory + 1, OsString::new()));
        names.map(|((_, name), number)| (name.as_os_str(), *number))
    }

    /// Makes something new, of that name.
    pub fn create(&mut self, directory: u64, name: &OsStr, node: Node) -> u64 {
        let number = self.next;
        self.next += 1;
        self.nodes.insert(number, node);
        self.change_names(vec![((directory, name.to_owned()), Some(number))]);
        number
    }

    pub fn remove(&mut self, directory: u64, name: &OsStr) {
        self.change_names(vec![((directory, name.to_owned()), None)]);
    }

    pub fn rename(&mut self, from: Place, to: Place, number: u64) {
        self.change_names(vec![(from, None), (to, Some(number))]);
    }

    fn change_names(&mut self, sets: Vec<(Place, Option<u64>)>) {
        let change = NameChange(sets);
        change.apply(&mut self.names);
        self.pending_names.push(change);
    }

    /// Makes a file's bytes durable, or a directory's names with earlier changes of the same ones.
    pub fn sync(&mut self, number: u64) {
        self.syncs += 1;
        if self.is_lying {
            return;
        }
        if let Some(file) = self.file(number) {
            file.sync();
            return;
        }
        let changes = std::mem::take(&mut self.pending_names);
        let mut is_taken = vec![false; changes.len()];
        for at in (0..changes.len()).rev() {
            is_taken[at] = changes[at].touches(number)
                || (at + 1..changes.len())
                    .any(|later| is_taken[later] && changes[later].shares_name(&changes[at]));
        }
        for (change, is_taken) in changes.into_iter().zip(is_taken) {
            if is_taken {
                change.apply(&mut self.durable_names);
            } else {
                self.pending_names.push(change);
            }
        }
    }

    /// The power is gone and back: from now on there is what that left, all of it durable.
    pub fn cut(&mut self, survival: Survival, seed: u64) -> Unsynced {
        let rng = SeededRng::new(seed);
        let keep_of_8 = [4, 7, 1][(rng.next_u64() % 3) as usize];
        let found = Unsynced { changes: self.unsynced_changes(), names: self.pending_names.len() };
        let names = match survival {
            Survival::Nothing => self.durable_names.clone(),
            Survival::Everything => self.names.clone(),
            Survival::Mixture => self.some_names(&rng, keep_of_8),
        };
        let mut after = Self { next: self.next, syncs: self.syncs, ..Self::default() };
        let mut directories = vec![(ROOT, ROOT)];
        while let Some((before, now)) = directories.pop() {
            for ((_, name), number) in
                names.range((before, OsString::new())..(before + 1, OsString::new()))
            {
                let node = match self.nodes.get(number) {
                    Some(Node::Directory) => Node::Directory,
                    Some(Node::File(file)) => Node::File(File::settled(match survival {
                        Survival::Nothing => file.durable(),
                        Survival::Everything => file.seen(),
                        Survival::Mixture => file.mixture(&rng, keep_of_8),
                    })),
                    None => continue,
                };
                let is_directory = matches!(node, Node::Directory);
                let place = after.create(now, name, node);
                if is_directory {
                    directories.push((*number, place));
                }
            }
        }
        after.durable_names = after.names.clone();
        after.pending_names.clear();
        *self = after;
        found
    }

    fn unsynced_changes(&self) -> usize {
        let files = self.nodes.values().map(|node| match node {
            Node::File(file) => file.unsynced(),
            Node::Directory => 0,
        });
        files.sum()
    }

    /// A prefix of what was changed since, or any of it that doesn't need what is lost.
    fn some_names(&self, rng: &dyn Rng, keep_of_8: u64) -> Names {
        let mut names = self.durable_names.clone();
        let pending = &self.pending_names;
        if rng.next_u64().is_multiple_of(2) {
            let kept = rng.next_u64() % (pending.len() as u64 + 1);
            pending.iter().take(kept as usize).for_each(|change| change.apply(&mut names));
            return names;
        }
        let mut lost: Vec<&NameChange> = Vec::new();
        for change in pending {
            let is_kept = rng.next_u64() % 8 < keep_of_8;
            if is_kept && !lost.iter().any(|earlier| earlier.shares_name(change)) {
                change.apply(&mut names);
            } else {
                lost.push(change);
            }
        }
        names
    }
}

impl NameChange {
    fn apply(&self, names: &mut Names) {
        for (place, number) in &self.0 {
            match number {
                Some(number) => names.insert(place.clone(), *number),
                None => names.remove(place),
            };
        }
    }

    fn touches(&self, directory: u64) -> bool {
        self.0.iter().any(|((of, _), _)| *of == directory)
    }

    fn shares_name(&self, other: &Self) -> bool {
        self.0.iter().any(|(place, _)| other.0.iter().any(|(also, _)| also == place))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn world() -> (World, u64, u64) {
        let mut world = World::default();
        let directory = world.create(ROOT, OsStr::new("d"), Node::Directory);
        world.sync(ROOT);
        let file = world.create(directory, OsStr::new("new"), Node::File(File::default()));
        (world, directory, file)
    }

    fn names(world: &World) -> Vec<String> {
        let directory = world.find(ROOT, OsStr::new("d")).expect("the directory was synced");
        world.list(directory).map(|(name, _)| name.to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn a_name_without_a_sync_of_its_directory_is_lost_though_the_file_was_synced() {
        let (mut world, _, file) = world();
        world.file(file).expect("a file").write(0, b"bytes");
        world.sync(file);
        let found = world.cut(Survival::Nothing, 1);
        assert_eq!(found, Unsynced { changes: 0, names: 1 });
        assert!(names(&world).is_empty());
    }

    #[test]
    fn a_synced_name_without_a_sync_of_its_file_is_empty() {
        let (mut world, directory, file) = world();
        world.file(file).expect("a file").write(0, b"bytes");
        world.sync(directory);
        world.cut(Survival::Nothing, 1);
        assert_eq!(names(&world), ["new"]);
        let directory = world.find(ROOT, OsStr::new("d")).expect("synced");
        let file = world.find(directory, OsStr::new("new")).expect("synced");
        assert_eq!(world.file(file).expect("a file").len(), 0);
    }

    #[test]
    fn a_rename_is_whole_or_not_and_never_leaves_neither_name() {
        for seed in 0..100 {
            let (mut world, directory, file) = world();
            world.sync(directory);
            let (from, to) = ((directory, "new".into()), (directory, "final".into()));
            world.rename(from, to, file);
            world.cut(Survival::Mixture, seed);
            assert!(names(&world) == ["new"] || names(&world) == ["final"]);
        }
    }

    #[test]
    fn a_disk_that_lies_keeps_nothing() {
        let (mut world, directory, file) = world();
        world.is_lying = true;
        world.sync(directory);
        world.sync(file);
        world.cut(Survival::Nothing, 1);
        assert!(names(&world).is_empty());
    }
}
