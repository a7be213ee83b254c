//! What Zig's nodes mean.
//!
//! A type is a value that a constant is given, so what a declaration defines is told by its value. A
//! file is a struct too, and a function that returns a struct is the generic form of one.

use std::borrow::Cow;

use tree_sitter::Node;

use super::build::{Builder, Path, place};
use super::path::{Part, names_of};
use super::walk::{Field, Step};
use crate::{BindingKind, Import, Name, SymbolKind};

pub(super) const STEPS: &[(&str, Step)] = &[
    ("builtin_function", import),
    ("call_expression", |b, node| b.call_in(node, Field::Function, path)),
    ("container_field", field),
    ("function_declaration", function),
    ("payload", payload),
    ("struct_initializer", construct),
    ("test_declaration", test),
    ("using_namespace_declaration", using_namespace),
    ("variable_declaration", variable),
];

/// What stands for the type that it is written in.
const THIS: &str = "@This";
/// What stands before the members of a type.
const TYPE_WORDS: [&[u8]; 4] = [b"struct", b"opaque", b"enum", b"union"];
/// Functions of a type that mostly give a value of it.
const MAKERS: [&str; 3] = ["init", "create", "open"];
/// How far a type without members is looked for its closing bracket.
const EMPTY_BYTES_MAX: usize = 1_024;
/// How many pointers, optionals and calls may stand around a type's name.
const LAYERS_MAX: usize = 16;

/// The source as the grammar can read it, which knows no type without members: `struct {}` gets one,
/// in the place of the space before its bracket, so that all else stays where it is. In comments and
/// strings that does no harm, for texts come from the source as it was.
pub(super) fn readable(source: &[u8]) -> Cow<'_, [u8]> {
    let mut readable = Cow::Borrowed(source);
    let opens = source.windows(2).enumerate().filter(|(_, two)| *two == b" {").map(|(at, _)| at);
    for at in opens {
        let before = source.get(..at).unwrap_or_default();
        let behind = source.get(at + 2..).unwrap_or_default();
        let behind = behind.get(..EMPTY_BYTES_MAX).unwrap_or(behind);
        let is_type = TYPE_WORDS.iter().any(|word| before.ends_with(word));
        if is_type
            && is_closed(behind)
            && let Some(two) = readable.to_mut().get_mut(at..at + 2)
        {
            two.copy_from_slice(b"{a");
        }
    }
    readable
}

/// Whether nothing but comments comes before the closing bracket.
fn is_closed(behind: &[u8]) -> bool {
    let mut rest = behind.trim_ascii_start();
    while rest.starts_with(b"//") {
        let end = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
        rest = rest.get(end..).unwrap_or_default().trim_ascii_start();
    }
    rest.starts_with(b"}")
}

/// A name without the quotes that let it be any text: `@"while"`.
fn plain<'t>(b: &Builder<'t>, node: Node<'t>) -> &'t str {
    let text = b.text(node);
    text.strip_prefix("@\"").and_then(|text| text.strip_suffix('"')).unwrap_or(text)
}

/// Types are written large, as the language's own style guide has it.
fn is_type_name(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_uppercase())
}

fn builtin_name<'t>(b: &Builder<'t>, node: Node<'t>) -> Option<&'t str> {
    Some(b.text(node.named_child(0)?))
}

/// The path that `@import` names, if the node is one.
fn imported_path<'t>(b: &Builder<'t>, node: Node<'t>) -> Option<Node<'t>> {
    if node.kind() != "builtin_function" || builtin_name(b, node)? != "@import" {
        return None;
    }
    let arguments = node.named_child(1)?;
    b.children(arguments).into_iter().find(|argument| argument.kind() == "string")
}

fn module_text<'t>(b: &Builder<'t>, path: Node<'t>) -> &'t str {
    b.text(path).trim_matches('"')
}

