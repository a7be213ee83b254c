"""Entries of a time log as columns of other libraries: what `Timelog.to_arrow` and its like make of objects.

A column has one type. Where the objects of an export have none in common, Arrow gets their JSON text and pandas and
polars the objects themselves; who wants the same type whatever the log holds says which by ``values=``.
"""

from __future__ import annotations

from typing import Any

from timestrata._timestrata import _cbor_to_json, cbor_encode
from timestrata.errors import InvalidArgumentError

__all__: list[str] = []

#: What ``values=`` may be, but for None.
FORMS = ("objects", "json", "cbor")
#: Under this name the column's metadata says what its values are.
METADATA = b"timestrata.values"


def check_form(form: str | None, forms: tuple[str, ...] = FORMS) -> None:
    """Refuse what ``values=`` can't be."""
    if form is not None and form not in forms:
        said = ", ".join(map(repr, forms))
        raise InvalidArgumentError(f"values must be None or one of {said}, not {form!r}")


def to_arrow(times: list[int], values: list[Any], unit: str, form: str | None) -> Any:
    """A ``pyarrow.Table`` of a column ``time`` and a column ``value``."""
    import pyarrow  # type: ignore[import-untyped, unused-ignore]

    check_form(form, ("json", "cbor"))
    column = _common(values) if form is None else None
    if column is not None:
        field = pyarrow.field("value", column.type)
    elif form == "cbor":
        field, column = _cbor(values)
    else:
        field, column = _json(values)
    schema = pyarrow.schema([pyarrow.field("time", pyarrow.timestamp(unit, "UTC")), field])
    return pyarrow.table([pyarrow.array(times, schema.field("time").type), column], schema=schema)


def _common(values: list[Any]) -> Any:
    """An array of the type that all have in common; None if there is none."""
    import pyarrow  # type: ignore[import-untyped, unused-ignore]

    try:
        return pyarrow.array(values)
    except (pyarrow.ArrowException, OverflowError, TypeError, ValueError):
        # Of each of these kinds is an error for objects that fit no type, or not one type.
        return None


def _json(values: list[Any]) -> tuple[Any, Any]:
    import pyarrow  # type: ignore[import-untyped, unused-ignore]

    column = pyarrow.array([None if value is None else json_text(value) for value in values], pyarrow.string())
    # As the extension type of JSON, where the library does not know it.
    named = {b"ARROW:extension:name": b"arrow.json", b"ARROW:extension:metadata": b"", METADATA: b"json"}
    field = pyarrow.field("value", pyarrow.string(), metadata=named)
    if hasattr(pyarrow, "json_"):
        kind = pyarrow.json_(pyarrow.string())
        field = pyarrow.field("value", kind, metadata={METADATA: b"json"})
        column = pyarrow.ExtensionArray.from_storage(kind, column)
    return field, column


def _cbor(values: list[Any]) -> tuple[Any, Any]:
    import pyarrow  # type: ignore[import-untyped, unused-ignore]

    column = pyarrow.array([None if value is None else cbor_encode(value) for value in values], pyarrow.binary())
    named = {b"ARROW:extension:name": b"timestrata.cbor", b"ARROW:extension:metadata": b"", METADATA: b"cbor"}
    return pyarrow.field("value", pyarrow.binary(), metadata=named), column


def json_text(value: Any) -> str:
    """The JSON text of an object; of one that the codec "cbor" has no form for, that of its `repr`."""
    try:
        return _cbor_to_json(cbor_encode(value))
    except (TypeError, ValueError):
        return _cbor_to_json(cbor_encode(repr(value).encode(errors="replace").decode()))


def to_pandas(times: list[int], values: list[Any], unit: str, form: str | None) -> Any:
    """A ``pandas.DataFrame`` of the same columns."""
    import pandas  # type: ignore[import-untyped, unused-ignore]
    import pyarrow  # type: ignore[import-untyped, unused-ignore]

    check_form(form)
    if form in ("json", "cbor"):
        encode = json_text if form == "json" else cbor_encode
        values, form = [None if value is None else encode(value) for value in values], "objects"
    if form is None and _common(values) is not None:
        return to_arrow(times, values, unit, None).to_pandas()
    column = pyarrow.array(times, pyarrow.timestamp(unit, "UTC")).to_pandas()
    objects = pandas.Series(pandas.array(_boxed(values), dtype=object), dtype=object)
    return pandas.DataFrame({"time": pandas.Series(column), "value": objects})


def _boxed(values: list[Any]) -> Any:
    """An array of the objects themselves, also where they are sequences."""
    import numpy

    boxed = numpy.empty(len(values), dtype=object)
    for place, value in enumerate(values):
        boxed[place] = value
    return boxed


def to_polars(times: list[int], values: list[Any], unit: str, form: str | None) -> Any:
    """A ``polars.DataFrame`` of the same columns."""
    import polars
    import pyarrow  # type: ignore[import-untyped, unused-ignore]

    check_form(form)
    if form == "json" or form == "cbor":
        encode = json_text if form == "json" else cbor_encode
        encoded = [None if value is None else encode(value) for value in values]
        column = polars.Series("value", encoded, dtype=polars.String if form == "json" else polars.Binary)
    elif form is None and _common(values) is not None:
        return polars.from_arrow(to_arrow(times, values, unit, None))
    else:
        # By the first one it tells what all are, and would take enumerations as what they stand for.
        column = polars.Series("value", ["", *values], dtype=polars.Object).slice(1)
    stamps = polars.from_arrow(pyarrow.array(times, pyarrow.timestamp(unit, "UTC")))
    return polars.DataFrame([polars.Series("time", stamps), column])
