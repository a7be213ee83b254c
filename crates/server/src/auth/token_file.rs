//! The file of tokens that a server is started with: whoever brings one of them may do everything.

use subtle::ConstantTimeEq;
use timestrata_engine::{Error, ErrorKind, Result};

/// Characters that a token has at least: shorter ones can be guessed.
const TOKEN_CHARS_MIN: usize = 16;

/// The tokens of the file.
#[derive(Debug, Default)]
pub(crate) struct Tokens {
    /// Empty: nobody is asked.
    tokens: Vec<String>,
}

impl Tokens {
    /// Reads a token a line; empty lines and those that begin with `#` are left out.
    ///
    /// # Errors
    /// `InvalidArgument` if there is none, or one is short.
    pub(crate) fn parse(text: &str, name: &str) -> Result<Self> {
        let refuse =
            |why: String| Err(Error::new(ErrorKind::InvalidArgument, format!("{name}: {why}")));
        let mut tokens = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let token = line.trim();
            if token.is_empty() || token.starts_with('#') {
                continue;
            }
            if token.len() < TOKEN_CHARS_MIN {
                return refuse(format!(
                    "line {}: a token has at least {TOKEN_CHARS_MIN} characters",
                    index + 1
                ));
            }
            tokens.push(token.to_owned());
        }
        match tokens.is_empty() {
            true => refuse("it holds no token".to_owned()),
            false => Ok(Self { tokens }),
        }
    }

    /// Whether there are none: everybody may ask.
    pub(crate) fn is_empty(&self) -> bool {
        self.tokens.is_empty()
    }

    /// Whether a token is one of these. Takes as long for a wrong one as for a right one.
    pub(crate) fn hold(&self, given: &str) -> bool {
        let same = |token: &String| token.as_bytes().ct_eq(given.as_bytes());
        self.tokens.iter().map(same).fold(0_u8, |found, same| found | same.unwrap_u8()) == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_a_line_each() {
        let tokens = Tokens::parse("# who\n\n 0123456789abcdef \nfedcba9876543210\n", "t").unwrap();
        assert!(tokens.hold("0123456789abcdef") && tokens.hold("fedcba9876543210"));
        assert!(!tokens.hold("0123456789abcde") && !tokens.hold("") && !tokens.hold("# who"));
    }

    #[test]
    fn a_file_without_tokens_or_with_short_ones_is_refused() {
        assert!(Tokens::parse("# nothing\n", "t").unwrap_err().to_string().contains("no token"));
        let error = Tokens::parse("0123456789abcdef\nshort\n", "t").unwrap_err();
        assert!(error.to_string().contains("line 2"), "{error}");
    }
}
