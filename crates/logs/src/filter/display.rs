//! Expressions written back as text, in one canonical form.

use std::fmt::{self, Display, Formatter, Write};

use timestrata_engine::words;

use super::parser::{is_keyword, is_name_char};
use super::pattern::Form;
use super::{Expr, Filter, Literal, Op, Pattern, Target, Term, Test, Value};

/// How tightly the parts of an expression must hold together.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum Binding {
    Or,
    And,
    Not,
}

impl Display for Filter {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.root().fmt(f)
    }
}

impl Display for Expr {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write_expr(f, self, Binding::Or)
    }
}

fn write_expr(f: &mut Formatter<'_>, expr: &Expr, around: Binding) -> fmt::Result {
    match expr {
        Expr::All => f.write_char('*'),
        Expr::And(parts) => write_parts(f, parts, " ", Binding::And, around),
        Expr::Or(parts) => write_parts(f, parts, " or ", Binding::Or, around),
        Expr::Not(inner) => match &**inner {
            Expr::Term(Term { target, test: Test::Compare(Op::Equal, literal) }) => {
                write!(f, "{target}!={literal}")
            }
            inner => {
                f.write_str("not ")?;
                write_expr(f, inner, Binding::Not)
            }
        },
        Expr::Term(term) => term.fmt(f),
    }
}

fn write_parts(
    f: &mut Formatter<'_>,
    parts: &[Expr],
    between: &str,
    binding: Binding,
    around: Binding,
) -> fmt::Result {
    let (open, close) = if binding < around { ("(", ")") } else { ("", "") };
    f.write_str(open)?;
    for (index, part) in parts.iter().enumerate() {
        f.write_str(if index == 0 { "" } else { between })?;
        write_expr(f, part, binding)?;
    }
    f.write_str(close)
}

impl Display for Term {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match (&self.target, &self.test) {
            (Target::Anywhere, Test::Contains(pattern)) => pattern.fmt(f),
            (target, Test::Contains(pattern)) => write!(f, "{target}:{pattern}"),
            (target, Test::Compare(op, literal)) => write!(f, "{target}{}{literal}", op.symbol()),
            (target, Test::Exists) => write!(f, "{target}:*"),
        }
    }
}

/// The name; nothing for anywhere, which has none.
impl Display for Target {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Anywhere => "",
            Self::Message => "message",
            Self::Level => "level",
            Self::Timestamp => "timestamp",
            Self::SourceTime => "source_time",
            Self::Field(name) => {
                let is_plain = name.chars().all(is_name_char) && !name.starts_with('-');
                if !is_plain || Self::of_name(name) != *self {
                    return write_quoted(f, name, '`');
                }
                name
            }
        })
    }
}

impl Display for Pattern {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.form() {
            Form::Phrase(text) => write_phrase(f, text),
            Form::Prefix(text) => {
                write_phrase(f, text)?;
                f.write_char('*')
            }
            Form::Regex { source, ignores_case } => {
                write_regex(f, source)?;
                f.write_str(if ignores_case { "i" } else { "" })
            }
        }
    }
}

impl Display for Literal {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let is_plain =
            |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.' | b':');
        if *self.value() == Value::Text || !self.text().bytes().all(is_plain) {
            return write_quoted(f, self.text(), '"');
        }
        f.write_str(self.text())
    }
}

fn write_phrase(f: &mut Formatter<'_>, text: &str) -> fmt::Result {
    if text.chars().all(words::is_word_char) && !is_keyword(text) {
        return f.write_str(text);
    }
    write_quoted(f, text, '"')
}

fn write_quoted(f: &mut Formatter<'_>, text: &str, quote: char) -> fmt::Result {
    f.write_char(quote)?;
    for c in text.chars() {
        match c {
            '\n' => f.write_str("\\n")?,
            '\t' => f.write_str("\\t")?,
            '\r' => f.write_str("\\r")?,
            _ if c == quote || c == '\\' => write!(f, "\\{c}")?,
            _ => f.write_char(c)?,
        }
    }
    f.write_char(quote)
}

/// Writes slashes behind a backslash. None has one yet: the parser takes it away.
fn write_regex(f: &mut Formatter<'_>, source: &str) -> fmt::Result {
    write!(f, "/{}/", source.replace('/', "\\/"))
}
