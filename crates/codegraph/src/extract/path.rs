//! Paths of names, in whatever language: `os.path.join`, `a::b::<T>`, `this.x.run`.

use tree_sitter::Node;

use super::build::{Builder, Parts, Path};
use super::walk::Field;

/// What a node of a path is, from its last name to its first.
pub(super) enum Part<'t> {
    /// Where the path begins: a name, or nothing where what stands there isn't one.
    First(&'t str),
    /// A name with its node, behind what stands before it.
    Behind(&'t str, Node<'t>, Node<'t>),
    /// A name with its node, behind something that is left out.
    Loose(&'t str, Node<'t>),
    /// Brackets and the like around the rest of the path.
    Around(Node<'t>),
}

impl<'t> Part<'t> {
    /// The name in one field, behind what stands in another.
    pub(super) fn behind(
        b: &Builder<'t>,
        node: Node<'t>,
        name: Field,
        before: Field,
    ) -> Option<Self> {
        let name = b.field(node, name)?;
        Some(Self::Behind(b.text(name), name, b.field(node, before)?))
    }
}

/// The names of a path, of which `part` tells what each node is; none if it can't.
pub(super) fn names_of<'t>(
    b: &mut Builder<'t>,
    node: Node<'t>,
    mut part: impl FnMut(&Builder<'t>, Node<'t>) -> Option<Part<'t>>,
) -> Option<Path> {
    let mut parts = Parts::new();
    let mut node = node;
    loop {
        match part(b, node)? {
            Part::First(text) => {
                parts.push(text, node);
                break;
            }
            Part::Behind(text, name, before) => {
                if !parts.push(text, name) {
                    break;
                }
                node = before;
            }
            Part::Loose(text, name) => {
                if parts.push(text, name) {
                    parts.push("", node);
                }
                break;
            }
            Part::Around(inner) => node = inner,
        }
    }
    b.path(&parts)
}

/// The same, unless what stands there has no name at all.
pub(super) fn path_of<'t>(
    b: &mut Builder<'t>,
    node: Node<'t>,
    part: impl FnMut(&Builder<'t>, Node<'t>) -> Option<Part<'t>>,
) -> Option<Path> {
    names_of(b, node, part).filter(|path| !b.text_of(path.name).is_empty())
}
