//! Imports and exports, of modules and of what came before them (`require`, `module.exports`).

use tree_sitter::Node;

use super::super::build::{Builder, place};
use super::super::walk::Field;
use super::{is_function, open_class, open_function, path, string};
use crate::{BindingKind, Import, Name, SymbolKind};

/// The name that a module's default export goes by.
const DEFAULT: &str = "default";

fn add<'t>(
    b: &mut Builder<'t>,
    module: Name,
    imported: Option<&str>,
    alias: Option<&str>,
    is_wildcard: bool,
    at: Node<'t>,
) {
    let (imported, alias) = (imported.map(|name| b.name(name)), alias.map(|name| b.name(name)));
    let at = place(at);
    b.import(Import { module, imported, alias, is_wildcard, at, ..Import::default() });
}

/// The module that is named behind `from`.
fn source<'t>(b: &mut Builder<'t>, node: Node<'t>) -> Option<(Name, Node<'t>)> {
    let source = b.field(node, Field::Source)?;
    Some((b.name(string(b, source)), source))
}

pub(super) fn import<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    let children = b.children(node);
    let clause = |kind: &str| children.iter().copied().find(|child| child.kind() == kind);
    if let Some(clause) = clause("import_require_clause") {
        let alias = clause.named_child(0).map(|name| b.text(name));
        if let Some((module, at)) = source(b, clause) {
            add(b, module, None, alias, false, at);
        }
        return;
    }
    let Some((module, at)) = source(b, node) else { return };
    let Some(clause) = clause("import_clause") else {
        return add(b, module, None, None, false, at);
    };
    for item in b.children(clause) {
        match item.kind() {
            "identifier" => add(b, module, Some(DEFAULT), Some(b.text(item)), false, item),
            "namespace_import" => {
                let alias = item.named_child(0).map(|name| b.text(name));
                add(b, module, None, alias, false, item);
            }
            "named_imports" => add_named(b, module, item),
            _ => {}
        }
    }
}

/// The names in braces of an import, or of an export from another module.
fn add_named<'t>(b: &mut Builder<'t>, module: Name, list: Node<'t>) {
    for item in b.children(list) {
        let Some(name) = b.field(item, Field::Name) else { continue };
        let alias = b.field(item, Field::Alias).map(|alias| string(b, alias));
        add(b, module, Some(string(b, name)), alias, false, name);
    }
}

pub(super) fn export<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    let children = b.children(node);
    let clause = children.iter().copied().find(|child| child.kind() == "export_clause");
    let namespace = children.iter().copied().find(|child| child.kind() == "namespace_export");
    if let Some((module, at)) = source(b, node) {
        match (clause, namespace) {
            (Some(clause), _) => add_named(b, module, clause),
            (None, Some(namespace)) => {
                let alias = namespace.named_child(0).map(|name| b.text(name));
                add(b, module, None, alias, false, namespace);
            }
            (None, None) => add(b, module, None, None, true, at),
        }
        return;
    }
    for item in clause.map(|clause| b.children(clause)).unwrap_or_default() {
        let names = (b.field(item, Field::Name), b.field(item, Field::Alias));
        if let (Some(name), Some(alias)) = names {
            let (name, alias) = (b.name(b.text(name)), b.name(string(b, alias)));
            b.bind(alias, BindingKind::Alias, Some(name));
        }
    }
    let head = b.text(node).strip_prefix("export").map(str::trim_start);
    if head.is_some_and(|head| head.starts_with(DEFAULT)) {
        export_default(b, node, &children);
    }
}

fn export_default<'t>(b: &mut Builder<'t>, node: Node<'t>, children: &[Node<'t>]) {
    let values = children.iter().filter(|child| !matches!(child.kind(), "comment" | "decorator"));
    let Some(value) = values.copied().last() else { return };
    match b.field(value, Field::Name) {
        Some(name) if value.kind() != "pair" => {
            let (name, alias) = (b.name(b.text(name)), b.name(DEFAULT));
            b.bind(alias, BindingKind::Alias, Some(name));
        }
        _ => export_value(b, DEFAULT, node, value),
    }
}

/// What an assignment to `exports.name` or `module.exports` gives the module.
pub(super) fn exported_name(text: &str) -> Option<&str> {
    let name = text.strip_prefix("module.exports").or_else(|| text.strip_prefix("exports."))?;
    let name = name.trim_start_matches('.');
    if name.contains('.') { None } else { Some(if name.is_empty() { DEFAULT } else { name }) }
}

pub(super) fn export_value<'t>(b: &mut Builder<'t>, name: &str, at: Node<'t>, value: Node<'t>) {
    match value.kind() {
        _ if is_function(value) => {
            open_function(b, name, SymbolKind::Function, at, value, None);
        }
        "class" => {
            b.is_named = true;
            open_class(b, name, at, value);
        }
        "object" if name == DEFAULT => export_members(b, value),
        "identifier" | "member_expression" => {
            let of = path(b, value).filter(|path| path.is_whole).map(|path| path.name);
            let name = b.name(name);
            if of.is_some() && of != Some(name) {
                b.bind(name, BindingKind::Alias, of);
            }
        }
        _ => {}
    }
}

/// `module.exports = { a, b: c }` exports what the file has by these names.
fn export_members<'t>(b: &mut Builder<'t>, object: Node<'t>) {
    for member in b.children(object).into_iter().filter(|member| member.kind() == "pair") {
        let (Some(key), Some(value)) = (member.named_child(0), b.field(member, Field::Value))
        else {
            continue;
        };
        if value.kind() == "identifier" && b.text(key) != b.text(value) {
            let (name, of) = (b.name(string(b, key)), b.name(b.text(value)));
            b.bind(name, BindingKind::Alias, Some(of));
        }
    }
}

/// The string in `require('...')`.
pub(super) fn required<'t>(b: &Builder<'t>, call: Node<'t>) -> Option<Node<'t>> {
    let callee = b.field(call, Field::Function).filter(|_| call.kind() == "call_expression")?;
    let is_import = callee.kind() == "import" || b.text(callee) == "require";
    let arguments = call.named_child(1).filter(|_| is_import)?;
    arguments.named_child(0).filter(|module| module.kind() == "string")
}

/// `require('...')` and `import('...')` import a module wherever they stand.
pub(super) fn import_by_call<'t>(b: &mut Builder<'t>, call: Node<'t>) -> bool {
    let Some(at) = required(b, call) else { return false };
    let module = b.name(string(b, at));
    add(b, module, None, None, false, at);
    true
}

/// `const name = require('...')` and `const { a, b: c } = require('...')`.
pub(super) fn bind_required<'t>(b: &mut Builder<'t>, pattern: Node<'t>, at: Node<'t>) {
    let module = b.name(string(b, at));
    if pattern.kind() == "identifier" {
        return add(b, module, None, Some(b.text(pattern)), false, at);
    }
    for item in b.children(pattern) {
        match item.kind() {
            "shorthand_property_identifier_pattern" => {
                add(b, module, Some(b.text(item)), None, false, item);
            }
            "pair_pattern" => {
                let key = item.named_child(0).map(|key| string(b, key));
                let value = b.field(item, Field::Value).filter(|node| node.kind() == "identifier");
                if let Some(value) = value {
                    add(b, module, key, Some(b.text(value)), false, item);
                }
            }
            _ => {}
        }
    }
}
