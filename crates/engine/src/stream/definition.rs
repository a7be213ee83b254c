//! Streams to their definitions in the manifest and back.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use arrow_ipc::convert::try_schema_from_ipc_buffer;
use arrow_ipc::writer::{DictionaryTracker, IpcDataGenerator, IpcWriteOptions};
use timestrata_format::StreamId;
use timestrata_format::manifest::StreamDefinition;

use crate::{Error, Result, Stream, StreamSpec};

const CONTINUATION: [u8; 4] = [0xff; 4];

/// What the manifest keeps of a stream.
pub(crate) fn to_definition(id: StreamId, spec: &StreamSpec) -> StreamDefinition {
    let mut dictionaries = DictionaryTracker::new(false);
    let options = IpcWriteOptions::default();
    let message = IpcDataGenerator::default()
        .schema_to_bytes_with_dictionary_tracker(&spec.schema, &mut dictionaries, &options)
        .ipc_message;
    let mut schema_ipc = Vec::with_capacity(message.len() + 8);
    schema_ipc.extend_from_slice(&CONTINUATION);
    schema_ipc.extend_from_slice(&u32::try_from(message.len()).unwrap_or(u32::MAX).to_le_bytes());
    schema_ipc.extend_from_slice(&message);
    let mut properties = spec.properties.clone();
    properties.sort();
    StreamDefinition {
        id,
        name: spec.name.clone(),
        schema_ipc,
        key: spec.key.clone(),
        merge: spec.merge,
        run_format: spec.run_format,
        retention: spec.retention,
        properties,
    }
}

/// The stream of a definition that a manifest has, or another file.
///
/// # Errors
/// `Corruption` of that file, if the definition tells of no stream.
pub(crate) fn open_definition(definition: &StreamDefinition, path: &Path) -> Result<Arc<Stream>> {
    from_definition(definition).map(Arc::new).map_err(|problem| {
        let name = &definition.name;
        Error::corruption(path, 0, format!("stream '{name}' can't be opened: {problem}"))
    })
}

/// The stream that a definition tells of; an `Err` says what is wrong with it.
pub(crate) fn from_definition(
    definition: &StreamDefinition,
) -> std::result::Result<Stream, String> {
    // Arrow's schema decoder panics on some malformed flatbuffers that pass its verifier;
    // the bytes come from disk, so that must be an error.
    let decoded =
        catch_unwind(AssertUnwindSafe(|| try_schema_from_ipc_buffer(&definition.schema_ipc)))
            .map_err(|_| "its schema can't be decoded".to_owned())?;
    let schema = decoded.map_err(|error| format!("its schema can't be decoded: {error}"))?;
    let spec = StreamSpec {
        name: definition.name.clone(),
        schema: Arc::new(schema),
        key: definition.key.clone(),
        merge: definition.merge,
        run_format: definition.run_format,
        retention: definition.retention,
        properties: definition.properties.clone(),
    };
    Stream::new(definition.id, spec).map_err(|error| error.to_string())
}
