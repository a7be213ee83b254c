//! What an entry says besides its message: named values of any depth, as CBOR.

use std::fmt;
use std::ops::Range;

use minicbor::Decoder;
use minicbor::data::Type;
use timestrata_values::cbor;

/// Fields among which a build for tests looks whether one is new.
const CHECKED_MAX: usize = 64;

/// The fields of an entry that is being made: names, each with one CBOR data item (RFC 8949).
///
/// One piece of memory for all of them, which [`clear`](Self::clear) keeps: who makes many entries
/// makes one of these. A name that is set again keeps its last value.
///
/// ```
/// use timestrata_logs::Fields;
///
/// let mut fields = Fields::default();
/// fields.text("path", "/index.html").int("status", 200);
/// assert_eq!(fields.len(), 2);
/// ```
#[derive(Clone, Default)]
pub struct Fields {
    /// Names and values in turn, both as CBOR items: the inside of a map.
    bytes: Vec<u8>,
    places: Vec<FieldPlace>,
}

/// Where a field lies in `bytes`.
#[derive(Debug, Clone, Copy)]
struct FieldPlace {
    /// Where the name's item begins.
    start: u32,
    /// Where its text begins.
    name: u32,
    /// Where the value's item begins.
    value: u32,
    end: u32,
}

/// A value that is no list and no object.
///
/// ```
/// use timestrata_logs::{Fields, Scalar};
///
/// let mut fields = Fields::default();
/// fields.int("status", 200);
/// assert_eq!(fields.get("status").and_then(Scalar::of_item), Some(Scalar::Int(200)));
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Scalar<'a> {
    /// A truth value.
    Bool(bool),
    /// A whole number of 64 bits.
    Int(i64),
    /// A whole number above those of `Int`.
    UInt(u64),
    /// A number with a fraction or an exponent.
    Float(f64),
    /// Text.
    Text(&'a str),
}

impl Fields {
    /// Without any, keeping the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.places.clear();
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Bytes of names and values.
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Sets a field to a text.
    pub fn text(&mut self, name: &str, value: &str) -> &mut Self {
        self.item(name, |out| cbor::text(out, value))
    }

    /// Sets a field to a whole number.
    pub fn int(&mut self, name: &str, value: i64) -> &mut Self {
        self.item(name, |out| cbor::int(out, value))
    }

    /// Sets a field to a whole number that may be beyond `i64`.
    pub fn uint(&mut self, name: &str, value: u64) -> &mut Self {
        self.item(name, |out| cbor::uint(out, value))
    }

    /// Sets a field to a number with a fraction.
    pub fn float(&mut self, name: &str, value: f64) -> &mut Self {
        self.item(name, |out| cbor::float(out, value))
    }

    /// Sets a field to a truth value.
    pub fn bool(&mut self, name: &str, value: bool) -> &mut Self {
        self.item(name, |out| cbor::bool(out, value))
    }

    /// Sets a field to null.
    pub fn null(&mut self, name: &str) -> &mut Self {
        self.item(name, cbor::null)
    }

    /// Sets a field to whatever `write` appends, which must be one whole CBOR data item.
    pub fn item(&mut self, name: &str, write: impl FnOnce(&mut Vec<u8>)) -> &mut Self {
        self.remove(name);
        self.add(name, write)
    }

    /// As [`item`](Self::item) for a name that the caller knows not to be there yet: it is not looked
    /// for, which is most of what many short fields cost.
    pub fn add(&mut self, name: &str, write: impl FnOnce(&mut Vec<u8>)) -> &mut Self {
        debug_assert!(
            self.len() > CHECKED_MAX || self.get(name).is_none(),
            "field {name:?} is there already"
        );
        let start = self.bytes.len();
        cbor::text(&mut self.bytes, name);
        let value = self.bytes.len();
        write(&mut self.bytes);
        let place = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        self.places.push(FieldPlace {
            start: place(start),
            name: place(value - name.len()),
            value: place(value),
            end: place(self.bytes.len()),
        });
        self
    }

    /// Removes a field, if there is one of this name.
    pub fn remove(&mut self, name: &str) {
        let Some(index) = self.places.iter().position(|place| self.name(place) == name.as_bytes())
        else {
            return;
        };
        let gone = self.places.remove(index);
        self.bytes.drain(range(gone.start, gone.end));
        let length = gone.end - gone.start;
        for place in &mut self.places[index..] {
            place.start -= length;
            place.name -= length;
            place.value -= length;
            place.end -= length;
        }
    }

