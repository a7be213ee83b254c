"""Objects that CBOR has no word of its own for come back the same, and no bytes make anything else of them."""

import dataclasses
import enum
import ipaddress
import math
import random
import subprocess
import sys
from array import array
from collections import Counter, OrderedDict, deque, namedtuple
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest

import timestrata
from timestrata import Timelog, UnknownValue, cbor_decode, cbor_encode, register_type

numpy = pytest.importorskip("numpy", reason="numpy is not installed: its arrays can't be tried")
pandas = pytest.importorskip("pandas", reason="pandas is not installed: its times can't be tried")

BERLIN = ZoneInfo("Europe/Berlin")

SAME: list[Any] = [
    (),
    (1, "two", [3.0, (None,)]),
    [(1, 2), {"pair": (3, 4)}],
    {(1, (2, 3)): (4, 5)},
    {frozenset({1}): frozenset({2, (3,)})},
    frozenset(),
    {(1, 2), frozenset({3})},
    date(2024, 2, 29),
    date(1, 1, 1),
    time(23, 59, 59, 999999),
    time(1, 2),
    time(12, 0, tzinfo=timezone(timedelta(hours=-3, minutes=-30))),
    time(12, 0, tzinfo=BERLIN),
    timedelta(0),
    timedelta(days=-1, microseconds=1),
    timedelta.max,
    timedelta.min,
    datetime(2024, 1, 1, 12, 30),
    datetime(9999, 12, 31, 23, 59, 59, 999999),
    datetime(2024, 7, 1, 12, tzinfo=BERLIN),
    datetime(2024, 10, 27, 2, 30, 0, 1, tzinfo=BERLIN),
    datetime(2024, 10, 27, 2, 30, 0, 1, tzinfo=BERLIN, fold=1),
    Decimal("0"),
    Decimal("-0.00"),
    Decimal("1E+1000"),
    Decimal("-123456789012345678901234567890.123456789"),
    Decimal("9" * 5_000),
    Decimal("Infinity"),
    Fraction(-1, 3),
    complex(1.5, -0.0),
    UUID("12345678-1234-5678-1234-567812345678"),
    Path("/tmp/a file"),
    Path(b"/tmp/\xff".decode(errors="surrogateescape")),
    PurePosixPath("a/b"),
    PureWindowsPath("C:/a"),
    ipaddress.ip_address("10.0.0.1"),
    ipaddress.ip_address("2001:db8::1"),
    ipaddress.ip_address("fe80::1%eth0"),
    ipaddress.ip_network("10.0.0.0/8"),
    ipaddress.ip_network("2001:db8::/32"),
    ipaddress.ip_network("0.0.0.0/0"),
    ipaddress.ip_interface("10.1.2.3/8"),
    ipaddress.ip_interface("fe80::1%eth0/64"),
    deque([1, (2,)], maxlen=5),
    deque(),
    range(0, 10, 3),
    range(2**70, -(2**70), -7),
    array("d", [1.5, -2.5]),
    array("B", [1, 255]),
    array("l", [-1, 2]),
    array("u", "grün"),
    numpy.datetime64("2024-01-01T00:00:00.123456789", "ns"),
    numpy.datetime64("2024-01", "M"),
    numpy.array(10, "datetime64[25s]")[()],
    numpy.timedelta64(-5, "ms"),
    pandas.Timestamp("2024-01-01 00:00:00.123456789"),
    pandas.Timestamp("2024-01-01 00:00:00.123456789", tz="Europe/Berlin"),
    pandas.Timestamp("2024-01-01 00:00:00.000000001", tz="UTC"),
    pandas.Timestamp("2024-01-01", tz=timezone(timedelta(hours=5, minutes=30))),
    pandas.Timestamp("1677-09-22 00:00:00.000000001", tz="UTC"),
    pandas.Timedelta(1, "ns"),
    pandas.Timedelta(-1, "ns"),
]


@pytest.mark.parametrize("value", SAME, ids=lambda value: f"{type(value).__name__} {str(value)[:30]}")
def test_what_programs_hold_comes_back_the_same(log: Timelog, value: Any) -> None:
    log.append(1, value)
    log.append(2, {"within": [value]})
    assert log[2] == [{"within": [value]}]
    [back] = log[1]
    assert back == value
    assert type(back) is type(value)
    assert repr(back) == repr(value) or isinstance(value, frozenset | set | datetime)


ARRAYS = [
    *(numpy.arange(6).astype(kind) for kind in ("u1", "<u2", ">u4", "u8", "i1", "i2", ">i4", "i8", "f2", "f4", "f8")),
    numpy.arange(24.0).reshape(2, 3, 4),
    numpy.asfortranarray(numpy.arange(6).reshape(2, 3)),
    numpy.arange(10)[::3],
    numpy.array(7.5),
    numpy.array([]),
    numpy.empty((0, 3)),
    numpy.array([[True], [False]]),
    numpy.array([1 + 2j, -0.5j]),
    numpy.array(["2024-01-01", "NaT"], dtype="datetime64[us]"),
    numpy.array([1, -1], dtype="timedelta64[h]"),
    numpy.array(["a", "grün"]),
    numpy.array([b"a", b"bcd"]),
]


