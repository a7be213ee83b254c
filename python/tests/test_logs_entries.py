"""An entry of a log comes back as it was given; what is none is refused by name, and not written."""

import logging
import math
import struct
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from decimal import Decimal
from types import MappingProxyType
from typing import Any

import pytest

import timestrata
from timestrata import LogEntry, Logs, Store


@pytest.fixture
def logs(store: Store) -> Logs:
    return store.logs("app")


def only(logs: Logs) -> LogEntry:
    [entry] = logs.search()
    return entry


def test_an_entry_comes_back_with_all_its_parts(store: Store) -> None:
    logs = store.logs("app", labels={"service": "api", "zone": "a"})
    before = time.time_ns()
    timestamp = logs.write(
        "disk is full",
        level="error",
        source_time=1_714_564_800_000_000_001,
        labels={"host": "web-1", "zone": "b"},
        device="sda1",
        free=0,
    )
    entry = only(logs)
    assert before <= timestamp <= time.time_ns()
    assert entry.timestamp == timestamp
    assert entry.source_time == 1_714_564_800_000_000_001
    assert (entry.level, entry.message) == ("error", "disk is full")
    assert entry.labels == {"service": "api", "host": "web-1", "zone": "b"}
    assert entry.fields == {"device": "sda1", "free": 0}
    assert entry.source_datetime == datetime(2024, 5, 1, 12, tzinfo=UTC)
    assert entry.datetime.utcoffset() == timedelta(0)
    assert round(entry.datetime.timestamp() * 1_000_000) == timestamp // 1_000
    assert entry.to_dict() == {
        "timestamp": timestamp,
        "source_time": 1_714_564_800_000_000_001,
        "level": "error",
        "message": "disk is full",
        "labels": entry.labels,
        "fields": entry.fields,
    }
    assert repr(entry).endswith("Z error 'disk is full'>")


def test_a_message_alone_is_an_entry(logs: Logs) -> None:
    logs.write("")
    entry = only(logs)
    assert (entry.source_time, entry.source_datetime, entry.level) == (None, None, None)
    assert (entry.message, entry.labels, entry.fields) == ("", {}, {})


EXACT = [
    None, True, False, 0, 1, -1, 2**63 - 1, -(2**63), 2**63, 2**64 - 1, 2**64, -(2**63) - 1, -(2**64),
    -(2**64) - 1, 10**100, -(10**100), 0.0, -0.0, 1.5, 0.1, 5e-324, -1e300, math.inf, -math.inf, "", "text",
    "grüße 🌍 \0", "x" * 70_000, b"", b"\0\xff", [], {}, [1, [2.5, [None, "x"]]],
    {"a": {"b.c": [{"d": 2**70}]}, "": None}, {1, 2},
    datetime(2024, 2, 29, 12, 30, 15, 123_456, tzinfo=timezone(timedelta(hours=-9, minutes=-30))),
]  # fmt: skip


@pytest.mark.parametrize("value", EXACT, ids=lambda value: repr(value)[:40])
def test_a_field_comes_back_exactly(logs: Logs, value: object) -> None:
    logs.write("x", field=value)
    back = only(logs).fields["field"]
    assert back == value
    assert type(back) is type(value)
    if isinstance(value, float):
        assert struct.pack("<d", back) == struct.pack("<d", value)


def test_a_number_that_is_none_stays_one(logs: Logs) -> None:
    logs.write("x", field=math.nan, inside=[math.nan])
    fields = only(logs).fields
    assert math.isnan(fields["field"]) and math.isnan(fields["inside"][0])


def test_fields_are_the_same_once_they_have_columns_of_their_own(logs: Logs) -> None:
    given = [
        {"number": n, "share": n / 7, "text": str(n), "flag": n % 2 == 0, "odd": [n, str(n), 2**64 + n][n % 3]}
        for n in range(5_000)
    ]
    for some in (given[:4_000], given[4_000:]):
        logs.write_many({"message": "x", "fields": fields} for fields in some)
    assert {"number", "share", "text", "flag"} <= set(logs.columns)
    assert [entry.fields for entry in logs.search()] == given


