//! The columns of one block as Parquet's decoder asks for them, page by page.
//!
//! Parquet's own reader of pages makes two ZSTD contexts, one of them for compressing, for each column of each
//! block: for a query of one series that took longer than the unpacking itself. So it is told that nothing is
//! compressed, and what it gives is unpacked here, by a context that each thread keeps.
//!
//! ```text
//! chunk of a column      SerializedPageReader        UnpackedPages              array reader
//! header|zstd|header|..  -> Page { zstd bytes }  ->  Page { plain bytes }   ->  values
//! ```

mod placed;

use std::cell::RefCell;
use std::io::{Cursor, Read as _};
use std::sync::Arc;

use bytes::Bytes;
use parquet::arrow::arrow_reader::{RowGroups, RowSelection};
use parquet::basic::Compression;
use parquet::column::page::{Page, PageIterator, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, RowGroupMetaData};
use parquet::file::page_index::offset_index::PageLocation;
use parquet::file::serialized_reader::SerializedPageReader;
use zstd::bulk::Decompressor;
use zstd::zstd_safe::get_frame_content_size;

use super::super::cache::{BlockCache, Form, KeptRows};
use placed::PlacedPages;
pub(super) use placed::{ColumnPages, pages_of_rows};

thread_local! {
    static DECOMPRESSOR: RefCell<Option<Decompressor<'static>>> = const { RefCell::new(None) };
}

/// No page has more bytes: their headers have signed numbers of 32 bits.
const PAGE_BYTES_MAX: usize = i32::MAX as usize;

/// One block of a file.
pub(super) struct BlockColumns {
    bytes: Arc<Bytes>,
    metadata: Arc<ParquetMetaData>,
    block: usize,
    kept: Option<KeptDictionaries>,
}

/// Dictionaries of a row group that has several blocks, as they were unpacked: each of its blocks needs them.
#[derive(Debug, Clone)]
pub(super) struct KeptDictionaries {
    cache: Arc<BlockCache>,
    of_group: KeptRows,
}

impl KeptDictionaries {
    pub(super) fn new(cache: &Arc<BlockCache>, of_group: KeptRows) -> Self {
        Self { cache: Arc::clone(cache), of_group }
    }

    /// The dictionary of a column, from the cache where that has it.
    fn get(&self, leaf: usize, unpack: impl FnOnce() -> Result<Bytes>) -> Result<Bytes> {
        if let Some(known) = self.cache.known::<Bytes>(self.of_group, leaf, Form::Dictionary) {
            return Ok(known.as_ref().clone());
        }
        let unpacked = unpack()?;
        let (place, known) = ((leaf, Form::Dictionary), Arc::new(unpacked.clone()));
        self.cache.insert_known(self.of_group, place, known, unpacked.len());
        Ok(unpacked)
    }
}

impl BlockColumns {
    /// The block of that number among those that the metadata has.
    pub(super) fn new(bytes: Bytes, metadata: Arc<ParquetMetaData>, block: usize) -> Self {
        Self { bytes: Arc::new(bytes), metadata, block, kept: None }
    }

    /// The same, whose dictionaries are kept.
    pub(super) fn keeping(self, kept: Option<KeptDictionaries>) -> Self {
        Self { kept, ..self }
    }

    fn group(&self) -> Result<&RowGroupMetaData> {
        let group = self.metadata.row_groups().get(self.block);
        group.ok_or_else(|| damaged(format!("there is no row group {}", self.block)))
    }

    /// The pages of a column, as its leaf.
    pub(super) fn pages(&self, leaf: usize) -> Result<Box<dyn PageReader>> {
        let places = self.places(leaf).map(<[_]>::to_vec);
        Ok(match self.read(leaf, places)? {
            Read::Plain(pages) => Box::new(pages),
            Read::Unpacked(pages) => Box::new(pages),
        })
    }

    /// Those that have some of these rows (`None`: all), as far as a page index says where these are.
    pub(super) fn pages_with(
        &self,
        leaf: usize,
        rows: Option<&RowSelection>,
    ) -> Result<Box<dyn ColumnPages>> {
        let Some((rows, places)) = rows.zip(self.places(leaf)) else {
            return Ok(match self.read(leaf, None)? {
                Read::Plain(pages) => Box::new(pages),
                Read::Unpacked(pages) => Box::new(pages),
            });
        };
        let start = self.chunk(leaf)?.byte_range().0;
        let (dictionary, wanted) = placed::pages_with(start, places, rows)?;
        let first_rows = wanted.iter().map(|page| usize::try_from(page.first_row_index));
        let first_rows = first_rows.collect::<std::result::Result<_, _>>()?;
        let has_dictionary = dictionary.is_some();
        let wanted = dictionary.into_iter().chain(wanted).collect();
        Ok(match self.read(leaf, Some(wanted))? {
            Read::Plain(pages) => Box::new(PlacedPages::new(pages, has_dictionary, first_rows)),
            Read::Unpacked(pages) => Box::new(PlacedPages::new(pages, has_dictionary, first_rows)),
        })
    }

    fn chunk(&self, leaf: usize) -> Result<&ColumnChunkMetaData> {
        let chunk = self.group()?.columns().get(leaf);
        chunk.ok_or_else(|| damaged(format!("there is no column {leaf}")))
    }

    /// Where the pages of a column lie, if the metadata says so.
    fn places(&self, leaf: usize) -> Option<&[PageLocation]> {
        let offsets = self.metadata.offset_index()?.get(self.block)?.get(leaf)?;
        Some(offsets.page_locations().as_slice())
    }