@pytest.mark.parametrize("value", ARRAYS, ids=lambda value: f"{value.dtype} {value.shape}")
def test_arrays_come_back_with_their_shape_and_kind(log: Timelog, value: Any) -> None:
    log.append(1, value)
    [back] = log[1]
    assert back.shape == value.shape
    assert back.dtype == value.dtype.newbyteorder("=")
    assert numpy.array_equal(back, value, equal_nan=value.dtype.kind in "fcmM")
    assert back.flags.writeable


def test_arrays_of_numbers_are_the_items_that_other_readers_know() -> None:
    assert cbor_encode(numpy.array([1, 2], "<u2")).hex() == "d845" + "4401000200"
    assert cbor_decode(bytes.fromhex("d841" + "4400010002")).tolist() == [1, 2]
    assert cbor_encode(date(2024, 1, 1)) == b"\xd9\x03\xec\x6a2024-01-01"
    assert cbor_encode(Decimal("1.5")).hex() == "c482200f"
    assert cbor_decode(bytes.fromhex("d828828202028401020304")).tolist() == [[1, 2], [3, 4]]


def test_a_time_of_pandas_keeps_its_nanoseconds(log: Timelog) -> None:
    # It came back cut to microseconds, and nobody was told.
    when = pandas.Timestamp("2024-01-01T00:00:00.123456789", tz="UTC")
    log.append(1, when)
    assert log[1][0].value == when.value


def test_what_is_no_time_or_no_value_comes_back_as_that(log: Timelog) -> None:
    log.append(1, [pandas.NaT, pandas.NA, numpy.datetime64("NaT"), Decimal("NaN"), float("nan")])
    nat, na, none, decimal, number = log[1][0]
    assert nat is pandas.NaT and na is pandas.NA
    assert numpy.isnat(none) and decimal.is_nan() and math.isnan(number)


def test_a_zone_is_kept_by_its_name() -> None:
    summer = cbor_decode(cbor_encode(datetime(2024, 7, 1, tzinfo=BERLIN)))
    assert summer.tzinfo is BERLIN
    assert (summer + timedelta(days=180)).utcoffset() == timedelta(hours=1)


def test_times_with_nanoseconds_need_pandas_and_say_so_where_it_is_missing() -> None:
    stored = cbor_encode(pandas.Timestamp("2024-01-01T00:00:00.000000001", tz="UTC"))
    whole = cbor_encode(pandas.Timestamp("2024-01-01T00:00:00.000001", tz="UTC"))
    plain = cbor_encode([numpy.arange(3), pandas.NaT])
    program = f"""
import sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("numpy", "pandas"):
            raise ImportError(name)
sys.meta_path.insert(0, Refuse())
import timestrata
try:
    timestrata.cbor_decode({stored!r})
except timestrata.InvalidDataError as error:
    assert "needs pandas" in str(error) and "at its byte" in str(error), error
else:
    raise SystemExit("it was read")
assert timestrata.cbor_decode({whole!r}).microsecond == 1
numbers, nothing = timestrata.cbor_decode({plain!r})
assert list(numbers) == [0, 1, 2] and nothing is None
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


class Lamp(enum.Enum):
    RED = 1
    GREEN = "go"


class Level(enum.IntEnum):
    HIGH = 3


@dataclass(frozen=True)
class Order:
    price: Decimal
    tags: tuple[str, ...] = ()
    total: Decimal = dataclasses.field(init=False, default=Decimal(0))


Point = namedtuple("Point", "x y")


class Plain:
    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Plain) and self.inner == other.inner


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty one."""
    from timestrata import kinds

    monkeypatch.setattr(kinds._registry, "by_class", {})
    monkeypatch.setattr(kinds._registry, "by_name", {})


def test_a_type_that_is_not_registered_is_read_as_its_name_and_content(registry: None) -> None:
    name = f"{__name__}.Lamp"
    assert cbor_decode(cbor_encode(Lamp.RED)) == UnknownValue(name, "RED")
    order = cbor_decode(cbor_encode(Order(Decimal(5), ("a",))))
    assert order.content == {"price": Decimal(5), "tags": ("a",), "total": Decimal(0)}
    assert cbor_decode(cbor_encode(Point(1, 2))) == (1, 2)
    # Copied by a program that does not know the type, it is still what it was.
    assert cbor_encode(cbor_decode(cbor_encode(Lamp.RED))) == cbor_encode(Lamp.RED)


