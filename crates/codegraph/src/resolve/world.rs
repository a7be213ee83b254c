//! All files of a tree, with numbers for what they define and tables to look names up in.

use hashbrown::{HashMap, HashSet};

use super::folders::{FileNumber, FilePlace, Folder, Folders};
use super::modules;
use super::words::{FileWords, NO_WORD, Word, Words};
use crate::language::Family;
use crate::{BindingKind, Facts, Import, Name, Symbol, SymbolKind};

/// A file or a symbol, by its number among all of the tree.
pub(super) type Item = u32;

/// A file with what is worked out of it before names are looked up.
#[derive(Debug)]
pub(super) struct File<'a> {
    pub(super) path: &'a str,
    pub(super) facts: &'a Facts,
    pub(super) family: Family,
    pub(super) place: FilePlace,
    pub(super) words: FileWords,
    /// The item of the file; those of its symbols follow.
    pub(super) item: Item,
}

/// What is known of an item without looking up names.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub(super) file: FileNumber,
    /// Its symbol in the file; none for the file itself.
    pub(super) symbol: Option<u32>,
    pub(super) kind: Option<SymbolKind>,
    /// What it stands in; the file for what stands at its level, and for the file itself.
    pub(super) parent: Item,
}

/// What a name is bound to, if all bindings of it agree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bound {
    pub(super) kind: BindingKind,
    pub(super) of: Option<Name>,
}

/// Imports of one name in one scope, the last first.
#[derive(Debug, Clone, Copy)]
pub(super) struct ImportLink {
    pub(super) file: FileNumber,
    pub(super) import: u32,
    pub(super) before: Option<u32>,
}

#[derive(Debug, Default)]
pub(super) struct World<'a> {
    pub(super) files: Vec<File<'a>>,
    pub(super) words: Words<'a>,
    pub(super) folders: Folders,
    pub(super) places: Vec<Place>,
    /// What stands in a file or a symbol, and the members of types wherever they stand.
    pub(super) members: HashMap<(Item, Word), Item>,
    /// What the files of a Go package define together.
    pub(super) packages: HashMap<(Folder, Word), Item>,
    pub(super) imported: HashMap<(Item, Word), u32>,
    pub(super) links: Vec<ImportLink>,
    /// Imports of all names of a module, by where they stand.
    pub(super) wildcards: HashMap<Item, Vec<(FileNumber, u32)>>,
    pub(super) bound: HashMap<(Item, Word), Bound>,
    /// The type that an extension or a method written elsewhere belongs to.
    pub(super) owners: HashMap<Item, Item>,
    /// The bases of types, in the order written.
    pub(super) bases: HashMap<Item, Vec<Item>>,
    /// Types of which a base is not in the tree.
    pub(super) has_foreign_base: HashSet<Item>,
    /// The name of the file that makes a folder a package of Python, if there is any.
    pub(super) init: Option<Word>,
    /// The folders in which a Python module or package of a name can be imported from everywhere.
    pub(super) python_roots: HashMap<Word, Vec<Folder>>,
    /// The roots of Rust's libraries, by name.
    pub(super) crates: HashMap<String, FileNumber>,
    /// Functions of C that any file can call, by name.
    pub(super) linked: HashMap<Word, Vec<Item>>,
    /// Headers of C by the last part of their path.
    pub(super) headers: HashMap<Word, Vec<FileNumber>>,
}

