//! What Python's nodes mean.

use tree_sitter::Node;

use super::build::{Builder, Path, known, place};
use super::number;
use super::path::{Part, path_of};
use super::walk::{Field, Step};
use crate::{BindingKind, Import, SymbolKind};

pub(super) const STEPS: &[(&str, Step)] = &[
    ("as_pattern", as_pattern),
    ("assignment", assignment),
    ("call", |b, node| b.call_in(node, Field::Function, path)),
    ("class_definition", class),
    ("decorated_definition", decorated),
    ("decorator", decorator),
    ("for_statement", for_statement),
    ("function_definition", function),
    ("future_import_statement", |b, node| import_names(b, node, "__future__", 0)),
    ("global_statement", outer),
    ("import_from_statement", import_from),
    ("import_statement", import),
    ("named_expression", named_expression),
    ("nonlocal_statement", outer),
    ("type_alias_statement", type_alias),
];

/// The names of an expression like `os.path.join`. What isn't a name ends it with an empty one, but
/// for `super()`, which is written out: `super.run`.
fn path<'t>(b: &mut Builder<'t>, node: Node<'t>) -> Option<Path> {
    path_of(b, node, |b, node| {
        Some(match node.kind() {
            "identifier" => Part::First(b.text(node)),
            "attribute" => Part::behind(b, node, Field::Attribute, Field::Object)?,
            "parenthesized_expression" => Part::Around(node.named_child(0)?),
            "call" => {
                let callee = b.field(node, Field::Function);
                let is_super = callee.is_some_and(|callee| b.text(callee) == "super");
                Part::First(if is_super { "super" } else { "" })
            }
            _ => Part::First(""),
        })
    })
}

/// A type as written, without what it is generic over.
fn type_path<'t>(b: &mut Builder<'t>, node: Node<'t>) -> Option<Path> {
    let mut node = node;
    for _ in 0..4 {
        node = match node.kind() {
            "type" | "generic_type" => node.named_child(0)?,
            "subscript" => b.field(node, Field::Value)?,
            "identifier" | "attribute" => return path(b, node).filter(|path| path.is_whole),
            _ => return None,
        };
    }
    None
}

fn class<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    let Some(class) = b.open_named(SymbolKind::Class, node) else { return };
    b.inherit(class, b.children_in(node, Field::Superclasses), type_path);
}

fn function<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    let is_static = std::mem::take(&mut b.is_static);
    let is_method = b.kind_of(b.current()) == Some(SymbolKind::Class);
    let kind = if is_method { SymbolKind::Method } else { SymbolKind::Function };
    if b.open_named(kind, node).is_none() {
        return;
    }
    let mut is_receiver = is_method && !is_static;
    for parameter in b.children_in(node, Field::Parameters) {
        is_receiver &= !bind_parameter(b, parameter, is_receiver);
    }
}

/// Binds a parameter; true if there was one.
fn bind_parameter<'t>(b: &mut Builder<'t>, node: Node<'t>, is_receiver: bool) -> bool {
    let name = match node.kind() {
        "identifier" => Some(node),
        "default_parameter" | "typed_default_parameter" => b.field(node, Field::Name),
        "typed_parameter" | "list_splat_pattern" | "dictionary_splat_pattern" => {
            node.named_child(0)
        }
        _ => None,
    };
    let Some(name) = name else { return false };
    if name.kind() != "identifier" {
        return bind_parameter_inside(b, name);
    }
    let of = match node.kind() {
        "typed_parameter" | "typed_default_parameter" => {
            b.field(node, Field::Type).and_then(|node| type_path(b, node))
        }
        _ => None,
    };
    let name = b.name(b.text(name));
    match of {
        None if is_receiver => b.bind(name, BindingKind::Receiver, None),
        of => b.bind_value(name, of.map(|of| of.name)),
    }
    true
}

/// `*args: int` has its name one deeper.
fn bind_parameter_inside<'t>(b: &mut Builder<'t>, node: Node<'t>) -> bool {
    let name = node.named_child(0).filter(|name| name.kind() == "identifier");
    if let Some(name) = name {
        b.bind_node(name, None);
    }
    name.is_some()
}

fn decorated<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    let children = b.children(node);
    let decorators = children.iter().filter(|child| child.kind() == "decorator");
    let names = decorators.filter_map(|decorator| decorator.named_child(0));
    let is_function =
        b.field(node, Field::Definition).is_some_and(|node| node.kind() == "function_definition");
    b.is_static = is_function && names.into_iter().any(|name| b.text(name) == "staticmethod");
}

/// A decorator without arguments is called as well; with them, its call is found inside.
fn decorator<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    let Some(name) = node.named_child(0) else { return };
    if matches!(name.kind(), "identifier" | "attribute") {
        let path = path(b, name);
        b.call(path);
    }
}

/// What is known of a value by how it is written.
fn value<'t>(b: &mut Builder<'t>, node: Node<'t>) -> (BindingKind, Option<Path>) {
    let (kind, path) = match node.kind() {
        "call" => {
            let callee = b.field(node, Field::Function);
            (BindingKind::Instance, callee.and_then(|callee| path(b, callee)))
        }
        "identifier" | "attribute" => (BindingKind::Alias, path(b, node)),
        _ => (BindingKind::Opaque, None),
    };
    known(kind, path.filter(|path| path.is_whole))
}

