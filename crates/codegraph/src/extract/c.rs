//! What C's nodes mean.

use tree_sitter::Node;

use super::build::{Builder, Path, place};
use super::path::{Part, path_of};
use super::walk::{Field, Step};
use crate::{Import, SymbolKind};

pub(super) const STEPS: &[(&str, Step)] = &[
    ("call_expression", |b, node| b.call_in(node, Field::Function, path)),
    ("enum_specifier", |b, node| open_with_body(b, node, SymbolKind::Enum)),
    ("function_definition", function),
    ("preproc_function_def", |b, node| b.open_only(SymbolKind::Macro, node)),
    ("preproc_include", include),
    ("struct_specifier", |b, node| open_with_body(b, node, SymbolKind::Struct)),
    ("type_definition", type_definition),
    ("union_specifier", |b, node| open_with_body(b, node, SymbolKind::Struct)),
];

/// How many pointers, arrays and brackets a declared name may stand in.
const DECLARATORS_MAX: usize = 32;

/// The name that a declarator declares, through pointers, arrays and parameters.
fn declared<'t>(b: &Builder<'t>, declarator: Node<'t>) -> Option<Node<'t>> {
    let mut node = declarator;
    for _ in 0..DECLARATORS_MAX {
        node = match node.kind() {
            "identifier" | "type_identifier" | "field_identifier" => return Some(node),
            "parenthesized_declarator" | "attributed_declarator" => {
                let inner = b.children(node);
                inner.into_iter().find(|inner| {
                    inner.kind().ends_with("declarator") || inner.kind().ends_with("identifier")
                })?
            }
            _ => b.field(node, Field::Declarator)?,
        };
    }
    None
}

fn function<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    let Some(declarator) = b.field(node, Field::Declarator) else { return };
    let Some(name) = declared(b, declarator) else { return };
    let Some(symbol) = b.open(SymbolKind::Function, b.text(name), node) else { return };
    let is_static =
        |child: &Node<'t>| child.kind() == "storage_class_specifier" && b.text(*child) == "static";
    let is_hidden = b.children(node).iter().any(is_static);
    if is_hidden {
        b.hide(symbol);
    }
    bind_parameters(b, declarator);
}

/// A parameter hides a function of its name.
fn bind_parameters<'t>(b: &mut Builder<'t>, declarator: Node<'t>) {
    let mut node = declarator;
    for _ in 0..DECLARATORS_MAX {
        if node.kind() == "function_declarator" {
            break;
        }
        let Some(inner) = b.field(node, Field::Declarator) else { return };
        node = inner;
    }
    for parameter in b.children_in(node, Field::Parameters) {
        let name = b.field(parameter, Field::Declarator).and_then(|inner| declared(b, inner));
        if let Some(name) = name {
            b.bind_node(name, None);
        }
    }
}

/// A struct, union or enum where it is defined, not where it is used.
fn open_with_body<'t>(b: &mut Builder<'t>, node: Node<'t>, kind: SymbolKind) {
    if b.field(node, Field::Body).is_some() {
        b.open_only(kind, node);
    }
}

/// `typedef struct { ... } name` defines a struct as much as one with a name of its own.
fn type_definition<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    let (Some(of), Some(declarator)) =
        (b.field(node, Field::Type), b.field(node, Field::Declarator))
    else {
        return;
    };
    let Some(name) = declared(b, declarator) else { return };
    let text = b.text(name);
    let (inner, body) = (b.field(of, Field::Name), b.field(of, Field::Body));
    let is_told = body.is_some() && inner.is_some_and(|inner| b.text(inner) == text);
    let kind = match of.kind() {
        "struct_specifier" | "union_specifier" if body.is_some() && inner.is_none() => {
            SymbolKind::Struct
        }
        "enum_specifier" if body.is_some() && inner.is_none() => SymbolKind::Enum,
        _ => SymbolKind::Type,
    };
    if !is_told {
        b.open(kind, text, node);
    }
}

/// All names of an included file can be used.
fn include<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    let Some(path) = b.field(node, Field::Path) else { return };
    let is_quoted = path.kind() == "string_literal";
    if !is_quoted && path.kind() != "system_lib_string" {
        return;
    }
    let text = b.text(path).trim_matches(['"', '<', '>']);
    let module = b.name(text);
    let (level, is_wildcard, at) = (u32::from(is_quoted), true, place(path));
    b.import(Import { module, level, is_wildcard, at, ..Import::default() });
}

fn path<'t>(b: &mut Builder<'t>, node: Node<'t>) -> Option<Path> {
    path_of(b, node, |b, node| {
        Some(match node.kind() {
            "identifier" => Part::First(b.text(node)),
            "field_expression" => Part::behind(b, node, Field::Member, Field::Argument)?,
            "parenthesized_expression" => Part::Around(node.named_child(0)?),
            _ => Part::First(""),
        })
    })
}
