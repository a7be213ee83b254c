"""A `Timelog` agrees with a sorted list, whatever is done to it in whatever order.

On a failure hypothesis prints the steps and a line `@reproduce_failure(...)`, which runs them
again when it is put above the state machine.
"""

from __future__ import annotations

import array
import signal
import subprocess
import sys
import tempfile
from bisect import bisect_left, bisect_right
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

import timestrata

Row = tuple[int, object]
# Typed by hand: which options it takes is what is tested here.
Timelog: Any = timestrata.Timelog

LEAST, GREATEST = -(2**63), 2**63 - 1
# Few times, for many rows at one; both ends; and any.
TIMES = st.one_of(
    st.integers(-4, 4),
    st.sampled_from([LEAST, LEAST + 1, LEAST + 2, GREATEST - 2, GREATEST - 1, GREATEST]),
    st.integers(LEAST, GREATEST),
)
MANY_TIMES = st.lists(TIMES, max_size=12)
ENDS = st.one_of(st.none(), TIMES)
HELD_MAX = 4


class Model:
    """Rows in order of time, and of their coming among those of one time."""

    def __init__(self) -> None:
        self.rows: list[Row] = []

    def insert(self, row: Row) -> None:
        self.rows.insert(bisect_right(self.rows, row[0], key=lambda each: each[0]), row)

    def place(self, time: int) -> int:
        return bisect_left(self.rows, time, key=lambda row: row[0])

    def between(self, start: int | None, stop: int | None) -> slice:
        low = 0 if start is None else self.place(start)
        high = len(self.rows) if stop is None else self.place(stop)
        return slice(low, max(low, high))

    def at(self, time: int) -> slice:
        return slice(self.place(time), bisect_right(self.rows, time, key=lambda row: row[0]))


