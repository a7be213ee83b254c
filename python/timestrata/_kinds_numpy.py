"""Arrays of numbers as items of CBOR, by RFC 8746, and numpy's own scalars: see `timestrata._kinds`.

Without numpy, arrays of one dimension are read as `array.array`.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Callable
from typing import Any

__all__ = ["READ_NUMPY", "WRITE_NUMPY", "numbers_of", "shaped", "typed_array"]

TAG_OBJECT = 27
TAG_ARRAY = 40
#: Kind, bytes and tag of an array of numbers whose bytes are in the order of small ends first.
_LITTLE = {
    "u1": 64, "u2": 69, "u4": 70, "u8": 71,
    "i1": 72, "i2": 77, "i4": 78, "i8": 79,
    "f2": 84, "f4": 85, "f8": 86,
}  # fmt: skip
_BIG = {"u2": 65, "u4": 66, "u8": 67, "i2": 73, "i4": 74, "i8": 75, "f2": 80, "f4": 81, "f8": 82}
_KINDS = {tag: f"<{kind}" for kind, tag in _LITTLE.items()} | {tag: f">{kind}" for kind, tag in _BIG.items()}
# Bytes that stop at their ends when they are counted up.
_KINDS[68] = "<u1"
_TYPECODES = {"u1": "B", "u2": "H", "u4": "I", "u8": "Q", "i1": "b", "i2": "h", "i4": "i", "i8": "q", "f4": "f", "f8": "d"}

Plain = tuple[int, Any]


def _numpy() -> Any:
    try:
        import numpy
    except ImportError:
        return None
    return numpy


def typed_array(tag: int, content: Any) -> Any:
    """The numbers of an array by its tag: a numpy array of its own memory, or an `array.array`."""
    kind = _KINDS.get(tag)
    if kind is None or not isinstance(content, bytes):
        raise ValueError(f"an array of tag {tag} has no Python object")
    if len(content) % int(kind[2:]) != 0:
        raise ValueError("an array of numbers that ends within one")
    numpy = _numpy()
    if numpy is not None:
        return numpy.frombuffer(content, kind).astype(kind[1:])
    if kind[1:] not in _TYPECODES:
        raise ValueError("an array of short floats, which needs numpy to be read: install it")
    made: array[Any] = array(_TYPECODES[kind[1:]], content)
    if (kind[0] == "<") != (sys.byteorder == "little"):
        made.byteswap()
    return made


def numbers_of(numbers: array[Any]) -> Plain:
    """An `array.array` of numbers by its tag."""
    kind = "f" if numbers.typecode in "fd" else "u" if numbers.typecode.isupper() else "i"
    if sys.byteorder != "little":
        numbers = numbers[:]
        numbers.byteswap()
    return _LITTLE[f"{kind}{numbers.itemsize}"], numbers.tobytes()


def shaped(shape: Any, numbers: Any) -> Any:
    """An array of several dimensions."""
    numpy = _numpy()
    if numpy is None:
        raise ValueError("an array of several dimensions, which needs numpy to be read: install it")
    return numpy.asarray(numbers).reshape(tuple(shape))


def _of_ndarray(value: Any) -> Plain:
    if type(value).__name__ not in ("ndarray", "memmap"):
        raise TypeError(f"can't store a '{type(value).__name__}': make it an array, with numpy.asarray()")
    dtype, numpy = value.dtype, _numpy()
    kind = f"{dtype.kind}{dtype.itemsize}"
    if kind in _LITTLE:
        little = value.astype(f"<{kind}", copy=False).tobytes()
        flat = _Tagged(_LITTLE[kind], little)
        return (flat.tag, little) if value.ndim == 1 else (TAG_ARRAY, [list(value.shape), flat])
    shape = list(value.shape)
    if dtype.kind in "bSU":
        return TAG_OBJECT, ["numpy.ndarray", value.ravel().tolist(), dtype.str, shape]
    if dtype.kind in "mM":
        little = value.astype(dtype.newbyteorder("<"), copy=False).tobytes()
        return TAG_OBJECT, ["numpy.ndarray", _Tagged(_LITTLE["i8"], little), dtype.newbyteorder("<").str, shape]
    if dtype.kind == "c" and dtype.itemsize in (8, 16):
        # A real and an imaginary part each.
        parts = numpy.ascontiguousarray(value).view(f"f{dtype.itemsize // 2}")
        return TAG_OBJECT, ["numpy.ndarray", parts.ravel(), dtype.newbyteorder("=").str, shape]
    raise TypeError(f"can't store an array of dtype {dtype}: convert it first, with tolist() for instance")


class _Tagged:
    """A tag and its content, as they are."""

    def __init__(self, tag: int, content: Any) -> None:
        self.tag = tag
        self.content = content


def _of_tagged(value: _Tagged) -> Plain:
    return value.tag, value.content


def _dtype_of(text: Any, kinds: str) -> Any:
    numpy = _numpy()
    if numpy is None:
        raise ValueError("an array that needs numpy to be read: install it")
    if not isinstance(text, str) or len(text) > 40:
        raise ValueError("an array of a kind that is not known here")
    dtype = numpy.dtype(text)
    if dtype.kind not in kinds or dtype.shape:
        raise ValueError("an array of a kind that is not known here")
    return dtype


def _ndarray_of(content: Any, text: Any, shape: Any) -> Any:
    dtype, numpy = _dtype_of(text, "bSUmMc"), _numpy()
    if dtype.kind in "bSU":
        flat = numpy.array(list(content), dtype)
    else:
        flat = numpy.frombuffer(numpy.ascontiguousarray(content).tobytes(), dtype).copy()
    return flat.reshape(tuple(shape))


def _of_datetime64(value: Any) -> Plain:
    return TAG_OBJECT, ["numpy.datetime64", str(value), value.dtype.newbyteorder("<").str]


def _datetime64_of(text: Any, dtype: Any) -> Any:
    if not isinstance(text, str):
        raise ValueError("a time that is no text")
    dtype = _dtype_of(dtype, "M")
    return _numpy().array(text, dtype)[()]


def _of_timedelta64(value: Any) -> Plain:
    return TAG_OBJECT, ["numpy.timedelta64", int(value.astype("i8")), value.dtype.newbyteorder("<").str]


def _timedelta64_of(count: Any, dtype: Any) -> Any:
    return _numpy().array(count, "i8").astype(_dtype_of(dtype, "m"))[()]


WRITE_NUMPY: dict[str, Callable[[Any], Plain]] = {
    "numpy.ndarray": _of_ndarray,
    "numpy.datetime64": _of_datetime64,
    "numpy.timedelta64": _of_timedelta64,
    f"{__name__}._Tagged": _of_tagged,
}
READ_NUMPY: dict[str, Callable[..., Any]] = {
    "numpy.ndarray": _ndarray_of,
    "numpy.datetime64": _datetime64_of,
    "numpy.timedelta64": _timedelta64_of,
}