    /// Names and the CBOR items of their values, in the order in which they were set.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.places.iter().map(|place| {
            let name = std::str::from_utf8(self.name(place)).unwrap_or_default();
            (name, self.slice(place.value, place.end))
        })
    }

    /// The CBOR item of a field's value.
    pub fn get(&self, name: &str) -> Option<&[u8]> {
        let place = self.places.iter().find(|place| self.name(place) == name.as_bytes())?;
        Some(self.slice(place.value, place.end))
    }

    /// Appends all fields but those for which `leave_out` says so as one CBOR map; nothing if that
    /// leaves none. `leave_out` gets the name, and the item of the value.
    pub(super) fn write_map<'a>(
        &'a self,
        out: &mut Vec<u8>,
        mut leave_out: impl FnMut(&'a [u8], &'a [u8]) -> bool,
    ) {
        let mut kept = 0_u64;
        let start = out.len();
        for place in &self.places {
            if !leave_out(self.name(place), self.slice(place.value, place.end)) {
                kept += 1;
                out.extend_from_slice(self.slice(place.start, place.end));
            }
        }
        if kept == 0 {
            return;
        }
        let end = out.len();
        cbor::head(out, cbor::MAP, kept);
        let head = out.len() - end;
        out[start..].rotate_right(head);
    }

    fn name(&self, place: &FieldPlace) -> &[u8] {
        self.slice(place.name, place.value)
    }

    fn slice(&self, start: u32, end: u32) -> &[u8] {
        self.bytes.get(range(start, end)).unwrap_or_default()
    }
}

impl fmt::Debug for Fields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.iter().map(|(name, item)| (name, minicbor::display(item).to_string()));
        f.debug_map().entries(shown).finish()
    }
}

/// Two are equal if they have the same names with the same values, in any order.
impl PartialEq for Fields {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().all(|(name, item)| other.get(name) == Some(item))
    }
}

impl<'a> Scalar<'a> {
    /// The value of a CBOR item, if it is one of these.
    pub fn of_item(item: &'a [u8]) -> Option<Self> {
        let mut decoder = Decoder::new(item);
        Some(match decoder.datatype().ok()? {
            Type::Bool => Self::Bool(decoder.bool().ok()?),
            Type::U8 | Type::U16 | Type::U32 | Type::U64 => {
                let value = decoder.u64().ok()?;
                i64::try_from(value).map_or(Self::UInt(value), Self::Int)
            }
            Type::I8 | Type::I16 | Type::I32 | Type::I64 => Self::Int(decoder.i64().ok()?),
            Type::F16 => Self::Float(decoder.f16().ok()?.into()),
            Type::F32 => Self::Float(decoder.f32().ok()?.into()),
            Type::F64 => Self::Float(decoder.f64().ok()?),
            Type::String => Self::Text(decoder.str().ok()?),
            _ => return None,
        })
    }
}

fn range(start: u32, end: u32) -> Range<usize> {
    start as usize..end as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(fields: &Fields) -> String {
        let mut out = b"before".to_vec();
        fields.write_map(&mut out, |_, _| false);
        minicbor::display(&out[6..]).to_string()
    }

    #[test]
    fn a_name_that_is_set_again_keeps_its_last_value() {
        let mut fields = Fields::default();
        fields.int("a", 1).text("b", "x").bool("c", true).int("a", -2);
        assert_eq!(map(&fields), r#"{"b": "x", "c": true, "a": -2}"#);
        assert_eq!(fields.get("b").and_then(Scalar::of_item), Some(Scalar::Text("x")));
        fields.remove("c");
        assert_eq!(map(&fields), r#"{"b": "x", "a": -2}"#);
        fields.clear();
        assert!(fields.is_empty() && map(&fields).is_empty());
    }

    #[test]
    fn whole_numbers_stay_whole_up_to_64_bits() {
        for value in [0, 1, -1, 23, 24, 255, 256, i64::MAX, i64::MIN] {
            let mut fields = Fields::default();
            fields.int("n", value);
            assert_eq!(fields.get("n").and_then(Scalar::of_item), Some(Scalar::Int(value)));
        }
        let mut fields = Fields::default();
        fields.uint("n", u64::MAX);
        assert_eq!(fields.get("n").and_then(Scalar::of_item), Some(Scalar::UInt(u64::MAX)));
    }

    #[test]
    fn a_map_leaves_out_what_has_a_place_of_its_own() {
        let mut fields = Fields::default();
        fields.int("status", 200).bool("cached", true).null("user");
        let mut out = Vec::new();
        fields.write_map(&mut out, |name, _| name == b"status");
        assert_eq!(minicbor::display(&out).to_string(), r#"{"cached": true, "user": null}"#);
    }
}
