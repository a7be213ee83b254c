//! How a record is printed by a pattern, as kcat has them: `%k %s\\n`.

use std::io::{self, Write};

use timestrata::topic::Record;

/// Which record it is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Placed<'a> {
    pub(super) topic: &'a str,
    pub(super) partition: u32,
    pub(super) offset: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(Vec<u8>),
    Value,
    ValueBytes,
    Key,
    KeyBytes,
    Topic,
    Partition,
    Offset,
    Time,
    Headers,
}

/// A pattern that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pattern(Vec<Piece>);

impl Pattern {
    /// Reads one. Errors say what is wrong with it.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let mut pieces = Vec::new();
        let mut plain = String::new();
        let mut letters = text.chars();
        while let Some(letter) = letters.next() {
            if letter != '%' {
                plain.push(letter);
                continue;
            }
            let piece = match letters.next() {
                Some('%') => {
                    plain.push('%');
                    continue;
                }
                Some('s') => Piece::Value,
                Some('S') => Piece::ValueBytes,
                Some('k') => Piece::Key,
                Some('K') => Piece::KeyBytes,
                Some('t') => Piece::Topic,
                Some('p') => Piece::Partition,
                Some('o') => Piece::Offset,
                Some('T') => Piece::Time,
                Some('h') => Piece::Headers,
                other => {
                    let what = other.map_or("an end".to_owned(), |letter| format!("'{letter}'"));
                    return Err(format!(
                        "{what} behind a %: there are %s %S (value, its bytes), %k %K (key), %t (topic), %p \
                         (partition), %o (offset), %T (milliseconds since 1970), %h (headers) and %%"
                    ));
                }
            };
            pieces.push(Piece::Text(unescaped(&std::mem::take(&mut plain))?));
            pieces.push(piece);
        }
        pieces.push(Piece::Text(unescaped(&plain)?));
        pieces.retain(|piece| *piece != Piece::Text(Vec::new()));
        Ok(Self(pieces))
    }

    /// Whether it has something of a record in it.
    pub(super) fn is_of_a_record(&self) -> bool {
        self.0.iter().any(|piece| !matches!(piece, Piece::Text(_)))
    }

    /// Writes a record; `null` stands for what it lacks.
    pub(super) fn write(
        &self,
        out: &mut impl Write,
        placed: Placed<'_>,
        record: &Record<'_>,
        null: &[u8],
    ) -> io::Result<()> {
        let length =
            |bytes: Option<&[u8]>| bytes.map_or("-1".to_owned(), |bytes| bytes.len().to_string());
        for piece in &self.0 {
            match piece {
                Piece::Text(text) => out.write_all(text)?,
                Piece::Value => out.write_all(record.value.unwrap_or(null))?,
                Piece::ValueBytes => out.write_all(length(record.value).as_bytes())?,
                Piece::Key => out.write_all(record.key.unwrap_or(null))?,
                Piece::KeyBytes => out.write_all(length(record.key).as_bytes())?,
                Piece::Topic => out.write_all(placed.topic.as_bytes())?,
                Piece::Partition => write!(out, "{}", placed.partition)?,
                Piece::Offset => write!(out, "{}", placed.offset)?,
                Piece::Time => {
                    let ms = record.timestamp_ns.map_or(-1, |time| time.div_euclid(1_000_000));
                    write!(out, "{ms}")?;
                }
                Piece::Headers => {
                    for (place, (name, value)) in record.headers.iter().enumerate() {
                        let comma = if place == 0 { "" } else { "," };
                        write!(out, "{comma}{name}=")?;
                        out.write_all(value)?;
                    }
                }
            }
        }
        Ok(())
    }
}

/// A text in which `\\n`, `\\r`, `\\t`, `\\0`, `\\\\` and `\\xHH` stand for bytes.
pub(super) fn unescaped(text: &str) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        if letter != '\\' {
            bytes.extend(letter.encode_utf8(&mut [0; 4]).as_bytes());
            continue;
        }
        bytes.push(match letters.next() {
            Some('n') => b'\n',
            Some('r') => b'\r',
            Some('t') => b'\t',
            Some('0') => 0,
            Some('\\') => b'\\',
            Some('x') => {
                let digits: String = letters.by_ref().take(2).collect();
                let is_hex = digits.len() == 2 && digits.bytes().all(|b| b.is_ascii_hexdigit());
                let byte = u8::from_str_radix(&digits, 16).ok().filter(|_| is_hex);
                byte.ok_or_else(|| format!("\\x{digits}: two hexadecimal digits stand there"))?
            }
            other => {
                let what = other.map_or("an end".to_owned(), |letter| format!("'{letter}'"));
                return Err(format!(
                    "{what} behind a backslash: there are \\n, \\r, \\t, \\0, \\\\ and \\xHH"
                ));
            }
        });
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(pattern: &str, record: &Record<'_>) -> String {
        let mut out = Vec::new();
        let placed = Placed { topic: "events", partition: 3, offset: 17 };
        Pattern::read(pattern).unwrap().write(&mut out, placed, record, b"NULL").unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_pattern_prints_all_parts_of_a_record() {
        let record = Record {
            key: Some(b"door"),
            value: Some(b"open"),
            headers: vec![("a", b"1"), ("b", b"2")],
            timestamp_ns: Some(1_500_999_999),
            partition: None,
        };
        let all = r"%t/%p/%o %T %k(%K)=%s(%S) %h 100%%\t\x41\n";
        assert_eq!(written(all, &record), "events/3/17 1500 door(4)=open(4) a=1,b=2 100%\tA\n");
        let tombstone = Record { value: None, ..record };
        assert_eq!(written("%s %S", &tombstone), "NULL -1");
        let empty = Record { value: Some(b""), ..Record::default() };
        assert_eq!(written("[%s] %S", &empty), "[] 0");
    }

    #[test]
    fn what_no_pattern_has_is_refused() {
        for (pattern, word) in
            [("%q", "'q'"), ("%", "an end"), (r"\x4", r"\x4"), (r"\q", "'q'"), (r"\", "an end")]
        {
            let error = Pattern::read(pattern).unwrap_err();
            assert!(error.contains(word), "{pattern}: {error}");
        }
        assert!(!Pattern::read("./store").unwrap().is_of_a_record());
    }
}