/// The name that stands for a file where it is imported without getting one. No name that a source
/// gives begins so. A package goes by its own.
fn nameless(module: &str) -> String {
    match module.strip_suffix(".zig") {
        Some(path) => format!("@{}", path.replace('.', "_")),
        None => module.replace('.', "_"),
    }
}

/// The names of an expression or a type like `a.b.C`, with what was imported in its midst.
fn path<'t>(b: &mut Builder<'t>, node: Node<'t>) -> Option<Path> {
    let mut import = None;
    let path = names_of(b, node, |b, node| {
        Some(match node.kind() {
            "identifier" => Part::First(plain(b, node)),
            "builtin_function" if builtin_name(b, node) == Some(THIS) => Part::First(THIS),
            "builtin_function" => {
                import = imported_path(b, node);
                Part::First("")
            }
            "field_expression" => {
                let name = b.field(node, Field::Accessed)?;
                match b.field(node, Field::Object) {
                    Some(object) => Part::Behind(plain(b, name), name, object),
                    None => Part::Loose(plain(b, name), name),
                }
            }
            // What is pointed at, and what may be missing, has the members of what it is.
            "parenthesized_expression" | "dereference_expression" | "null_coercion_expression" => {
                Part::Around(node.named_child(0)?)
            }
            // The grammar takes `*a.B` for what is called `B` in `*a`.
            "pointer_type" | "nullable_type" | "error_union_type" => {
                Part::Around(b.children(node).pop()?)
            }
            "call_expression" => generic_type(b, node).map_or(Part::First(""), Part::Around),
            _ => Part::First(""),
        })
    })?;
    match import {
        Some(import) => Some(path_in_import(b, path, import)),
        None => Some(path).filter(|path| !b.text_of(path.name).is_empty()),
    }
}

/// `@import("a.zig").b`, whose first name was left empty.
fn path_in_import<'t>(b: &mut Builder<'t>, path: Path, import: Node<'t>) -> Path {
    let head = nameless(module_text(b, import));
    let text = format!("{head}{}", b.text_of(path.name));
    Path { name: b.name(&text), at: path.at, is_whole: true }
}

/// The function of a call that gives a type, as `List` in `List(u8).init()`.
fn generic_type<'t>(b: &Builder<'t>, node: Node<'t>) -> Option<Node<'t>> {
    let function = b.field(node, Field::Function)?;
    let name = match function.kind() {
        "identifier" => plain(b, function),
        "field_expression" => plain(b, b.field(function, Field::Accessed)?),
        _ => return None,
    };
    is_type_name(name).then_some(function)
}

/// The type that a value of this type can be used as, without pointers, `?` and errors.
fn type_path<'t>(b: &mut Builder<'t>, node: Node<'t>) -> Option<Path> {
    let mut node = node;
    for _ in 0..LAYERS_MAX {
        node = match node.kind() {
            "pointer_type" | "nullable_type" | "error_union_type" | "comptime_type_expression" => {
                b.children(node).pop()?
            }
            "parenthesized_expression" => node.named_child(0)?,
            "call_expression" => generic_type(b, node)?,
            "identifier" | "field_expression" | "builtin_function" => {
                return path(b, node).filter(|path| path.is_whole);
            }
            _ => return None,
        };
    }
    None
}

/// What a type is that stands here with its members.
fn container_kind(node: Node<'_>) -> Option<SymbolKind> {
    match node.kind() {
        "struct_declaration" | "union_declaration" => Some(SymbolKind::Struct),
        "enum_declaration" => Some(SymbolKind::Enum),
        "opaque_declaration" | "error_set_declaration" => Some(SymbolKind::Type),
        _ => None,
    }
}

fn has_token(node: Node<'_>, tokens: &[&str]) -> bool {
    let mut cursor = node.walk();
    node.children(&mut cursor).any(|child| tokens.contains(&child.kind()))
}

