"""Stored objects are seen by Python's collector and let go when nothing can read them."""

import gc
import weakref
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

Make = Callable[..., Any]


class Payload:
    """Something that may point back at the log that holds it."""

    held: Any


def settle(log: Any) -> None:
    log.flush()
    log.compact()
    while log.maint_step():
        pass


HELD: dict[str, Callable[[Any], Any]] = {
    "the log": lambda log: log,
    "an iterator": lambda log: iter(log),
    "a used iterator": lambda log: (lambda entries: (next(entries), entries))(log.all()),
    "an iterator of spans": lambda log: log.views(),
    "a span": lambda log: next(log.views()),
    "objects of a span": lambda log: next(log.views()).objects(),
    "an iterator of objects": lambda log: iter(next(log.views()).objects()),
    "a used iterator of objects": lambda log: (
        lambda objects: (next(objects), objects)
    )(iter(next(log.views()).objects())),
    "a bound method": lambda log: log.append,
    "a closure": lambda log: lambda: log,
}


@pytest.mark.parametrize("held", HELD)
@pytest.mark.parametrize("flushed", [False, True])
def test_a_cycle_through_a_log_is_collected(make: Make, held: str, flushed: bool) -> None:
    log = make()
    payload = Payload()
    log.extend([(1, "other"), (2, payload), (3, [payload])])
    if flushed or "span" in held or "objects" in held:
        log.flush()
    payload.held = HELD[held](log)
    watched, seen = weakref.ref(payload), weakref.ref(log)
    del payload, log
    gc.collect()
    gc.collect()
    assert (watched(), seen()) == (None, None)


def test_a_cycle_through_a_subclass_is_collected(peer_module: ModuleType) -> None:
    class Mine(peer_module.Timelog):  # type: ignore[name-defined, misc]
        pass

    mine = Mine(maintenance="disabled")
    mine.me = mine
    mine.append(1, mine)
    seen = weakref.ref(mine)
    del mine
    gc.collect()
    assert seen() is None


def test_a_cycle_of_two_logs_is_collected(make: Make) -> None:
    one, other = make(), make(maintenance="background")
    one.append(1, other)
    other.append(1, one)
    seen = [weakref.ref(one), weakref.ref(other)]
    del one, other
    gc.collect()
    assert [watch() for watch in seen] == [None, None]


def test_the_collector_sees_what_a_log_holds(log: Any) -> None:
    payload = Payload()
    log.append(1, payload)
    log.flush()
    log.append(2, payload)
    assert gc.is_tracked(log)
    assert sum(each is payload for each in gc.get_referents(log)) >= 1


def test_what_is_reachable_is_never_collected(make: Make) -> None:
    log = make()
    for n in range(1_000):
        payload = Payload()
        payload.held = log
        log.append(n, payload)
        if n % 100 == 0:
            log.flush()
            gc.collect()
    del payload
    gc.collect()
    assert len(log) == 1_000
    assert all(value.held is log for _, value in log)


def test_collecting_while_rows_come_and_go_is_safe(run_alone: Callable[[str], str]) -> None:
    said = run_alone(
        """
        import gc
        gc.set_threshold(50)
        class Payload: pass
        for turn in range(20):
            log = module.Timelog(maintenance="disabled", busy_policy="flush")
            for n in range(500):
                payload = Payload()
                payload.log = log
                payload.entries = log.all() if n % 7 == 0 else None
                log.append(n * 37 % 101, payload)
                if n % 50 == 0:
                    log.flush()
                    payload.spans = list(log.views())
                if n % 90 == 0:
                    log.delete(0, 50)
            del payload, log
        gc.collect()
        print("done")
        """
    )
    assert said == "done\n"


def test_objects_are_let_go_after_delete_and_compaction(log: Any) -> None:
    payloads = [Payload() for _ in range(100)]
    watched = [weakref.ref(payload) for payload in payloads]
    log.extend(range(50), payloads[:50])
    log.flush()
    log.extend(range(50, 100), payloads[50:])
    del payloads
    log.delete(20, 70)
    settle(log)
    gc.collect()
    alive = [n for n, watch in enumerate(watched) if watch() is not None]
    assert alive == [*range(20), *range(70, 100)]
    assert log.retired_queue_len == 0


def test_an_iterator_holds_what_it_can_still_give(log: Any) -> None:
    payload = Payload()
    watched = weakref.ref(payload)
    log.append(1, payload)
    del payload
    entries = iter(log)
    log.delete(1)
    settle(log)
    gc.collect()
    assert watched() is not None
    assert next(entries) == (1, watched())
    entries.close()
    del entries
    settle(log)
    gc.collect()
    assert watched() is None


def test_a_finalizer_may_use_its_log(make: Make) -> None:
    said: list[object] = []

    class Last:
        def __del__(self) -> None:
            try:
                said.append(len(log))
                log.append(99, "from a finalizer")
            except Exception as error:
                said.append(type(error).__name__)

    log = make()
    log.append(1, Last())
    log.delete(1)
    settle(log)
    gc.collect()
    assert len(said) == 1
    said.clear()
    log.append(2, Last())
    log.close()
    gc.collect()
    assert said == ["TimelogError"]


def test_objects_left_in_logs_at_exit_do_no_harm(run_alone: Callable[[str], str]) -> None:
    said = run_alone(
        """
        class Payload:
            def __del__(self): pass
        logs = []
        for mode in ("background", "disabled"):
            log = module.Timelog(maintenance=mode)
            log.extend((n, Payload()) for n in range(100))
            log.flush()
            logs.append((log, iter(log), next(log.views())))
        print("done")
        """
    )
    assert said == "done\n"
