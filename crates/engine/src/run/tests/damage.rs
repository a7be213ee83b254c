//! A damaged, swapped, cut or missing file is an error, never wrong rows and never a panic.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use timestrata_format::checksum::crc32c;
use timestrata_format::{FORMAT_VERSION, RunTail};
use timestrata_io::OpenMode;

use super::selected::{OfHost, hosts, planned};
use super::*;
use crate::key::KeyView;
use crate::scan::{RowOrder, Share};

type Change = fn(&mut RunMeta);

/// Puts `bytes` in the place of a file.
fn replace(place: &Place, path: &Path, bytes: &[u8]) {
    let _ = place.io.disk.remove(path);
    place.io.disk.open(path, OpenMode::CreateNew).unwrap().append(bytes).unwrap();
}

fn assert_corrupt<T: std::fmt::Debug>(result: Result<T>, path: &Path, words: &str) {
    let error = result.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corruption, "{error}");
    assert_eq!(error.path(), Some(path), "{error}");
    assert!(error.to_string().contains(words), "{error} should say: {words}");
}

#[test]
fn every_flipped_byte_is_noticed() {
    let rows = ids(150);
    for format in FORMATS {
        let (place, meta) = Place::holding(&rows, format);
        let path = place.path(&meta);
        let sound = place.bytes(&path);
        let file = place.io.disk.open(&path, OpenMode::ReadWrite).unwrap();
        for (offset, byte) in sound.iter().enumerate() {
            for mask in [0x01, 0x80] {
                file.write_at(offset as u64, &[byte ^ mask]).unwrap();
                let reader = place.reader(&meta);
                assert_corrupt(reader.verify_all(), &path, "");
                // A plain read may not touch the byte; then it must give the right rows.
                let reader = place.reader(&meta);
                match read_all(&reader) {
                    Ok(found) => assert_eq!(found, rows),
                    Err(error) => assert_eq!(error.kind(), ErrorKind::Corruption),
                }
                for row in [0, 77] {
                    let key = KeyView::of(&place.stream, &rows).unwrap().get(row);
                    assert!(place.reader(&meta).may_contain(key).unwrap_or(true));
                }
            }
            file.write_at(offset as u64, &[*byte]).unwrap();
        }
        assert_eq!(read_all(&place.reader(&meta)).unwrap(), rows);
    }
}

/// Where the base64 of the run tail lies: the format version, then the store's id of nines.
fn tail_text(bytes: &[u8]) -> std::ops::Range<usize> {
    let begin = STANDARD.encode([&FORMAT_VERSION.to_le_bytes()[..], &[9, 9]].concat());
    let start = bytes.windows(8).position(|window| window == begin.as_bytes()).unwrap();
    let in_text = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/=".contains(byte);
    start..start + bytes[start..].iter().take_while(|byte| in_text(byte)).count()
}

/// Makes all checksums fit changed bytes: what somebody hostile could do.
fn forge(bytes: &mut [u8], meta: &RunMeta) -> RunMeta {
    let tail_offset = meta.tail_offset as usize;
    let place = tail_text(bytes);
    let text = std::str::from_utf8(&bytes[place.clone()]).unwrap();
    if let Ok(Ok(mut tail)) = STANDARD.decode(text).map(|tail| RunTail::decode(&tail)) {
        tail.block_crcs = bytes[..tail_offset].chunks(65_536).map(crc32c).collect();
        bytes[place].copy_from_slice(STANDARD.encode(tail.encode()).as_bytes());
    }
    let (tail_crc, file_crc) = (crc32c(&bytes[tail_offset..]), crc32c(bytes));
    RunMeta { tail_crc, file_crc, ..meta.clone() }
}

/// Right checksums over wrong bytes may give an error or other values, but never a panic,
/// another number of rows, or keys outside the zone maps.
fn assert_forged_bytes_are_survived(rows: &RecordBatch, format: RunFormat, in_tail: bool) {
    let (place, meta) = Place::holding(rows, format);
    let path = place.path(&meta);
    let sound = place.bytes(&path);
    let (data, tail) = sound.split_at(meta.tail_offset as usize);
    let text = tail_text(&sound);
    let offsets = if in_tail { data.len()..data.len() + tail.len() } else { 0..data.len() };
    for offset in offsets.filter(|offset| !text.contains(offset)) {
        for mask in [0x01, 0x10, 0x80, 0xff] {
            let mut forged = sound.clone();
            forged[offset] ^= mask;
            let forged_meta = forge(&mut forged, &meta);
            replace(&place, &path, &forged);
            let reader = place.reader(&forged_meta);
            if let Ok(found) = read_all(&reader) {
                assert_eq!(found.num_rows(), rows.num_rows());
                let keys = KeyView::of(&place.stream, &found).unwrap();
                assert_eq!(keys.first(), Some(meta.key_min));
                assert_eq!(keys.last(), Some(meta.key_max));
                // Looks at every value, as whoever prints the rows would.
                assert!(!format!("{found:?}").is_empty());
            }
            let _ = reader.verify_all();
            let _ = reader.may_contain(meta.key_min);
        }
    }
}

