//! Facts in the making: the table of names, the symbols that are open, and what is found in them.

use hashbrown::{HashMap, HashSet};
use tree_sitter::{Node, Point};

use super::number;
use super::walk::{Field, Table};
use crate::{
    Binding, BindingKind, Facts, Import, Language, Name, Position, Reference, ReferenceKind, Span,
    Symbol, SymbolKind,
};

/// Longer paths are cut in front, as if what stood there had no name.
const PARTS_MAX: usize = 16;

/// Symbols in symbols are told up to this depth; what is deeper belongs to the last of them.
const OPEN_MAX: usize = 64;
/// Names within the file that would be longer are left at the symbol's own, so that a long name
/// doesn't come again with each of many members.
const QUALIFIED_BYTES_MAX: usize = 1_024;

/// A symbol whose node the walk is in.
#[derive(Debug, Clone, Copy)]
struct Open {
    symbol: u32,
    /// How deep its node is in the tree.
    depth: u32,
}

#[derive(Debug)]
pub(super) struct Builder<'t> {
    source: &'t [u8],
    table: &'static Table,
    facts: Facts,
    numbers: HashMap<String, Name>,
    open: Vec<Open>,
    /// How deep the node is that the walk is at.
    pub(super) depth: u32,
    /// Bindings by where they are and what they are called; several if they say different things.
    bound: HashMap<(Option<u32>, Name), Vec<usize>>,
    /// Names of outer scopes that a function says it assigns.
    outer: HashSet<(u32, Name)>,
    /// Whether the function that comes next has no receiver, by its decorators.
    pub(super) is_static: bool,
    /// Whether the class expression that comes next has got its name already.
    pub(super) is_named: bool,
    /// Whether what is in the node that the walk is at says nothing.
    pub(super) is_skipped: bool,
    buffer: String,
}

/// The names of a path, collected from its last to its first.
#[derive(Debug)]
pub(super) struct Parts<'t> {
    parts: [&'t str; PARTS_MAX],
    count: usize,
    at: Position,
}

/// A path that was written, with the place of its last name.
#[derive(Debug, Clone, Copy)]
pub(super) struct Path {
    pub(super) name: Name,
    pub(super) at: Position,
    /// Whether it begins with a name, so that it can be looked up.
    pub(super) is_whole: bool,
}

impl<'t> Parts<'t> {
    pub(super) fn new() -> Self {
        Self { parts: [""; PARTS_MAX], count: 0, at: Position::default() }
    }

    /// Puts a name before those that are there; false if there is no more room.
    pub(super) fn push(&mut self, text: &'t str, node: Node<'t>) -> bool {
        if self.count == 0 {
            self.at = place(node);
        }
        let Some(part) = self.parts.get_mut(self.count) else { return false };
        *part = text;
        self.count += 1;
        true
    }
}

fn position(point: Point) -> Position {
    Position { line: number(point.row + 1), column: number(point.column) }
}

/// What a name is bound to: nothing that is known, where it isn't known of what.
pub(super) fn known<T>(kind: BindingKind, of: Option<T>) -> (BindingKind, Option<T>) {
    (if of.is_some() { kind } else { BindingKind::Opaque }, of)
}

/// Where a node begins.
pub(super) fn place(node: Node<'_>) -> Position {
    position(node.start_position())
}

fn span(node: Node<'_>) -> Span {
    Span {
        start_byte: number(node.start_byte()),
        end_byte: number(node.end_byte()),
        start: place(node),
        end: position(node.end_position()),
    }
}

impl<'t> Builder<'t> {
    pub(super) fn new(language: Language, table: &'static Table, source: &'t [u8]) -> Self {
        let facts = Facts {
            language,
            symbols: Vec::new(),
            imports: Vec::new(),
            references: Vec::new(),
            bindings: Vec::new(),
            names: Vec::new(),
        };
        Self {
            source,
            table,
            facts,
            numbers: HashMap::new(),
            open: Vec::new(),
            depth: 0,
            bound: HashMap::new(),
            outer: HashSet::new(),
            is_static: false,
            is_named: false,
            is_skipped: false,
            buffer: String::new(),
        }
    }

    pub(super) fn finish(self) -> Facts {
        self.facts
    }

