//! What one file says of itself, without regard to its path and to other files.
//!
//! Text is kept once a file, in a table; all else are numbers. So facts are small, whatever they are
//! coded in, and comparing names is comparing numbers.

use serde::{Deserialize, Serialize};

use crate::Language;

/// Rises when facts of the same bytes come out differently; kept facts of another version are to be
/// extracted again.
pub const FACTS_VERSION: u32 = 2;

/// A text in a file's table. See [`Facts::text`].
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Name(pub(crate) u32);

/// A place in a file.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(into = "(u32, u32)", from = "(u32, u32)")]
pub struct Position {
    /// The line; the first is 1.
    pub line: u32,
    /// How many bytes of the line stand before it; the first column is 0.
    pub column: u32,
}

/// A part of a file.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(into = "(u32, u32, Position, Position)", from = "(u32, u32, Position, Position)")]
pub struct Span {
    /// Its first byte.
    pub start_byte: u32,
    /// The byte behind its last.
    pub end_byte: u32,
    /// Where it begins.
    pub start: Position,
    /// Where what follows it begins.
    pub end: Position,
}

/// What a symbol is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "u8", try_from = "u8")]
pub enum SymbolKind {
    /// A class.
    Class = 0,
    /// A struct or a union.
    Struct = 1,
    /// An enum.
    Enum = 2,
    /// A trait.
    Trait = 3,
    /// An interface.
    Interface = 4,
    /// Another name for a type, or a type that is none of the above.
    Type = 5,
    /// A function that belongs to no type.
    Function = 6,
    /// A function of a type.
    Method = 7,
    /// A module or namespace within the file.
    Module = 8,
    /// A macro that is called; its name ends with `!` in Rust.
    Macro = 9,
    /// A block that adds to a type which stands elsewhere (Rust's `impl`). It is no node of the
    /// graph: what it holds belongs to its [`Symbol::owner`].
    Extension = 10,
}

/// What a file defines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "SymbolRow", from = "SymbolRow")]
pub struct Symbol {
    /// What it is.
    pub kind: SymbolKind,
    /// Its own name.
    pub name: Name,
    /// Its name within the file: `Outer.inner`.
    pub qualified: Name,
    /// The symbol that it stands in, which comes before it; none at file level.
    pub parent: Option<u32>,
    /// The type that it belongs to, as written, where that is not what it stands in: for an
    /// extension, for a Go method, for a function that JavaScript puts into a prototype.
    pub owner: Option<Name>,
    /// Whether no other file can name it, as with a `static` function of C.
    pub is_hidden: bool,
    /// Where it stands, without decorators and comments before it.
    pub span: Span,
}

/// A name that comes from another file.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(into = "ImportRow", from = "ImportRow")]
pub struct Import {
    /// The module as written, without the dots before a relative one of Python: `os.path`,
    /// `crate::facts` (as `crate.facts`), `./shape`, `net/http`, `stdio.h`.
    pub module: Name,
    /// What of the module is imported; none for the module itself.
    pub imported: Option<Name>,
    /// The name that it gets here, where another is given.
    pub alias: Option<Name>,
    /// How many dots stand before a relative module of Python; 1 for a quoted include of C.
    pub level: u32,
    /// Whether all names of the module are imported.
    pub is_wildcard: bool,
    /// Where the import of this name stands.
    pub at: Position,
    /// The symbol that it stands in; none at file level.
    pub inside: Option<u32>,
}

/// How a file refers to something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "u8", try_from = "u8")]
pub enum ReferenceKind {
    /// It is called or constructed, or decorates what follows.
    Call = 0,
    /// It is a base class, an implemented trait or an extended interface of the symbol inside which
    /// the reference is.
    Inherit = 1,
}

/// A call, or a base of a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "ReferenceRow", from = "ReferenceRow")]
pub struct Reference {
    /// How it refers.
    pub kind: ReferenceKind,
    /// The names written, with a dot between them whatever the language has there: `os.path.join`.
    /// What is called on something without a name begins with a dot: `.strip`.
    pub callee: Name,
    /// Where the last of these names stands.
    pub at: Position,
    /// The symbol that it stands in, or whose base it is; none at file level.
    pub inside: Option<u32>,
}