#[test]
fn forged_checksums_of_a_hot_run_never_bring_the_reader_down() {
    assert_forged_bytes_are_survived(&series(20), RunFormat::Hot, false);
    assert_forged_bytes_are_survived(&series(20), RunFormat::Hot, true);
}

#[test]
fn forged_checksums_of_a_cold_run_never_bring_the_reader_down() {
    assert_forged_bytes_are_survived(&series(20), RunFormat::Cold, false);
    assert_forged_bytes_are_survived(&series(20), RunFormat::Cold, true);
    assert_forged_bytes_are_survived(&ids(20), RunFormat::Cold, false);
}

/// As above for rows by series, of which a block is too long to forge each of its bytes: some are drawn, and read
/// in every way.
#[test]
fn forged_checksums_of_rows_by_series_never_bring_the_reader_down() {
    let rows = hosts(40, 40);
    let mut place = Place::by_series(rows.schema(), &["s"]);
    place.settings.run_batch_rows = 500;
    let meta = place.write(2, RunFormat::Cold, std::slice::from_ref(&rows));
    assert_eq!(place.reader(&meta).blocks().unwrap().len(), 1, "blocks of 500 rows, not by series");
    let path = place.path(&meta);
    let sound = place.bytes(&path);
    let text = tail_text(&sound);
    let mut survived = 0;
    for offset in (0..sound.len()).step_by(53).filter(|offset| !text.contains(offset)) {
        let mut forged = sound.clone();
        forged[offset] ^= [0x01, 0x80, 0xff][offset % 3];
        let forged_meta = forge(&mut forged, &meta);
        replace(&place, &path, &forged);
        let reader = place.reader(&forged_meta);
        if let Ok(found) = read_all(&reader) {
            assert_eq!(found.num_rows(), rows.num_rows());
            survived += 1;
        }
        let Ok(zones) = reader.blocks() else { continue };
        for (block, zone) in zones.iter().enumerate() {
            for order in [RowOrder::ByKey, RowOrder::Any(Share::WHOLE)] {
                let filter = OfHost { host: "host 017", pages_left_out: Arc::default() };
                let filter = planned(&place, filter, &[0, 1, 2], true);
                let Ok(found) = reader.read_passing(block, &filter, None, order) else { continue };
                assert!(found.num_rows() <= zone.rows as usize);
                let keys = KeyView::of_column(found.column(0).as_ref()).unwrap();
                assert!(keys.are_within(zone.key_min, zone.key_max));
                assert!(!format!("{found:?}").is_empty());
            }
        }
        let _ = reader.verify_all();
    }
    assert!(survived > 0, "all that was forged was refused: nothing was read of it");
}

#[test]
fn of_a_damaged_column_those_pages_are_read_that_are_whole() {
    let of_hosts = hosts(300, 400);
    let mut columns = of_hosts.columns().to_vec();
    // Which no encoding makes much smaller, so that the column has many checksums.
    let noise = |row: u64| (row.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 12) as f64 / 1e15;
    let values =
        (0..of_hosts.num_rows()).map(|row| Some((row * 7 % 400) as f64 * 1e3 + noise(row as u64)));
    columns[1] = Arc::new(Float64Array::from_iter(values));
    let rows = RecordBatch::try_new(of_hosts.schema(), columns).unwrap();
    let mut place = Place::by_series(rows.schema(), &["s"]);
    place.settings.run_batch_rows = 1 << 17;
    let meta = place.write(2, RunFormat::Cold, std::slice::from_ref(&rows));
    let path = place.path(&meta);
    let sound = place.bytes(&path);
    let file = place.io.disk.open(&path, OpenMode::ReadWrite).unwrap();
    let passing = || {
        let filter = OfHost { host: "host 217", pages_left_out: Arc::default() };
        let filter = planned(&place, filter, &[0, 1, 2], false);
        place.reader(&meta).read_passing(0, &filter, None, RowOrder::ByKey)
    };
    let expected = passing().unwrap();
    assert_eq!(expected.num_rows(), 300);
    let (mut whole, mut damaged) = (0, 0);
    for offset in (5..meta.tail_offset).step_by(20_011) {
        let byte = sound[offset as usize];
        file.write_at(offset, &[byte ^ 0x40]).unwrap();
        match passing() {
            Ok(found) => {
                assert_eq!(found, expected);
                whole += 1;
            }
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Corruption, "{error}");
                damaged += 1;
            }
        }
        assert_corrupt(place.reader(&meta).verify_all(), &path, "");
        file.write_at(offset, &[byte]).unwrap();
    }
    assert!(whole > 0 && damaged > 0, "{whole} read and {damaged} refused");
}

