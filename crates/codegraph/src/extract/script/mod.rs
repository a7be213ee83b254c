//! What the nodes of JavaScript and TypeScript mean, whose grammars share most names.

mod modules;

use tree_sitter::Node;

use super::build::{Builder, Path, known};
use super::path::{Part, path_of};
use super::walk::{Field, Step};
use crate::{BindingKind, Name, SymbolKind};

/// What the grammars of JavaScript and TypeScript have in common.
pub(super) const STEPS: &[(&str, Step)] = &[
    ("assignment_expression", assignment),
    ("call_expression", call),
    ("class", class_expression),
    ("class_declaration", class),
    ("decorator", decorator),
    ("export_statement", modules::export),
    ("function_declaration", function),
    ("generator_function_declaration", function),
    ("import_statement", modules::import),
    ("jsx_opening_element", element),
    ("jsx_self_closing_element", element),
    ("method_definition", method),
    ("new_expression", |b, node| b.call_in(node, Field::Constructor, path)),
    ("pair", pair),
    ("variable_declarator", variable),
];

/// What JavaScript has besides.
pub(super) const PLAIN_STEPS: &[(&str, Step)] = &[("field_definition", field)];

/// What TypeScript has besides.
pub(super) const TYPED_STEPS: &[(&str, Step)] = &[
    ("abstract_class_declaration", class),
    ("abstract_method_signature", method),
    ("enum_declaration", |b, node| open(b, node, SymbolKind::Enum)),
    ("function_signature", function),
    ("interface_declaration", interface),
    ("internal_module", |b, node| open(b, node, SymbolKind::Module)),
    ("method_signature", method),
    ("module", |b, node| open(b, node, SymbolKind::Module)),
    ("property_signature", field),
    ("public_field_definition", field),
    ("type_alias_declaration", |b, node| open(b, node, SymbolKind::Type)),
];

/// The names of an expression or a type like `this.x.run` or `ns.Type<T>`.
pub(super) fn path<'t>(b: &mut Builder<'t>, node: Node<'t>) -> Option<Path> {
    path_of(b, node, |b, node| {
        Some(match node.kind() {
            "identifier" | "type_identifier" | "this" | "super" => Part::First(b.text(node)),
            "member_expression" | "nested_identifier" => {
                Part::behind(b, node, Field::Property, Field::Object)?
            }
            "nested_type_identifier" => {
                let name = b.field(node, Field::Name)?;
                Part::Behind(b.text(name), name, node.named_child(0)?)
            }
            "generic_type" => Part::Around(b.field(node, Field::Name)?),
            "parenthesized_expression" | "non_null_expression" => {
                Part::Around(node.named_child(0)?)
            }
            _ => Part::First(""),
        })
    })
}

fn whole_path<'t>(b: &mut Builder<'t>, node: Node<'t>) -> Option<Path> {
    path(b, node).filter(|path| path.is_whole)
}

pub(super) fn is_function(node: Node<'_>) -> bool {
    matches!(node.kind(), "arrow_function" | "function_expression" | "generator_function")
}

/// The text of a string, without its quotes.
pub(super) fn string<'t>(b: &Builder<'t>, node: Node<'t>) -> &'t str {
    b.text(node).trim_matches(['"', '\'', '`'])
}

fn open<'t>(b: &mut Builder<'t>, node: Node<'t>, kind: SymbolKind) {
    if let Some(name) = b.field(node, Field::Name) {
        b.open(kind, string(b, name), node);
    }
}

fn class<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    if let Some(name) = b.field(node, Field::Name) {
        open_class(b, b.text(name), node, node);
    }
}

/// A class without a name of its own belongs to what it is assigned to.
fn class_expression<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    if !b.is_named && b.field(node, Field::Name).is_some() {
        class(b, node);
    }
    b.is_named = false;
}

/// Opens a class at a node, with the bases that the node of the class itself names.
pub(super) fn open_class<'t>(b: &mut Builder<'t>, name: &str, at: Node<'t>, class: Node<'t>) {
    let Some(symbol) = b.open(SymbolKind::Class, name, at) else { return };
    let heritage = b.children(class).into_iter().find(|child| child.kind() == "class_heritage");
    for clause in heritage.map(|heritage| b.children(heritage)).unwrap_or_default() {
        let bases = match clause.kind() {
            "extends_clause" => b.fields(clause, Field::Value),
            "implements_clause" => b.children(clause),
            _ => vec![clause],
        };
        b.inherit(symbol, bases, whole_path);
    }
}

