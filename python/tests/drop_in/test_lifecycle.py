"""Closing ends a log and all it holds; reopening begins anew; readers stand in the way."""

import array
import copy
import gc
import pickle
import weakref
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

Make = Callable[..., Any]


class Payload:
    """An object that weak references can watch."""


USES: dict[str, Callable[[Any], object]] = {
    "append": lambda log: log.append(1, "a"),
    "append now": lambda log: log.append("a"),
    "extend": lambda log: log.extend([(1, "a")]),
    "extend by nothing": lambda log: log.extend([]),
    "extend by columns": lambda log: log.extend([1], ["a"]),
    "extend checked": lambda log: log.extend([(1, "a")], insert_on_error=False),
    "bulk_append": lambda log: log.bulk_append(array.array("q", [1]), ["a"]),
    "set item": lambda log: log.__setitem__(1, "a"),
    "delete": lambda log: log.delete(1),
    "delete range": lambda log: log.delete(1, 2),
    "delete_range": lambda log: log.delete_range(1, 2),
    "delete_before": lambda log: log.delete_before(1),
    "cutoff": lambda log: log.cutoff(1),
    "del item": lambda log: log.__delitem__(1),
    "del slice": lambda log: log.__delitem__(slice(1, 2)),
    "item": lambda log: log[1],
    "at": lambda log: log.at(1),
    "slice": lambda log: log[1:2],
    "slice of all": lambda log: log[:],
    "iter": lambda log: iter(log),
    "all": lambda log: log.all(),
    "range": lambda log: log.range(1, 2),
    "since": lambda log: log.since(1),
    "until": lambda log: log.until(1),
    "equal": lambda log: log.equal(1),
    "point": lambda log: log.point(1),
    "len": lambda log: len(log),
    "bool": lambda log: bool(log),
    "in": lambda log: 1 in log,
    "min_ts": lambda log: log.min_ts(),
    "max_ts": lambda log: log.max_ts(),
    "next_ts": lambda log: log.next_ts(1),
    "prev_ts": lambda log: log.prev_ts(1),
    "views": lambda log: log.views(),
    "page_spans": lambda log: log.page_spans(1, 2),
    "flush": lambda log: log.flush(),
    "compact": lambda log: log.compact(),
    "maint_step": lambda log: log.maint_step(),
    "start_maintenance": lambda log: log.start_maintenance(),
    "stop_maintenance": lambda log: log.stop_maintenance(),
    "validate": lambda log: log.validate(),
    "stats": lambda log: log.stats(),
    "to_dict": lambda log: log.to_dict(),
    "enter": lambda log: log.__enter__(),
}


@pytest.mark.parametrize("use", USES)
def test_a_closed_log_refuses_every_use(
    log: Any, peer_module: ModuleType, use: str
) -> None:
    log.append(1, "a")
    log.close()
    with pytest.raises(peer_module.TimelogError, match=r"^Timelog is closed$"):
        USES[use](log)


def test_a_closed_log_refuses_an_export_to_numpy(
    log: Any, peer_module: ModuleType, numpy: Any
) -> None:
    log.close()
    with pytest.raises(peer_module.TimelogError, match=r"^Timelog is closed$"):
        log.to_numpy()


@pytest.mark.ours("has none of these")
@pytest.mark.parametrize("use", ["first", "last", "reversed", "views"])
def test_a_closed_log_refuses_what_we_add_too(
    log: Any, peer_module: ModuleType, use: str
) -> None:
    uses: dict[str, Callable[[], object]] = {
        "first": lambda: log.first(),
        "last": lambda: log.last(3),
        "reversed": lambda: reversed(log),
        "views": lambda: log.views(kind="logical"),
    }
    log.close()
    with pytest.raises(peer_module.TimelogError, match=r"^Timelog is closed$"):
        uses[use]()


def test_properties_are_there_after_close(make: Make) -> None:
    log = make(time_unit="us", busy_policy="silent", min_ts=7)
    log.close()
    assert log.closed
    assert log.time_unit == "us"
    assert log.maintenance_mode == "disabled"
    assert log.busy_policy == "silent"
    assert log.min_ts_floor == 7
    assert (log.retired_queue_len, log.alloc_failures) == (0, 0)
    assert (log.busy_events, log.extend_skipped) == (0, 0)
    assert "closed" in repr(log)


def test_properties_are_not_set(log: Any) -> None:
    for name in ("closed", "time_unit", "maintenance_mode", "busy_policy", "min_ts_floor"):
        with pytest.raises(AttributeError):
            setattr(log, name, None)