#[test]
fn a_file_of_another_length_is_refused() {
    let rows = series(300);
    for format in FORMATS {
        let (place, meta) = Place::holding(&rows, format);
        let path = place.path(&meta);
        let sound = place.bytes(&path);
        for length in [0, 1, 9, sound.len() / 2, sound.len() - 1] {
            replace(&place, &path, &sound[..length]);
            assert_corrupt(read_all(&place.reader(&meta)), &path, "wrong length");
            // The manifest may be wrong as well.
            let mut short = meta.clone();
            short.file_bytes = length as u64;
            assert_corrupt(read_all(&place.reader(&short)), &path, "");
            short.tail_offset = short.tail_offset.min(length as u64);
            short.tail_crc = crc32c(&sound[short.tail_offset as usize..length]);
            assert_corrupt(read_all(&place.reader(&short)), &path, "");
        }
        let mut longer = sound.clone();
        longer.push(0);
        replace(&place, &path, &longer);
        assert_corrupt(read_all(&place.reader(&meta)), &path, "wrong length");
    }
}

#[test]
fn a_missing_file_is_said_to_be_missing() {
    let rows = series(30);
    let (place, meta) = Place::holding(&rows, RunFormat::Hot);
    let path = place.path(&meta);
    let reader = place.reader(&meta);
    place.io.disk.remove(&path).unwrap();
    assert_corrupt(read_all(&reader), &path, "missing");
    assert_corrupt(reader.blocks(), &path, "missing");
}

#[test]
fn a_swapped_or_stale_file_is_refused_by_name() {
    let rows = series(300);
    for format in FORMATS {
        let place = Place::new(rows.schema());
        let one = place.write(1, format, &[rows.slice(0, 150)]);
        let two = place.write(2, format, &[rows.slice(150, 150)]);
        let path = place.path(&one);
        replace(&place, &path, &place.bytes(&place.path(&two)));
        assert!(read_all(&place.reader(&one)).is_err());
        // Even if the manifest's checksums were those of the other file.
        let mut taken = two.clone();
        taken.id = one.id;
        assert_corrupt(read_all(&place.reader(&taken)), &path, "run should be 1, is 2");
        let cases: [(&str, Change); 5] = [
            ("smallest key should be", |meta| meta.key_min = crate::LeadKey::Time(-1_000)),
            ("stream should be 8, is 7", |meta| meta.stream = StreamId(8)),
            ("number of rows should be", |meta| meta.rows += 1),
            ("newest commit should be", |meta| meta.seq_max = SeqNo(9)),
            ("last tombstone applied", |meta| meta.tombstones_applied_through = SeqNo(8)),
        ];
        for (words, change) in cases {
            let mut meta = two.clone();
            change(&mut meta);
            assert_corrupt(read_all(&place.reader(&meta)), &place.path(&two), words);
        }
        let store = StoreId([1; 16]);
        let (io, path, cache) = (&place.io, place.path(&two), Arc::clone(&place.cache));
        let stranger = RunReader::open(io, path, store, &place.stream, two.clone(), cache).unwrap();
        assert_corrupt(stranger.blocks(), &place.path(&two), "store should be 0101");
    }
}

#[test]
fn a_stream_of_other_columns_does_not_read_the_run() {
    let rows = series(30);
    for format in FORMATS {
        let (place, meta) = Place::holding(&rows, format);
        let other = batch_of([
            ("t", rows.column(0).clone(), false),
            ("v", rows.column(0).clone(), true),
            ("s", rows.column(2).clone(), true),
        ]);
        let mut other = Place::new(other.schema());
        other.io = place.io.clone();
        assert_corrupt(read_all(&other.reader(&meta)), &place.path(&meta), "");
    }
}

#[test]
fn a_newer_format_asks_for_an_upgrade() {
    let rows = series(30);
    let (place, meta) = Place::holding(&rows, RunFormat::Hot);
    let path = place.path(&meta);
    let mut bytes = place.bytes(&path);
    let text = tail_text(&bytes);
    let mut tail = STANDARD.decode(std::str::from_utf8(&bytes[text.clone()]).unwrap()).unwrap();
    tail[0] = 99;
    let (body, seal) = tail.split_last_chunk_mut::<4>().unwrap();
    *seal = crc32c(body).to_le_bytes();
    bytes[text].copy_from_slice(STANDARD.encode(&tail).as_bytes());
    replace(&place, &path, &bytes);
    let tail_crc = crc32c(&bytes[meta.tail_offset as usize..]);
    let meta = RunMeta { tail_crc, ..meta };
    let error = place.reader(&meta).blocks().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnsupportedVersion, "{error}");
    assert!(error.to_string().contains("99"), "{error}");
}
