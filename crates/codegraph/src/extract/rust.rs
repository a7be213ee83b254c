//! What Rust's nodes mean.

use tree_sitter::Node;

use super::build::{Builder, Parts, Path, place};
use super::path::{Part, path_of};
use super::walk::{Field, Step};
use crate::{BindingKind, Import, Name, SymbolKind};

pub(super) const STEPS: &[(&str, Step)] = &[
    ("attribute_item", |b, _| b.is_skipped = true),
    ("call_expression", |b, node| b.call_in(node, Field::Function, path)),
    ("const_item", field),
    ("enum_item", |b, node| b.open_only(SymbolKind::Enum, node)),
    ("enum_variant", variant),
    ("extern_crate_declaration", extern_crate),
    ("field_declaration", field),
    ("function_item", function),
    ("function_signature_item", function),
    ("impl_item", implementation),
    ("inner_attribute_item", |b, _| b.is_skipped = true),
    ("let_declaration", variable),
    ("macro_definition", macro_definition),
    ("macro_invocation", macro_call),
    ("mod_item", module),
    ("static_item", field),
    ("struct_expression", |b, node| b.call_in(node, Field::Name, path)),
    ("struct_item", |b, node| b.open_only(SymbolKind::Struct, node)),
    ("token_tree", tokens),
    ("trait_item", trait_item),
    ("type_item", |b, node| b.open_only(SymbolKind::Type, node)),
    ("union_item", |b, node| b.open_only(SymbolKind::Struct, node)),
    ("use_declaration", use_declaration),
];

/// Functions of a type that mostly give a value of it.
const MAKERS: [&str; 4] = ["new", "default", "open", "create"];
/// What a maker's name may begin with.
const MAKER_BEGINNINGS: [&str; 3] = ["new_", "from_", "with_"];
/// Types that are used like what is in them.
const POINTERS: [&str; 4] = ["Arc", "Box", "Rc", "Cow"];
/// Beginnings of paths in nested `use` that would be longer are left out.
const PREFIX_BYTES_MAX: usize = 1_024;

/// The names of an expression or a type like `a::b::<T>`, `self.x` or `x.y`.
fn path<'t>(b: &mut Builder<'t>, node: Node<'t>) -> Option<Path> {
    path_of(b, node, |b, node| {
        let behind = |name, before| {
            let name = b.field(node, name)?;
            Some(match b.field(node, before) {
                Some(before) => Part::Behind(b.text(name), name, before),
                None => Part::Around(name),
            })
        };
        Some(match node.kind() {
            "identifier" | "type_identifier" | "self" | "super" | "crate" | "primitive_type" => {
                Part::First(b.text(node))
            }
            "scoped_identifier" | "scoped_type_identifier" => behind(Field::Name, Field::Path)?,
            "field_expression" => behind(Field::Member, Field::Value)?,
            "generic_function" => Part::Around(b.field(node, Field::Function)?),
            "generic_type" | "generic_type_with_turbofish" => {
                Part::Around(b.field(node, Field::Type)?)
            }
            _ => Part::First(""),
        })
    })
}

fn whole_path<'t>(b: &mut Builder<'t>, node: Node<'t>) -> Option<Path> {
    path(b, node).filter(|path| path.is_whole)
}

/// The type that a value of this type can be used as, without references and what owns it.
fn type_path<'t>(b: &mut Builder<'t>, node: Node<'t>) -> Option<Path> {
    let mut node = node;
    for _ in 0..8 {
        node = match node.kind() {
            "reference_type" | "pointer_type" => b.field(node, Field::Type)?,
            "dynamic_type" | "abstract_type" => b.field(node, Field::Trait)?,
            "bounded_type" => node.named_child(0)?,
            "generic_type" => {
                let base = b.field(node, Field::Type)?;
                let name = b.text(base).rsplit(':').next().unwrap_or_default();
                let is_pointer = POINTERS.contains(&name);
                let inner = b.children(node).pop().filter(|_| is_pointer);
                match inner.and_then(|arguments| b.children(arguments).pop()) {
                    Some(inner) => inner,
                    None => base,
                }
            }
            "type_identifier" | "scoped_type_identifier" | "scoped_identifier" | "identifier" => {
                return whole_path(b, node);
            }
            _ => return None,
        };
    }
    None
}

