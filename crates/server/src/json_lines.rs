//! A JSON document as JSON lines: an object, or a list of them, written over as many lines as its
//! writer liked.
//!
//! It stands before the readers of lines, which are `timestrata_ingest`'s.

use std::io::{self, Read};

const READ_BYTES: usize = 64 << 10;

/// Reads JSON, and gives each value that it has, or that the list has that it is, on a line of its own.
///
/// It knows where values begin and end, and nothing else of JSON: what is wrong with one is found where
/// its line is read, and spoils no other line.
#[derive(Debug)]
pub(crate) struct JsonLines<R> {
    reader: R,
    input: Vec<u8>,
    output: Vec<u8>,
    given: usize,
    place: JsonPlace,
    is_in_list: bool,
    is_all: bool,
}

/// What the next byte is part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum JsonPlace {
    Between,
    /// A number, a name, or what is none.
    Word,
    /// An object or a list, with so many around its inside.
    Nested(u64),
    /// A text within so many.
    Text {
        depth: u64,
        is_escaped: bool,
    },
}

impl<R: Read> JsonLines<R> {
    pub(crate) fn new(reader: R) -> Self {
        Self {
            reader,
            input: Vec::new(),
            output: Vec::new(),
            given: 0,
            place: JsonPlace::Between,
            is_in_list: false,
            is_all: false,
        }
    }

    /// Reads on, and makes lines of that.
    fn fill(&mut self) -> io::Result<()> {
        self.input.resize(READ_BYTES, 0);
        let read = self.reader.read(&mut self.input)?;
        self.input.truncate(read);
        (self.given, self.is_all) = (0, read == 0);
        self.output.clear();
        let input = std::mem::take(&mut self.input);
        input.iter().for_each(|byte| self.see(*byte));
        self.input = input;
        Ok(())
    }

    fn see(&mut self, byte: u8) {
        match self.place {
            JsonPlace::Between => self.begin(byte),
            JsonPlace::Word if byte.is_ascii_whitespace() || matches!(byte, b',' | b']') => {
                self.end();
                self.begin(byte);
            }
            JsonPlace::Word => self.keep(byte),
            JsonPlace::Nested(depth) => {
                self.keep(byte);
                match byte {
                    b'"' => self.place = JsonPlace::Text { depth, is_escaped: false },
                    b'{' | b'[' => self.place = JsonPlace::Nested(depth + 1),
                    b'}' | b']' if depth == 1 => self.end(),
                    b'}' | b']' => self.place = JsonPlace::Nested(depth - 1),
                    _ => {}
                }
            }
            JsonPlace::Text { depth, is_escaped } => {
                // No text may have a line end in it, of either kind: this one spoils no other line, and
                // is told where its own is read.
                self.output.push(if byte == b'\n' { b'\r' } else { byte });
                match byte {
                    b'"' if !is_escaped && depth == 0 => self.end(),
                    b'"' if !is_escaped => self.place = JsonPlace::Nested(depth),
                    _ => {
                        let is_escaped = byte == b'\\' && !is_escaped;
                        self.place = JsonPlace::Text { depth, is_escaped };
                    }
                }
            }
        }
    }

    /// Sees a byte that is in no value.
    fn begin(&mut self, byte: u8) {
        self.place = match byte {
            b'[' if !self.is_in_list => {
                self.is_in_list = true;
                return;
            }
            b']' if self.is_in_list => {
                self.is_in_list = false;
                return;
            }
            b',' if self.is_in_list => return,
            _ if byte.is_ascii_whitespace() => return,
            b'{' | b'[' => JsonPlace::Nested(1),
            b'"' => JsonPlace::Text { depth: 0, is_escaped: false },
            _ => JsonPlace::Word,
        };
        self.keep(byte);
    }

    /// Keeps a byte of a value that is not within a text: a line end there means no more than a space.
    fn keep(&mut self, byte: u8) {
        self.output.push(if matches!(byte, b'\n' | b'\r') { b' ' } else { byte });
    }

    fn end(&mut self) {
        self.output.push(b'\n');
        self.place = JsonPlace::Between;
    }
}

impl<R: Read> Read for JsonLines<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.given == self.output.len() && !self.is_all {
            self.fill()?;
        }
        let mut rest = self.output.get(self.given..).unwrap_or_default();
        let count = rest.read(buffer)?;
        self.given += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn lines(json: &str) -> Vec<String> {
        let mut out = String::new();
        JsonLines::new(json.as_bytes()).read_to_string(&mut out).unwrap();
        out.lines().map(str::to_owned).collect()
    }

    #[test]
    fn each_value_is_a_line() {
        assert_eq!(
            lines(r#"[{"a":1},{"b":[{}]} , 5,"x, ]"]"#),
            [r#"{"a":1}"#, r#"{"b":[{}]}"#, "5", r#""x, ]""#]
        );
        assert_eq!(
            lines("{\n  \"a\": \"}\\\"]\",\r\n  \"b\": [1,\n2]\n}\n"),
            [r#"{   "a": "}\"]",    "b": [1, 2] }"#]
        );
        assert_eq!(lines("{\"a\":1}\n{\"a\":2}{\"a\":3}"), ["{\"a\":1}", "{\"a\":2}", "{\"a\":3}"]);
        assert!(lines(" [ ] ").is_empty() && lines("").is_empty());
        assert_eq!(lines("[[1],[2]]"), ["[1]", "[2]"]);
        // What isn't whole is told where its line is read.
        assert_eq!(lines(r#"[{"a":1},{"b":"#), [r#"{"a":1}"#, r#"{"b":"#]);
        assert_eq!(lines("] } nonsense"), ["]", "}", "nonsense"]);
    }

    /// With a space in its place, a text was taken as it had never been sent.
    #[test]
    fn a_line_end_within_a_text_is_no_space() {
        assert_eq!(lines("[{\"a\":\"x\ny\"},\n5]"), ["{\"a\":\"x\ry\"}", "5"]);
        let read: Result<serde_json::Value, _> = serde_json::from_str("{\"a\":\"x\ry\"}");
        assert!(read.is_err(), "{read:?}");
    }

    proptest! {
        #[test]
        fn lists_of_any_values_come_back_one_by_one(
            texts in prop::collection::vec(r#"[\x20-\x7e]{0,10}"#, 0..10), is_pretty: bool,
        ) {
            let values: Vec<serde_json::Value> = texts
                .iter()
                .map(|text| serde_json::json!({ text: [text, { "deep": text }, null, 1.5] }))
                .collect();
            let json = match is_pretty {
                true => serde_json::to_string_pretty(&values).unwrap(),
                false => serde_json::to_string(&values).unwrap(),
            };
            let read: Vec<serde_json::Value> =
                lines(&json).iter().map(|line| serde_json::from_str(line).unwrap()).collect();
            prop_assert_eq!(read, values);
        }
    }
}