class LogMachine(RuleBasedStateMachine):
    """What every kind of log does."""

    def __init__(self) -> None:
        super().__init__()
        self.model = Model()
        self.count = 0
        self.held: list[tuple[Any, list[Row]]] = []
        self.log = self.open()

    def open(self) -> Any:
        raise NotImplementedError

    def value(self) -> object:
        """One that no other row has, as text or as a number."""
        self.count += 1
        return self.count if self.count % 2 else f"value {self.count}"

    def rows_at(self, times: list[int]) -> list[Row]:
        rows = [(time, self.value()) for time in times]
        for row in rows:
            self.model.insert(row)
        return rows

    # Writes

    @rule(time=TIMES)
    def append(self, time: int) -> None:
        ((time, value),) = self.rows_at([time])
        self.log.append(time, value)

    @rule(time=TIMES)
    def append_by_name(self, time: int) -> None:
        ((time, value),) = self.rows_at([time])
        self.log.append(value, ts=time)

    @rule(time=TIMES)
    def set_item(self, time: int) -> None:
        ((time, value),) = self.rows_at([time])
        self.log[time] = value

    @precondition(lambda self: self.model.rows)
    @rule(back=st.integers(0, 5))
    def append_late(self, back: int) -> None:
        newest = self.model.rows[-1][0]
        ((time, value),) = self.rows_at([max(LEAST, newest - back)])
        self.log.append(time, value)

    @rule(time=TIMES, count=st.integers(2, 40))
    def append_many_of_one_time(self, time: int, count: int) -> None:
        for row in self.rows_at([time] * count):
            self.log.append(*row)

    @rule(times=MANY_TIMES, is_lazy=st.booleans())
    def extend_by_pairs(self, times: list[int], is_lazy: bool) -> None:
        rows = self.rows_at(times)
        self.log.extend(iter(rows) if is_lazy else rows)

    @rule(times=MANY_TIMES)
    def extend_by_columns(self, times: list[int]) -> None:
        rows = self.rows_at(times)
        self.log.extend([time for time, _ in rows], [value for _, value in rows])

    @rule(times=MANY_TIMES)
    def bulk_append(self, times: list[int]) -> None:
        rows = self.rows_at(times)
        self.log.bulk_append(array.array("q", times), [value for _, value in rows])

    @rule(start=st.integers(-50, 50), count=st.integers(100, 400))
    def extend_by_a_run_in_order(self, start: int, count: int) -> None:
        self.log.extend(self.rows_at(list(range(start, start + count))))

    # Deletes

    @rule(time=TIMES, as_item=st.booleans())
    def delete_a_time(self, time: int, as_item: bool) -> None:
        if as_item:
            del self.log[time]
        else:
            self.log.delete(time)
        del self.model.rows[self.model.at(time)]

    @rule(one=TIMES, other=TIMES)
    def delete_a_range(self, one: int, other: int) -> None:
        start, stop = min(one, other), max(one, other)
        self.log.delete(start, stop)
        del self.model.rows[self.model.between(start, stop)]

    @rule(one=ENDS, other=ENDS)
    def delete_a_slice(self, one: int | None, other: int | None) -> None:
        if one is not None and other is not None:
            one, other = min(one, other), max(one, other)
        del self.log[one:other]
        del self.model.rows[self.model.between(one, other)]

    @rule(time=TIMES)
    def cut_off(self, time: int) -> None:
        self.log.cutoff(time)
        del self.model.rows[self.model.between(None, time)]

    # Upkeep

    @rule()
    def flush(self) -> None:
        self.log.flush()

    @rule()
    def compact(self) -> None:
        self.log.compact()

    # Reads

    @rule(start=ENDS, stop=ENDS)
    def read_a_slice(self, start: int | None, stop: int | None) -> None:
        expected = self.model.rows[self.model.between(start, stop)]
        entries = self.log[start:stop]
        assert len(entries) == len(expected)
        assert list(entries) == expected

    @rule(time=TIMES)
    def read_a_time(self, time: int) -> None:
        expected = [value for _, value in self.model.rows[self.model.at(time)]]
        assert self.log.at(time) == self.log[time] == expected
        assert (time in self.log) == bool(expected)

    @rule(time=TIMES)
    def read_neighbours(self, time: int) -> None:
        here = self.model.at(time)
        after = [at for at, _ in self.model.rows[here.stop : here.stop + 1]]
        before = [at for at, _ in self.model.rows[: here.start][-1:]]
        assert self.log.next_ts(time) == (after[0] if after else None)
        assert self.log.prev_ts(time) == (before[0] if before else None)

    @rule(count=st.integers(0, 20))
    def read_the_ends(self, count: int) -> None:
        rows = self.model.rows
        assert self.log.first(count) == rows[:count]
        assert self.log.last(count) == (rows[-count:] if count else [])

    @rule()
    def read_backwards(self) -> None:
        assert list(reversed(self.log)) == self.model.rows[::-1]

    @rule(start=TIMES, stop=TIMES)
    def read_a_logical_view(self, start: int, stop: int) -> None:
        start, stop = min(start, stop), max(start, stop)
        for views, expected in (
            (self.log.views(kind="logical"), self.model.rows),
            (
                self.log.views(start, stop, kind="logical"),
                self.model.rows[self.model.between(start, stop)],
            ),
        ):
            found: list[Row] = []
            for span in views:
                found += zip(span.copy_timestamps(), span.objects().copy(), strict=True)
            assert found == expected

    @precondition(lambda self: len(self.held) < HELD_MAX)
    @rule(start=ENDS, stop=ENDS, backwards=st.booleans())
    def hold_an_iterator(self, start: int | None, stop: int | None, backwards: bool) -> None:
        """What it gives is settled now, whatever comes before it is read."""
        if backwards:
            self.held.append((reversed(self.log), self.model.rows[::-1]))
        else:
            expected = self.model.rows[self.model.between(start, stop)]
            self.held.append((self.log[start:stop], expected))

    @precondition(lambda self: self.held)
    @rule(data=st.data(), count=st.integers(1, 30))
    def read_on(self, data: st.DataObject, count: int) -> None:
        place = data.draw(st.integers(0, len(self.held) - 1))
        entries, expected = self.held[place]
        assert entries.next_batch(count) == expected[:count]
        self.held[place] = (entries, expected[count:])

    @precondition(lambda self: self.held)
    @rule()
    def read_to_the_end(self) -> None:
        self.finish_held()

    def finish_held(self) -> None:
        for entries, expected in self.held:
            assert list(entries) == expected
            entries.close()
        self.held.clear()

    @invariant()
    def agrees_at_a_glance(self) -> None:
        rows = self.model.rows
        assert len(self.log) == len(rows)
        assert bool(self.log) == bool(rows)
        assert self.log.min_ts() == (rows[0][0] if rows else None)
        assert self.log.max_ts() == (rows[-1][0] if rows else None)

    def teardown(self) -> None:
        try:
            self.finish_held()
            assert list(self.log) == self.model.rows
            self.log.validate()
        finally:
            self.held.clear()
            self.log.close()


class MemoryMachine(LogMachine):
    """In memory, with a memtable so small that it is often full."""

    options: dict[str, Any] = {"memtable_max_bytes": 24 * 16, "target_page_bytes": 256}

    def open(self) -> Any:
        return Timelog(busy_policy="flush", **self.options)

    @rule()
    def reopen_empty(self) -> None:
        self.finish_held()
        self.log.close()
        self.log.reopen(busy_policy="flush", **self.options)
        self.model.rows.clear()