fn function<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    let around = b.kind_of(b.current());
    let is_method = matches!(around, Some(SymbolKind::Extension | SymbolKind::Trait));
    let kind = if is_method { SymbolKind::Method } else { SymbolKind::Function };
    if b.open_named(kind, node).is_none() {
        return;
    }
    for parameter in b.children_in(node, Field::Parameters) {
        let pattern = b.field(parameter, Field::Pattern);
        let Some(name) = pattern.and_then(|pattern| bound_name(b, pattern)) else { continue };
        let of = b.field(parameter, Field::Type).and_then(|node| type_path(b, node));
        b.bind_value(name, of.map(|of| of.name));
    }
}

/// The name that a simple pattern binds.
fn bound_name<'t>(b: &mut Builder<'t>, pattern: Node<'t>) -> Option<Name> {
    let name = match pattern.kind() {
        "identifier" => pattern,
        "mut_pattern" => b.children(pattern).pop().filter(|name| name.kind() == "identifier")?,
        _ => return None,
    };
    Some(b.name(b.text(name)))
}

/// A field or a constant: a value of its type.
fn field<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    let (Some(name), Some(of)) = (b.field(node, Field::Name), b.field(node, Field::Type)) else {
        return;
    };
    let name = b.name(b.text(name));
    let of = type_path(b, of);
    b.bind_value(name, of.map(|of| of.name));
}

/// What an enum can be is not told apart from the enum; by its name it is known what it can be.
fn variant<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    let Some(name) = b.field(node, Field::Name) else { return };
    let (name, of) = (b.name(b.text(name)), b.name("Self"));
    b.bind(name, BindingKind::Alias, Some(of));
}

fn trait_item<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    let Some(symbol) = b.open_named(SymbolKind::Trait, node) else { return };
    b.inherit(symbol, b.children_in(node, Field::Bounds), type_path);
}

/// An `impl`, whose functions are called after its type.
fn implementation<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    let Some(of) = b.field(node, Field::Type) else { return };
    let owner = match of.kind() {
        "generic_type" => whole_path(b, of),
        _ => type_path(b, of),
    };
    let text = match owner {
        Some(owner) => b.text_of(owner.name).rsplit('.').next().unwrap_or_default().to_owned(),
        None => b.text(of).chars().filter(|letter| !letter.is_whitespace()).take(40).collect(),
    };
    let text = if text.contains('.') { "impl" } else { text.as_str() };
    let owner = owner.map(|owner| owner.name);
    let Some(symbol) = b.open_of(SymbolKind::Extension, text, node, owner) else { return };
    b.inherit(symbol, b.field(node, Field::Trait), whole_path);
}

/// A module in this file, or one in a file of its own, which is then imported.
fn module<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    let Some(name) = b.field(node, Field::Name) else { return };
    let text = b.text(name);
    if b.field(node, Field::Body).is_some() {
        b.open(SymbolKind::Module, text, node);
        return;
    }
    let (module, imported) = (b.name("self"), Some(b.name(text)));
    b.import(Import { module, imported, at: place(name), ..Import::default() });
}

fn extern_crate<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    let Some(name) = b.field(node, Field::Name) else { return };
    let alias = b.field(node, Field::Alias).map(|alias| b.name(b.text(alias)));
    let module = b.name(b.text(name));
    b.import(Import { module, alias, at: place(name), ..Import::default() });
}

/// One name each of `use a::{b, c::{d as e, self}, f::*}`.
fn use_declaration<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    let Some(argument) = b.field(node, Field::Argument) else { return };
    let none = b.name("");
    let mut pending = vec![(argument, none)];
    while let Some((node, prefix)) = pending.pop() {
        match node.kind() {
            "use_list" => {
                let items = b.children(node).into_iter().rev();
                pending.extend(items.map(|item| (item, prefix)));
            }
            "scoped_use_list" => {
                let before = b.field(node, Field::Path).and_then(|before| path(b, before));
                let joined = before.map_or(Some(prefix), |path| join(b, prefix, path.name));
                let list = b.field(node, Field::List).zip(joined);
                pending.extend(list);
            }
            "use_wildcard" => {
                let module = node.named_child(0).and_then(|module| path(b, module));
                let joined = module.map_or(Some(prefix), |path| join(b, prefix, path.name));
                if let Some(module) = joined {
                    let (is_wildcard, at) = (true, place(node));
                    b.import(Import { module, is_wildcard, at, ..Import::default() });
                }
            }
            "use_as_clause" => {
                let alias = b.field(node, Field::Alias).map(|alias| b.name(b.text(alias)));
                if let Some(name) = b.field(node, Field::Path) {
                    use_name(b, name, prefix, alias);
                }
            }
            _ => use_name(b, node, prefix, None),
        }
    }
    b.is_skipped = true;
}

