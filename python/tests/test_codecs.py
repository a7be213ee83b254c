"""What a codec takes comes back the same; what it doesn't take is refused by name and place."""

import math
import random
import struct
from datetime import datetime, timedelta, timezone, tzinfo

import pytest

import timestrata
from timestrata import Store, Timelog, cbor_decode, cbor_encode

SAME = [
    None,
    True,
    False,
    *(2**bits + more for bits in range(0, 130, 3) for more in (-1, 0, 1)),
    *(-(2**bits) + more for bits in range(0, 130, 3) for more in (-1, 0, 1)),
    2**63 - 1,
    -(2**63),
    2**64 - 1,
    2**64,
    -(2**64),
    -(2**64) - 1,
    10**100,
    -(10**100),
    0.0,
    1.5,
    -1e300,
    5e-324,
    math.inf,
    -math.inf,
    0.1,
    "",
    "plain",
    "grüße 🌍 \0",
    "x" * 70_000,
    b"",
    b"\0\xff" * 40_000,
    [],
    [1, [2, [3, None]]],
    {},
    {"a": 1, "b": {"c": [True]}},
    {1: "int", None: "none", (1, (2, 3)): "tuple", b"x": "bytes", 2.5: "float", False: "bool"},
    {frozenset({1, 2}): 1},
    set(),
    {1, "a", (2, 3)},
    datetime(2024, 2, 29, 12, 30, 15, 123456, tzinfo=timezone.utc),
    datetime(1, 1, 1, tzinfo=timezone.utc),
    datetime(2024, 1, 1, tzinfo=timezone(timedelta(hours=-9, minutes=-30))),
]


def named(value: object) -> str:
    """The same in every process: in sets texts have another order each time."""
    return type(value).__name__ if isinstance(value, set) else repr(value)[:40]


@pytest.mark.parametrize("value", SAME, ids=named)
def test_plain_data_comes_back_the_same(log: Timelog, value: object) -> None:
    log.append(1, value)
    [back] = log[1]
    assert back == value
    assert type(back) is type(value)


def test_a_datetime_keeps_its_offset() -> None:
    when = datetime(2024, 1, 1, tzinfo=timezone(timedelta(hours=5, minutes=30)))
    assert cbor_decode(cbor_encode(when)).utcoffset() == timedelta(hours=5, minutes=30)
    assert b"2024-01-01T00:00:00+05:30" in cbor_encode(when)


def test_an_offset_with_seconds_goes_in_as_the_same_instant_in_utc() -> None:
    when = datetime(1890, 1, 1, tzinfo=timezone(timedelta(minutes=53, seconds=28)))
    assert cbor_decode(cbor_encode(when)) == when


def test_special_floats_keep_their_bits() -> None:
    for number in (-0.0, math.nan, struct.unpack("<d", b"\1\2\3\4\5\6\xf8\x7f")[0]):
        back = cbor_decode(cbor_encode(number))
        assert struct.pack("<d", back) == struct.pack("<d", number)


@pytest.mark.parametrize(
    ("number", "head"),
    [
        (0, "00"),
        (23, "17"),
        (24, "1818"),
        (255, "18ff"),
        (256, "190100"),
        (65_535, "19ffff"),
        (65_536, "1a00010000"),
        (2**32 - 1, "1affffffff"),
        (2**32, "1b0000000100000000"),
        (2**64 - 1, "1bffffffffffffffff"),
    ],
)
def test_numbers_and_lengths_take_the_shortest_form(number: int, head: str) -> None:
    first = int(head[:2], 16)

    def of_major(major: int) -> bytes:
        return bytes([major << 5 | first]) + bytes.fromhex(head[2:])

    assert cbor_encode(number) == of_major(0)
    assert cbor_encode(-1 - number) == of_major(1)
    assert cbor_encode({"n": [number]}) == b"\xa1\x61n\x81" + of_major(0)
    if number <= 65_536:
        assert cbor_encode(b"x" * number) == of_major(2) + b"x" * number
        assert cbor_encode("x" * number) == of_major(3) + b"x" * number
        assert cbor_encode({"x" * number: None}) == b"\xa1" + of_major(3) + b"x" * number + b"\xf6"
        assert cbor_encode([False] * number) == of_major(4) + b"\xf4" * number
        assert cbor_encode(dict.fromkeys(range(number))).startswith(of_major(5))


