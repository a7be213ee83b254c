//! The same small table in every form.

use std::io::Write;
use std::sync::Arc;

use arrow_array::types::Int8Type;
use arrow_array::{
    DictionaryArray, Float64Array, RecordBatch, StringViewArray, TimestampMillisecondArray,
};
use flate2::Compression;
use flate2::write::GzEncoder;

/// Rows with encoded text, and a time without a zone.
pub(crate) fn batch() -> RecordBatch {
    let symbols: DictionaryArray<Int8Type> = ["a", "b", "a"].into_iter().collect();
    let times = TimestampMillisecondArray::from(vec![1_700_000_000_000, 1_700_000_000_001, 5]);
    RecordBatch::try_from_iter([
        ("symbol", Arc::new(symbols) as _),
        ("at", Arc::new(times) as _),
        ("note", Arc::new(StringViewArray::from(vec![Some("x"), None, Some("z")])) as _),
        ("price", Arc::new(Float64Array::from(vec![Some(1.5), Some(2.0), None])) as _),
    ])
    .unwrap()
}

pub(crate) fn arrow_stream(batch: &RecordBatch) -> Vec<u8> {
    let mut writer = arrow_ipc::writer::StreamWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    writer.write(batch).unwrap();
    writer.write(batch).unwrap();
    writer.into_inner().unwrap()
}

pub(crate) fn arrow_file(batch: &RecordBatch, packed: bool) -> Vec<u8> {
    let packing = packed.then_some(arrow_ipc::CompressionType::LZ4_FRAME);
    let options = arrow_ipc::writer::IpcWriteOptions::default();
    let options = options.try_with_compression(packing).unwrap();
    let schema = batch.schema();
    let mut writer =
        arrow_ipc::writer::FileWriter::try_new_with_options(Vec::new(), &schema, options).unwrap();
    writer.write(batch).unwrap();
    writer.write(batch).unwrap();
    writer.into_inner().unwrap()
}

pub(crate) fn parquet(batch: &RecordBatch) -> Vec<u8> {
    let properties = parquet::file::properties::WriterProperties::builder()
        .set_compression(parquet::basic::Compression::SNAPPY)
        .build();
    let mut bytes = Vec::new();
    let mut writer =
        parquet::arrow::ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties)).unwrap();
    writer.write(batch).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
    bytes
}

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Rows of a protobuf body.
pub(crate) fn protobuf(rows: &[&[(&str, &str)]]) -> Vec<u8> {
    let field = |number: u8, bytes: &[u8]| {
        let mut field = vec![number << 3 | 2];
        let mut length = bytes.len();
        while length >= 0x80 {
            field.push(u8::try_from(length & 0x7f).unwrap() | 0x80);
            length >>= 7;
        }
        field.push(u8::try_from(length).unwrap());
        field.extend(bytes);
        field
    };
    let mut body = Vec::new();
    for row in rows {
        let entries = row.iter().flat_map(|(key, value)| {
            let entry = [field(1, key.as_bytes()), field(2, value.as_bytes())].concat();
            field(1, &entry)
        });
        body.extend(field(1, &entries.collect::<Vec<u8>>()));
    }
    body
}
