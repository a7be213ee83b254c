//! Only those pages of a column that have rows which are wanted.
//!
//! Of a host of 100,000 a query wants one page in some hundred: to look at each of the others before it, and to pass over
//! it, took a fourth of the time.

use std::ops::Range;

use bytes::Bytes;
use parquet::arrow::arrow_reader::RowSelection;
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::Result;
use parquet::file::page_index::offset_index::PageLocation;
use parquet::file::serialized_reader::SerializedPageReader;

use super::damaged;

/// The pages of a column, of which some may have been left out.
pub(in super::super) trait ColumnPages: PageReader {
    /// Goes on by so many rows at most, to where a page begins; how many it were. Those that are left are passed over
    /// page by page, or within one.
    fn skip_rows(&mut self, rows: usize) -> Result<usize> {
        let _ = rows;
        Ok(0)
    }
}

impl ColumnPages for SerializedPageReader<Bytes> {}

/// Those pages of a column chunk, which begins at `start`, that have some of these rows, behind the dictionary; where there is
/// none, the first page is among them in any case, as Parquet's reader takes what lies before the first page that it is
/// told of for a dictionary.
pub(super) fn pages_with(
    start: u64,
    places: &[PageLocation],
    rows: &RowSelection,
) -> Result<(Option<PageLocation>, Vec<PageLocation>)> {
    let mut wanted: Vec<PageLocation> = Vec::new();
    let dictionary = dictionary_before(start, places)?;
    if dictionary.is_none() {
        wanted.extend(places.first().cloned());
    }
    let first = wanted.first().map(|page| page.offset);
    let with_rows = pages_of_rows(places, rows).filter(|page| Some(page.offset) != first);
    wanted.extend(with_rows.cloned());
    Ok((dictionary, wanted))
}

/// The pages that have some of these rows, each once.
pub(in super::super) fn pages_of_rows<'a>(
    places: &'a [PageLocation],
    rows: &RowSelection,
) -> impl Iterator<Item = &'a PageLocation> {
    let (mut at, mut next) = (0, 0);
    rows.iter().flat_map(move |part| {
        let rows = at..at + part.row_count;
        at = rows.end;
        if part.skip || rows.is_empty() {
            return [].iter();
        }
        // The first of them may have rows of the part before as well.
        let pages = pages_of(places, &rows);
        let pages = pages.start.max(next)..pages.end;
        next = next.max(pages.end);
        places.get(pages).unwrap_or_default().iter()
    })
}

/// What lies before all pages.
fn dictionary_before(start: u64, places: &[PageLocation]) -> Result<Option<PageLocation>> {
    let Some(first) = places.first() else { return Ok(None) };
    let offset = i64::try_from(start)?;
    let size = first.offset.checked_sub(offset).and_then(|size| i32::try_from(size).ok());
    match size {
        Some(0) => Ok(None),
        Some(compressed_page_size) if compressed_page_size > 0 => {
            Ok(Some(PageLocation { offset, compressed_page_size, first_row_index: 0 }))
        }
        _ => Err(damaged("a page lies outside of its column".to_owned())),
    }
}

/// Which pages have some of these rows.
fn pages_of(places: &[PageLocation], rows: &Range<usize>) -> Range<usize> {
    let begins_by = |row: usize| {
        places
            .partition_point(|page| usize::try_from(page.first_row_index).is_ok_and(|at| at <= row))
    };
    begins_by(rows.start).saturating_sub(1)..begins_by(rows.end - 1)
}

/// Some pages of a column, of which it is known with which row each begins.
pub(in super::super) struct PlacedPages<P> {
    pages: P,
    /// Whether the dictionary comes next.
    has_dictionary: bool,
    /// The first rows of the pages that are left.
    first_rows: std::vec::IntoIter<usize>,
    /// The row behind the last page that was read, or that rows were passed over up to.
    at: usize,
}

impl<P: PageReader> PlacedPages<P> {
    /// What `pages` reads: a dictionary, if there is one, and then pages that begin with these rows, each of which has one
    /// value.
    pub(in super::super) fn new(pages: P, has_dictionary: bool, first_rows: Vec<usize>) -> Self {
        Self { pages, has_dictionary, first_rows: first_rows.into_iter(), at: 0 }
    }
}

impl<P: PageReader> ColumnPages for PlacedPages<P> {
    fn skip_rows(&mut self, rows: usize) -> Result<usize> {
        if self.has_dictionary || rows == 0 {
            return Ok(0);
        }
        let end = self.at.saturating_add(rows);
        let reached = self.first_rows.as_slice().partition_point(|row| *row <= end);
        let Some(before) = reached.checked_sub(1) else { return Ok(0) };
        for _ in 0..before {
            self.pages.skip_next_page()?;
            self.first_rows.next();
        }
        let first = self.first_rows.as_slice().first();
        let passed = first.and_then(|first| first.checked_sub(self.at));
        let passed =
            passed.ok_or_else(|| damaged("pages of a column are not in order".to_owned()))?;
        self.at += passed;
        Ok(passed)
    }
}

impl<P: PageReader> Iterator for PlacedPages<P> {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

impl<P: PageReader> PageReader for PlacedPages<P> {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        let page = self.pages.get_next_page()?;
        match &page {
            Some(Page::DictionaryPage { .. }) => self.has_dictionary = false,
            Some(page) => {
                self.first_rows.next();
                self.at = self.at.saturating_add(page.num_values() as usize);
            }
            None => {}
        }
        Ok(page)
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        if self.has_dictionary {
            return Ok(Some(PageMetadata { num_rows: None, num_levels: None, is_dict: true }));
        }
        // How many rows it has is known once it is open: behind it some may have been left out.
        let next = self.pages.peek_next_page()?;
        Ok(next.map(|page| PageMetadata { num_rows: None, num_levels: None, ..page }))
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.get_next_page().map(|_| ())
    }

    fn at_record_boundary(&mut self) -> Result<bool> {
        Ok(true)
    }
}