fn assignment<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    let Some(left) = b.field(node, Field::Left) else { return };
    let annotated = b.field(node, Field::Type).and_then(|node| type_path(b, node));
    let (kind, of) = match (annotated, b.field(node, Field::Right)) {
        (Some(of), _) => (BindingKind::Instance, Some(of)),
        (None, Some(right)) => value(b, right),
        (None, None) => (BindingKind::Opaque, None),
    };
    match left.kind() {
        "identifier" => {
            let name = b.name(b.text(left));
            // `run = run` in a class body or a function says nothing new.
            if of.is_none_or(|of| of.name != name) {
                b.bind(name, kind, of.map(|of| of.name));
            }
        }
        "attribute" => bind_attribute(b, left, kind, of),
        _ => bind_all(b, left),
    }
}

/// `self.name = value` in a method makes a field.
fn bind_attribute<'t>(b: &mut Builder<'t>, left: Node<'t>, kind: BindingKind, of: Option<Path>) {
    let (Some(object), Some(name)) =
        (b.field(left, Field::Object), b.field(left, Field::Attribute))
    else {
        return;
    };
    let Some(class) = b.type_around() else { return };
    if object.kind() != "identifier" || !matches!(b.text(object), "self" | "cls") {
        return;
    }
    let name = b.name(b.text(name));
    // What the value's name means is known in this method only; of a parameter, its type will do.
    let (kind, of) = match (kind, of) {
        (BindingKind::Alias, Some(of)) => {
            known(BindingKind::Instance, b.type_of(b.current(), of.name))
        }
        (kind, of) => (kind, of.map(|of| of.name)),
    };
    b.bind_in(Some(class), name, kind, of);
}

/// The names in a pattern such as `a, (b, c)`, of whose values nothing is known.
fn bind_all<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    let mut pending = vec![node];
    while let Some(node) = pending.pop() {
        match node.kind() {
            "identifier" => b.bind_node(node, None),
            "pattern_list" | "tuple_pattern" | "list_pattern" | "list_splat_pattern"
            | "as_pattern_target" | "tuple" | "list" => pending.extend(b.children(node)),
            _ => {}
        }
    }
}

fn for_statement<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    if let Some(left) = b.field(node, Field::Left) {
        bind_all(b, left);
    }
}

/// `with Pool() as pool` and `except Error as error` give a value of what is named.
fn as_pattern<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    let Some(target) = b.field(node, Field::Alias) else { return };
    let name = target.named_child(0).filter(|name| name.kind() == "identifier");
    let (Some(name), Some(given)) = (name, node.named_child(0)) else {
        return bind_all(b, target);
    };
    let (kind, of) = match value(b, given) {
        (BindingKind::Alias, of) => (BindingKind::Instance, of),
        known => known,
    };
    let name = b.name(b.text(name));
    b.bind(name, kind, of.map(|of| of.name));
}

fn named_expression<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    let (Some(name), Some(given)) = (b.field(node, Field::Name), b.field(node, Field::Value))
    else {
        return;
    };
    let (kind, of) = value(b, given);
    let name = b.name(b.text(name));
    b.bind(name, kind, of.map(|of| of.name));
}

fn outer<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    for name in b.children(node) {
        let name = b.name(b.text(name));
        b.assign_outer(name);
    }
}

fn type_alias<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    let Some(left) = b.field(node, Field::Left) else { return };
    let name = b.text(left).split('[').next().unwrap_or_default().trim();
    if !name.is_empty() {
        b.open(SymbolKind::Type, name, node);
    }
}

/// The name of an import and its alias, and where the name stands.
fn imported<'t>(b: &Builder<'t>, node: Node<'t>) -> Option<(&'t str, Option<&'t str>)> {
    match node.kind() {
        "dotted_name" => Some((b.text(node), None)),
        "aliased_import" => {
            let name = b.field(node, Field::Name)?;
            let alias = b.field(node, Field::Alias)?;
            Some((b.text(name), Some(b.text(alias))))
        }
        _ => None,
    }
}

/// A dotted name as it would be without blanks and line ends in it.
fn dotted(text: &str) -> String {
    text.split(|letter: char| letter.is_whitespace() || letter == '\\').collect()
}

fn import<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    for item in b.fields(node, Field::Name) {
        let Some((module, alias)) = imported(b, item) else { continue };
        let (module, alias) = (b.name(&dotted(module)), alias.map(|alias| b.name(alias)));
        b.import(Import { module, alias, at: place(item), ..Import::default() });
    }
}

fn import_from<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    let Some(module) = b.field(node, Field::ModuleName) else { return };
    let written = dotted(b.text(module));
    let name = written.trim_start_matches('.');
    import_names(b, node, name, number(written.len() - name.len()));
}

fn import_names<'t>(b: &mut Builder<'t>, node: Node<'t>, module: &str, level: u32) {
    let module = b.name(module);
    for item in b.fields(node, Field::Name) {
        let Some((name, alias)) = imported(b, item) else { continue };
        let (imported, alias) = (Some(b.name(name)), alias.map(|alias| b.name(alias)));
        b.import(Import { module, imported, alias, level, at: place(item), ..Import::default() });
    }
    let last = node.named_child(number(node.named_child_count()).saturating_sub(1));
    if let Some(wildcard) = last.filter(|last| last.kind() == "wildcard_import") {
        let (is_wildcard, at) = (true, place(wildcard));
        b.import(Import { module, level, is_wildcard, at, ..Import::default() });
    }
}
