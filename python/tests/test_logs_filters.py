"""Filters are the language's: the same entries by every question, and mistakes are told with their place."""

from collections.abc import Callable

import pytest

import timestrata
from timestrata import Logs, Store


@pytest.fixture
def logs(store: Store) -> Logs:
    logs = store.logs("app", labels={"service": "api"})
    logs.write("request served", level="info", status=200, path="/index.html", took_ms=1.5)
    logs.write("request failed with an error", level="error", status=503, path="/api/users")
    logs.write("disk is nearly full", level="warn", labels={"service": "disk"}, device={"name": "sda1"})
    logs.write("error: disk is full", level="fatal", labels={"service": "disk"}, session=None)
    logs.write("no level", status="5xx", flag=True, big=2**70)
    return logs


FOUND = [
    ("", [0, 1, 2, 3, 4]),
    ("*", [0, 1, 2, 3, 4]),
    ("error", [1, 3]),
    ("level>=warn", [1, 2, 3]),
    ("level>=warn error status:5*", [1]),
    ("status:5*", [1, 4]),
    # Texts stand in the order of their bytes.
    ("status>=500", [1, 4]),
    ("status=503", [1]),
    ("service:disk not level:fatal", [2]),
    ('"disk is full" or took_ms=1.5', [0, 3]),
    ("device.name=sda1", [2]),
    ("message:/^no |FAILED/i", [1, 4]),
    ("flag=true", [4]),
    ("level=null", [4]),
    ("session=null", [0, 1, 2, 3, 4]),
    ("timestamp<2020-01-01", []),
]


@pytest.mark.parametrize("state", ["in memory", "in runs", "compacted"])
def test_every_question_takes_the_same_filters(logs: Logs, state: str) -> None:
    if state != "in memory":
        logs.flush()
    if state == "compacted":
        logs.compact()
    everything = list(logs.search())
    for filter, numbers in FOUND:
        expected = [everything[number] for number in numbers]
        assert list(logs.search(filter)) == expected, filter
        assert list(logs.search(filter, newest_first=True)) == expected[::-1], filter
        assert logs.count(filter) == len(expected), filter
        assert sum(bucket.count for bucket in logs.histogram(filter)) == len(expected), filter
        levels = sum(facet.count for facet in logs.facets(filter, fields="level"))
        assert levels == sum(entry.level is not None for entry in expected), filter
        tail = logs.tail(filter, after=0)
        assert tail._fill(0)
        assert [tail._take() for _ in expected] == expected, filter
        assert tail._take() is None


def test_a_filter_with_a_mistake_is_refused_with_its_place(logs: Logs) -> None:
    message = "filter, line 1, column 13: expected a level.*found 'loud'\n  disk level>=loud\n +\\^"
    asks: list[Callable[[str], object]] = [
        logs.search,
        logs.count,
        logs.histogram,
        logs.facets,
        logs.tail,
    ]
    for ask in asks:
        with pytest.raises(timestrata.InvalidArgumentError, match=message) as caught:
            ask("disk level>=loud")
        assert isinstance(caught.value, ValueError)
    for wrong in ("(disk", "disk)", 'a:"b', "status>=", "/(/", "or"):
        with pytest.raises(timestrata.InvalidArgumentError, match="line 1"):
            logs.search(wrong)


def test_a_filter_is_shown_in_its_agreed_form(logs: Logs) -> None:
    shown = repr(logs.search("level >= warn AND (disk OR -full)"))
    assert shown == '<LogEntries of "app" "level>=warn (disk or not full)">'