def test_floats_take_the_shortest_form_that_loses_nothing() -> None:
    given = {"half": 1.5, "single": 1.0 + 2**-20, "double": 1.1, "tiny": 5e-324}
    written = cbor_encode(given)
    assert written.hex() == (
        "a46468616c66f93e00" "6673696e676c65fa3f800008" "66646f75626c65fb3ff199999999999a"
        "6474696e79fb0000000000000001"
    )  # fmt: skip


def test_a_dict_that_changes_while_it_is_stored_is_refused_or_stored_whole() -> None:
    class Zone(tzinfo):
        def __init__(self, change: object) -> None:
            self.change = change

        def utcoffset(self, when: datetime | None) -> timedelta:
            self.change()  # type: ignore[operator]
            return timedelta(0)

    growing: dict[str, object] = {"a": 1}
    growing["when"] = datetime(2024, 1, 1, tzinfo=Zone(lambda: growing.update(more=[])))
    with pytest.raises(timestrata.InvalidDataError, match="changed while it was stored"):
        cbor_encode(growing)
    cleared: dict[str, object] = {}
    cleared["when"] = datetime(2024, 1, 1, tzinfo=Zone(cleared.clear))
    cleared["text" * 10] = "value" * 10
    with pytest.raises(timestrata.InvalidDataError, match="changed while it was stored"):
        cbor_encode(cleared)
    same: dict[str, object] = {}
    same["when"] = datetime(2024, 1, 1, tzinfo=Zone(lambda: same.update(b="new" * 10)))
    same["b"] = "old" * 10
    assert cbor_decode(cbor_encode(same))["b"] == "new" * 10


def test_text_that_is_no_unicode_is_refused(log: Timelog) -> None:
    for value in ("\ud800", {"\ud800": 1}, {"a": "\ud800"}, [{"a": {"b": "\ud800"}}]):
        with pytest.raises(UnicodeEncodeError):
            log.append(1, value)
    assert len(log) == 0


@pytest.mark.parametrize(
    ("value", "place"),
    [
        (object(), r"value: can't store a 'object'"),
        ({"orders": [1, {"price": slice(1)}]}, r"value\['orders'\]\[1\]\['price'\].*'slice'"),
        ([[], [object]], r"value\[1\]\[0\].*'type'"),
        ({1: {Ellipsis: 2}}, r"value\[1\] key Ellipsis.*'ellipsis'"),
        ([len], r"value\[0\].*'builtin_function_or_method'"),
    ],
)
def test_other_types_are_refused_by_name_and_place(
    log: Timelog, value: object, place: str
) -> None:
    with pytest.raises(TypeError, match=place):
        log.append(1, value)
    assert len(log) == 0


def test_an_object_that_contains_itself_is_refused() -> None:
    ring: list[object] = []
    ring.append([{"again": ring}])
    with pytest.raises(timestrata.InvalidDataError, match="contains itself"):
        cbor_encode(ring)
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(ValueError, match="deeper than 256"):
        cbor_encode(deep)


def test_an_object_that_unfolds_without_end_is_refused() -> None:
    value: list[object] = ["x" * 1000]
    for _ in range(40):
        value = [value, value]
    with pytest.raises(timestrata.TooLargeError):
        cbor_encode(value)


def test_a_failed_append_leaves_nothing_of_itself_behind(log: Timelog) -> None:
    with pytest.raises(TypeError):
        log.append(1, ["stored?", object()])
    log.append(2, "whole")
    assert list(log) == [(2, "whole")]