class BackgroundMachine(MemoryMachine):
    """With a worker that flushes and compacts when it likes."""

    options = {**MemoryMachine.options, "maintenance": "background", "maintenance_wakeup_ms": 1}

    @rule()
    def pause_maintenance(self) -> None:
        self.log.stop_maintenance()

    @rule()
    def resume_maintenance(self) -> None:
        self.log.start_maintenance()


class ManualMachine(MemoryMachine):
    """With maintenance step by step."""

    options = {**MemoryMachine.options, "maintenance": "disabled", "max_delta_segments": 2}

    @rule(steps=st.integers(1, 4))
    def step(self, steps: int) -> None:
        for _ in range(steps):
            assert type(self.log.maint_step()) is bool

    @rule()
    def flush_and_compact_to_the_end(self) -> None:
        self.log.flush()
        self.log.compact()
        while self.log.maint_step():
            pass


class DurableMachine(LogMachine):
    """On disk: closing and opening again changes nothing."""

    def __init__(self) -> None:
        self.folder = tempfile.TemporaryDirectory(prefix="timelog-model-")
        super().__init__()

    def open(self) -> Any:
        return Timelog(path=Path(self.folder.name) / "store")

    @rule()
    def reopen(self) -> None:
        self.finish_held()
        self.log.close()
        assert self.log.closed
        self.log = self.open()
        assert list(self.log) == self.model.rows

    @rule()
    def let_go_and_open(self) -> None:
        """Without a close: the last reference does it."""
        self.finish_held()
        del self.log
        self.log = self.open()
        assert list(self.log) == self.model.rows

    def teardown(self) -> None:
        super().teardown()
        self.folder.cleanup()


class TypedMachine(DurableMachine):
    """On disk, in columns."""

    def open(self) -> Any:
        path = Path(self.folder.name) / "store"
        return Timelog(path=path, codec="arrow", schema={"n": "int64", "text": "string"})

    def value(self) -> object:
        self.count += 1
        text = None if self.count % 3 == 0 else f"value {self.count}"
        return {"n": self.count, "text": text}


@pytest.mark.parametrize(
    ("machine", "examples"),
    [(BackgroundMachine, 60), (ManualMachine, 60), (DurableMachine, 25), (TypedMachine, 25)],
    ids=[
        "in memory, maintained in the background",
        "in memory, maintained by hand",
        "durable",
        "durable, in columns",
    ],
)
def test_a_log_agrees_with_a_sorted_list(machine: type[LogMachine], examples: int) -> None:
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=40,
            deadline=None,
            database=None,
            print_blob=True,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
        ),
    )


WRITER = """
import itertools, sys, timestrata
log = timestrata.Timelog(path=sys.argv[1])
first = int(sys.argv[2])
print("open")
for n in itertools.count(first):
    if n % 50 == 49:
        log.flush()
    if n % 20 == 19:
        log.extend([(n, f"{n}.{part}") for part in range(5)])
    elif n % 20 == 9:
        log.delete(n - 3)
    elif n % 3:
        log.append(n, n)
    else:
        log.append(-n, str(n))
    print(n)
"""


def rows_of(n: int) -> list[Row]:
    """What the writer's step leaves, deletes aside."""
    if n % 20 == 19:
        return [(n, f"{n}.{part}") for part in range(5)]
    if n % 20 == 9:
        return []
    return [(n, n)] if n % 3 else [(-n, str(n))]


def rows_after(steps: int) -> list[Row]:
    """All rows after as many steps, in the order of the log."""
    model = Model()
    for n in range(steps):
        for row in rows_of(n):
            model.insert(row)
        if n % 20 == 9:
            del model.rows[model.at(n - 3)]
    return model.rows


def test_a_log_killed_again_and_again_loses_nothing_acknowledged(tmp_path: Path) -> None:
    path = tmp_path / "store"
    done = 0
    for acknowledged in (1, 120, 37, 400):
        with subprocess.Popen(
            [sys.executable, "-u", "-c", WRITER, str(path), str(done)],
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            try:
                assert process.stdout is not None
                assert process.stdout.readline() == "open\n"
                said = [process.stdout.readline() for _ in range(acknowledged)]
                process.send_signal(signal.SIGKILL)
                # A last line may be torn; whole ones were acknowledged.
                said += process.stdout.read().split("\n")[:-1]
            finally:
                process.kill()
        done = int(said[-1]) + 1
        with Timelog(path=path) as log:
            # Of the step under way all or nothing is there.
            found = list(log)
            if found != rows_after(done):
                done += 1
            assert found == rows_after(done)
            assert len(log) == len(found)