def test_names_of_fields_may_be_those_of_parts_and_parameters(logs: Logs) -> None:
    fields = {"message": 1, "level": "x", "labels": [], "sync": None, "self": 2, "timestamp": 3, "": 4, "a.b": 5}
    logs.write_many([{"message": "m", "fields": fields}])
    logs.write("m", message="also", timestamp=3, self=2)
    first, second = logs.search()
    assert first.fields == fields
    assert (second.message, second.fields) == ("m", {"message": "also", "timestamp": 3, "self": 2})


@pytest.mark.parametrize(
    ("given", "level"),
    [
        (None, None), ("info", "info"), ("WARNING", "warn"), ("Critical", "fatal"), ("notice", "info"),
        (logging.NOTSET, None), (5, "trace"), (logging.DEBUG, "debug"), (25, "info"), (logging.WARNING, "warn"),
        (logging.ERROR, "error"), (logging.CRITICAL, "fatal"), (2**40, "fatal"),
    ],
)  # fmt: skip
def test_a_level_is_a_name_or_a_number_of_logging(
    logs: Logs, given: str | int | None, level: str | None
) -> None:
    logs.write("x", level=given)
    logs.write_many([{"message": "x", "level": given}])
    assert [entry.level for entry in logs.search()] == [level, level]


def test_a_source_time_is_kept_as_it_was_sent(logs: Logs) -> None:
    pandas = pytest.importorskip("pandas")
    noon = 1_714_564_800_000_000_000
    times: list[Any] = [
        noon, -(2**63), datetime(2024, 5, 1, 14, tzinfo=timezone(timedelta(hours=2))),
        "2024-05-01T12:00:00.000000001Z", pandas.Timestamp(noon + 7, tz="UTC"),
    ]  # fmt: skip
    logs.write_many({"message": "x", "source_time": time} for time in times)
    found = [entry.source_time for entry in logs.search()]
    assert found == [noon, -(2**63), noon, noon + 1, noon + 7]
    # Rounded down, before 1970 too.
    assert [entry.source_datetime for entry in logs.search()][1] == datetime(
        1677, 9, 21, 0, 12, 43, 145_224, tzinfo=UTC
    )


REFUSED: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"field": object()}, TypeError, r'field "field": can\'t store a \'object\''),
    ({"price": Decimal(1)}, TypeError, 'field "price": .*Decimal'),
    ({"a": {"b": [{1: 2}]}}, TypeError, r'field "a"\[\'b\'\]\[0\]: key 1 must be a str, not \'int\''),
    ({"a": {None: 2}}, TypeError, "key None must be a str"),
    ({"a": datetime(2024, 1, 1)}, TypeError, 'field "a": .*no time zone'),
    ({"level": "loud"}, timestrata.InvalidArgumentError, '"loud": must be one of trace'),
    ({"level": -1}, timestrata.InvalidArgumentError, "level -1"),
    ({"level": True}, TypeError, "level must be a str such as 'warn'.*'bool'"),
    ({"level": 1.5}, TypeError, "'float'"),
    ({"source_time": 1.5}, TypeError, "not 'float'"),
    ({"source_time": 2**63}, OverflowError, "outside int64"),
    ({"source_time": "soon"}, timestrata.TimestrataError, "soon"),
    ({"labels": {"a b": "x"}}, timestrata.InvalidArgumentError, 'label "a b"'),
    ({"labels": {"a": 1}}, TypeError, "label \"a\" must be a str, not 'int'"),
    ({"labels": {1: "a"}}, TypeError, "labels must have names that are str"),
    ({"labels": ["a"]}, TypeError, "labels must be a mapping, not 'list'"),
    ({"labels": {f"k{n}": "" for n in range(17)}}, timestrata.InvalidArgumentError, "at most 16"),
]