/// What isn't `pub` is seen in its own file only.
fn open<'t>(b: &mut Builder<'t>, kind: SymbolKind, name: &str, node: Node<'t>) -> Option<u32> {
    let symbol = b.open(kind, name, node)?;
    if !has_token(node, &["pub", "export"]) {
        b.hide(symbol);
    }
    Some(symbol)
}

fn function<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    let Some(name) = b.field(node, Field::Name) else { return };
    let kind = match returned_container(b, node) {
        Some(container) => container,
        None if b.kind_of(b.current()).is_some_and(SymbolKind::is_type) => SymbolKind::Method,
        None => SymbolKind::Function,
    };
    if open(b, kind, plain(b, name), node).is_none() {
        return;
    }
    let parameters = b.children(node).into_iter().find(|child| child.kind() == "parameters");
    for parameter in parameters.map(|all| b.children(all)).unwrap_or_default() {
        if let Some(name) = b.field(parameter, Field::Name) {
            let of = b.field(parameter, Field::Type).and_then(|of| type_path(b, of));
            bind(b, name, of.map(|of| of.name));
        }
    }
}

/// What a function returns that makes types: `fn List(comptime T: type) type { return struct {...}; }`.
fn returned_container<'t>(b: &Builder<'t>, function: Node<'t>) -> Option<SymbolKind> {
    b.field(function, Field::Type).filter(|of| b.text(*of) == "type")?;
    let body = b.field(function, Field::Body)?;
    b.children(body).into_iter().find_map(|statement| {
        let value = statement.named_child(0).filter(|value| value.kind() == "return_expression")?;
        container_kind(value.named_child(0)?)
    })
}

/// A test has a name that no function can have: what it calls is called by it, and nothing calls it.
fn test<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    let told = b.children(node);
    let told = told.into_iter().find(|child| matches!(child.kind(), "string" | "identifier"));
    let name = match told {
        Some(told) => format!("test {}", b.text(told).trim_matches('"')),
        None => "test".to_owned(),
    };
    if let Some(symbol) = b.open(SymbolKind::Function, &name, node) {
        b.hide(symbol);
    }
}

fn bind<'t>(b: &mut Builder<'t>, name: Node<'t>, of: Option<Name>) {
    let name = b.name(plain(b, name));
    b.bind_value(name, of);
}

/// A field. The values of an enum are fields without a type, and bind nothing.
fn field<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    let (Some(name), Some(of)) = (b.field(node, Field::Name), b.field(node, Field::Type)) else {
        return;
    };
    if let Some(kind) = container_kind(of) {
        b.open(kind, plain(b, name), node);
        return;
    }
    let of = type_path(b, of).map(|of| of.name);
    bind(b, name, of);
}

/// What `|name|` gives a name to.
fn payload<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    for name in b.children(node).into_iter().filter(|name| name.kind() == "identifier") {
        bind(b, name, None);
    }
}

/// The names that a declaration declares, and its value. An assignment, for which the grammar has
/// the same node, declares none.
fn declared<'t>(node: Node<'t>) -> (Vec<Node<'t>>, Option<Node<'t>>) {
    let (mut names, mut value, mut before) = (Vec::new(), None, "");
    let mut cursor = node.walk();
    for child in node.children(&mut cursor).filter(|child| child.kind() != "comment") {
        match before {
            "const" | "var" => names.push(child),
            "=" => value = Some(child),
            _ => {}
        }
        before = child.kind();
    }
    (names, value)
}

fn variable<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    let (names, value) = declared(node);
    let [name] = names.as_slice() else {
        // Of what is taken apart nothing is known.
        return names.into_iter().for_each(|name| bind(b, name, None));
    };
    if let Some(of) = b.field(node, Field::Type).filter(|of| b.text(*of) != "type") {
        let of = type_path(b, of).map(|of| of.name);
        return bind(b, *name, of);
    }
    let Some(value) = value else { return bind(b, *name, None) };
    if let Some(kind) = container_kind(value) {
        open(b, kind, plain(b, *name), node);
    } else if !import_as(b, *name, value) {
        bind_value(b, *name, value);
    }
}