/// A length as a number of files or items, of which there are fewer than fit.
pub(super) fn count(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

fn at<T>(all: &[T], number: u32) -> Option<&T> {
    usize::try_from(number).ok().and_then(|at| all.get(at))
}

impl<'a> World<'a> {
    /// Files are to be sorted by path, without duplicates.
    pub(super) fn new(sorted: &[(&'a str, &'a Facts)]) -> Self {
        let mut words = Words::default();
        let mut folders = Folders::new();
        let mut files = Vec::with_capacity(sorted.len());
        let mut item = 0;
        for (number, (path, facts)) in sorted.iter().enumerate() {
            let family = facts.language.family();
            let place = folders.add(count(number), path, family, &mut words);
            let file_words = FileWords::new(facts, &mut words);
            files.push(File { path, facts, family, place, words: file_words, item });
            item += 1 + count(facts.symbols.len());
        }
        let init = words.known("__init__");
        let mut world = Self { files, words, folders, init, ..Self::default() };
        for number in 0..world.files.len() {
            world.add_symbols(number);
            world.add_imports(number);
            world.add_bindings(number);
        }
        world.python_roots = modules::python_roots(&world);
        world.crates = modules::rust_crates(&world);
        world.linked = modules::c::linked(&world);
        world.headers = modules::c::headers(&mut world);
        world
    }

    pub(super) fn file(&self, number: FileNumber) -> Option<&File<'a>> {
        at(&self.files, number)
    }

    pub(super) fn place(&self, item: Item) -> Option<Place> {
        at(&self.places, item).copied()
    }

    pub(super) fn file_of(&self, item: Item) -> Option<&File<'a>> {
        self.place(item).and_then(|place| self.file(place.file))
    }

    pub(super) fn symbol(&self, item: Item) -> Option<&'a Symbol> {
        let place = self.place(item)?;
        at(&self.file(place.file)?.facts.symbols, place.symbol?)
    }

    pub(super) fn kind(&self, item: Item) -> Option<SymbolKind> {
        self.place(item).and_then(|place| place.kind)
    }

    pub(super) fn is_type(&self, item: Item) -> bool {
        self.kind(item).is_some_and(SymbolKind::is_type)
    }

    /// Whether it can have values: a type, or a file of Zig, which is a struct.
    pub(super) fn has_values(&self, item: Item) -> bool {
        let is_zig = || self.file_of(item).is_some_and(|file| file.family == Family::Zig);
        self.is_type(item) || (self.is_file(item) && is_zig())
    }

    pub(super) fn is_file(&self, item: Item) -> bool {
        self.place(item).is_some_and(|place| place.symbol.is_none())
    }

    pub(super) fn import(&self, link: ImportLink) -> Option<&'a Import> {
        at(&self.file(link.file)?.facts.imports, link.import)
    }

    /// The imports of one name in one scope, the last first.
    pub(super) fn imports_of(&self, scope: Item, word: Word) -> impl Iterator<Item = ImportLink> {
        let first = self.imported.get(&(scope, word)).and_then(|link| at(&self.links, *link));
        let before =
            |link: &ImportLink| link.before.and_then(|link| at(&self.links, link)).copied();
        std::iter::successors(first.copied(), before)
    }

    /// The item that a number in a file's facts means: that symbol, or the file for none.
    pub(super) fn item_in(file: &File<'_>, symbol: Option<u32>) -> Item {
        match symbol.filter(|symbol| at(&file.facts.symbols, *symbol).is_some()) {
            Some(symbol) => file.item + 1 + symbol,
            None => file.item,
        }
    }

    fn add_symbols(&mut self, number: usize) {
        let Some(file) = self.files.get(number) else { return };
        let item = file.item;
        let number = count(number);
        self.places.push(Place { file: number, symbol: None, kind: None, parent: item });
        for (index, symbol) in file.facts.symbols.iter().enumerate() {
            let index = count(index);
            // A parent that doesn't come before its child is none: so no chain of them is a circle.
            let parent = Self::item_in(file, symbol.parent.filter(|parent| *parent < index));
            let kind = Some(symbol.kind);
            self.places.push(Place { file: number, symbol: Some(index), kind, parent });
            if symbol.kind == SymbolKind::Extension || symbol.owner.is_some() {
                continue;
            }
            // The last of several is the one that counts when all have been run.
            let word = file.words.only(symbol.name);
            self.members.insert((parent, word), item + 1 + index);
            if file.family == Family::Go && parent == item {
                self.packages.insert((file.place.folder, word), item + 1 + index);
            }
        }
    }

    fn add_imports(&mut self, number: usize) {
        let Some(file) = self.files.get(number) else { return };
        for (index, import) in file.facts.imports.iter().enumerate() {
            let scope = Self::item_in(file, import.inside);
            let (number, index) = (count(number), count(index));
            if import.is_wildcard {
                self.wildcards.entry(scope).or_default().push((number, index));
                continue;
            }
            let word = self.word_of_import(file, import);
            if word == NO_WORD {
                continue;
            }
            let link = count(self.links.len());
            let before = self.imported.insert((scope, word), link);
            self.links.push(ImportLink { file: number, import: index, before });
        }
    }

    /// The name that an import has where it stands; none for what can't be named there.
    fn word_of_import(&self, file: &File<'a>, import: &Import) -> Word {
        if let Some(name) = import.alias.or(import.imported) {
            return file.words.only(name);
        }
        let module = file.words.of(import.module);
        let word = match file.family {
            Family::Python => module.first(),
            Family::Rust => module.last(),
            Family::Go => return self.word_of_package(file.facts.text(import.module)),
            Family::C | Family::Script | Family::Zig => None,
        };
        word.copied().unwrap_or(NO_WORD)
    }

    /// Go names a package by the last part of its path that isn't a version.
    fn word_of_package(&self, path: &str) -> Word {
        let is_version = |part: &str| {
            part.strip_prefix('v')
                .is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()))
        };
        let part = path.rsplit('/').find(|part| !is_version(part)).unwrap_or(path);
        let name = part.split_once('.').map_or(part, |(name, _)| name);
        self.words.known(name).unwrap_or(NO_WORD)
    }

    fn add_bindings(&mut self, number: usize) {
        let Some(file) = self.files.get(number) else { return };
        for binding in &file.facts.bindings {
            let scope = Self::item_in(file, binding.inside);
            let word = file.words.only(binding.name);
            let new = Bound { kind: binding.kind, of: binding.of };
            let bound = self.bound.entry((scope, word)).or_insert(new);
            // `conn = None` before `conn = Connection()` says nothing; two types say too much.
            if bound.kind == BindingKind::Opaque && bound.of.is_none() {
                *bound = new;
            } else if new.kind != BindingKind::Opaque && *bound != new {
                *bound = Bound { kind: BindingKind::Opaque, of: Some(binding.name) };
            }
        }
    }
}
