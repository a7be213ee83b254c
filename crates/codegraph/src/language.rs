//! The languages that are read, and how a file's is known.

use serde::{Deserialize, Serialize};

/// A language that facts are extracted from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Language {
    /// Python: `.py`, `.pyi`, `.pyw`, or a first line that names its interpreter.
    Python,
    /// Rust: `.rs`.
    Rust,
    /// C: `.c`, `.h`.
    C,
    /// JavaScript, with JSX: `.js`, `.mjs`, `.cjs`, `.jsx`.
    JavaScript,
    /// TypeScript: `.ts`, `.mts`, `.cts`.
    TypeScript,
    /// TypeScript with JSX, which is another grammar: `.tsx`.
    Tsx,
    /// Go: `.go`.
    Go,
    /// Zig: `.zig`.
    Zig,
}

/// Each language with its name, its family and how its files' names end, by its number.
static TOLD: [(Language, &str, Family, &[&str]); Language::ALL.len()] = [
    (Language::Python, "python", Family::Python, &["py", "pyi", "pyw"]),
    (Language::Rust, "rust", Family::Rust, &["rs"]),
    (Language::C, "c", Family::C, &["c", "h"]),
    (Language::JavaScript, "javascript", Family::Script, &["js", "mjs", "cjs", "jsx"]),
    (Language::TypeScript, "typescript", Family::Script, &["ts", "mts", "cts"]),
    (Language::Tsx, "tsx", Family::Script, &["tsx"]),
    (Language::Go, "go", Family::Go, &["go"]),
    (Language::Zig, "zig", Family::Zig, &["zig"]),
];

impl Language {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Python,
        Self::Rust,
        Self::C,
        Self::JavaScript,
        Self::TypeScript,
        Self::Tsx,
        Self::Go,
        Self::Zig,
    ];

    /// The language that a path's ending names.
    #[must_use]
    pub fn of_path(path: &str) -> Option<Self> {
        let name = path.rsplit('/').next()?;
        let (stem, ending) = name.rsplit_once('.')?;
        if stem.is_empty() {
            return None;
        }
        let found = TOLD.iter().find(|(.., endings)| endings.contains(&ending));
        found.map(|(language, ..)| *language)
    }

    /// The language of a script without an ending, by its first line (`#!/usr/bin/env python3`).
    #[must_use]
    pub fn of_first_line(bytes: &[u8]) -> Option<Self> {
        let line = bytes.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
        let line = std::str::from_utf8(line.get(..line.len().min(256))?).ok()?;
        let mut words = line.split_whitespace().map(|word| word.rsplit('/').next().unwrap_or(word));
        let mut program = words.next()?;
        if program == "env" {
            program = words.find(|word| !word.starts_with('-') && !word.contains('='))?;
        }
        let name =
            program.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
        match name {
            "python" | "pypy" => Some(Self::Python),
            "node" | "nodejs" => Some(Self::JavaScript),
            _ => None,
        }
    }

    /// Its name in small letters.
    #[must_use]
    pub fn name(self) -> &'static str {
        TOLD[self as usize].1
    }

    /// Those whose files can name each other's symbols have one family.
    pub(crate) fn family(self) -> Family {
        TOLD[self as usize].2
    }
}

/// Languages that share one set of rules for names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Family {
    Python,
    Rust,
    C,
    Script,
    Go,
    Zig,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_of_a_language_is_found_by_its_number() {
        for (at, (language, ..)) in TOLD.into_iter().enumerate() {
            assert_eq!(language as usize, at);
        }
    }

    #[test]
    fn endings_name_languages() {
        let known = [
            ("a.py", Language::Python),
            ("a/b.pyi", Language::Python),
            ("x.y.rs", Language::Rust),
            ("x.h", Language::C),
            ("x.mjs", Language::JavaScript),
            ("x.d.ts", Language::TypeScript),
            ("x.tsx", Language::Tsx),
            ("x.go", Language::Go),
            ("build.zig", Language::Zig),
        ];
        for (path, language) in known {
            assert_eq!(Language::of_path(path), Some(language), "{path}");
        }
        for path in ["", "py", ".py", "a/.rs", "a.txt", "a.py/b", "a.PY2"] {
            assert_eq!(Language::of_path(path), None, "{path}");
        }
    }

    #[test]
    fn first_lines_name_languages() {
        let python: [&[u8]; 4] = [
            b"#!/usr/bin/python\n",
            b"#! /usr/bin/env python3.11\nimport os",
            b"#!/usr/bin/env -S PYTHONPATH=x python3 -I",
            b"#!/opt/pypy3",
        ];
        for line in python {
            assert_eq!(Language::of_first_line(line), Some(Language::Python));
        }
        assert_eq!(Language::of_first_line(b"#!/usr/bin/node\n"), Some(Language::JavaScript));
        let none: [&[u8]; 5] = [b"", b"#!", b"#!/bin/sh python\n", b"python", b"#!\xff\xfe python"];
        for line in none {
            assert_eq!(Language::of_first_line(line), None);
        }
    }
}