fn use_name<'t>(b: &mut Builder<'t>, node: Node<'t>, prefix: Name, alias: Option<Name>) {
    let Some(path) = path(b, node) else { return };
    let Some(full) = join(b, prefix, path.name) else { return };
    let text = b.text_of(full).strip_suffix(".self").unwrap_or(b.text_of(full)).to_owned();
    let (module, imported) = match text.rsplit_once('.') {
        // `use a::{self}` imports a module as one name of the module above.
        Some((module, name)) => (b.name(module), Some(b.name(name))),
        None => (b.name(&text), None),
    };
    b.import(Import { module, imported, alias, at: path.at, ..Import::default() });
}

/// `prefix.name`; `None` if that would be too long.
fn join(b: &mut Builder<'_>, prefix: Name, name: Name) -> Option<Name> {
    let before = b.text_of(prefix);
    if before.is_empty() {
        return Some(name);
    }
    let full = format!("{before}.{}", b.text_of(name));
    (full.len() <= PREFIX_BYTES_MAX).then(|| b.name(&full))
}

/// What `let` binds: a value of the type that is written, or that is made there.
fn variable<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    let Some(pattern) = b.field(node, Field::Pattern) else { return };
    let Some(name) = bound_name(b, pattern) else { return };
    let of = match b.field(node, Field::Type) {
        Some(of) => type_path(b, of),
        None => b.field(node, Field::Value).and_then(|value| made_type(b, value)),
    };
    b.bind_value(name, of.map(|of| of.name));
}

fn made_type<'t>(b: &mut Builder<'t>, value: Node<'t>) -> Option<Path> {
    let mut value = value;
    for _ in 0..8 {
        value = match value.kind() {
            "try_expression" | "await_expression" => value.named_child(0)?,
            "reference_expression" => b.field(value, Field::Value)?,
            "struct_expression" => {
                let name = b.field(value, Field::Name)?;
                return whole_path(b, name);
            }
            "call_expression" => {
                let callee = b.field(value, Field::Function)?;
                if callee.kind() != "scoped_identifier" {
                    return None;
                }
                let maker = b.text(b.field(callee, Field::Name)?);
                let is_maker = MAKERS.contains(&maker)
                    || MAKER_BEGINNINGS.iter().any(|beginning| maker.starts_with(beginning));
                let of = b.field(callee, Field::Path).filter(|_| is_maker)?;
                return whole_path(b, of);
            }
            _ => return None,
        };
    }
    None
}

fn macro_definition<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    if let Some(name) = b.field(node, Field::Name) {
        let text = format!("{}!", b.text(name));
        b.open(SymbolKind::Macro, &text, node);
    }
}

fn macro_call<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    let path = b.field(node, Field::Macro).and_then(|name| path(b, name));
    call_macro(b, path);
}

fn call_macro(b: &mut Builder<'_>, path: Option<Path>) {
    if let Some(path) = path {
        let text = format!("{}!", b.text_of(path.name));
        let name = b.name(&text);
        b.call(Some(Path { name, ..path }));
    }
}

/// What a macro is given isn't parsed. A path before a parenthesis is a call in nearly all of them.
fn tokens<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    let mut cursor = node.walk();
    let mut run: Vec<Node<'t>> = Vec::new();
    // Whether what stands before the first name of the run is something without a name.
    let (mut is_cut, mut is_joined, mut is_macro) = (false, false, false);
    for child in node.children(&mut cursor) {
        match child.kind() {
            "identifier" | "self" | "super" | "crate" | "primitive_type" => {
                if !is_joined {
                    run.clear();
                    is_cut = false;
                }
                run.push(child);
                (is_joined, is_macro) = (false, false);
            }
            "::" | "." => {
                is_cut |= run.is_empty();
                is_joined = true;
            }
            "!" if !run.is_empty() && !is_joined => is_macro = true,
            "token_tree" => {
                let is_call = b.text(child).starts_with('(') && !is_joined;
                if is_macro || is_call {
                    call_tokens(b, &run, is_cut, is_macro);
                }
                run.clear();
                (is_cut, is_joined, is_macro) = (false, false, false);
            }
            _ => {
                run.clear();
                (is_cut, is_joined, is_macro) = (false, false, false);
            }
        }
    }
}

fn call_tokens<'t>(b: &mut Builder<'t>, run: &[Node<'t>], is_cut: bool, is_macro: bool) {
    let mut parts = Parts::new();
    for name in run.iter().rev() {
        if !parts.push(b.text(*name), *name) {
            break;
        }
    }
    if let Some(first) = run.first().filter(|_| is_cut) {
        parts.push("", *first);
    }
    let path = b.path(&parts);
    if is_macro { call_macro(b, path) } else { b.call(path) }
}
