//! What Go's nodes mean.

use tree_sitter::Node;

use super::build::{Builder, Path, place};
use super::path::{Part, path_of};
use super::walk::{Field, Step};
use crate::{Import, Name, ReferenceKind, SymbolKind};

pub(super) const STEPS: &[(&str, Step)] = &[
    ("call_expression", |b, node| b.call_in(node, Field::Function, path)),
    ("composite_literal", |b, node| b.call_in(node, Field::Type, type_path)),
    ("field_declaration", field),
    ("function_declaration", function),
    ("import_spec", import),
    ("interface_type", interface),
    ("method_declaration", method),
    ("method_elem", interface_method),
    ("range_clause", short_variable),
    ("short_var_declaration", short_variable),
    ("type_alias", type_spec),
    ("type_spec", type_spec),
    ("var_spec", variable),
];

/// The names of an expression or a type like `http.Get`.
fn path<'t>(b: &mut Builder<'t>, node: Node<'t>) -> Option<Path> {
    path_of(b, node, |b, node| {
        Some(match node.kind() {
            "identifier" | "type_identifier" | "package_identifier" => Part::First(b.text(node)),
            "selector_expression" => Part::behind(b, node, Field::Member, Field::Operand)?,
            "qualified_type" => Part::behind(b, node, Field::Name, Field::Package)?,
            "parenthesized_expression" | "pointer_type" => Part::Around(node.named_child(0)?),
            "generic_type" | "type_instantiation_expression" => {
                Part::Around(b.field(node, Field::Type)?)
            }
            _ => Part::First(""),
        })
    })
}

/// A type with a name; a value of a pointer to it is used alike.
fn type_path<'t>(b: &mut Builder<'t>, node: Node<'t>) -> Option<Path> {
    path(b, node).filter(|path| path.is_whole)
}

fn function<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    if b.open_named(SymbolKind::Function, node).is_some() {
        bind_parameters(b, node, Field::Parameters);
    }
}

/// A method belongs to the type of its receiver, which may stand in another file.
fn method<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    let Some(name) = b.field(node, Field::Name) else { return };
    let receiver = b.field(node, Field::Receiver).and_then(|receiver| receiver.named_child(0));
    let of = receiver.and_then(|receiver| b.field(receiver, Field::Type));
    let owner = of.and_then(|of| type_path(b, of)).map(|path| path.name);
    if b.open_of(SymbolKind::Method, b.text(name), node, owner).is_some() {
        bind_parameters(b, node, Field::Receiver);
        bind_parameters(b, node, Field::Parameters);
    }
}

fn bind_parameters<'t>(b: &mut Builder<'t>, node: Node<'t>, field: Field) {
    for parameter in b.children_in(node, field) {
        bind_names(b, parameter);
    }
}

/// Binds the names of a parameter, field or variable to values of its type.
fn bind_names<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    let of = b.field(node, Field::Type);
    let of = of.and_then(|of| type_path(b, of)).map(|path| path.name);
    for name in b.fields(node, Field::Name).into_iter().filter(Node::is_named) {
        b.bind_node(name, of);
    }
}

fn type_spec<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    let kind = match b.field(node, Field::Type).map(|of| of.kind()) {
        Some("struct_type") => SymbolKind::Struct,
        Some("interface_type") => SymbolKind::Interface,
        _ => SymbolKind::Type,
    };
    b.open_only(kind, node);
}

/// A field; without a name it is embedded, so that the struct has its methods.
fn field<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    if b.field(node, Field::Name).is_some() {
        return bind_names(b, node);
    }
    let Some(of) = b.field(node, Field::Type) else { return };
    let (Some(of), Some(around)) = (type_path(b, of), b.type_around()) else { return };
    b.refer(ReferenceKind::Inherit, of, Some(around));
    let last = b.text_of(of.name).rsplit('.').next().unwrap_or_default().to_owned();
    let name = b.name(&last);
    b.bind_value(name, Some(of.name));
}

fn interface<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    let Some(around) =
        b.current().filter(|_| b.kind_of(b.current()) == Some(SymbolKind::Interface))
    else {
        return;
    };
    let elements = b.children(node).into_iter().filter(|child| child.kind() == "type_elem");
    for element in elements {
        // `A | B` is a set of types and no base.
        let only = element.named_child(0).filter(|_| element.named_child_count() == 1);
        b.inherit(around, only, type_path);
    }
}

fn interface_method<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    if b.kind_of(b.current()) == Some(SymbolKind::Interface) {
        b.open_only(SymbolKind::Method, node);
    }
}

fn import<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    let Some(path) = b.field(node, Field::Path) else { return };
    let module = b.name(b.text(path).trim_matches(['"', '`']));
    let name = b.field(node, Field::Name);
    let is_wildcard = name.is_some_and(|name| name.kind() == "dot");
    let alias =
        name.filter(|name| matches!(name.kind(), "package_identifier" | "blank_identifier"));
    let alias = alias.map(|alias| b.name(b.text(alias)));
    b.import(Import { module, alias, is_wildcard, at: place(path), ..Import::default() });
}

/// The type that a value is made of: `T{}`, `&T{}`, `new(T)`, `NewT()`.
fn made_type<'t>(b: &mut Builder<'t>, value: Node<'t>) -> Option<Name> {
    let value = match value.kind() {
        "unary_expression" => b.field(value, Field::Operand)?,
        _ => value,
    };
    match value.kind() {
        "composite_literal" => {
            let of = b.field(value, Field::Type)?;
            type_path(b, of).map(|path| path.name)
        }
        "call_expression" => {
            let callee = b.field(value, Field::Function)?;
            let path = path(b, callee).filter(|path| path.is_whole)?;
            let text = b.text_of(path.name);
            let (package, name) = text.rsplit_once('.').unwrap_or(("", text));
            let made = name.strip_prefix("New").filter(|made| !made.is_empty())?;
            let full =
                if package.is_empty() { made.to_owned() } else { format!("{package}.{made}") };
            Some(b.name(&full))
        }
        _ => None,
    }
}

fn short_variable<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    let (Some(left), Some(right)) = (b.field(node, Field::Left), b.field(node, Field::Right))
    else {
        return;
    };
    let names = b.children(left);
    // Of what a range gives, and of the second of two results, nothing is known.
    let is_list = node.kind() == "short_var_declaration" && right.kind() == "expression_list";
    let values = if is_list { b.children(right) } else { Vec::new() };
    for (at, name) in names.into_iter().enumerate() {
        let is_told = name.kind() == "identifier" && b.text(name) != "_";
        if is_told {
            let of = values.get(at).and_then(|value| made_type(b, *value));
            b.bind_node(name, of);
        }
    }
}

fn variable<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    if b.field(node, Field::Type).is_some() {
        return bind_names(b, node);
    }
    let values = b.children_in(node, Field::Value);
    let names = b.fields(node, Field::Name).into_iter().filter(Node::is_named);
    for (at, name) in names.enumerate() {
        let of = values.get(at).and_then(|value| made_type(b, *value));
        b.bind_node(name, of);
    }
}
