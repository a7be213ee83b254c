//! How deep the schema of a Parquet file is nested: found out without recursion, which the
//! decoder uses and which hostile files could make go too deep.

/// Levels of values within values in the footer itself.
const LEVELS_MAX: usize = 32;
const SCHEMA_FIELD: i64 = 2;
const CHILDREN_FIELD: i64 = 5;
/// Kinds of values in Thrift's compact protocol.
const STOP: u8 = 0;
const I32: u8 = 5;
const LIST: u8 = 9;
const STRUCT: u8 = 12;

/// The deepest level of the schema in a footer; `None` if it can't be read.
pub(super) fn of_footer(footer: &[u8]) -> Option<usize> {
    let mut thrift = Thrift { bytes: footer };
    let mut id = 0;
    loop {
        let kind = thrift.field(&mut id)?;
        match (id, kind) {
            (_, STOP) => return None,
            (SCHEMA_FIELD, LIST) => return thrift.schema_depth(),
            _ => thrift.skip(kind, LEVELS_MAX)?,
        }
    }
}

struct Thrift<'b> {
    bytes: &'b [u8],
}

impl Thrift<'_> {
    /// Elements come each before its children, with their number.
    fn schema_depth(&mut self) -> Option<usize> {
        let (size, kind) = self.list()?;
        if kind != STRUCT {
            return None;
        }
        let (mut open, mut depth): (Vec<i64>, _) = (Vec::new(), 0);
        for _ in 0..size {
            while open.last() == Some(&0) {
                open.pop();
            }
            if let Some(left) = open.last_mut() {
                *left -= 1;
            }
            let children = self.children()?;
            open.extend((children > 0).then_some(children));
            depth = depth.max(open.len());
        }
        Some(depth)
    }

    /// How many children a schema element has.
    fn children(&mut self) -> Option<i64> {
        let (mut id, mut children) = (0, 0);
        loop {
            match (self.field(&mut id)?, id) {
                (STOP, _) => return Some(children),
                (I32, CHILDREN_FIELD) => children = self.signed()?,
                (kind, _) => self.skip(kind, LEVELS_MAX)?,
            }
        }
    }

    /// The kind of the next field, whose number becomes `id`.
    fn field(&mut self, id: &mut i64) -> Option<u8> {
        let header = self.byte()?;
        let (step, kind) = (header >> 4, header & 0xf);
        if kind != STOP {
            *id = if step == 0 { self.signed()? } else { id.checked_add(i64::from(step))? };
        }
        Some(kind)
    }

    /// The number and kind of a list's items.
    fn list(&mut self) -> Option<(u64, u8)> {
        let header = self.byte()?;
        let size = header >> 4;
        Some((if size == 15 { self.varint()? } else { u64::from(size) }, header & 0xf))
    }

    fn skip(&mut self, kind: u8, levels: usize) -> Option<()> {
        let levels = levels.checked_sub(1)?;
        match kind {
            1 | 2 => Some(()),
            3 => self.byte().map(drop),
            4..=6 => self.varint().map(drop),
            7 => self.take(8),
            8 => {
                let length = self.varint()?;
                self.take(length)
            }
            LIST | 10 => {
                let (size, kind) = self.list()?;
                for _ in 0..size {
                    // Truth values, which fields hold in their kind, are bytes in lists.
                    self.skip(if kind <= 2 { 3 } else { kind }, levels)?;
                }
                Some(())
            }
            STRUCT => {
                let mut id = 0;
                loop {
                    match self.field(&mut id)? {
                        STOP => return Some(()),
                        kind => self.skip(kind, levels)?,
                    }
                }
            }
            _ => None,
        }
    }

    fn take(&mut self, length: u64) -> Option<()> {
        self.bytes = self.bytes.get(usize::try_from(length).ok()?..)?;
        Some(())
    }

    fn byte(&mut self) -> Option<u8> {
        let (byte, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        Some(*byte)
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    /// A number whose sign is its lowest bit.
    fn signed(&mut self) -> Option<i64> {
        let value = self.varint()?;
        Some((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A footer with a schema of elements that have so many children.
    fn footer(children: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0x15, 0x02, 0x19, 0xfc];
        let mut size = children.len();
        while size >= 0x80 {
            bytes.push(u8::try_from(size & 0x7f).unwrap() | 0x80);
            size >>= 7;
        }
        bytes.push(u8::try_from(size).unwrap());
        // A name of one letter as field 4, the children as field 5.
        children.iter().for_each(|count| bytes.extend([0x48, 1, b'x', 0x15, count * 2, 0]));
        bytes.push(0);
        bytes
    }

    #[test]
    fn the_deepest_level_is_found() {
        assert_eq!(of_footer(&footer(&[2, 0, 0])), Some(1));
        assert_eq!(of_footer(&footer(&[2, 1, 0, 1, 1, 0])), Some(3));
        assert_eq!(of_footer(&footer(&[1; 100_000])), Some(100_000));
        assert_eq!(of_footer(&[0]), None);
    }

    proptest! {
        #[test]
        fn any_bytes_have_a_depth_or_none(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            of_footer(&bytes);
        }
    }
}
