//! What a name means where it stands.
//!
//! Names lead to names: an import to a module, which may have imported it itself; a variable to the
//! class that its value is made of. A [`Trail`] keeps what is being looked up, so that circles end
//! and nothing goes deep.

use super::folders::Folder;
use super::modules;
use super::words::{NO_WORD, Word};
use super::world::{Bound, ImportLink, Item, World};
use crate::language::Family;
use crate::{BindingKind, Name, SymbolKind};

/// How many names may be followed to find what one means.
const TRAIL_MAX: usize = 24;
/// How many names may be looked at in all for one: names that several imports give can each lead to
/// several, and so on.
const NAMES_MAX: usize = 500;
/// How many classes are looked through for one member.
const BASES_MAX: usize = 200;
/// How many modules are looked through for a name of which it isn't known where it comes from.
const WILDCARDS_MAX: usize = 64;
/// Values that have a name in every file of Rust.
const PRELUDE_VALUES: [&str; 4] = ["Err", "None", "Ok", "Some"];
/// How many of the imports that give one name different meanings are tried.
const IMPORTS_MAX: usize = 8;

/// What a name means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    /// A file or a symbol.
    Item(Item),
    /// A folder that is a package.
    Folder(Folder),
    /// A value of a type.
    Value(Item),
    /// A value of a type, seen as one of its bases.
    Base(Item),
    /// Something of another tree, or of the language.
    Outside,
    /// Something that is bound to the name here, of which nothing is known.
    Opaque,
    /// Nothing that is known.
    Nothing,
}

impl Found {
    pub(super) fn is_something(self) -> bool {
        self != Self::Nothing
    }
}

/// What is being looked up, from the first name to the present one.
#[derive(Debug, Default)]
pub(super) struct Trail {
    open: Vec<(Item, Word)>,
    names: usize,
    wildcards: usize,
}

impl Trail {
    fn enter(&mut self, scope: Item, word: Word) -> bool {
        self.names += 1;
        let is_new = self.names <= NAMES_MAX
            && self.open.len() < TRAIL_MAX
            && !self.open.contains(&(scope, word));
        if is_new {
            self.open.push((scope, word));
        }
        is_new
    }

    fn leave(&mut self) {
        self.open.pop();
    }
}