    /// Reads pages that lie at these places, or one after the other.
    fn read(&self, leaf: usize, places: Option<Vec<PageLocation>>) -> Result<Read> {
        let chunk = self.chunk(leaf)?;
        let rows = usize::try_from(self.group()?.num_rows())?;
        let reader = |chunk: &ColumnChunkMetaData| {
            SerializedPageReader::new(Arc::clone(&self.bytes), chunk, rows, places)
        };
        if !matches!(chunk.compression(), Compression::ZSTD(_)) {
            return Ok(Read::Plain(reader(chunk)?));
        }
        let bytes_max = usize::try_from(chunk.uncompressed_size())?.min(PAGE_BYTES_MAX);
        let plain = chunk.clone().into_builder().set_compression(Compression::UNCOMPRESSED);
        let kept = self.kept.clone();
        let packed = reader(&plain.build()?)?;
        Ok(Read::Unpacked(UnpackedPages { packed, bytes_max, leaf, kept }))
    }
}

/// How pages are read.
enum Read {
    Plain(SerializedPageReader<Bytes>),
    Unpacked(UnpackedPages),
}

impl RowGroups for BlockColumns {
    fn num_rows(&self) -> usize {
        self.group().ok().and_then(|group| usize::try_from(group.num_rows()).ok()).unwrap_or(0)
    }

    fn column_chunks(&self, leaf: usize) -> Result<Box<dyn PageIterator>> {
        Ok(Box::new(OfOneBlock(Some(self.pages(leaf)?))))
    }

    fn row_groups(&self) -> Box<dyn Iterator<Item = &RowGroupMetaData> + '_> {
        Box::new(self.group().into_iter())
    }

    fn metadata(&self) -> &ParquetMetaData {
        &self.metadata
    }
}

/// The pages of a column in the only block that is asked for.
struct OfOneBlock(Option<Box<dyn PageReader>>);

impl Iterator for OfOneBlock {
    type Item = Result<Box<dyn PageReader>>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.take().map(Ok)
    }
}

impl PageIterator for OfOneBlock {}

/// Pages that are compressed by ZSTD, whatever their reader was told.
struct UnpackedPages {
    packed: SerializedPageReader<Bytes>,
    /// No page has more than all pages of the column together.
    bytes_max: usize,
    leaf: usize,
    kept: Option<KeptDictionaries>,
}

impl UnpackedPages {
    fn unpacked(&self, mut page: Page) -> Result<Page> {
        match (&mut page, &self.kept) {
            (Page::DictionaryPage { buf, .. }, Some(kept)) => {
                *buf = kept.get(self.leaf, || unpack(buf, 0, self.bytes_max))?;
            }
            (Page::DataPage { buf, .. } | Page::DictionaryPage { buf, .. }, _) => {
                *buf = unpack(buf, 0, self.bytes_max)?;
            }
            (Page::DataPageV2 { is_compressed: false, .. }, _) => {}
            (Page::DataPageV2 { buf, def_levels_byte_len, rep_levels_byte_len, .. }, _) => {
                let levels = u64::from(*def_levels_byte_len) + u64::from(*rep_levels_byte_len);
                *buf = unpack(buf, usize::try_from(levels)?, self.bytes_max)?;
            }
        }
        Ok(page)
    }
}

impl Iterator for UnpackedPages {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

impl PageReader for UnpackedPages {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        let page = self.packed.get_next_page()?;
        page.map(|page| self.unpacked(page)).transpose()
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.packed.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.packed.skip_next_page()
    }

    fn at_record_boundary(&mut self) -> Result<bool> {
        self.packed.at_record_boundary()
    }
}

/// The bytes of a page, of which the first are plain in any case, and no more than `bytes_max` become of it.
fn unpack(page: &Bytes, plain: usize, bytes_max: usize) -> Result<Bytes> {
    let (levels, packed) = page
        .split_at_checked(plain)
        .ok_or_else(|| damaged(format!("a page of {} bytes has {plain} of levels", page.len())))?;
    // Of a page of nothing but nulls.
    if packed.is_empty() {
        return Ok(page.clone());
    }
    let size = get_frame_content_size(packed)
        .map_err(|_| damaged("a page that should be packed by ZSTD is not".to_owned()))?;
    let room = match size {
        Some(size) => usize::try_from(size)?,
        None => bytes_max,
    };
    if room > bytes_max {
        let message = format!("a page says that it has {room} bytes, and its column {bytes_max}");
        return Err(damaged(message));
    }
    let mut unpacked = Vec::with_capacity(levels.len() + size.map_or(0, |_| room));
    unpacked.extend_from_slice(levels);
    match size {
        Some(_) => DECOMPRESSOR.with_borrow_mut(|kept| -> Result<()> {
            let decompressor = match kept {
                Some(kept) => kept,
                None => kept.insert(Decompressor::new()?),
            };
            let mut end = Cursor::new(&mut unpacked);
            end.set_position(levels.len() as u64);
            decompressor.decompress_to_buffer(packed, &mut end)?;
            Ok(())
        })?,
        // Written as a stream, whose end wasn't known when it began.
        None => {
            let most = (room as u64).saturating_add(1);
            let mut stream = zstd::Decoder::with_buffer(packed)?.take(most);
            stream.read_to_end(&mut unpacked)?;
        }
    }
    let found = unpacked.len() - levels.len();
    let fits = if size.is_some() { found == room } else { found <= room };
    if !fits {
        return Err(damaged(format!("a page has {found} bytes where it should have {room}")));
    }
    Ok(unpacked.into())
}

impl ColumnPages for UnpackedPages {}

fn damaged(message: String) -> ParquetError {
    ParquetError::General(message)
}

#[cfg(test)]
mod tests;