@pytest.mark.parametrize(("parts", "kind", "message"), REFUSED)
def test_what_is_no_entry_is_refused_by_name(
    logs: Logs, parts: dict[str, Any], kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message):
        logs.write("x", **parts)
    own = {"level", "source_time", "labels"}
    entry = {name: part for name, part in parts.items() if name in own}
    entry["fields"] = {name: part for name, part in parts.items() if name not in own}
    with pytest.raises(kind, match=message) as caught:
        logs.write_many(["fine", "fine", {"message": "x", **entry}])
    assert "nothing was written; it stopped behind entry 2" in caught.value.__notes__[-1]
    assert len(logs) == 0


def test_text_that_is_no_unicode_is_refused(logs: Logs) -> None:
    writes: list[Callable[[], object]] = [
        lambda: logs.write("\ud800"),
        lambda: logs.write("x", labels={"a": "\ud800"}),
        lambda: logs.write_many([{"message": "\ud800"}]),
    ]
    for write in writes:
        with pytest.raises(UnicodeEncodeError):
            write()
    with pytest.raises(UnicodeEncodeError) as caught:
        logs.write("x", name={"a": ["\ud800"]})
    assert caught.value.__notes__ == ['it is in field "name"']
    assert len(logs) == 0


def test_what_is_too_long_is_refused_with_the_limit(store: Store) -> None:
    logs = store.logs("app", message_bytes_max=1_000)
    logs.write("x" * 1_000)
    for message, field in (("é" * 501, ""), ("x", "y" * 1_000)):
        with pytest.raises(timestrata.TooLargeError, match="at most 1000 are taken"):
            logs.write(message, field=field)
    with pytest.raises(timestrata.TooLargeError):
        logs.write_many([*"abc", "x" * 1_001])
    assert len(logs) == 1
    assert logs.message_bytes_max == 1_000


def test_many_entries_are_one_commit(store: Store) -> None:
    logs = store.logs("app", labels={"service": "api"})
    seq = store.sync()
    timestamps = logs.write_many(
        [
            "a message alone",
            {"message": "a mapping", "level": 20, "labels": {"host": "h"}, "fields": {"n": 1}},
            MappingProxyType({"message": "another", "level": None, "source_time": None, "fields": None}),
        ]
    )
    assert store.sync() == seq + 1
    entries = list(logs.search())
    assert list(timestamps) == [entry.timestamp for entry in entries]
    assert [entry.message for entry in entries] == ["a message alone", "a mapping", "another"]
    assert entries[1].labels == {"service": "api", "host": "h"}
    assert entries[2].labels == {"service": "api"}
    assert logs.write_many([]) == range(0)
    assert store.sync() == seq + 1


def test_entries_that_were_read_can_be_written_again(store: Store) -> None:
    source = store.logs("one", labels={"service": "api"})
    source.write("x", level="warn", source_time=5, n=2**64, nested={"a": [1.5]})
    copy = store.logs("two", labels={"service": "copy", "host": "h"})
    copy.write_many([*source.search(), *(entry.to_dict() for entry in source.search())])
    original = only(source)
    for entry in copy.search():
        assert entry.labels == {"service": "api", "host": "h"}
        assert entry.timestamp > original.timestamp
        expected = {**original.to_dict(), "timestamp": entry.timestamp, "labels": entry.labels}
        assert entry.to_dict() == expected


def test_what_is_no_list_of_entries_is_refused_whole(logs: Logs) -> None:
    def broken() -> Any:
        yield "first"
        raise RuntimeError("no more")

    wrong: list[tuple[Any, type[Exception], str]] = [
        (5, TypeError, "not iterable"),
        ([5], TypeError, "a str, a mapping or a LogEntry, not 'int'"),
        ([{}], timestrata.InvalidArgumentError, "no message"),
        ([{"message": None}], TypeError, "message must be a str, not 'NoneType'"),
        ([{"message": "x", "colour": 1}], timestrata.InvalidArgumentError, 'no part "colour"'),
        ([{"message": "x", 1: 2}], TypeError, "an entry must have names that are str"),
        ([{"message": "x", "fields": [1]}], TypeError, "fields must be a mapping"),
        (["x"] * 1_000 + [b"x"], TypeError, "not 'bytes'"),
        (broken(), RuntimeError, "no more"),
    ]
    for entries, kind, message in wrong:
        with pytest.raises(kind, match=message):
            logs.write_many(entries)
    assert len(logs) == 0


