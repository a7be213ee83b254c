//! What stdout is, and text that shows what it has and can't drive a terminal.

use std::fmt::Write as _;
use std::io::{self, IsTerminal};

/// Characters of a line where no terminal says how many it has.
const WIDTH: usize = 80;

/// Begins faint text.
pub(crate) const FAINT: &str = "\x1b[2m";
/// Ends whatever was begun.
const RESET: &str = "\x1b[0m";

/// How what is printed may look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Look {
    /// Whether somebody looks at it as it comes.
    pub(crate) is_terminal: bool,
    /// Whether it may have colours.
    pub(crate) has_colours: bool,
    /// Characters that fit on a line.
    pub(crate) width: usize,
}

impl Look {
    /// Without colours, for nobody in particular.
    pub(crate) const PLAIN: Self = Self { is_terminal: false, has_colours: false, width: WIDTH };

    /// That of stdout, as `NO_COLOR` and `TERM` have it.
    pub(crate) fn of_stdout() -> Self {
        if !io::stdout().is_terminal() {
            return Self::PLAIN;
        }
        let is_refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let width = terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
        Self {
            is_terminal: true,
            has_colours: !is_refused && !is_dumb,
            width: width.filter(|width| *width > 0).unwrap_or(WIDTH),
        }
    }

    /// Appends text in a colour: what an escape sequence begins.
    pub(crate) fn paint(&self, colour: &str, text: &str, out: &mut String) {
        self.painted(colour, out, |out| out.push_str(text));
    }

    /// Appends what `write` does in a colour.
    pub(crate) fn painted(&self, colour: &str, out: &mut String, write: impl FnOnce(&mut String)) {
        if !self.has_colours {
            return write(out);
        }
        out.push_str(colour);
        write(out);
        out.push_str(RESET);
    }
}

/// Appends text with all that would do something to a terminal as escapes: `\n`, `\x1b`,
/// `\u{202e}`. Tabs stay.
pub(crate) fn push_visible(text: &str, out: &mut String) {
    push_escaped(text, out, |c, out| {
        // Memory takes what is written to it.
        let _ = match c {
            '\t' => write!(out, "\t"),
            '\n' => write!(out, "\\n"),
            '\r' => write!(out, "\\r"),
            _ if c.is_ascii() => write!(out, "\\x{:02x}", u32::from(c)),
            _ => write!(out, "\\u{{{:x}}}", u32::from(c)),
        };
    });
}

/// Escapes in JSON, from a place of `out` on, what JSON itself doesn't have to.
pub(crate) fn escape_json(out: &mut String, start: usize) {
    let is_driving = |text: &str| text.chars().any(drives_a_terminal);
    let Some(text) = out.get(start..).filter(|text| !is_plain_ascii(text) && is_driving(text))
    else {
        return;
    };
    let text = text.to_owned();
    out.truncate(start);
    push_escaped(&text, out, |c, out| {
        let _ = write!(out, "\\u{:04x}", u32::from(c));
    });
}

fn push_escaped(text: &str, out: &mut String, escape: impl Fn(char, &mut String)) {
    if is_plain_ascii(text) {
        return out.push_str(text);
    }
    let mut rest = text;
    while let Some(at) = rest.find(drives_a_terminal) {
        let (plain, from) = rest.split_at_checked(at).unwrap_or((rest, ""));
        out.push_str(plain);
        let mut chars = from.chars();
        if let Some(c) = chars.next() {
            escape(c, out);
        }
        rest = chars.as_str();
    }
    out.push_str(rest);
}

/// What most text is: looked at quickly.
fn is_plain_ascii(text: &str) -> bool {
    text.bytes().all(|byte| (b' '..=b'~').contains(&byte))
}

/// Whether a character is no sign but an order: controls, also those of eight bits (U+009B begins a
/// sequence as ESC [ does), and what turns around the order in which others are shown.
fn drives_a_terminal(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn visible(text: &str) -> String {
        let mut out = String::new();
        push_visible(text, &mut out);
        out
    }

    #[test]
    fn what_would_drive_a_terminal_is_shown_instead() {
        assert_eq!(visible("grün \u{1b}[31mred\u{1b}[0m\u{7}"), r"grün \x1b[31mred\x1b[0m\x07");
        assert_eq!(visible("two\r\nlines\tand a tab"), "two\\r\\nlines\tand a tab");
        assert_eq!(visible("\u{9b}2J\u{7f} \u{202e}txt.exe"), r"\u{9b}2J\x7f \u{202e}txt.exe");
        assert_eq!(visible(r"C:\new"), r"C:\new");
    }

    #[test]
    fn json_stays_the_same_value() {
        let mut out = String::from("\u{9b}");
        out.push_str("{\"a\":\"ä\u{9b}2J\u{7f}\u{2066}\"}");
        escape_json(&mut out, "\u{9b}".len());
        assert_eq!(out, "\u{9b}{\"a\":\"ä\\u009b2J\\u007f\\u2066\"}");
        let value: serde_json::Value = serde_json::from_str(&out["\u{9b}".len()..]).unwrap();
        assert_eq!(value["a"], "ä\u{9b}2J\u{7f}\u{2066}");
    }

    #[test]
    fn colours_are_left_out_where_they_are_not_wanted() {
        let mut out = String::new();
        Look::PLAIN.paint(FAINT, "a", &mut out);
        Look { has_colours: true, ..Look::PLAIN }.paint(FAINT, "b", &mut out);
        assert_eq!(out, "a\x1b[2mb\x1b[0m");
    }

    proptest! {
        #[test]
        fn nothing_that_is_shown_drives_a_terminal(text in any::<String>()) {
            let shown = visible(&text);
            prop_assert!(shown.chars().all(|c| c == '\t' || !drives_a_terminal(c)), "{shown:?}");
        }
    }
}
