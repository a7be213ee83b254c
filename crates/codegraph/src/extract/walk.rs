//! The walk over a parsed tree, and what is looked up once a language: which nodes matter.

use std::num::NonZeroU16;
use std::sync::OnceLock;

use tree_sitter::{Language as Grammar, Node, Tree};

use super::build::Builder;
use super::{c, go, python, rust, script, zig};
use crate::{Facts, Language};

/// What is done where a node of some kind begins.
pub(super) type Step = for<'t> fn(&mut Builder<'t>, Node<'t>);

/// The fields of nodes that are asked for, in any language, with their names in the grammars.
macro_rules! fields {
    ($($field:ident = $name:literal,)*) => {
        #[derive(Debug, Clone, Copy)]
        pub(super) enum Field {
            $($field,)*
        }

        const FIELDS: &[(Field, &str)] = &[$((Field::$field, $name),)*];
    };
}

fields! {
    Accessed = "member",
    Alias = "alias",
    Argument = "argument",
    Attribute = "attribute",
    Body = "body",
    Bounds = "bounds",
    Constructor = "constructor",
    Declarator = "declarator",
    Definition = "definition",
    Member = "field",
    Function = "function",
    Left = "left",
    List = "list",
    Macro = "macro",
    ModuleName = "module_name",
    Name = "name",
    Object = "object",
    Operand = "operand",
    Package = "package",
    Parameter = "parameter",
    Parameters = "parameters",
    Path = "path",
    Pattern = "pattern",
    Property = "property",
    Receiver = "receiver",
    Right = "right",
    Source = "source",
    Superclasses = "superclasses",
    Trait = "trait",
    Type = "type",
    Value = "value",
}

/// What of a grammar is needed for each node, by numbers instead of by names.
#[derive(Debug)]
pub(super) struct Table {
    steps: Vec<Option<Step>>,
    fields: Vec<Option<NonZeroU16>>,
}

impl Table {
    fn new(grammar: &Grammar, named: &[(&str, Step)]) -> Self {
        let kinds = u16::try_from(grammar.node_kind_count()).unwrap_or(u16::MAX);
        let step_of = |id: u16| {
            let kind = grammar.node_kind_for_id(id).filter(|_| grammar.node_kind_is_named(id))?;
            named.iter().find(|(name, _)| *name == kind).map(|(_, step)| *step)
        };
        let fields = FIELDS.iter().map(|(_, name)| grammar.field_id_for_name(name));
        Self { steps: (0..kinds).map(step_of).collect(), fields: fields.collect() }
    }

    pub(super) fn field(&self, field: Field) -> Option<u16> {
        self.fields.get(field as usize).copied().flatten().map(NonZeroU16::get)
    }

    fn step(&self, kind: u16) -> Option<Step> {
        self.steps.get(usize::from(kind)).copied().flatten()
    }
}

pub(super) fn grammar_of(language: Language) -> Grammar {
    let grammar = match language {
        Language::Python => tree_sitter_python::LANGUAGE,
        Language::Rust => tree_sitter_rust::LANGUAGE,
        Language::C => tree_sitter_c::LANGUAGE,
        Language::JavaScript => tree_sitter_javascript::LANGUAGE,
        Language::TypeScript => tree_sitter_typescript::LANGUAGE_TYPESCRIPT,
        Language::Tsx => tree_sitter_typescript::LANGUAGE_TSX,
        Language::Go => tree_sitter_go::LANGUAGE,
        Language::Zig => tree_sitter_zig::LANGUAGE,
    };
    Grammar::new(grammar)
}

fn table_of(language: Language) -> &'static Table {
    static TABLES: [OnceLock<Table>; Language::ALL.len()] =
        [const { OnceLock::new() }; Language::ALL.len()];
    // The order of variants is that of `ALL`, which a test holds fast.
    TABLES[language as usize].get_or_init(|| Table::new(&grammar_of(language), &steps_of(language)))
}

fn steps_of(language: Language) -> Vec<(&'static str, Step)> {
    match language {
        Language::Python => python::STEPS.to_vec(),
        Language::Rust => rust::STEPS.to_vec(),
        Language::C => c::STEPS.to_vec(),
        Language::JavaScript => [script::STEPS, script::PLAIN_STEPS].concat(),
        Language::TypeScript | Language::Tsx => [script::STEPS, script::TYPED_STEPS].concat(),
        Language::Go => go::STEPS.to_vec(),
        Language::Zig => zig::STEPS.to_vec(),
    }
}

/// Walks the whole tree, children after their parents, with a stack on the heap.
pub(super) fn walk(language: Language, tree: &Tree, source: &[u8]) -> Facts {
    let table = table_of(language);
    let mut builder = Builder::new(language, table, source);
    let mut cursor = tree.walk();
    let mut depth = 0;
    loop {
        let node = cursor.node();
        if let Some(step) = table.step(node.kind_id()) {
            builder.depth = depth;
            step(&mut builder, node);
        }
        let is_skipped = std::mem::take(&mut builder.is_skipped);
        if !is_skipped && cursor.goto_first_child() {
            depth += 1;
            continue;
        }
        loop {
            builder.close(depth);
            if cursor.goto_next_sibling() {
                break;
            }
            if !cursor.goto_parent() {
                return builder.finish();
            }
            depth -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_language_and_field_is_found_by_its_number() {
        for (at, language) in Language::ALL.into_iter().enumerate() {
            assert_eq!(language as usize, at);
        }
        for (at, (field, _)) in FIELDS.iter().enumerate() {
            assert_eq!(*field as usize, at);
        }
    }

    #[test]
    fn every_node_that_a_language_asks_for_is_in_its_grammar() {
        for language in Language::ALL {
            let grammar = grammar_of(language);
            // Plain TypeScript shares its steps with the grammar that has JSX.
            let has_jsx = language != Language::TypeScript;
            let steps = steps_of(language);
            let kinds = steps.iter().filter(|(kind, _)| has_jsx || !kind.starts_with("jsx"));
            for (kind, _) in kinds {
                assert_ne!(grammar.id_for_node_kind(kind, true), 0, "{language:?}: {kind}");
            }
        }
    }
}