/// `const name = @import("a.zig")`, and `const name = @import("a.zig").name`.
fn import_as<'t>(b: &mut Builder<'t>, name: Node<'t>, value: Node<'t>) -> bool {
    let (from, member) = match b.field(value, Field::Object) {
        Some(object) if value.kind() == "field_expression" => {
            (object, b.field(value, Field::Accessed))
        }
        _ => (value, None),
    };
    let Some(path) = imported_path(b, from) else { return false };
    let imported = member.map(|member| b.name(plain(b, member)));
    let alias = Some(b.name(plain(b, name))).filter(|alias| Some(*alias) != imported);
    add_import(b, path, imported, alias, false);
    b.is_skipped = true;
    true
}

/// A constant is another name for what it is given, or a value of a type that this tells.
fn bind_value<'t>(b: &mut Builder<'t>, name: Node<'t>, value: Node<'t>) {
    let is_path = matches!(value.kind(), "identifier" | "field_expression" | "builtin_function");
    let named = if is_path { path(b, value) } else { generic_of(b, value) };
    if let Some(path) = named.filter(|path| path.is_whole) {
        let name = b.name(plain(b, name));
        return b.bind(name, BindingKind::Alias, Some(path.name));
    }
    let of = made_type(b, value);
    bind(b, name, of);
}

/// `const Names = List(u8)` is another name for what makes such types.
fn generic_of<'t>(b: &mut Builder<'t>, value: Node<'t>) -> Option<Path> {
    let is_call = value.kind() == "call_expression";
    let of = if is_call { generic_type(b, value) } else { None };
    of.and_then(|of| path(b, of))
}

/// The type that a value is made of: `T{}`, `&T{}`, `try T.init()`.
fn made_type<'t>(b: &mut Builder<'t>, value: Node<'t>) -> Option<Name> {
    let mut value = value;
    for _ in 0..LAYERS_MAX {
        value = match value.kind() {
            "try_expression" | "catch_expression" | "comptime_expression" => {
                value.named_child(0)?
            }
            "unary_expression" => b.field(value, Field::Argument)?,
            "struct_initializer" => {
                let of = value.named_child(0)?;
                return type_path(b, of).map(|of| of.name);
            }
            "call_expression" => {
                let function = b.field(value, Field::Function)?;
                let path = path(b, function).filter(|path| path.is_whole)?;
                let (of, maker) = b.text_of(path.name).rsplit_once('.')?;
                let is_maker = MAKERS.iter().any(|known| maker.starts_with(known));
                let of = of.to_owned();
                let is_of_type = of.rsplit('.').next().is_some_and(is_type_name);
                return (is_maker && is_of_type).then(|| b.name(&of));
            }
            _ => return None,
        };
    }
    None
}

fn add_import<'t>(
    b: &mut Builder<'t>,
    path: Node<'t>,
    imported: Option<Name>,
    alias: Option<Name>,
    is_wildcard: bool,
) {
    let module = b.name(module_text(b, path));
    let at = place(path);
    b.import(Import { module, imported, alias, is_wildcard, at, ..Import::default() });
}

/// An import that isn't the value of a constant, or is only the beginning of it.
fn import<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    let Some(path) = imported_path(b, node) else { return };
    let alias = nameless(module_text(b, path));
    let alias = Some(b.name(&alias)).filter(|_| module_text(b, path).ends_with(".zig"));
    add_import(b, path, None, alias, false);
}

fn using_namespace<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    if let Some(path) = node.named_child(0).and_then(|value| imported_path(b, value)) {
        add_import(b, path, None, None, true);
        b.is_skipped = true;
    }
}

fn construct<'t>(b: &mut Builder<'t>, node: Node<'t>) {
    let path = node.named_child(0).and_then(|of| type_path(b, of));
    b.call(path);
}
