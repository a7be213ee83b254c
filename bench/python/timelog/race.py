"""Lets both sides do the same, in turns, and compares what they give and what it took.

Each turn begins with the other side than the turn before. An answer that differs is an error
and no figure: a fast wrong answer is worth nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.python.common.race import DiffersError, same
from bench.python.common.report import Measure
from bench.python.common.run import Run
from bench.python.common.sample import median, quiet, repeats_for, seconds_of, timed
from bench.python.timelog.data import Book
from bench.python.timelog.sides import Log, Side, settle

SCALE = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}
BATCH_ROWS = 10_000
# Short runs are repeated up to so often, as long as one side's take less than this together:
# the machine's own unrest lasts longer than one of them.
TURNS_MAX, TURNS_S = 25, 0.6
# A first run that takes longer tells well enough how long a warm one will.
WARM_S = 0.1
# What a row takes, roughly, to be stored and made: more turns with few of them.
ROW_S = 1e-6


@dataclass
class Logs:
    """The same rows in a log of each side."""

    ours: Log
    peer: Log

    def of(self, bench: Bench, side: Side) -> Log:
        return self.ours if side is bench.ours else self.peer


@dataclass(kw_only=True)
class Bench(Run):
    """A run of this suite."""

    ours: Side
    peer: Side
    market: Path

    def rounds(self, full: int, seconds: float | None = None) -> int:
        """How many turns: `full`, or more of them where each takes few `seconds`."""
        if self.quick:
            return min(full, 3)
        if seconds is None:
            return full
        return max(full, min(TURNS_MAX, math.ceil(TURNS_S / seconds)))

    def turns(self, rounds: int, seconds: float | None = None) -> Iterator[tuple[Side, Side]]:
        """Who goes first and who second, in each turn."""
        for turn in range(self.rounds(rounds, seconds)):
            yield (self.ours, self.peer) if turn % 2 == 0 else (self.peer, self.ours)

    def skip(self, what: str, why: str) -> None:
        print(f"{what:<70} skipped: {why}", flush=True)

    def compare(
        self,
        name: str,
        unit: str,
        ours: float,
        peer: float,
        aim: float | None = None,
        note: str = "",
    ) -> None:
        """Reports a figure of both."""
        self.report(Measure(name, unit, ours, self.peer.label, peer, aim, note))


def figure(seconds: float, amount: int, unit: str) -> float:
    """Seconds for an amount as a rate, or as the time of one of them."""
    if unit in SCALE:
        return seconds / amount * SCALE[unit]
    return amount / seconds


@dataclass(frozen=True)
class Line:
    """What a measure is called and how it is given."""

    name: str
    amount: int
    unit: str = "rows/s"
    aim: float | None = None
    note: str = ""
    rounds: int = 5


def _report(bench: Bench, line: Line, taken: dict[str, list[float]], how: str) -> None:
    ours, peer = (figure(median(taken[key]), line.amount, line.unit) for key in ("ours", "peer"))
    spread = ", ".join(
        f"{key} {min(values) * 1e3:.3g} to {max(values) * 1e3:.3g} ms"
        for key, values in taken.items()
    )
    note = f"{line.note + '; ' if line.note else ''}{how}; {spread}"
    bench.compare(line.name, line.unit, ours, peer, line.aim, note)


def _agree(bench: Bench, answers: dict[str, Any]) -> None:
    if not same(answers["ours"], answers["peer"]):
        shown = {key: repr(value)[:80] for key, value in answers.items()}
        raise DiffersError(f"{bench.ours.label} {shown['ours']}, peer {shown['peer']}")


def _key(bench: Bench, side: Side) -> str:
    return "ours" if side is bench.ours else "peer"


def reads(bench: Bench, logs: Logs, line: Line, run: Callable[[Log], Any]) -> None:
    """Times something that leaves a log as it is."""
    try:
        taken: dict[str, list[float]] = {"ours": [], "peer": []}
        repeats: dict[str, int] = {}
        answers: dict[str, Any] = {}
        longest = 0.0
        for side in (bench.ours, bench.peer):
            key, log = _key(bench, side), logs.of(bench, side)
            seconds, answers[key] = timed(run, log)
            if seconds < WARM_S:
                seconds, _ = timed(run, log)
            repeats[key] = repeats_for(seconds)
            longest = max(longest, seconds * repeats[key])
        _agree(bench, answers)
        for sides in bench.turns(line.rounds, longest):
            for side in sides:
                key, log = _key(bench, side), logs.of(bench, side)
                with quiet():
                    seconds = seconds_of(repeats[key], run, log)
                taken[key].append(seconds)
        how = f"median of {len(taken['ours'])}, warm"
        _report(bench, line, taken, how)
    except Exception as error:
        bench.fail(line.name, error)


def writes(
    bench: Bench,
    line: Line,
    make: Callable[[Side], Log],
    run: Callable[[Log], Any],
    answer: Callable[[Log], Any] = len,
) -> None:
    """Times something that changes a log: each run has a fresh one from `make`.

    The answers of both are compared; `answer` is asked after the time has been taken.
    """
    try:
        taken: dict[str, list[float]] = {"ours": [], "peer": []}
        for sides in bench.turns(line.rounds, 2 * line.amount * ROW_S):
            answers: dict[str, Any] = {}
            for side in sides:
                log = make(side)
                with quiet():
                    seconds, given = timed(run, log)
                taken[_key(bench, side)].append(seconds)
                answers[_key(bench, side)] = (given, answer(log))
                log.close()
            _agree(bench, answers)
        _report(bench, line, taken, f"median of {len(taken['ours'])}, a fresh log each")
    except Exception as error:
        bench.fail(line.name, error)


def load(log: Log, book: Book) -> Log:
    """Stores a book in batches."""
    times, rows = book.times, book.rows
    for at in range(0, len(book), BATCH_ROWS):
        log.extend(zip(times[at : at + BATCH_ROWS], rows[at : at + BATCH_ROWS], strict=True))
    return log


def loaded(side: Side, book: Book) -> Log:
    """A log in memory with a book in it, in compacted storage."""
    log = load(side.open(), book)
    settle(log)
    return log


@contextmanager
def both(
    bench: Bench, book: Book, make: Callable[[Side, Book], Log] = loaded
) -> Iterator[Logs]:
    """A log of each side with the same rows."""
    ours = make(bench.ours, book)
    peer = make(bench.peer, book)
    if len(ours) != len(peer):
        raise DiffersError(f"{len(ours)} rows are stored by {bench.ours.label}, not {len(peer)}")
    yield Logs(ours, peer)
    ours.close()
    peer.close()