fn interface<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    let Some(symbol) = b.open_named(SymbolKind::Interface, node) else { return };
    let clauses =
        b.children(node).into_iter().filter(|child| child.kind() == "extends_type_clause");
    for clause in clauses {
        b.inherit(symbol, b.fields(clause, Field::Type), whole_path);
    }
}

fn function<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    if let Some(name) = b.field(node, Field::Name) {
        open_function(b, b.text(name), SymbolKind::Function, node, node, None);
    }
}

/// Opens a function at a node, with the parameters that the node of the function itself has.
pub(super) fn open_function<'t>(
    b: &mut Builder<'t>,
    name: &str,
    kind: SymbolKind,
    at: Node<'t>,
    function: Node<'t>,
    owner: Option<Name>,
) {
    let class = b.type_around();
    if b.open_of(kind, name, at, owner).is_none() {
        return;
    }
    let alone = b.field(function, Field::Parameter);
    for parameter in alone.into_iter().chain(b.children_in(function, Field::Parameters)) {
        bind_parameter(b, parameter, class);
    }
}

/// Binds a parameter; one with `private` and its like is a field of the class as well.
fn bind_parameter<'t>(b: &mut Builder<'t>, node: Node<'t>, class: Option<u32>) {
    let name = match node.kind() {
        "identifier" => Some(node),
        "assignment_pattern" => b.field(node, Field::Left),
        "rest_pattern" => node.named_child(0),
        _ => b.field(node, Field::Pattern),
    };
    let Some(name) = name.filter(|name| name.kind() == "identifier") else { return };
    let of = type_of(b, node);
    let name = b.name(b.text(name));
    let (kind, of) = known(BindingKind::Instance, of);
    b.bind(name, kind, of);
    let first = node.named_child(0).filter(|first| first.kind() == "accessibility_modifier");
    if let Some(class) = class.filter(|_| first.is_some()) {
        b.bind_in(Some(class), name, kind, of);
    }
}

/// The type that is written behind a colon.
fn type_of<'t>(b: &mut Builder<'t>, node: Node<'t>) -> Option<Name> {
    let annotation = b.field(node, Field::Type)?;
    let of = annotation.named_child(0)?;
    whole_path(b, of).map(|path| path.name)
}

/// A method of a class or an interface, or of the object that the present symbol is.
fn method<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    let Some(name) = b.field(node, Field::Name) else { return };
    if name.kind() == "computed_property_name" {
        return;
    }
    let is_member = b.depth_in_current() == Some(2);
    let kind = match b.kind_of(b.current()) {
        Some(kind) if kind.is_type() && is_member => SymbolKind::Method,
        _ => SymbolKind::Function,
    };
    open_function(b, string(b, name), kind, node, node, None);
}

/// `{ run: () => ... }` in an object that is a symbol.
fn pair<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    let is_member =
        b.kind_of(b.current()) == Some(SymbolKind::Module) && b.depth_in_current() == Some(2);
    let name = node.named_child(0).filter(|name| name.kind() == "property_identifier");
    let value = b.field(node, Field::Value).filter(|value| is_function(*value) && is_member);
    if let (Some(name), Some(value)) = (name, value) {
        open_function(b, b.text(name), SymbolKind::Function, node, value, None);
    }
}

fn field<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    let name = b.field(node, Field::Name).or_else(|| b.field(node, Field::Property));
    let Some(name) = name.filter(|name| name.kind() != "computed_property_name") else { return };
    let value = b.field(node, Field::Value);
    let text = string(b, name);
    if let Some(value) = value.filter(|value| is_function(*value)) {
        return open_function(b, text, SymbolKind::Method, node, value, None);
    }
    let Some(class) = b.type_around() else { return };
    let (kind, of) = known_of(b, node, value);
    let name = b.name(text);
    b.bind_in(Some(class), name, kind, of);
}

/// What is known of a value by its type or by how it is written.
fn known_of<'t>(
    b: &mut Builder<'t>,
    node: Node<'t>,
    value: Option<Node<'t>>,
) -> (BindingKind, Option<Name>) {
    if let Some(of) = type_of(b, node) {
        return (BindingKind::Instance, Some(of));
    }
    let Some(value) = value else { return (BindingKind::Opaque, None) };
    let (kind, path) = match value.kind() {
        "new_expression" => {
            let class = b.field(value, Field::Constructor);
            (BindingKind::Instance, class.and_then(|class| whole_path(b, class)))
        }
        "identifier" | "member_expression" => (BindingKind::Alias, whole_path(b, value)),
        _ => (BindingKind::Opaque, None),
    };
    known(kind, path.map(|path| path.name))
}

