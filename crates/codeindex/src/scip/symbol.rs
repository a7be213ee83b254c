//! Names of symbols, taken apart: a scheme and a package, then what stands in what.
//!
//! `scip-python python shop 1.0 cart/Cart#add().` is `cart`, in it the type `Cart`, in it the method
//! `add`. Done here and not by the format's own crate, whose time grows with the square of the length.

use std::borrow::Cow;

/// Longer names are no person's.
const SYMBOL_BYTES_MAX: usize = 4_096;
/// More things don't stand in each other.
const DESCRIPTORS_MAX: usize = 64;

/// What a part of a name says of what it names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Suffix {
    Namespace,
    Type,
    Term,
    Method,
    TypeParameter,
    Parameter,
    Macro,
    Meta,
}

/// A part of a symbol's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Descriptor<'a> {
    pub(super) name: Cow<'a, str>,
    pub(super) suffix: Suffix,
    /// Where it ends in the symbol: what comes before is the name of what it names.
    pub(super) end: usize,
}

/// Whether a symbol is seen in its own file only, and has no name that says what it is.
pub(super) fn is_local(symbol: &str) -> bool {
    symbol.starts_with("local ")
}

/// The parts of a name, from the outermost; `None` if it isn't as the format has it.
pub(super) fn descriptors(symbol: &str) -> Option<Vec<Descriptor<'_>>> {
    if symbol.len() > SYMBOL_BYTES_MAX {
        return None;
    }
    let mut rest = symbol;
    // The scheme, and the package's manager, name and version.
    for _ in 0..4 {
        rest = behind_escaped(rest, ' ')?.1;
    }
    let mut all = Vec::new();
    while !rest.is_empty() {
        let (name, suffix, behind) = descriptor(rest)?;
        rest = behind;
        if all.len() == DESCRIPTORS_MAX {
            return None;
        }
        all.push(Descriptor { name, suffix, end: symbol.len() - rest.len() });
    }
    (!all.is_empty()).then_some(all)
}

/// All names, with dots between them.
pub(super) fn qualified(descriptors: &[Descriptor<'_>]) -> String {
    let names: Vec<&str> = descriptors.iter().map(|descriptor| &*descriptor.name).collect();
    names.join(".")
}

/// What comes up to a mark, which is doubled where it is part of the text; and what is behind it.
fn behind_escaped(text: &str, mark: char) -> Option<(Cow<'_, str>, &str)> {
    let (mut from, mut is_doubled) = (0, false);
    loop {
        let at = from + text.get(from..)?.find(mark)?;
        let behind = text.get(at + 1..)?;
        if !behind.starts_with(mark) {
            let inner = text.get(..at)?;
            let single = || inner.replace(&format!("{mark}{mark}"), &mark.to_string());
            let inner = if is_doubled { Cow::Owned(single()) } else { Cow::Borrowed(inner) };
            return Some((inner, behind));
        }
        (from, is_doubled) = (at + 2, true);
    }
}

fn name(text: &str) -> Option<(Cow<'_, str>, &str)> {
    if let Some(quoted) = text.strip_prefix('`') {
        return behind_escaped(quoted, '`');
    }
    let is_part = |letter: char| letter.is_alphanumeric() || "_+-$".contains(letter);
    let end = text.find(|letter| !is_part(letter)).unwrap_or(text.len());
    let (name, behind) = text.split_at_checked(end).filter(|(name, _)| !name.is_empty())?;
    Some((Cow::Borrowed(name), behind))
}

fn descriptor(text: &str) -> Option<(Cow<'_, str>, Suffix, &str)> {
    for (open, close, suffix) in [('(', ')', Suffix::Parameter), ('[', ']', Suffix::TypeParameter)]
    {
        if let Some(inner) = text.strip_prefix(open) {
            let (name, behind) = name(inner)?;
            return Some((name, suffix, behind.strip_prefix(close)?));
        }
    }
    let (name, behind) = name(text)?;
    let mut letters = behind.chars();
    let suffix = match letters.next()? {
        '/' => Suffix::Namespace,
        '#' => Suffix::Type,
        '.' => Suffix::Term,
        ':' => Suffix::Meta,
        '!' => Suffix::Macro,
        '(' => return Some((name, Suffix::Method, behind_method(letters.as_str())?)),
        _ => return None,
    };
    Some((name, suffix, letters.as_str()))
}

/// What is behind `+1).`, of which the number tells methods of one name apart.
fn behind_method(text: &str) -> Option<&str> {
    let behind = match text.starts_with(')') {
        true => text,
        false => name(text)?.1,
    };
    behind.strip_prefix(").")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use scip::symbol::parse_symbol;
    use scip::types::descriptor::Suffix as Theirs;

    use super::*;

    fn ours(suffix: Theirs) -> Option<Suffix> {
        match suffix {
            Theirs::Package | Theirs::Namespace => Some(Suffix::Namespace),
            Theirs::Type => Some(Suffix::Type),
            Theirs::Term => Some(Suffix::Term),
            Theirs::Method => Some(Suffix::Method),
            Theirs::TypeParameter => Some(Suffix::TypeParameter),
            Theirs::Parameter => Some(Suffix::Parameter),
            Theirs::Macro => Some(Suffix::Macro),
            Theirs::Meta => Some(Suffix::Meta),
            _ => None,
        }
    }

    /// Fails unless a name means what it means to the format's own crate.
    fn agree(symbol: &str) {
        let theirs = parse_symbol(symbol).ok().filter(|symbol| !symbol.descriptors.is_empty());
        let theirs: Option<Vec<_>> = theirs.map(|symbol| {
            let each = symbol.descriptors.into_iter();
            each.map(|one| (one.name, one.suffix.enum_value().ok().and_then(ours))).collect()
        });
        let own: Option<Vec<_>> = descriptors(symbol).map(|all| {
            all.into_iter().map(|one| (one.name.into_owned(), Some(one.suffix))).collect()
        });
        assert_eq!(own, theirs, "{symbol:?}");
    }

    #[test]
    fn names_are_taken_apart_as_the_format_says() {
        for symbol in [
            "java maven p 1.0 java/io/File#Entry.method(+1).(param)[TypeParam]",
            "a . . . `e f`#`g``h`().!",
            "a  b c  d e  f g  h x:y!",
            "rust-analyzer cargo c 0.1.0 impl#[`A<T>`]new().",
            "a b c d ",
            "a b c d x",
            "a b c d `x#",
            "a b c x#",
            "",
        ] {
            agree(symbol);
        }
        let all = descriptors("s m p 1 a/B#c().").unwrap();
        let ends: Vec<usize> = all.iter().map(|one| one.end).collect();
        assert_eq!((ends, qualified(&all).as_str()), (vec![10, 12, 16], "a.B.c"));
        assert_eq!(descriptors(&format!("s m p 1 {}", "a/".repeat(DESCRIPTORS_MAX + 1))), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        #[test]
        fn any_name_means_what_it_means_to_the_formats_own_crate(
            parts in prop::collection::vec(
                prop::sample::select(vec!["a", "é", "`", "``", " ", "  ", "/", "#", ".", "(", ")", "[", "]",
                    ":", "!", "().", "b c d e "]),
                0..12,
            ),
        ) {
            agree(&format!("s m p 1 {}", parts.concat()));
        }
    }
}
