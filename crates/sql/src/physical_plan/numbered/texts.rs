//! Numbers for texts.

use std::sync::Arc;

use datafusion::arrow::array::builder::make_view;
use datafusion::arrow::array::cast::AsArray;
use datafusion::arrow::array::types::Int32Type;
use datafusion::arrow::array::{
    Array, ArrayRef, DictionaryArray, StringArray, StringViewArray, StringViewBuilder,
};
use datafusion::common::{Result, internal_datafusion_err};
use hashbrown::HashMap;
use timestrata_engine::CodeTable;
use timestrata_engine::ids::{Ids, number_each};

/// Text up to this length is within its view.
const INLINE_BYTES: u32 = 12;
/// A view has the length of its text in these bits.
const LENGTH_BITS: u32 = u32::BITS;
/// Codes of which one that was not met before has all looked at one by one.
const CODES_AT_ONCE: usize = 512;
/// No number of a text.
const UNKNOWN: usize = usize::MAX;

/// Texts, by their views: a short one is its view, a long one has a view that is made up of its
/// length and its place among the long ones.
#[derive(Debug, Default)]
pub(super) struct Texts {
    ids: Ids<u128>,
    long: HashMap<Arc<str>, u128>,
    long_bytes: usize,
    /// The dictionary that was seen last.
    coded: Option<Coded>,
}

/// The values of a dictionary, and the numbers of those that some row had.
#[derive(Debug)]
struct Coded {
    /// Held, so that no other ones can lie in their place.
    values: StringArray,
    /// By code; [`UNKNOWN`] of those that no row had yet.
    numbers: CodeTable<usize>,
    /// How many of these there are.
    unknown: usize,
}

impl Coded {
    fn is_of(&self, values: &StringArray) -> bool {
        self.values.len() == values.len()
            && self.values.value_data().as_ptr() == values.value_data().as_ptr()
            && self.values.value_offsets().as_ptr() == values.value_offsets().as_ptr()
    }
}

impl Texts {
    /// How many texts have a number, "none" among them.
    pub(super) fn len(&self) -> usize {
        self.ids.len()
    }

    /// Appends the number of each row's text.
    pub(super) fn number(&mut self, array: &StringViewArray, numbers: &mut Vec<usize>) {
        let has_long = !array.data_buffers().is_empty();
        let has_nulls = array.null_count() > 0;
        if !has_long && !has_nulls {
            number_each(array.views(), numbers, |view| self.ids.of(view));
            return;
        }
        for (row, view) in array.views().iter().enumerate() {
            let number = if has_nulls && array.is_null(row) {
                self.ids.of_null()
            } else if *view as u32 <= INLINE_BYTES {
                self.ids.of(*view)
            } else {
                let view = self.view_of_long(array.value(row));
                self.ids.of(view)
            };
            numbers.push(number);
        }
    }

    /// The same of rows that have the codes of a dictionary: each of its texts is looked up once.
    ///
    /// # Errors
    /// For codes of no text.
    pub(super) fn number_coded(
        &mut self,
        array: &DictionaryArray<Int32Type>,
        numbers: &mut Vec<usize>,
    ) -> Result<()> {
        let wrong = || internal_datafusion_err!("groups by codes of no text");
        let values = array.values().as_string_opt::<i32>().ok_or_else(wrong)?;
        let mut coded = match self.coded.take() {
            Some(coded) if coded.is_of(values) => coded,
            _ => Coded {
                values: values.clone(),
                numbers: CodeTable::new(vec![UNKNOWN; values.len()]),
                unknown: values.len(),
            },
        };
        let nulls = array.nulls().filter(|nulls| nulls.null_count() > 0);
        let codes = array.keys().values();
        if let Some(nulls) = nulls {
            for (code, is_valid) in codes.iter().zip(nulls.iter()) {
                numbers.push(match is_valid {
                    true => self.of_code(&mut coded, *code).ok_or_else(wrong)?,
                    false => self.ids.of_null(),
                });
            }
        } else {
            for codes in codes.chunks(CODES_AT_ONCE) {
                let first = numbers.len();
                coded.numbers.look_up(codes, numbers).then_some(()).ok_or_else(wrong)?;
                let found = numbers.get(first..).unwrap_or_default();
                if coded.unknown > 0 && found.contains(&UNKNOWN) {
                    let found = numbers.get_mut(first..).unwrap_or_default();
                    self.number_unknown(&mut coded, codes, found).ok_or_else(wrong)?;
                }
            }
        }
        self.coded = Some(coded);
        Ok(())
    }

    /// Numbers those of some codes that have none yet. Rows of one series follow each other, mostly.
    fn number_unknown(
        &mut self,
        coded: &mut Coded,
        codes: &[i32],
        numbers: &mut [usize],
    ) -> Option<()> {
        let mut last = None;
        for (code, number) in codes.iter().zip(numbers) {
            if *number == UNKNOWN {
                *number = match last {
                    Some((before, number)) if before == *code => number,
                    _ => self.of_code(coded, *code)?,
                };
                last = Some((*code, *number));
            }
        }
        Some(())
    }

    /// The number of a code's text; `None` for a code of no text.
    fn of_code(&mut self, coded: &mut Coded, code: i32) -> Option<usize> {
        let code = usize::try_from(code).ok()?;
        let known = coded.numbers.values_mut().get_mut(code)?;
        if *known == UNKNOWN {
            *known = match coded.values.is_null(code) {
                true => self.ids.of_null(),
                false => self.of_text(coded.values.value(code)),
            };
            coded.unknown -= 1;
        }
        Some(*known)
    }

    fn of_text(&mut self, text: &str) -> usize {
        let view = match text.len() <= INLINE_BYTES as usize {
            true => make_view(text.as_bytes(), 0, 0),
            false => self.view_of_long(text),
        };
        self.ids.of(view)
    }

    fn view_of_long(&mut self, text: &str) -> u128 {
        if let Some(view) = self.long.get(text) {
            return *view;
        }
        let view = (self.long.len() as u128) << LENGTH_BITS | text.len() as u128;
        self.long_bytes += text.len();
        self.long.insert(text.into(), view);
        view
    }

    /// All texts by their numbers; no text has a number any more.
    pub(super) fn take(&mut self) -> ArrayRef {
        self.coded = None;
        let mut long: Vec<(u128, Arc<str>)> =
            std::mem::take(&mut self.long).into_iter().map(|(text, view)| (view, text)).collect();
        self.long_bytes = 0;
        long.sort_unstable_by_key(|(view, _)| view >> LENGTH_BITS);
        let mut texts = StringViewBuilder::new();
        for view in self.ids.take() {
            let bytes = view.unwrap_or_default().to_le_bytes();
            let length = view.unwrap_or_default() as u32;
            let text = match length <= INLINE_BYTES {
                true => bytes.get(4..4 + length as usize).and_then(|b| str::from_utf8(b).ok()),
                false => {
                    let place = view.unwrap_or_default() >> LENGTH_BITS;
                    long.get(place as usize).map(|(_, text)| text.as_ref())
                }
            };
            texts.append_option(view.and(text));
        }
        Arc::new(texts.finish())
    }

    /// Bytes in memory.
    pub(super) fn size(&self) -> usize {
        // A reference-counted text has two counts before it.
        let each = size_of::<Arc<str>>() + size_of::<u128>() + 2 * size_of::<usize>();
        let coded = self
            .coded
            .as_ref()
            .map_or(0, |coded| coded.numbers.size() + coded.values.get_array_memory_size());
        self.ids.size() + self.long.capacity() * each + self.long_bytes + coded
    }
}

#[cfg(test)]
mod tests;
