"""Ctrl-C is heard within a second, also where no Python code runs."""

import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import timestrata
from waiting import until

ChildOf = Callable[..., Any]


@pytest.mark.parametrize(
    "rest",
    [
        "zip(itertools.count(), itertools.repeat('x'))",  # C all the way
        "((n, 'x') for n in itertools.count())",
    ],
)
def test_a_long_extend_hears_ctrl_c_and_keeps_what_it_committed(
    path: Path, child: ChildOf, rest: str
) -> None:
    process = child(
        f"""
        import itertools, signal, sys, timestrata
        # A process that a shell has put in the background is deaf to it.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        def ready():
            yield 0, "x"
            print("ready")
        with timestrata.open(sys.argv[1]) as store:
            log = store.timelog("log")
            try:
                log.extend(itertools.chain(ready(), {rest}))
            except KeyboardInterrupt:
                print("heard", len(log))
        """,
        path,
    )
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=10)
    assert (process.returncode, errors) == (0, "")
    word, rows = output.split()
    assert word == "heard"
    with timestrata.open(path) as store:
        assert len(store.timelog("log")) == int(rows)


ENDLESS = [
    "SELECT count(*) FROM range(100000) a CROSS JOIN range(1000000000) b",
    "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n % 7 FROM r) SELECT max(n) FROM r",
    "SELECT count(*) FROM range(100000) a(x) JOIN range(1000000000) b(y) ON x + y < -1",
    "SELECT a.value FROM range(100000) a CROSS JOIN range(1000000000) b"
    " ORDER BY a.value + b.value LIMIT 3",
]


@pytest.mark.parametrize("query", ENDLESS)
def test_a_query_hears_ctrl_c_and_leaves_nothing(path: Path, child: ChildOf, query: str) -> None:
    process = child(
        f"""
        import signal, sys, threading, time, timestrata
        signal.signal(signal.SIGINT, signal.default_int_handler)
        with timestrata.open(sys.argv[1]) as store:
            def watch():
                begun = time.monotonic()
                while not any(query["steps"] > 100 for query in store.queries()):
                    assert time.monotonic() - begun < 30
                print("ready", flush=True)
            threading.Thread(target=watch).start()
            try:
                store.sql({query!r}).to_pylist()
            except KeyboardInterrupt:
                print("heard", flush=True)
                heard = time.monotonic()
                while store.queries():
                    assert time.monotonic() - heard < 30
                print(store.sql("SELECT 1 AS x").to_pylist(), flush=True)
        """,
        path,
    )
    assert process.stdout.readline() == "ready\n"
    sent = time.monotonic()
    process.send_signal(signal.SIGINT)
    assert process.stdout.readline() == "heard\n"
    # A second, and what a busy machine adds.
    assert time.monotonic() - sent < 5
    # By lines to the end: what was read ahead with one is lost to `communicate`.
    assert process.stdout.readline() == "[{'x': 1}]\n"
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (0, "")


@pytest.mark.parametrize("query", ENDLESS)
def test_a_query_ends_at_its_limit_of_time_or_by_its_number(query: str) -> None:
    with timestrata.open() as store:
        with pytest.raises(timestrata.TimedOutError, match="longer than 200 ms") as caught:
            store.sql(query, timeout=0.2).to_pylist()
        assert isinstance(caught.value, TimeoutError)
        until(lambda: not store.queries())

        def cancel() -> None:
            until(lambda: any(asked["steps"] > 100 for asked in store.queries()))
            (asked,) = store.queries()
            assert (asked["query"], asked["timeout"]) == (query, None)
            assert store.cancel_query(asked["id"])

        thread = threading.Thread(target=cancel)
        thread.start()
        with pytest.raises(timestrata.CancelledError, match="was cancelled"):
            store.sql(query).to_pylist()
        thread.join()
        until(lambda: not store.queries())
        assert not store.cancel_query(1)


def test_time_between_rows_is_not_the_querys() -> None:
    with timestrata.open() as store:
        rows = iter(store.sql("SELECT value FROM range(20000)", timeout="1m"))
        assert next(rows) == {"value": 0}
        (asked,) = store.queries()
        assert (asked["state"], asked["timeout"]) == ("waiting", 60.0)
        begun = time.monotonic()
        until(lambda: time.monotonic() > begun)
        assert store.queries()[0]["worked"] == asked["worked"]
        assert sum(1 for _ in rows) == 19_999
        until(lambda: not store.queries())
        with pytest.raises(timestrata.InvalidArgumentError, match="timeout"):
            store.sql("SELECT 1", timeout="soon")