fn variable<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    let Some(name) = b.field(node, Field::Name) else { return };
    let value = b.field(node, Field::Value);
    if let Some(module) = value.and_then(|value| modules::required(b, value)) {
        return modules::bind_required(b, name, module);
    }
    if name.kind() != "identifier" {
        return bind_pattern(b, name);
    }
    let text = b.text(name);
    match value {
        Some(value) if is_function(value) => {
            return open_function(b, text, SymbolKind::Function, node, value, None);
        }
        Some(value) if value.kind() == "class" => {
            b.is_named = true;
            return open_class(b, text, node, value);
        }
        Some(value) if value.kind() == "object" && has_functions(b, value) => {
            b.open(SymbolKind::Module, text, node);
            return;
        }
        _ => {}
    }
    let (kind, of) = known_of(b, node, value);
    let name = b.name(text);
    if of != Some(name) {
        b.bind(name, kind, of);
    }
}

/// The names of `{ a, b: c }` and `[a, b]`, one level deep.
fn bind_pattern<'t>(b: &mut Builder<'t>, pattern: Node<'t>) {
    for item in b.children(pattern) {
        let name = match item.kind() {
            "shorthand_property_identifier_pattern" | "identifier" => Some(item),
            "pair_pattern" => b.field(item, Field::Value),
            _ => None,
        };
        if let Some(name) = name.filter(|name| {
            name.kind().ends_with("identifier") || name.kind().starts_with("shorthand")
        }) {
            b.bind_node(name, None);
        }
    }
}

pub(super) fn has_functions<'t>(b: &Builder<'t>, object: Node<'t>) -> bool {
    b.children(object).into_iter().any(|member| match member.kind() {
        "method_definition" => true,
        "pair" => b.field(member, Field::Value).is_some_and(is_function),
        _ => false,
    })
}

/// Functions, classes and values that are put into exports, prototypes and fields.
fn assignment<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    let (Some(left), Some(right)) = (b.field(node, Field::Left), b.field(node, Field::Right))
    else {
        return;
    };
    if left.kind() != "member_expression" {
        return;
    }
    let Some(path) = whole_path(b, left) else { return };
    let text = b.text_of(path.name).to_owned();
    if let Some(name) = modules::exported_name(&text) {
        return modules::export_value(b, name, node, right);
    }
    let Some((object, name)) = text.rsplit_once('.') else { return };
    if object == "this" {
        return bind_field(b, name, right);
    }
    let owner = object.strip_suffix(".prototype").unwrap_or(object);
    if is_function(right) && !owner.contains('.') {
        let owner = Some(b.name(owner));
        open_function(b, name, SymbolKind::Method, node, right, owner);
    }
}

/// `this.name = value` makes a field.
fn bind_field<'t>(b: &mut Builder<'t>, name: &str, value: Node<'t>) {
    let Some(class) = b.type_around() else { return };
    let (kind, of) = match value.kind() {
        "new_expression" => {
            let of = b.field(value, Field::Constructor);
            (BindingKind::Instance, of.and_then(|of| whole_path(b, of)).map(|path| path.name))
        }
        "identifier" => {
            let name = b.name(b.text(value));
            (BindingKind::Instance, b.type_of(b.current(), name))
        }
        _ => (BindingKind::Opaque, None),
    };
    let (kind, of) = known(kind, of);
    let name = b.name(name);
    b.bind_in(Some(class), name, kind, of);
}

fn call<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    if modules::import_by_call(b, node) {
        return;
    }
    b.call_in(node, Field::Function, path);
}

/// `<Panel/>` calls the component of that name; names in small letters are HTML's.
fn element<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    let Some(name) = b.field(node, Field::Name) else { return };
    let is_component = b.text(name).starts_with(|first: char| first.is_uppercase());
    if is_component || name.kind() == "member_expression" {
        let path = path(b, name);
        b.call(path);
    }
}

/// A decorator without arguments is called as well; with them, its call is found inside.
fn decorator<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    let name = node.named_child(0).filter(|name| name.kind() != "call_expression");
    let path = name.and_then(|name| path(b, name));
    b.call(path);
}
