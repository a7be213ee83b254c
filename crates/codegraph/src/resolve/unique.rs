//! The last resort: what alone in the tree has a name.

use hashbrown::HashMap;

use super::builtins::is_builtin;
use super::words::Word;
use super::world::{File, Item, World, count};
use crate::SymbolKind;
use crate::language::Family;

/// Functions and types that are called by name, and methods that are called on something.
#[derive(Debug, Default)]
pub(super) struct Unique {
    /// Those of a family by name; none where there are several.
    plain: HashMap<(Family, Word), Option<Item>>,
    methods: HashMap<(Family, Word), Option<Item>>,
}

impl Unique {
    pub(super) fn new(world: &World<'_>) -> Self {
        let mut unique = Self::default();
        for file in &world.files {
            for (index, symbol) in file.facts.symbols.iter().enumerate() {
                let item = World::item_in(file, Some(count(index)));
                let is_at_file_level = symbol.parent.is_none();
                let key = (file.family, file.words.only(symbol.name));
                let all = match symbol.kind {
                    SymbolKind::Method => &mut unique.methods,
                    // What stands in a function is seen in it only, and so is what is hidden.
                    _ if !is_at_file_level || symbol.is_hidden => continue,
                    SymbolKind::Extension | SymbolKind::Module => continue,
                    _ => &mut unique.plain,
                };
                all.entry(key).and_modify(|known| *known = None).or_insert(Some(item));
            }
        }
        unique
    }

    /// What a path that isn't known must mean if it means anything in the tree.
    pub(super) fn find(&self, world: &World<'_>, file: &File<'_>, path: &[Word]) -> Option<Item> {
        let last = *path.last()?;
        if is_builtin(file.family, world.words.text(last), path.len() > 1) {
            return None;
        }
        let all = if path.len() > 1 { &self.methods } else { &self.plain };
        all.get(&(file.family, last)).copied().flatten()
    }
}
