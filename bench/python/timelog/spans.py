"""F and G: spans of storage, and ways to iterate."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from bench.python.timelog.data import Book
from bench.python.timelog.queries import ReadCase, drain
from bench.python.timelog.race import Line
from bench.python.timelog.sides import Log


def spans_of(log: Log, book: Book) -> Any:
    return log.page_spans(book.start, book.end)


def iterate(log: Log, book: Book) -> int:
    """F1: rows of all spans, none of them read."""
    return sum(len(span) for span in spans_of(log, book))


def look(log: Log, book: Book) -> int:
    """F2: a view on the times of each, the first of them read."""
    rows = 0
    for span in spans_of(log, book):
        times = span.timestamps
        rows += len(times) if times[0] >= book.start else 0
    return rows


def objects(log: Log, book: Book) -> int:
    """F3: the objects of each."""
    rows = 0
    for span in spans_of(log, book):
        rows += len(list(span.objects()))
    return rows


def differences(log: Log, book: Book) -> int:
    """F4: gaps between times with numpy, span by span; how spans are cut may differ."""
    rows = 0
    for span in spans_of(log, book):
        times = np.asarray(span.timestamps)
        rows += len(times) if len(times) < 2 or np.diff(times).mean() >= 0 else 0
    return rows


def statistics(log: Log, book: Book) -> tuple[int, int, float, float]:
    """F5: of all times as one array."""
    arrays = [np.asarray(span.timestamps) for span in spans_of(log, book)]
    times = np.concatenate(arrays)
    since = times - times.min()
    return int(times.min()), int(times.max()), float(since.mean()), float(since.std())


def total(log: Log, book: Book) -> int:
    """F6: every time read once and no more; modulo 2**64: nothing but reading memory."""
    return sum(int(np.asarray(s.timestamps).sum()) for s in spans_of(log, book)) % (1 << 64)


def in_batches(log: Log, size: int = 1_000) -> int:
    """G1."""
    rows, iterator = 0, iter(log)
    while batch := iterator.next_batch(size):
        rows += len(batch)
    return rows


def with_context(log: Log) -> None:
    """G2."""
    with iter(log) as iterator:
        drain(iterator)


def early_end(log: Log, rows: int) -> int:
    """G3: leaves before the end."""
    seen = 0
    for _ in log:
        seen += 1
        if seen == rows:
            break
    return seen


def side_by_side(log: Log, rows: int, number: int = 5) -> int:
    """G4: some iterators, a row of each in turns."""
    return sum(len(group) for group in islice(zip(*(iter(log) for _ in range(number))), rows))


def _on(run: Callable[[Log, Book], Any], book: Book, log: Log) -> Any:
    return run(log, book)


def cases(book: Book, line: Callable[..., Line]) -> Iterator[ReadCase]:
    rows = len(book)
    spans: tuple[tuple[str, Callable[[Log, Book], Any]], ...] = (
        ("F1 spans, none read", iterate),
        ("F2 spans, a view of each", look),
        ("F3 objects of spans", objects),
        ("F4 gaps with numpy, span by span", differences),
        ("F5 statistics of all times with numpy", statistics),
    )
    for name, run in spans:
        yield line(name, rows), partial(_on, run, book)
    yield line("F6 times of spans summed with numpy", rows, aim=1.0), lambda log: (
        total(log, book)
    )
    yield line("G1 next_batch(1000)", rows), in_batches
    yield line("G2 iterator as context manager", rows), with_context
    few = rows // 10
    yield line("G3 end of iteration after a tenth", few), lambda log: early_end(log, few)
    yield line("G4 five iterators at once", few * 5), lambda log: side_by_side(log, few)