impl World<'_> {
    /// What a path of names means where it is written.
    pub(super) fn look_up(&self, scope: Item, path: &[Word], trail: &mut Trail) -> Found {
        let Some((head, rest)) = path.split_first() else { return Found::Nothing };
        if *head == NO_WORD {
            return Found::Opaque;
        }
        let (mut found, rest) = match self.keyword(scope, path, trail) {
            Some((found, used)) => (found, rest.get(used..).unwrap_or_default()),
            None => (self.find(scope, *head, trail), rest),
        };
        for part in rest {
            found = self.step(found, *part, trail);
        }
        found
    }

    pub(super) fn look_up_name(&self, scope: Item, name: Name, trail: &mut Trail) -> Found {
        match self.file_of(scope) {
            Some(file) => self.look_up(scope, file.words.of(name), trail),
            None => Found::Nothing,
        }
    }

    /// What words mean that a language keeps for itself, and how many further words go with them.
    fn keyword(&self, scope: Item, path: &[Word], trail: &mut Trail) -> Option<(Found, usize)> {
        let file = self.file_of(scope)?;
        let (head, rest) = path.split_first()?;
        let class = || self.type_around(scope);
        match (file.family, self.words.text(*head)) {
            (Family::Python, "super") | (Family::Script, "super") => {
                Some((class().map_or(Found::Opaque, Found::Base), 0))
            }
            (Family::Script, "this") => Some((class().map_or(Found::Opaque, Found::Value), 0)),
            (Family::Zig, "@This") => Some((class().map_or(Found::Opaque, Found::Item), 0)),
            (Family::Rust, _) => modules::rust::keyword(self, scope, *head, rest, trail),
            _ => None,
        }
    }

    /// The type around a function, be it written in the type or elsewhere.
    pub(super) fn type_around(&self, scope: Item) -> Option<Item> {
        let mut item = scope;
        loop {
            let place = self.place(item)?;
            if let Some(owner) = self.owners.get(&item) {
                return Some(*owner);
            }
            match place.kind {
                Some(kind) if kind.is_type() => return Some(item),
                None => return Some(item).filter(|file| self.has_values(*file)),
                Some(SymbolKind::Module) => return None,
                Some(_) => item = place.parent,
            }
        }
    }

    /// What a single name means: here, or further out.
    pub(super) fn find(&self, scope: Item, word: Word, trail: &mut Trail) -> Found {
        let Some(file) = self.file_of(scope) else { return Found::Nothing };
        let mut at = scope;
        loop {
            let Some(place) = self.place(at) else { return Found::Nothing };
            // What a type holds is named through the type, but in the body of Python's classes and
            // everywhere in Zig's.
            let is_seen = match file.family {
                Family::Python => at == scope,
                family => family == Family::Zig,
            };
            let is_rust = file.family == Family::Rust;
            let is_of_type =
                |kind: SymbolKind| kind.is_type() || (is_rust && kind == SymbolKind::Extension);
            let is_hidden = place.kind.is_some_and(is_of_type) && !is_seen;
            if !is_hidden {
                let found = self.own(at, word, trail);
                if found.is_something() && !(is_rust && self.is_type_only(found, word)) {
                    return found;
                }
            }
            let is_closed = is_rust && place.kind == Some(SymbolKind::Module);
            if place.symbol.is_none() || is_closed {
                break;
            }
            at = place.parent;
        }
        modules::beyond(self, file, word)
    }

    /// Whether a name stands for a type here and elsewhere for a value that every file of Rust has: such
    /// as `Err` behind `type Err = ()`.
    fn is_type_only(&self, found: Found, word: Word) -> bool {
        let Found::Item(item) = found else { return false };
        self.kind(item) == Some(SymbolKind::Type) && PRELUDE_VALUES.contains(&self.words.text(word))
    }

    /// What a file, a module or a function has by this name itself.
    pub(super) fn own(&self, scope: Item, word: Word, trail: &mut Trail) -> Found {
        if let Some(item) = self.members.get(&(scope, word)) {
            return Found::Item(*item);
        }
        let is_bound = self.bound.contains_key(&(scope, word));
        let is_imported = self.imported.contains_key(&(scope, word));
        if !is_bound && !is_imported && !self.wildcards.contains_key(&scope) {
            return Found::Nothing;
        }
        if !trail.enter(scope, word) {
            return Found::Nothing;
        }
        let mut found = Found::Nothing;
        if is_imported {
            found = self.imported(scope, word, trail);
        }
        if let Some(bound) = self.bound.get(&(scope, word)).filter(|_| !found.is_something()) {
            found = self.bound(scope, *bound, trail);
        }
        if !found.is_something() {
            found = self.by_wildcard(scope, word, trail);
        }
        trail.leave();
        found
    }

    fn imported(&self, scope: Item, word: Word, trail: &mut Trail) -> Found {
        let links: Vec<ImportLink> = self.imports_of(scope, word).take(IMPORTS_MAX).collect();
        // Several are mostly alternatives, of which the first is what is hoped for.
        for link in links.into_iter().rev() {
            let found = self.import_target(link, trail);
            if !matches!(found, Found::Outside | Found::Nothing) {
                return found;
            }
        }
        Found::Outside
    }

    /// What the name means that an import binds.
    pub(super) fn import_target(&self, link: ImportLink, trail: &mut Trail) -> Found {
        let (Some(import), Some(file)) = (self.import(link), self.file(link.file)) else {
            return Found::Nothing;
        };
        match import.imported {
            None => modules::bound_module(self, file, import, trail),
            Some(name) => {
                let module = modules::module(self, file, import, trail);
                self.step(module, file.words.only(name), trail)
            }
        }
    }

    fn bound(&self, scope: Item, bound: Bound, trail: &mut Trail) -> Found {
        let of = bound.of;
        match bound.kind {
            BindingKind::Opaque => Found::Opaque,
            BindingKind::Receiver => self.type_around(scope).map_or(Found::Opaque, Found::Value),
            BindingKind::Alias => {
                let found = of.map(|of| self.look_up_name(scope, of, trail));
                found.filter(|found| found.is_something()).unwrap_or(Found::Opaque)
            }
            BindingKind::Instance => match of.map(|of| self.look_up_name(scope, of, trail)) {
                Some(Found::Item(item)) if self.has_values(item) => Found::Value(item),
                Some(Found::Outside) => Found::Outside,
                _ => Found::Opaque,
            },
        }
    }

    /// A name that one of the modules has of which all names are imported.
    fn by_wildcard(&self, scope: Item, word: Word, trail: &mut Trail) -> Found {
        let Some(wildcards) = self.wildcards.get(&scope) else { return Found::Nothing };
        let starts_hidden = self.words.text(word).starts_with('_');
        for (file, index) in wildcards.iter().rev() {
            let link = ImportLink { file: *file, import: *index, before: None };
            let (Some(import), Some(file)) = (self.import(link), self.file(link.file)) else {
                continue;
            };
            trail.wildcards += 1;
            if trail.wildcards > WILDCARDS_MAX || (starts_hidden && file.family == Family::Python) {
                return Found::Nothing;
            }
            let found = match modules::module(self, file, import, trail) {
                Found::Item(item) if self.is_file(item) => self.own(item, word, trail),
                Found::Item(item) if self.kind(item) == Some(SymbolKind::Enum) => {
                    self.variant(item, word)
                }
                module @ (Found::Item(_) | Found::Folder(_)) => self.step(module, word, trail),
                _ => Found::Nothing,
            };
            if !matches!(found, Found::Nothing | Found::Outside | Found::Opaque) {
                return found;
            }
        }
        Found::Nothing
    }

    /// What all names of an enum have in them: what it is declared to be able to be, and nothing else.
    fn variant(&self, of: Item, word: Word) -> Found {
        match self.bound.get(&(of, word)) {
            Some(bound) if bound.kind == BindingKind::Alias => Found::Item(of),
            _ => Found::Nothing,
        }
    }

    /// What a name means behind a dot.
    pub(super) fn step(&self, from: Found, word: Word, trail: &mut Trail) -> Found {
        match from {
            Found::Value(class) => self.member_of_any(vec![class], word, trail),
            Found::Base(class) => self.base_member(class, word, trail),
            Found::Folder(folder) => modules::in_folder(self, folder, word),
            Found::Item(item) => match self.kind(item) {
                None => modules::in_file(self, item, word, trail),
                Some(SymbolKind::Module) => self.own(item, word, trail),
                Some(kind) if kind.is_type() => self.type_member(item, kind, word, trail),
                Some(_) => Found::Opaque,
            },
            other => other,
        }
    }

    fn type_member(&self, class: Item, kind: SymbolKind, word: Word, trail: &mut Trail) -> Found {
        let found = self.member_of_any(vec![class], word, trail);
        let is_variant = kind == SymbolKind::Enum
            && self.words.text(word).starts_with(|first: char| first.is_uppercase());
        // What an enum can be is not told apart from the enum.
        if found.is_something() || !is_variant { found } else { Found::Item(class) }
    }

    fn base_member(&self, class: Item, word: Word, trail: &mut Trail) -> Found {
        let mut bases = self.bases.get(&class).cloned().unwrap_or_default();
        if bases.is_empty() || self.has_foreign_base.contains(&class) {
            let found = self.member_of_any(bases, word, trail);
            return if found.is_something() { found } else { Found::Outside };
        }
        bases.reverse();
        self.member_of_any(bases, word, trail)
    }

    /// Looks through classes and their bases, the last of `pending` first.
    fn member_of_any(&self, mut pending: Vec<Item>, word: Word, trail: &mut Trail) -> Found {
        let mut seen: Vec<Item> = Vec::new();
        let mut is_foreign = false;
        while let Some(class) = pending.pop() {
            if seen.contains(&class) || seen.len() >= BASES_MAX {
                continue;
            }
            seen.push(class);
            let found = self.own(class, word, trail);
            if found.is_something() {
                return found;
            }
            is_foreign |= self.has_foreign_base.contains(&class);
            pending.extend(self.bases.get(&class).into_iter().flatten().rev());
        }
        if is_foreign { Found::Outside } else { Found::Nothing }
    }
}