    pub(super) fn text(&self, node: Node<'t>) -> &'t str {
        let bytes = self.source.get(node.byte_range()).unwrap_or_default();
        std::str::from_utf8(bytes).unwrap_or_default()
    }

    pub(super) fn field(&self, node: Node<'t>, field: Field) -> Option<Node<'t>> {
        node.child_by_field_id(self.table.field(field)?)
    }

    /// The named children, with comments.
    pub(super) fn children(&self, node: Node<'t>) -> Vec<Node<'t>> {
        let mut cursor = node.walk();
        node.named_children(&mut cursor).collect()
    }

    /// The named children of what stands in a field, if there is something.
    pub(super) fn children_in(&self, node: Node<'t>, field: Field) -> Vec<Node<'t>> {
        self.field(node, field).map(|list| self.children(list)).unwrap_or_default()
    }

    /// The children of one field.
    pub(super) fn fields(&self, node: Node<'t>, field: Field) -> Vec<Node<'t>> {
        let Some(field) = self.table.field(field).and_then(std::num::NonZeroU16::new) else {
            return Vec::new();
        };
        let mut cursor = node.walk();
        node.children_by_field_id(field, &mut cursor).collect()
    }

    pub(super) fn name(&mut self, text: &str) -> Name {
        if let Some(name) = self.numbers.get(text) {
            return *name;
        }
        let name = Name(number(self.facts.names.len()));
        self.facts.names.push(text.to_owned());
        self.numbers.insert(text.to_owned(), name);
        name
    }

    pub(super) fn text_of(&self, name: Name) -> &str {
        self.facts.text(name)
    }

    /// A path of these names; `None` if there are none.
    pub(super) fn path(&mut self, parts: &Parts<'t>) -> Option<Path> {
        let written = parts.parts.get(..parts.count)?;
        let first = written.last()?;
        let name = match written {
            [only] => self.name(only),
            _ => {
                let mut buffer = std::mem::take(&mut self.buffer);
                buffer.clear();
                for (at, part) in written.iter().rev().enumerate() {
                    if at > 0 {
                        buffer.push('.');
                    }
                    buffer.push_str(part);
                }
                let name = self.name(&buffer);
                self.buffer = buffer;
                name
            }
        };
        Some(Path { name, at: parts.at, is_whole: !first.is_empty() })
    }

    /// The innermost symbol that the walk is in.
    pub(super) fn current(&self) -> Option<u32> {
        self.open.last().map(|open| open.symbol)
    }

    /// How much deeper the walk is in the tree than the node of the present symbol.
    pub(super) fn depth_in_current(&self) -> Option<u32> {
        self.open.last().and_then(|open| self.depth.checked_sub(open.depth))
    }

    pub(super) fn symbol(&self, index: u32) -> Option<&Symbol> {
        usize::try_from(index).ok().and_then(|index| self.facts.symbols.get(index))
    }

    pub(super) fn kind_of(&self, index: Option<u32>) -> Option<SymbolKind> {
        index.and_then(|index| self.symbol(index)).map(|symbol| symbol.kind)
    }

    /// The type, extension or module around the function that the walk is in, if it is in one.
    pub(super) fn type_around(&self) -> Option<u32> {
        let found = self.open.iter().rev().find(|open| {
            !matches!(
                self.kind_of(Some(open.symbol)),
                Some(SymbolKind::Function | SymbolKind::Method)
            )
        });
        found.map(|open| open.symbol).filter(|symbol| {
            self.kind_of(Some(*symbol))
                .is_some_and(|kind| kind.is_type() || kind == SymbolKind::Extension)
        })
    }

    /// A symbol that is open until the walk leaves its node; `None` if it is too deep to be told.
    pub(super) fn open(&mut self, kind: SymbolKind, text: &str, node: Node<'t>) -> Option<u32> {
        self.open_of(kind, text, node, None)
    }

    /// [`Self::open`] by the name that a node has; `None` also if it has none.
    pub(super) fn open_named(&mut self, kind: SymbolKind, node: Node<'t>) -> Option<u32> {
        let name = self.field(node, Field::Name)?;
        self.open(kind, self.text(name), node)
    }

    /// [`Self::open_named`] where nothing more is to be told of the symbol.
    pub(super) fn open_only(&mut self, kind: SymbolKind, node: Node<'t>) {
        self.open_named(kind, node);
    }

    /// [`Self::open`], with the type that it belongs to though it doesn't stand in it.
    pub(super) fn open_of(
        &mut self,
        kind: SymbolKind,
        text: &str,
        node: Node<'t>,
        owner: Option<Name>,
    ) -> Option<u32> {
        if self.open.len() >= OPEN_MAX {
            return None;
        }
        let parent = self.current();
        let name = self.name(text);
        let qualified = self.qualified(kind, text, parent, owner);
        let index = number(self.facts.symbols.len());
        let span = span(node);
        let symbol = Symbol { kind, name, qualified, parent, owner, is_hidden: false, span };
        self.facts.symbols.push(symbol);
        self.open.push(Open { symbol: index, depth: self.depth });
        Some(index)
    }

    fn qualified(
        &mut self,
        kind: SymbolKind,
        text: &str,
        parent: Option<u32>,
        owner: Option<Name>,
    ) -> Name {
        let parent = parent.and_then(|parent| self.symbol(parent)).map(|parent| parent.qualified);
        let owner = owner.filter(|_| kind != SymbolKind::Extension);
        let mut full = String::new();
        for before in [parent, owner].into_iter().flatten() {
            full.push_str(self.text_of(before));
            full.push('.');
        }
        full.push_str(text);
        self.name(if full.len() > QUALIFIED_BYTES_MAX { text } else { &full })
    }

    pub(super) fn hide(&mut self, symbol: u32) {
        let symbol = usize::try_from(symbol).ok().and_then(|at| self.facts.symbols.get_mut(at));
        if let Some(symbol) = symbol {
            symbol.is_hidden = true;
        }
    }

    /// Ends the symbols whose nodes are as deep as this, or deeper.
    pub(super) fn close(&mut self, depth: u32) {
        while self.open.last().is_some_and(|open| open.depth >= depth) {
            self.open.pop();
        }
    }

    pub(super) fn refer(&mut self, kind: ReferenceKind, path: Path, inside: Option<u32>) {
        let reference = Reference { kind, callee: path.name, at: path.at, inside };
        self.facts.references.push(reference);
    }

    pub(super) fn call(&mut self, path: Option<Path>) {
        if let Some(path) = path {
            self.refer(ReferenceKind::Call, path, self.current());
        }
    }

    /// A call of what stands in a field, of which `path` tells the names.
    pub(super) fn call_in(
        &mut self,
        node: Node<'t>,
        field: Field,
        path: impl FnOnce(&mut Self, Node<'t>) -> Option<Path>,
    ) {
        let path = self.field(node, field).and_then(|callee| path(self, callee));
        self.call(path);
    }

    /// The bases of a type, as far as `path` tells their names.
    pub(super) fn inherit(
        &mut self,
        symbol: u32,
        bases: impl IntoIterator<Item = Node<'t>>,
        path: impl Fn(&mut Self, Node<'t>) -> Option<Path>,
    ) {
        for base in bases {
            if let Some(path) = path(self, base) {
                self.refer(ReferenceKind::Inherit, path, Some(symbol));
            }
        }
    }

    /// Imports where the walk is.
    pub(super) fn import(&mut self, import: Import) {
        let inside = self.current();
        self.facts.imports.push(Import { inside, ..import });
    }

    /// Says that the function has no variable of this name: it means one further out.
    pub(super) fn assign_outer(&mut self, name: Name) {
        if let Some(function) = self.current() {
            self.outer.insert((function, name));
        }
    }

    /// Binds a name where the walk is.
    pub(super) fn bind(&mut self, name: Name, kind: BindingKind, of: Option<Name>) {
        let current = self.current();
        let is_outer = current.is_some_and(|function| self.outer.contains(&(function, name)));
        if !is_outer {
            self.bind_in(current, name, kind, of);
        }
    }

    /// Binds a name where the walk is to a value of this type, if it is known.
    pub(super) fn bind_value(&mut self, name: Name, of: Option<Name>) {
        let (kind, of) = known(BindingKind::Instance, of);
        self.bind(name, kind, of);
    }

    /// [`Self::bind_value`] of the name that a node is.
    pub(super) fn bind_node(&mut self, node: Node<'t>, of: Option<Name>) {
        let name = self.name(self.text(node));
        self.bind_value(name, of);
    }

    /// Binds a name in a scope; each thing that is known of it is kept once.
    pub(super) fn bind_in(
        &mut self,
        inside: Option<u32>,
        name: Name,
        kind: BindingKind,
        of: Option<Name>,
    ) {
        let binding = Binding { name, inside, kind, of };
        let known = self.bound.entry((inside, name)).or_default();
        let is_known = known.iter().any(|at| self.facts.bindings.get(*at) == Some(&binding));
        // A name with many meanings has none that can be told.
        if !is_known && known.len() < 4 {
            known.push(self.facts.bindings.len());
            self.facts.bindings.push(binding);
        }
    }

    /// The type that a variable of this scope is known to have.
    pub(super) fn type_of(&self, inside: Option<u32>, name: Name) -> Option<Name> {
        let known = self.bound.get(&(inside, name))?;
        let [only] = known.as_slice() else { return None };
        let binding = self.facts.bindings.get(*only)?;
        binding.of.filter(|_| binding.kind == BindingKind::Instance)
    }
}