def test_registered_types_come_back_as_themselves(registry: None, log: Timelog) -> None:
    for cls in (Lamp, Level, Order, Point):
        assert register_type(cls) is cls
    register_type(Plain, "test.Plain", to_plain=lambda value: value.inner, of_plain=Plain)
    values = [Lamp.GREEN, Level.HIGH, Order(Decimal(1), ("a", "b")), Point(1, (2,)), Plain([Plain(Lamp.RED)])]
    log.append(1, values)
    [back] = log[1]
    assert back == values
    assert [type(value) for value in back] == [type(value) for value in values]
    assert type(back[4].inner[0]) is Plain


def test_names_belong_to_one_type(registry: None) -> None:
    register_type(Lamp, "lamp")
    register_type(Lamp, "lamp")
    with pytest.raises(timestrata.AlreadyExistsError, match="registered for"):
        register_type(Level, "lamp")
    with pytest.raises(timestrata.AlreadyExistsError, match="registered as 'lamp'"):
        register_type(Lamp, "other")
    with pytest.raises(timestrata.InvalidArgumentError, match="codec's own"):
        register_type(Level, "tuple")
    with pytest.raises(timestrata.InvalidArgumentError, match="both to_plain and of_plain"):
        register_type(Plain)
    with pytest.raises(timestrata.InvalidArgumentError, match="takes a class"):
        register_type("Plain")  # type: ignore[type-var]


def test_what_a_registered_function_raises_says_which_value_it_was(registry: None, log: Timelog) -> None:
    register_type(Plain, "test.Plain", to_plain=lambda value: value.inner, of_plain=lambda inner: Plain(1 / inner))
    log.append(7, Plain(0))
    with pytest.raises(timestrata.InvalidDataError, match="division by zero") as raised:
        log[7]
    assert isinstance(raised.value.__cause__, ZeroDivisionError)
    assert "timestamp 7" in "".join(raised.value.__notes__)


def test_bytes_name_no_code(registry: None) -> None:
    names = ["os.system", "builtins.eval", "subprocess.Popen", f"{__name__}.Plain", "collections.OrderedDict"]
    for name in names:
        data = b"\xd8\x1b\x82" + cbor_encode(name) + cbor_encode("echo")
        assert cbor_decode(data) == UnknownValue(name, "echo")


def test_kin_of_plain_data_comes_back_as_plain_data(registry: None) -> None:
    back = cbor_decode(cbor_encode([Level.HIGH, OrderedDict(a=1), Counter("aa")]))
    assert back == [3, {"a": 1}, {"a": 2}]
    assert [type(value) for value in back] == [int, dict, dict]


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (numpy.array([object()]), "dtype object"),
        (numpy.ma.masked_array([1], [True]), "MaskedArray"),
        (pandas.Series([1]), "'Series'"),
        (lambda: None, "register_type"),
        (Decimal((0, (1,) * 200_000, 0)), "digits"),
    ],
    ids=str,
)
def test_what_has_no_form_is_refused_and_says_what_to_do(log: Timelog, value: Any, why: str) -> None:
    with pytest.raises(TypeError, match=why):
        log.append(1, [value])
    assert len(log) == 0


def test_whatever_can_be_stored_can_be_read_at_any_depth() -> None:
    for inside in ((1,), frozenset({1}), {1}, 2**70, datetime.now(timezone.utc), Decimal(1), deque([1])):
        value: Any = inside
        for _ in range(300):
            value = [value]
            try:
                stored = cbor_encode(value)
            except timestrata.InvalidDataError:
                break
            assert cbor_decode(stored) is not None
        else:
            pytest.fail("it was never too deep")


HOSTILE = [
    "d81b80", "d81b8101", "d81b820102", "d81b8265747570" "6c6501", "d81b8265617272617901",
    "d81b836561727261790161" "78", "d828820101", "d8288281ff01", "d84541" "00", "d84c4100", "d90400" "01", "c48201",
    "c4820061" "61", "c4821b7fffffffffffffff01", "d81e820100", "d82543010203", "d8344101", "d83482182141" "00", "d903e9a0",
    "d903e9a10161" "61", "d903e9a201002a01", "d903eaa10cf6", "d903ec6161", "d9a7f88101", "d81b826572616e6765830100" "00",
    "d81b8364746e6f7065" "0101", "a1d84541000001", "d90102" "81d8450" "0",
]  # fmt: skip


@pytest.mark.parametrize("data", [one if len(one) % 2 == 0 else one + "0" for one in HOSTILE])
def test_hostile_objects_are_refused(data: str) -> None:
    with pytest.raises(timestrata.InvalidDataError, match="at its byte"):
        cbor_decode(bytes.fromhex(data))


def test_damaged_objects_are_read_or_refused_and_never_worse(registry: None) -> None:
    seed = random.randrange(2**32)
    rng = random.Random(seed)
    items = [cbor_encode(value) for value in [*SAME, *ARRAYS]]
    for _ in range(20_000):
        damaged = bytearray(rng.choice(items)[:200])
        damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
        try:
            cbor_decode(bytes(damaged))
        except timestrata.InvalidDataError:
            pass
        except Exception as error:
            pytest.fail(f"seed {seed}: {damaged.hex()}: {error!r}")