def test_errors_in_arguments_come_before_the_closed_error_in_append(
    make: Make, peer_module: ModuleType
) -> None:
    log = make(min_ts=5)
    log.close()
    with pytest.raises(TypeError, match="bool not allowed"):
        log.append(True, "a")
    with pytest.raises(TypeError):
        log.append(1.5, "a")
    with pytest.raises(TypeError):
        log.append()
    with pytest.raises(OverflowError):
        log.append(2**63, "a")
    with pytest.raises(ValueError, match="below min_ts boundary"):
        log.append(1, "a")
    with pytest.raises(ValueError, match="below min_ts boundary"):
        log[1] = "a"
    with pytest.raises(peer_module.TimelogError):
        log.append(7, "a")


def test_close_is_idempotent_and_lets_every_object_go(log: Any) -> None:
    payloads = [Payload() for _ in range(20)]
    watched = [weakref.ref(payload) for payload in payloads]
    log.extend(range(10), payloads[:10])
    log.flush()
    log.extend(range(10, 20), payloads[10:])
    del payloads
    assert all(watch() is not None for watch in watched)
    log.close()
    log.close()
    gc.collect()
    assert all(watch() is None for watch in watched)


@pytest.mark.parametrize(
    "reader",
    ["all", "slice", "views", "span", "objects", "memoryview", "memoryview of the span"],
)
def test_an_open_reader_stands_in_the_way_of_close(
    log: Any, peer_module: ModuleType, reader: str
) -> None:
    readers: dict[str, Callable[[], Any]] = {
        "all": lambda: log.all(),
        "slice": lambda: log[1:2],
        "views": lambda: log.views(),
        "span": lambda: next(log.views()),
        "objects": lambda: next(log.views()).objects(),
        "memoryview": lambda: next(log.views()).timestamps,
        "memoryview of the span": lambda: memoryview(next(log.views())),
    }
    log.append(1, "a")
    log.flush()
    held = readers[reader]()
    gc.collect()
    with pytest.raises(peer_module.TimelogError, match="Cannot close: 1 active") as caught:
        log.close()
    del caught
    assert not log.closed
    assert log[1] == ["a"]
    del held
    gc.collect()
    log.close()
    assert log.closed


def test_the_refusal_counts_the_readers(log: Any, peer_module: ModuleType) -> None:
    log.extend([(1, "a"), (2, "b")])
    held = [log.all(), log[1:2], iter(log)]
    with pytest.raises(peer_module.TimelogError, match="Cannot close: 3 active"):
        log.close()
    held[0].close()
    assert list(held[1]) == [(1, "a")]  # exhausted
    with pytest.raises(peer_module.TimelogError, match="Cannot close: 1 active"):
        log.close()
    held.clear()
    log.close()


def test_a_reader_of_an_empty_log_counts_too(log: Any, peer_module: ModuleType) -> None:
    reader = iter(log)
    with pytest.raises(peer_module.TimelogError, match="Cannot close: 1 active"):
        log.close()
    reader.close()
    log.close()


def test_an_array_over_a_span_stands_in_the_way_of_close(
    log: Any, peer_module: ModuleType, numpy: Any
) -> None:
    log.extend(range(5), range(5))
    log.flush()
    times = numpy.asarray(next(log.views()).timestamps)
    gc.collect()
    with pytest.raises(peer_module.TimelogError, match="Cannot close: 1 active"):
        log.close()
    assert times.tolist() == [0, 1, 2, 3, 4]
    del times
    gc.collect()
    log.close()


def test_with_closes_at_its_end(make: Make) -> None:
    log = make()
    with log as entered:
        assert entered is log
        log.append(1, "a")
    assert log.closed
    with pytest.raises(KeyError, match="body"):
        with make() as log:
            raise KeyError("body")
    assert log.closed


def test_the_error_of_close_does_not_hide_the_error_of_the_body(
    make: Make, peer_module: ModuleType
) -> None:
    log = make()
    with pytest.raises(KeyError, match="body"):
        with log:
            reader = iter(log)
            raise KeyError("body")
    assert not log.closed
    reader.close()
    with pytest.raises(peer_module.TimelogError, match="Cannot close"):
        with log:
            reader = iter(log)
    reader.close()
    log.close()


def test_entering_starts_stopped_maintenance(peer_module: ModuleType) -> None:
    log = peer_module.Timelog(maintenance="background")
    log.stop_maintenance()
    with log as entered:
        assert entered is log
        log.start_maintenance()
        log.append(1, "a")
    assert log.closed