def test_a_mapping_that_changes_while_it_is_read_harms_nothing(logs: Logs) -> None:
    class Growing(tzinfo):
        def utcoffset(self, when: datetime | None) -> timedelta:
            fields[f"more{len(fields)}"] = 1
            return timedelta(0)

        def dst(self, when: datetime | None) -> None:
            return None

        def tzname(self, when: datetime | None) -> None:
            return None

    fields: dict[str, Any] = {"when": datetime(2024, 1, 1, tzinfo=Growing()), "last": 2}
    logs.write_many([{"message": "x", "fields": fields}])
    assert set(only(logs).fields) == {"when", "last"}


def test_an_entry_is_equal_to_itself_and_takes_no_changes(logs: Logs) -> None:
    logs.write_many(["x", "x"])
    [first, second], [again, _] = list(logs.search()), list(logs.search())
    assert first == again != second
    assert hash(first) == hash(again)
    assert (first == "x") is False
    first.fields["new"] = 1
    assert first.fields == {}
    with pytest.raises(AttributeError):
        first.message = "y"  # type: ignore[misc]


def test_an_object_of_a_log_may_have_more_labels(logs: Logs) -> None:
    more = logs.with_labels({"host": "h"})
    more.with_labels({"host": "i", "zone": "z"}).write("second")
    more.write("first")
    assert [entry.labels for entry in logs.search()] == [{"host": "i", "zone": "z"}, {"host": "h"}]
    assert (logs.labels, more.labels) == ({}, {"host": "h"})
    with pytest.raises(timestrata.InvalidArgumentError, match="label"):
        logs.with_labels({"": ""})
    labels: Mapping[str, str] = MappingProxyType({"a": "b"})
    assert logs.with_labels(labels).labels == {"a": "b"}


def test_a_log_is_opened_as_it_was_made(store: Store) -> None:
    made = store.logs("app", message_bytes_max=2_000, columns_max=3, retention_age=60.0)
    assert made.describe() == {
        "name": "app",
        "message_bytes_max": 2_000,
        "columns_max": 3,
        "columns": [],
        "retention_age": 60.0,
        "retention_bytes": None,
        "clock": "timestamp",
        "compression": "zstd",
    }
    assert store.logs("app").message_bytes_max == 2_000
    assert store.logs("app", retention_bytes=10**9, create=False).describe()["retention_age"] == 60.0
    made.set_retention(bytes=5 * 10**8)
    described = store.logs("app").describe()
    assert (described["retention_age"], described["retention_bytes"]) == (None, 5 * 10**8)
    with pytest.raises(timestrata.AlreadyExistsError):
        store.logs("app", columns_max=4)
    with pytest.raises(timestrata.NotFoundError):
        store.logs("other", create=False)
    with pytest.raises(timestrata.InvalidArgumentError, match="message_bytes_max"):
        store.logs("other", message_bytes_max=0)
    with pytest.raises(timestrata.InvalidArgumentError):
        store.logs("../other")
    store.timelog("door")
    with pytest.raises(timestrata.InvalidArgumentError, match="not a log"):
        store.logs("door")
    assert store.log_names() == ["app"]
    assert bool(made) and len(made) == 0
    assert repr(made) == '<Logs "app">'
    made.drop()
    assert store.log_names() == []


def test_what_is_nested_without_end_is_refused_and_harms_nothing(logs: Logs) -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    around: list[Any] = []
    around.append({"inside": around})
    for value in (deep, around):
        with pytest.raises(timestrata.InvalidDataError, match="nested deeper than 256 levels"):
            logs.write("x", field=value)
        with pytest.raises(timestrata.InvalidDataError, match="nested deeper than 256 levels"):
            logs.write_many(["fine", {"message": "x", "fields": {"field": value}}])
    nested: list[Any] = []
    for _ in range(200):
        nested = [nested]
    logs.write("x\0y", field=nested)
    [entry] = logs.search()
    assert (entry.message, entry.fields) == ("x\0y", {"field": nested})