def test_half_a_surrogate_pair_is_refused(log: Timelog) -> None:
    with pytest.raises(UnicodeEncodeError):
        log.append(1, "\ud800")


SPRING_2013 = datetime(2013, 3, 21, 20, 4, tzinfo=timezone.utc)

# RFC 8949, appendix A: what other writers may have written.
FOREIGN = [
    ("f97e00", math.nan),
    ("fa47c35000", 100000.0),
    ("5f42010243030405ff", b"\1\2\3\4\5"),
    ("7f657374726561646d696e67ff", "streaming"),
    ("9f018202039f0405ffff", [1, [2, 3], [4, 5]]),
    ("bf6346756ef563416d7421ff", {"Fun": True, "Amt": -2}),
    ("c074323031332d30332d32315432303a30343a30305a", SPRING_2013),
    ("c11a514b67b0", SPRING_2013),
    ("d9d9f783010203", [1, 2, 3]),
    ("f7", None),
    ("c240", 0),
]


@pytest.mark.parametrize(("data", "value"), FOREIGN)
def test_other_writers_cbor_is_read(data: str, value: object) -> None:
    back = cbor_decode(bytes.fromhex(data))
    assert back == value or (back != back and value != value)


HOSTILE = [
    "",
    "1c",
    "ff",
    "5b7fffffffffffffff",
    "7b00000000ffffffff",
    "9b7fffffffffffffff",
    "9affffffff",
    "bb7fffffffffffffff",
    "bf",
    "9f" * 10_000,
    "81" * 10_000,
    "c1" * 10_000,
    "d9d9f7" * 10_000,
    "5f6161ff",
    "7f5f4161ffff",
    "61ff",
    "f8ff",
    "f0",
    "c06161",
    "c074323031332d30332d32315432303a30343a303000",
    "c1fb7fefffffffffffff",
    "c101" + "00",
    "c26161",
    "d9010201",
    "d8ff00",
    "a1a0f6",
    "a201f601f6",
    "00ff",
    "0000",
]


@pytest.mark.parametrize("data", HOSTILE, ids=lambda data: data[:20])
def test_hostile_bytes_are_refused(data: str) -> None:
    with pytest.raises(timestrata.InvalidDataError, match="at its byte"):
        cbor_decode(bytes.fromhex(data))


def test_random_bytes_are_read_or_refused_and_never_worse() -> None:
    seed = random.randrange(2**32)
    rng = random.Random(seed)
    whole = cbor_encode(SAME)
    for _ in range(20_000):
        if rng.random() < 0.5:
            data = rng.randbytes(rng.randrange(1, 40))
        else:
            start = rng.randrange(len(whole) - 100)
            damaged = bytearray(whole[start : start + rng.randrange(1, 100)])
            damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
            data = bytes(damaged)
        try:
            cbor_decode(data)
        except timestrata.InvalidDataError:
            pass
        except Exception as error:
            pytest.fail(f"seed {seed}: {data.hex()}: {error!r}")


class TestBytes:
    @pytest.fixture
    def raw(self, store: Store) -> Timelog:
        return store.timelog("raw", codec="bytes")

    def test_bytes_and_their_like_are_stored_as_they_are(self, raw: Timelog) -> None:
        from array import array

        values = [b"", b"abc", bytearray(b"def"), memoryview(b"ghijkl")[::2], array("H", [1, 2])]
        raw.extend(range(5), values)
        expected = [b"", b"abc", b"def", b"gik", array("H", [1, 2]).tobytes()]
        assert [value for _, value in raw] == expected

    @pytest.mark.parametrize(
        ("value", "advice"), [("text", "encode it"), (5, "cbor"), (None, "cbor")]
    )
    def test_other_types_are_refused(self, raw: Timelog, value: object, advice: str) -> None:
        with pytest.raises(TypeError, match=advice):
            raw.append(1, value)
        assert len(raw) == 0
