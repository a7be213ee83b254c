//! What symbols are, in the words that an index of our own has for them.

use scip::types::symbol_information::Kind;

use super::symbol::Suffix;

/// The name of what a symbol is. What the indexer says goes before what the symbol's name shows.
pub(super) fn name(kind: Kind, suffix: Suffix, is_in_type: bool) -> String {
    if is_function(kind, suffix) {
        let is_method = match kind {
            Kind::UnspecifiedKind => is_in_type,
            Kind::Function => false,
            Kind::Macro => return "macro".to_owned(),
            _ => true,
        };
        return match suffix {
            Suffix::Macro => "macro",
            _ if is_method => "method",
            _ => "function",
        }
        .to_owned();
    }
    let known = match kind {
        Kind::UnspecifiedKind => of_suffix(suffix),
        Kind::Class | Kind::SingletonClass => "class",
        Kind::Struct | Kind::Union => "struct",
        Kind::Interface | Kind::Protocol => "interface",
        Kind::Trait | Kind::TypeClass => "trait",
        Kind::Type | Kind::TypeAlias => "type",
        Kind::Module | Kind::Namespace | Kind::Package | Kind::PackageObject => "module",
        other => return in_small_letters(&format!("{other:?}")),
    };
    known.to_owned()
}

/// Whether it can be called.
pub(super) fn is_function(kind: Kind, suffix: Suffix) -> bool {
    match kind {
        Kind::UnspecifiedKind => matches!(suffix, Suffix::Method | Suffix::Macro),
        Kind::AbstractMethod
        | Kind::Accessor
        | Kind::Constructor
        | Kind::Function
        | Kind::Getter
        | Kind::Macro
        | Kind::Method
        | Kind::MethodAlias
        | Kind::MethodSpecification
        | Kind::Operator
        | Kind::ProtocolMethod
        | Kind::PureVirtualMethod
        | Kind::Setter
        | Kind::SingletonMethod
        | Kind::StaticMethod
        | Kind::Subscript
        | Kind::TraitMethod
        | Kind::TypeClassMethod => true,
        _ => false,
    }
}

/// Whether what stands in it may refer to something in its name: all but parameters may.
pub(super) fn can_refer(suffix: Suffix) -> bool {
    !matches!(suffix, Suffix::Parameter | Suffix::TypeParameter)
}

fn of_suffix(suffix: Suffix) -> &'static str {
    match suffix {
        Suffix::Namespace => "module",
        Suffix::Type => "type",
        Suffix::Term => "variable",
        Suffix::Method => "function",
        Suffix::TypeParameter => "type_parameter",
        Suffix::Parameter => "parameter",
        Suffix::Macro => "macro",
        Suffix::Meta => "meta",
    }
}

/// `EnumMember` as `enum_member`.
fn in_small_letters(name: &str) -> String {
    let mut small = String::with_capacity(name.len() + 4);
    for letter in name.chars() {
        if letter.is_uppercase() && !small.is_empty() {
            small.push('_');
        }
        small.extend(letter.to_lowercase());
    }
    small
}
