//! What callers give: ids, kinds, directions, JSON objects.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyByteArray, PyBytes, PyDict, PyMapping, PyMemoryView, PyString, PyType};
use timestrata_engine::Durability;
use timestrata_graph::walk::Order;
use timestrata_graph::{Along, BlockId, Direction};
use timestrata_timelog::Codec;

use crate::codec::{decode, encode};
use crate::error::{invalid, to_python, type_name, wrong_type};
use crate::handle::Handle;
use crate::settings::{choice, durability};
use crate::timestamp::time_ns;

static UUID: PyOnceLock<Py<PyType>> = PyOnceLock::new();

/// The id that one object is; `None` for an object that is none, such as a list of them.
fn single_id(value: &Bound<'_, PyAny>) -> PyResult<Option<BlockId>> {
    let py = value.py();
    let of_bytes = |bytes: &[u8]| BlockId::try_from(bytes).map(Some).map_err(to_python);
    if let Ok(bytes) = value.cast::<PyBytes>() {
        return of_bytes(bytes.as_bytes());
    }
    if let Ok(text) = value.cast::<PyString>() {
        let id = text.extract::<PyBackedStr>()?.parse::<BlockId>();
        return id.map(Some).map_err(to_python);
    }
    if value.is_instance_of::<PyByteArray>() || value.is_instance_of::<PyMemoryView>() {
        let bytes = py.get_type::<PyBytes>().call1((value,))?;
        return of_bytes(bytes.cast::<PyBytes>()?.as_bytes());
    }
    if value.is_instance(UUID.import(py, "uuid", "UUID")?)? {
        return of_bytes(value.getattr("bytes")?.cast::<PyBytes>()?.as_bytes());
    }
    Ok(None)
}

/// An id: 16 bytes, 32 hexadecimal digits, or a UUID.
///
/// # Errors
/// `InvalidArgumentError` for a wrong length, `TypeError` for anything else.
pub(super) fn id_of(value: &Bound<'_, PyAny>) -> PyResult<BlockId> {
    single_id(value)?.ok_or_else(|| {
        PyTypeError::new_err(format!(
            "the id of a block is 16 bytes, a str of 32 hexadecimal digits or a uuid.UUID, not \
             '{}'",
            type_name(value)
        ))
    })
}

/// Several ids.
pub(super) fn ids_of(values: &Bound<'_, PyAny>) -> PyResult<Vec<BlockId>> {
    if single_id(values).is_ok_and(|id| id.is_none())
        && let Ok(each) = values.try_iter()
    {
        return each.map(|value| id_of(&value?)).collect();
    }
    Err(wrong_type("a list of ids is needed", values))
}

/// One id, or several.
#[derive(Debug)]
pub(super) enum Ids {
    One(BlockId),
    Several(Vec<BlockId>),
}

impl Ids {
    pub(super) fn of(values: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Some(id) = single_id(values)? {
            return Ok(Self::One(id));
        }
        match values.hasattr("__iter__")? {
            true => ids_of(values).map(Self::Several),
            // Says what an id is.
            false => id_of(values).map(Self::One),
        }
    }

    pub(super) fn as_slice(&self) -> &[BlockId] {
        match self {
            Self::One(id) => std::slice::from_ref(id),
            Self::Several(ids) => ids,
        }
    }
}

/// An id, as Python gets it.
pub(super) fn id_object(py: Python<'_>, id: BlockId) -> Bound<'_, PyBytes> {
    PyBytes::new(py, id.bytes())
}

/// The direction of a name.
pub(super) fn direction_of(name: &str) -> PyResult<Direction> {
    let known = [("out", Direction::Out), ("in", Direction::In), ("both", Direction::Both)];
    choice("direction", name, &known)
}

/// The order of a walk.
pub(super) fn order_of(name: &str) -> PyResult<Order> {
    choice("order", name, &[("bfs", Order::Breadth), ("dfs", Order::Depth)])
}

/// The durability of a write, which the store says where the call doesn't.
pub(super) fn durability_of(handle: &Handle, name: Option<&str>) -> PyResult<Durability> {
    name.map_or_else(|| Ok(handle.durability(false)), durability)
}

/// Kinds of edges: one name, several, or all.
#[derive(Debug)]
pub(super) struct KindNames(Vec<PyBackedStr>);

impl KindNames {
    pub(super) fn of(kinds: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let Some(kinds) = kinds.filter(|kinds| !kinds.is_none()) else {
            return Ok(Self(Vec::new()));
        };
        if kinds.is_instance_of::<PyString>() {
            return Ok(Self(vec![kinds.extract()?]));
        }
        let mut names: Vec<PyBackedStr> =
            kinds.try_iter()?.map(|kind| kind?.extract()).collect::<PyResult<_>>()?;
        if names.is_empty() {
            // To the model no names are all kinds; no edge has a kind without a name.
            names.push(PyString::new(kinds.py(), "").extract()?);
        }
        Ok(Self(names))
    }

    pub(super) fn names(&self) -> Vec<&str> {
        self.0.iter().map(|name| &**name).collect()
    }
}

/// Along which edges something goes, as it was asked for.
#[derive(Debug)]
pub(super) struct AlongAsked {
    pub(super) direction: Direction,
    pub(super) kinds: KindNames,
    pub(super) depth: Option<u32>,
    pub(super) limit: Option<usize>,
    pub(super) as_of_ns: Option<i64>,
}

impl AlongAsked {
    pub(super) fn of(direction: &str, kinds: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let (direction, kinds) = (direction_of(direction)?, KindNames::of(kinds)?);
        Ok(Self { direction, kinds, depth: None, limit: None, as_of_ns: None })
    }

    pub(super) fn at_time(mut self, time: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        self.as_of_ns = time.map(time_ns).transpose()?.flatten();
        Ok(self)
    }

    /// Answers a question about these edges.
    pub(super) fn with<T>(&self, question: impl FnOnce(&Along<'_>) -> T) -> T {
        let all = Along::default();
        question(&Along {
            direction: self.direction,
            kinds: &self.kinds.names(),
            as_of_ns: self.as_of_ns,
            depth_max: self.depth.unwrap_or(all.depth_max),
            nodes_max: self.limit.unwrap_or(all.nodes_max),
        })
    }
}

/// A JSON object as text: a mapping, or text that the model checks.
pub(super) fn json_of(what: &str, value: &Bound<'_, PyAny>) -> PyResult<Option<String>> {
    if value.is_none() {
        return Ok(None);
    }
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(Some(text.extract()?));
    }
    let Ok(mapping) = value.cast::<PyMapping>() else {
        return Err(wrong_type(
            format_args!("{what} must be a mapping or a JSON object as str"),
            value,
        ));
    };
    let dict = PyDict::new(value.py());
    dict.update(mapping)?;
    let mut text = Vec::new();
    encode(Codec::Json, &dict, &mut text)?;
    let text = String::from_utf8(text);
    text.map(Some).map_err(|_| invalid(format!("{what} is not UTF-8")))
}

/// The dict of a JSON object.
pub(super) fn json_object<'py>(
    py: Python<'py>,
    text: Option<&str>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    text.map(|text| decode(Codec::Json, py, text.as_bytes())).transpose()
}
