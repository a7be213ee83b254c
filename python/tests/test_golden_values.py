"""What the codec of plain values wrote in a store that stays as it is, which every later build must read and write as that build did."""

import array
import collections
import datetime as dt
import decimal
import enum
import fractions
import ipaddress
import math
import pathlib
import shutil
import uuid
import zoneinfo
from pathlib import Path
from typing import Any

import pytest

import timestrata

STORE = Path(__file__).resolve().parents[2] / "fixtures" / "models-5" / "store"


class State(enum.Enum):
    OPEN = 1


timestrata.register_type(State, "golden.State")

UTC, BERLIN = dt.timezone.utc, zoneinfo.ZoneInfo("Europe/Berlin")

OBJECTS: list[Any] = [
    None, True, -(2**70), 1.5, math.nan, "Größe", b"\xff", [1, [2]], (1, ("a",)), {"a": {"b": None}}, {1, 2},
    frozenset({"x"}), dt.date(2024, 5, 1), dt.time(8, 30, 0, 5), dt.timedelta(days=-1, microseconds=3),
    dt.datetime(2024, 5, 1, 8, 30, 0, 123456), dt.datetime(2024, 5, 1, 8, 30, tzinfo=UTC),
    dt.datetime(2024, 7, 1, 8, 30, tzinfo=BERLIN), decimal.Decimal("-3.30"), decimal.Decimal("1E+400"),
    fractions.Fraction(1, 3), 1 + 2j, uuid.UUID(int=7), pathlib.PurePosixPath("a/b"),
    ipaddress.ip_address("10.0.0.1"), ipaddress.ip_network("10.0.0.0/8"), ipaddress.ip_address("::1"),
    collections.deque([1, 2], maxlen=5), range(1, 10, 3), array.array("d", [1.5, 2.5]), State.OPEN,
]  # fmt: skip


def of_other_libraries() -> list[Any]:
    numpy, pandas = pytest.importorskip("numpy"), pytest.importorskip("pandas")
    return [
        numpy.arange(4, dtype="int16").reshape(2, 2),
        numpy.array(["2024-05-01"], dtype="datetime64[D]"),
        numpy.datetime64(5, "ns"),
        numpy.timedelta64(7, "s"),
        pandas.Timestamp(1_714_552_200_123_456_789, unit="ns"),
        pandas.Timestamp("2024-05-01 08:30", tz="Europe/Berlin"),
        pandas.Timedelta(3, "ns"),
        pandas.NaT,
        pandas.NA,
    ]


@pytest.fixture
def stored(tmp_path: Path) -> list[bytes]:
    """The bytes, as the store has them."""
    pytest.importorskip("pyarrow")
    shutil.copytree(STORE, tmp_path / "store")
    with timestrata.open(tmp_path / "store") as store:
        log = store.timelog("values")
        assert (log.min_ts_floor, log.codec, log.unit) == (-1, "cbor", "ns")
        values = log.to_arrow(0, 1_000, values="cbor")["value"].to_pylist()
    # None is null there.
    return [b"\xf6" if value is None else value for value in values]


def same(one: Any, other: Any) -> bool:
    """Whether they are of one type, and say the same."""
    if hasattr(one, "dtype") and hasattr(one, "shape") and one.shape:
        return one.dtype == other.dtype and one.shape == other.shape and bool((one == other).all())
    return type(one) is type(other) and repr(one) == repr(other)


def test_objects_that_an_earlier_build_wrote_are_read_as_they_were(tmp_path: Path) -> None:
    expected = OBJECTS + of_other_libraries()
    shutil.copytree(STORE, tmp_path / "store")
    with timestrata.open(tmp_path / "store") as store:
        for begin in (0, 1_000):
            found = [value for _, value in store.timelog("values")[begin : begin + 1_000]]
            assert len(found) == len(expected)
            for read, wanted in zip(found, expected, strict=True):
                assert same(read, wanted), (read, wanted)
        assert store.timelog("trades").to_dict() == {
            1_700_000_000_000: {"price": 7.5, "shares": None},
            1_700_000_000_001: {"price": 8.0, "shares": 1},
        }


def test_objects_are_written_as_an_earlier_build_wrote_them(stored: list[bytes]) -> None:
    expected = OBJECTS + of_other_libraries()
    for wrote, value in zip(stored, expected, strict=True):
        assert timestrata.cbor_encode(value) == wrote, value