/// What is known of a variable, a parameter, a field or another name for something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "u8", try_from = "u8")]
pub enum BindingKind {
    /// Nothing, but that the name means this and nothing further out.
    Opaque = 0,
    /// It is another name for [`Binding::of`].
    Alias = 1,
    /// It is a value of the type [`Binding::of`], or what calling that gives.
    Instance = 2,
    /// It is a value of the type that the function belongs to, or that type: Python's `self`.
    Receiver = 3,
}

/// A name that is bound to a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "BindingRow", from = "BindingRow")]
pub struct Binding {
    /// The name.
    pub name: Name,
    /// The function whose variable it is, or the type whose field; none at file level.
    pub inside: Option<u32>,
    /// What is known of it.
    pub kind: BindingKind,
    /// A path as in [`Reference::callee`], by kind.
    pub of: Option<Name>,
}

/// All that one file says.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Facts {
    /// What it is written in.
    pub language: Language,
    /// What it defines, in the order of the file: what stands in another comes after it.
    pub symbols: Vec<Symbol>,
    /// What it imports, in the order of the file.
    pub imports: Vec<Import>,
    /// What it calls and inherits from, in the order of the file.
    pub references: Vec<Reference>,
    /// What its names are bound to, each said once.
    pub bindings: Vec<Binding>,
    pub(crate) names: Vec<String>,
}

impl Facts {
    /// The text of a name; empty if these facts have no such name.
    #[must_use]
    pub fn text(&self, name: Name) -> &str {
        usize::try_from(name.0).ok().and_then(|at| self.names.get(at)).map_or("", String::as_str)
    }
}

type SymbolRow = (SymbolKind, Name, Name, Option<u32>, Option<Name>, bool, Span);
type ImportRow = (Name, Option<Name>, Option<Name>, u32, bool, Position, Option<u32>);
type ReferenceRow = (ReferenceKind, Name, Position, Option<u32>);
type BindingRow = (Name, Option<u32>, BindingKind, Option<Name>);

/// Rows are coded as tuples: as maps, the names of fields would be most of the bytes.
macro_rules! as_tuple {
    ($struct:ident { $($field:ident),* } as $row:ty) => {
        impl From<$struct> for $row {
            fn from($struct { $($field),* }: $struct) -> Self {
                ($($field),*)
            }
        }
        impl From<$row> for $struct {
            fn from(($($field),*): $row) -> Self {
                Self { $($field),* }
            }
        }
    };
}

as_tuple!(Position { line, column } as (u32, u32));
as_tuple!(Span { start_byte, end_byte, start, end } as (u32, u32, Position, Position));
as_tuple!(Symbol { kind, name, qualified, parent, owner, is_hidden, span } as SymbolRow);
as_tuple!(Import { module, imported, alias, level, is_wildcard, at, inside } as ImportRow);
as_tuple!(Reference { kind, callee, at, inside } as ReferenceRow);
as_tuple!(Binding { name, inside, kind, of } as BindingRow);

/// Each kind is coded as its number.
macro_rules! as_byte {
    ($enum:ident of $all:expr) => {
        impl From<$enum> for u8 {
            fn from(value: $enum) -> Self {
                value as Self
            }
        }
        impl TryFrom<u8> for $enum {
            type Error = String;

            fn try_from(byte: u8) -> Result<Self, String> {
                let found = $all.into_iter().find(|known| *known as u8 == byte);
                found.ok_or_else(|| format!("{} {byte} is not known", stringify!($enum)))
            }
        }
    };
}

as_byte!(SymbolKind of SymbolKind::NAMES.map(|(kind, _)| kind));
as_byte!(ReferenceKind of [Self::Call, Self::Inherit]);
as_byte!(BindingKind of [Self::Opaque, Self::Alias, Self::Instance, Self::Receiver]);

impl SymbolKind {
    /// Each of them with its name, by its number.
    const NAMES: [(Self, &'static str); 11] = [
        (Self::Class, "class"),
        (Self::Struct, "struct"),
        (Self::Enum, "enum"),
        (Self::Trait, "trait"),
        (Self::Interface, "interface"),
        (Self::Type, "type"),
        (Self::Function, "function"),
        (Self::Method, "method"),
        (Self::Module, "module"),
        (Self::Macro, "macro"),
        (Self::Extension, "extension"),
    ];

    /// Whether it is a type, which has members and can be constructed.
    #[must_use]
    pub fn is_type(self) -> bool {
        matches!(
            self,
            Self::Class | Self::Struct | Self::Enum | Self::Trait | Self::Interface | Self::Type
        )
    }

    /// Its name in small letters.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize].1
    }
}
