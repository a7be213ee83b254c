//! Where files are: folders, and files in them by their names with and without ending.

use hashbrown::{HashMap, HashSet};

use super::words::{Word, Words};
use crate::language::Family;

/// A folder by its number; the tree's own is 0.
pub(super) type Folder = u32;
/// A file by its place among the sorted paths.
pub(super) type FileNumber = u32;

pub(super) const TOP: Folder = 0;

#[derive(Debug, Default)]
pub(super) struct Folders {
    /// The folder above, and the name; the first is the tree itself.
    above: Vec<Option<(Folder, Word)>>,
    folders: HashMap<(Folder, Word), Folder>,
    named: HashMap<(Folder, Word), FileNumber>,
    stems: HashMap<(Folder, Word, Family), FileNumber>,
    files: HashMap<(Folder, Family), Vec<FileNumber>>,
    /// Which families have files in a folder or below it.
    present: HashSet<(Folder, Family)>,
}

/// Where a file is.
#[derive(Debug, Clone, Copy)]
pub(super) struct FilePlace {
    pub(super) folder: Folder,
    /// The name without its ending.
    pub(super) stem: Word,
}

impl Folders {
    pub(super) fn new() -> Self {
        Self { above: vec![None], ..Self::default() }
    }

    /// Takes a file in; of two with the same stem the first stays.
    pub(super) fn add<'a>(
        &mut self,
        file: FileNumber,
        path: &'a str,
        family: Family,
        words: &mut Words<'a>,
    ) -> FilePlace {
        let mut folder = TOP;
        let mut rest = path;
        while let Some((name, below)) = rest.split_once('/') {
            folder = self.below(folder, words.number(name));
            rest = below;
        }
        let stem = words.number(stem_of(rest));
        self.named.entry((folder, words.number(rest))).or_insert(file);
        self.stems.entry((folder, stem, family)).or_insert(file);
        self.files.entry((folder, family)).or_default().push(file);
        let mut at = Some(folder);
        while let Some(folder) = at.filter(|folder| self.present.insert((*folder, family))) {
            at = self.above(folder).map(|(above, _)| above);
        }
        FilePlace { folder, stem }
    }

    fn below(&mut self, folder: Folder, name: Word) -> Folder {
        let next = Folder::try_from(self.above.len()).unwrap_or(TOP);
        let found = *self.folders.entry((folder, name)).or_insert(next);
        if found == next {
            self.above.push(Some((folder, name)));
        }
        found
    }

    /// The folder above, and the name that a folder has in it.
    pub(super) fn above(&self, folder: Folder) -> Option<(Folder, Word)> {
        usize::try_from(folder).ok().and_then(|at| self.above.get(at)).copied().flatten()
    }

    pub(super) fn folder(&self, folder: Folder, name: Word) -> Option<Folder> {
        self.folders.get(&(folder, name)).copied()
    }

    pub(super) fn file(&self, folder: Folder, name: Word) -> Option<FileNumber> {
        self.named.get(&(folder, name)).copied()
    }

    pub(super) fn stem(&self, folder: Folder, stem: Word, family: Family) -> Option<FileNumber> {
        self.stems.get(&(folder, stem, family)).copied()
    }

    /// Whether there are files of a family in a folder or below it.
    pub(super) fn has(&self, folder: Folder, family: Family) -> bool {
        self.present.contains(&(folder, family))
    }

    /// The files of a family that stand in a folder itself.
    pub(super) fn files(&self, folder: Folder, family: Family) -> &[FileNumber] {
        self.files.get(&(folder, family)).map_or(&[], Vec::as_slice)
    }

    /// A folder and all above it, up to the tree's own.
    pub(super) fn upward(&self, folder: Folder) -> impl Iterator<Item = Folder> {
        std::iter::successors(Some(folder), |folder| self.above(*folder).map(|(above, _)| above))
    }

    /// How many folders up from one it is to one that both stand in.
    pub(super) fn distance(&self, from: Folder, to: Folder) -> usize {
        let above: Vec<Folder> = self.upward(to).collect();
        self.upward(from).take_while(|folder| !above.contains(folder)).count()
    }
}

fn stem_of(name: &str) -> &str {
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}