def test_reopening_begins_empty(make: Make) -> None:
    log = make(time_unit="ns", busy_policy="flush", min_ts=5, mostly_ordered_default=False)
    log.append(7, "a")
    log.flush()
    log.close()
    assert log.reopen() is None
    assert not log.closed
    assert list(log) == []
    # What is about rows stays, all else falls back.
    assert log.min_ts_floor == 5
    assert log.stats()["config"] == {
        "time_unit": "ms",
        "maintenance": "background",
        "busy_policy": "raise",
        "min_ts": 5,
        "mostly_ordered_default": False,
    }
    with pytest.raises(ValueError, match=r"timestamp 4 is below min_ts boundary \(5\)"):
        log.append(4, "a")
    log.append(5, "b")
    assert list(log) == [(5, "b")]
    log.close()
    log.reopen(min_ts=None, mostly_ordered_default=True, time_unit="s", maintenance="disabled")
    assert (log.min_ts_floor, log.time_unit) == (None, "s")
    assert log.stats()["config"]["mostly_ordered_default"] is True
    log.close()
    log.configure(min_ts=9)
    assert log.min_ts_floor == 9
    log.close()


def test_only_a_closed_log_reopens(log: Any, peer_module: ModuleType) -> None:
    log.append(1, "a")
    for again in (log.reopen, log.configure):
        with pytest.raises(peer_module.TimelogError, match="must be closed to reopen"):
            again()
    assert list(log) == [(1, "a")]


def test_a_refused_reopening_leaves_the_log_closed(log: Any) -> None:
    log.close()
    with pytest.raises(TypeError, match="colour"):
        log.reopen(colour=1)
    with pytest.raises(ValueError):
        log.reopen(time_unit="weekly")
    with pytest.raises(TypeError, match="mostly_ordered_default must be bool"):
        log.reopen(mostly_ordered_default=1)
    with pytest.raises(TypeError, match="bool not allowed"):
        log.reopen(min_ts=True)
    with pytest.raises(TypeError):
        log.reopen(5)
    assert log.closed
    log.reopen()
    log.close()


def test_a_closed_log_can_be_initialised_again(make: Make) -> None:
    log = make(min_ts=5)
    log.append(7, "a")
    log.close()
    log.__init__(maintenance="disabled")
    assert (log.closed, log.min_ts_floor, list(log)) == (False, None, [])


def test_a_log_has_no_attributes_of_its_own_but_a_subclass_may(
    log: Any, peer_module: ModuleType
) -> None:
    with pytest.raises(AttributeError):
        log.colour = "red"

    class Tagged(peer_module.Timelog):  # type: ignore[name-defined, misc]
        def __init__(self, tag: str, **options: Any) -> None:
            super().__init__(**options)
            self.tag = tag

    tagged = Tagged("door", maintenance="disabled")
    tagged.colour = "red"
    tagged.append(1, "a")
    assert (tagged.tag, tagged.colour, list(tagged)) == ("door", "red", [(1, "a")])
    assert repr(tagged).startswith("<Tagged")


def test_a_log_is_itself_and_no_other(make: Make) -> None:
    one, other = make(), make()
    assert one == one
    assert one != other
    assert {one: 1, other: 2}[one] == 1
    assert hash(one) == hash(one)


def test_a_log_is_neither_copied_nor_pickled(log: Any) -> None:
    for refused in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError):
            refused(log)


def test_a_log_that_is_let_go_closes_itself(make: Make) -> None:
    log = make()
    payload = Payload()
    log.append(1, payload)
    watched, seen = weakref.ref(payload), weakref.ref(log)
    del payload
    assert seen() is log
    del log
    gc.collect()
    assert (seen(), watched()) == (None, None)


def test_an_iterator_keeps_its_log_alive(make: Make) -> None:
    log = make()
    log.extend([(1, "a"), (2, Payload())])
    seen = weakref.ref(log)
    reader = iter(log)
    del log
    gc.collect()
    assert seen() is not None
    assert [time for time, _ in reader] == [1, 2]
    del reader
    gc.collect()
    assert seen() is None


def test_a_repr_is_one_short_line(log: Any) -> None:
    assert repr(log).startswith("<Timelog")
    log.extend(range(5), ["x" * 10_000] * 5)
    assert "\n" not in repr(log)
    assert len(repr(log)) < 200
    log.close()
    assert repr(log) == "<Timelog closed>"
