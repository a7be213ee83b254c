"""Ctrl-C is heard within a second, also where no Python code runs."""

import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import timestrata

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
