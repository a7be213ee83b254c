"""Exports of objects that have no type in common: objects where a library has them, else JSON text or CBOR."""

import enum
import uuid
from decimal import Decimal
from typing import Any

import pytest

import timestrata
from timestrata import Store, Timelog, cbor_decode

pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed: nothing to export to")
pandas = pytest.importorskip("pandas", reason="pandas is not installed: nothing to export to")
polars = pytest.importorskip("polars", reason="polars is not installed: nothing to export to")


class Color(enum.Enum):
    RED = 1


MIXED: list[list[Any]] = [
    [1, "a"],
    [(1, "a"), (2, "b")],
    [2**70, 1],
    [2**63],
    [{"a": 1}, {"a": "x"}],
    [[1, "a"], None],
    [Color.RED],
    [1j],
    [True, 2],
    [object()],
    [uuid.UUID(int=1), Decimal("1.5"), "text"],
]


@pytest.mark.parametrize("values", MIXED, ids=str)
def test_objects_of_no_common_type_are_exported_all_the_same(values: list[Any]) -> None:
    log = Timelog()
    log.extend(range(len(values)), values)
    table = log.to_arrow()
    assert table.num_rows == len(values)
    assert table.schema.field("time").type == pyarrow.timestamp("ms", "UTC")
    assert all(text is None or isinstance(text, str) for text in table["value"].to_pylist())
    assert table.schema.field("value").metadata[b"timestrata.values"] == b"json"
    frame = log.to_pandas()
    assert list(frame["value"]) == values
    assert frame["value"].dtype == object
    assert str(frame["time"].dtype) == "datetime64[ms, UTC]"
    assert log.to_polars()["value"].to_list() == values
    assert pyarrow.table(log).num_rows == len(values)


def test_objects_with_a_type_in_common_have_it(store: Store) -> None:
    log = store.timelog("log")
    log.extend([(1, 1.5), (2, 2.5)])
    assert log.to_arrow()["value"].type == pyarrow.float64()
    assert log.to_pandas()["value"].dtype == "float64"
    assert log.to_polars()["value"].dtype == polars.Float64
    assert Timelog().to_arrow().num_rows == 0


@pytest.mark.parametrize("values", [[], [1.5], [None], [1, "a"], [(1, 2)]], ids=str)
def test_a_type_that_is_asked_for_does_not_depend_on_the_values(store: Store, values: list[Any]) -> None:
    log = store.timelog("log")
    log.extend(range(len(values)), values)
    as_json, as_cbor = log.to_arrow(values="json"), log.to_arrow(values="cbor")
    kind = as_json.schema.field("value").type
    assert (getattr(kind, "extension_name", "arrow.json"), as_cbor["value"].type) == ("arrow.json", pyarrow.binary())
    assert [None if item is None else cbor_decode(item) for item in as_cbor["value"].to_pylist()] == values
    for form, dtype in (("objects", polars.Object), ("json", polars.String), ("cbor", polars.Binary)):
        assert log.to_polars(values=form)["value"].dtype == dtype
        assert log.to_pandas(values=form)["value"].dtype == object
    assert list(log.to_pandas(values="objects")["value"]) == values


def test_forms_that_are_none_are_refused(store: Store) -> None:
    log, typed = store.timelog("log"), store.timelog("typed", schema="float64")
    with pytest.raises(timestrata.InvalidArgumentError, match="'xml'"):
        log.to_arrow(values="xml")  # type: ignore[arg-type]
    with pytest.raises(timestrata.InvalidArgumentError, match="'objects'"):
        log.to_arrow(values="objects")  # type: ignore[arg-type]
    for method in (typed.to_arrow, typed.to_pandas, typed.to_polars):
        with pytest.raises(timestrata.InvalidArgumentError, match="columns of its own"):
            method(values="json")


def test_what_is_exported_as_json_is_what_sql_gives(store: Store) -> None:
    log = store.timelog("log")
    log.extend([(1, (1, Decimal("1.50"))), (2, {"a": uuid.UUID(int=0)})])
    texts = log.to_arrow(values="json")["value"].to_pylist()
    assert texts == [row["value"] for row in store.sql("SELECT value FROM log ORDER BY time").to_pylist()]
