"""Timelog's report: its 57 tests with its sizes, on the generated order book, ours beside `timelog-lib`.

Where its report counts reading CSV, so do both sides here, with Python's own reader and the same code; and where it
counts loading, so do both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from bench.python.common.race import DiffersError, same
from bench.python.common.sample import latencies_of_one, latencies_of_two, percentile, quiet
from bench.python.published.results import Result, SideName
from bench.python.published.taking import Taken
from bench.python.timelog import analytics, complexity, queries, spans
from bench.python.timelog.data import ORDER, SECOND_NS, Book, csv_rows, csv_text, order_book
from bench.python.timelog.deletion import tenth
from bench.python.timelog.ingestion import BACKGROUND, SMALL_MEMTABLE, shuffled
from bench.python.timelog.queries import count, points, windows
from bench.python.timelog.race import BATCH_ROWS, loaded
from bench.python.timelog.sides import Log, Side, settle

TURNS = 15
CALLS = 5_000
Pairs = Callable[[], Iterator[tuple[int, Any]]]


@dataclass(frozen=True)
class Case:
    """A row: of so many of its unit, what is timed of a log, and how that is made and asked afterwards."""

    id: str
    amount: int
    run: Callable[[Any], Any]
    # None: the log of 100,000 rows that all reading rows share.
    make: Callable[[Side], Any] | None = None
    answer: Callable[[Any], Any] = len
    # Latencies of single calls, in nanoseconds, where the row is about these.
    calls: Callable[[Any], list[int]] | None = None
    note: str = ""


@dataclass(frozen=True)
class Files:
    """Rows as CSV files of so many, 5 and 20 % late."""

    folder: Path
    few: bool

    def rows(self, full: int) -> int:
        return max(100, full // 50) if self.few else full

    def book(self, full: int, late: float = 0.05) -> Book:
        return order_book(self.rows(full), late)

    def pairs(self, book: Book, name: str) -> Pairs:
        """Reads the rows of a file that has them."""
        path = self.folder / f"{name}.csv"
        path.write_text(csv_text(book), encoding="utf-8")
        return lambda: csv_rows(path.read_text(encoding="utf-8"))


def empty(**settings: Any) -> Callable[[Side], Log]:
    return lambda side: side.open(**settings)


def append_all(log: Log, pairs: Pairs) -> None:
    append = log.append
    for ts, row in pairs():
        append(ts, row)


def extend_all(log: Log, pairs: Pairs, batch: int = BATCH_ROWS) -> None:
    rows: list[tuple[int, Any]] = []
    for pair in pairs():
        rows.append(pair)
        if len(rows) == batch:
            log.extend(rows)
            rows = []
    log.extend(rows)


def part_of(book: Book, start: int, end: int) -> Book:
    """The rows of a range of times."""
    pairs = [(ts, row) for ts, row in book.pairs() if start <= ts < end]
    return Book(book.name, [ts for ts, _ in pairs], [row for _, row in pairs])


def ingestion(files: Files) -> Iterator[Case]:
    """A."""
    all_, less = files.book(100_000), files.book(100_000, 0.2)
    book = {rows: all_.head(files.rows(rows)) for rows in (10_000, 20_000, 50_000)}
    half, fifth = files.pairs(book[50_000], "half"), files.pairs(book[20_000], "fifth")
    less_fifth = files.pairs(less.head(files.rows(20_000)), "fifth_less")
    made = list(book[50_000].pairs())
    mixed = files.pairs(shuffled(book[20_000]), "shuffled")

    def read_then_store(log: Log) -> None:
        log.extend(list(half()))

    rows = len(made)
    yield Case("A0", rows, read_then_store, empty())
    yield Case(
        "A0 CSV",
        rows,
        lambda _: count(half()),
        empty(),
        note="Python's reader: the same code on both sides",
    )
    yield Case("A0 log", rows, lambda log: log.extend(made), empty(), note="pairs made before")
    yield Case("A0 end to end", rows, lambda log: log.extend(half()), empty())
    tenth_ = files.pairs(book[10_000], "tenth")
    yield Case("A1", len(book[10_000]), lambda log: append_all(log, tenth_), empty())
    for name, of in (("", all_), ("_less", less)):
        pairs = files.pairs(of, f"all{name}")
        store = partial(extend_all, pairs=pairs)
        yield Case(f"A2{name}", len(of), store, empty())
        yield Case(f"A2B{name}", len(of), store, empty(**BACKGROUND))
    yield Case("A3", rows, lambda log: append_all(log, half), empty(**BACKGROUND))
    yield Case("A4", len(book[20_000]), lambda log: extend_all(log, mixed), empty())
    yield Case("A5", len(book[20_000]), lambda log: extend_all(log, fifth), empty(**SMALL_MEMTABLE))

    def both(log: Log) -> None:
        extend_all(log, fifth)
        extend_all(log, less_fifth)

    yield Case("A6", 2 * len(book[20_000]), both, empty())


def reading(book: Book) -> Iterator[Case]:
    """B, C, F, G and H, of 100,000 rows in storage."""
    middle, some = book.time_at(0.5), book.time_at(0.01)
    second, end = middle + SECOND_NS, book.end
    start, ten = book.time_at(0.3), 10 * SECOND_NS
    rows = len(book)

    def within(first: int, last: int) -> int:
        return max(1, queries.in_window(book, first, last))

    yield Case("B1", within(middle, second), lambda log: count(log[middle:second]))
    yield Case("B2", within(some, end), lambda log: count(log[some:]))
    yield Case("B3", rows, lambda log: count(log[:end]))
    yield Case("B4", rows, count)
    times = queries.picks(book, 1_000)
    yield Case(
        "B5",
        1_000,
        lambda log: points(log, times),
        calls=lambda log: latencies_of_one(log.at, times),
    )
    yield Case("B6", 1_000, lambda log: windows(log, times, 1_000))
    in_ten = within(start, start + ten)
    yield Case("C1", in_ten, lambda log: analytics.counts_one_by_one(log, start))
    yield Case("C1B", in_ten, lambda log: analytics.counts_in_one_pass(log, start))
    for name, run in (
        *(("C2", analytics.share_of_buys), ("C3", analytics.mean_price), ("C4", analytics.filled)),
        *(("C5", analytics.tickers), ("C6", analytics.spread), ("C7", analytics.fees)),
    ):
        yield Case(name, rows, run)
    yield Case("C8", in_ten, lambda log: analytics.gaps(log, start))
    yield from _spans(book, start, start + ten)
    yield Case("G1", rows, spans.in_batches)
    yield Case("G2", rows, spans.with_context)
    yield Case("G3", rows // 10, lambda log: spans.early_end(log, rows // 10))
    yield Case("G4", rows // 5 * 5, lambda log: spans.side_by_side(log, rows // 5))
    yield from _patterns(book)


def _spans(book: Book, start: int, end: int) -> Iterator[Case]:
    """F. The report's parts: ten seconds, and a page of 4,092 rows."""
    rows = len(book)
    inner = part_of(book, start, end)
    page = part_of(
        book, start, book.sorted_times[min(rows - 1, book.sorted_times.index(start) + 4_092)]
    )
    yield Case("F1", rows, lambda log: spans.iterate(log, book))
    yield Case("F2", len(inner), lambda log: spans.look(log, inner))
    yield Case("F3", len(inner), lambda log: spans.objects(log, inner))
    yield Case("F4", len(page), lambda log: spans.differences(log, page))
    yield Case("F5", rows, lambda log: spans.statistics(log, book))


def _patterns(book: Book) -> Iterator[Case]:
    """H."""
    order = book.rows[len(book) // 2][ORDER]
    around = (book.time_at(0.49), book.time_at(0.51))
    minute = 60 * SECOND_NS
    in_minute = max(1, queries.in_window(book, book.start, book.start + minute))
    first, last = around
    events = sum(first <= ts < last and row[ORDER] == order for ts, row in book.pairs())
    exact = queries.picks(book, 100)
    yield Case("H1", events, lambda log: queries.life_of(log, order, *around))
    yield Case(
        "H2",
        in_minute,
        lambda log: sum(row[ORDER] for _, row in log[book.start : book.start + minute]),
    )
    yield Case("H3", in_minute, lambda log: queries.seconds_one_by_one(log, book.start, 60))
    yield Case("H3B", in_minute, lambda log: queries.seconds_in_one_pass(log, book.start, 60))
    yield Case(
        "H4", 100, lambda log: points(log, exact), calls=lambda log: latencies_of_one(log.at, exact)
    )


def deletion(files: Files) -> Iterator[Case]:
    """D and E, with loading."""
    book, few = files.book(50_000), files.book(10_000)
    pairs, few_pairs = files.pairs(book, "d"), files.pairs(few, "d_few")
    most = files.pairs(book.head(files.rows(40_000)), "e_most")
    start, end = tenth(book)

    def verified(log: Log) -> int:
        extend_all(log, pairs)
        log.delete_range(start, end)
        return count(log[start:end])

    def older(log: Log) -> None:
        extend_all(log, pairs)
        log.delete_before(book.time_at(0.5))

    def at_deleted(log: Log) -> int:
        extend_all(log, few_pairs)
        first, last = tenth(few)
        log.delete_range(first, last)
        return len(log.at(first))

    def then_read(log: Log) -> int:
        extend_all(log, pairs)
        log.delete_range(start, end)
        return count(log)

    rows = len(book)
    yield Case("D1", rows, verified, empty())
    yield Case("D2", rows, older, empty())
    yield Case("D3", len(few), at_deleted, empty())
    yield Case("D4", rows, then_read, empty())

    def flushed(log: Log) -> None:
        extend_all(log, pairs)
        log.flush()

    def compacted(log: Log) -> None:
        for at, pair in enumerate(pairs()):
            log.append(*pair)
            if at % BATCH_ROWS == BATCH_ROWS - 1:
                log.flush()
        settle(log)

    def between(log: Log) -> None:
        log.start_maintenance()
        extend_all(log, most)
        log.stop_maintenance()

    yield Case("E1", rows, flushed, empty())
    yield Case("E2", rows, compacted, empty())
    yield Case("E3", rows, lambda log: extend_all(log, pairs), empty(**BACKGROUND))
    yield Case("E4", files.rows(40_000), between, empty(**BACKGROUND))


def tiers(files: Files, book: Book) -> Iterator[Case]:
    """I."""
    few = files.pairs(files.book(10_000), "i")
    middle = book.time_at(0.5)

    def write_and_read(log: Log) -> int:
        append_all(log, few)
        return count(log)

    def mixed(side: Side) -> Log:
        log = side.open()
        log.extend(list(book.pairs()))
        settle(log)
        again = book.head(files.rows(1_000))
        log.extend(list(again.pairs()))
        return log

    second = max(1, queries.in_window(book, middle, middle + SECOND_NS))
    yield Case("I1", files.rows(10_000), write_and_read, empty())
    yield Case("I2", second, lambda log: count(log[middle : middle + SECOND_NS]))
    yield Case("I3", len(book) + files.rows(1_000), count, mixed)


def production(files: Files) -> Iterator[Case]:
    """J1, J2, J3 and K1 to K4, of rows in memory as in the report."""
    book = files.book(20_000)
    sizes = [files.rows(rows) for rows in (1_000, 2_000, 4_000, 8_000, 16_000)]
    ranges = [(book.time_at(0.1), book.time_at(share)) for share in (0.2, 0.3, 0.4, 0.315)]
    counted = sum(queries.in_window(book, *each) for each in ranges)
    some, few = book.head(files.rows(15_000)), book.head(files.rows(CALLS))

    def stored(log: Log, part: Book) -> int:
        for pair in part.pairs():
            log.append(*pair)
        return count(log)

    def of_ranges(log: Log) -> int:
        log.extend(list(book.pairs()))
        return sum(count(log[first:last]) for first, last in ranges)

    yield Case(
        "J1", counted, of_ranges, empty(), note="20,000 rows stored, then counted range by range"
    )
    parts = [book.head(rows) for rows in sizes]

    def growing(log: Log) -> int:
        rows = 0
        for part in parts:
            log.delete_before(part.end + 1)
            rows += stored(log, part)
        return rows

    yield Case("J2", sum(sizes), growing, empty(), answer=lambda _: 0)
    yield Case("J3", sizes[-1], lambda log: stored(log, parts[-1]), empty())

    def calls(log: Log) -> list[int]:
        return latencies_of_two(log.append, list(few.pairs()))

    def appended(log: Log) -> None:
        for pair in few.pairs():
            log.append(*pair)

    yield Case("K1", len(few), appended, empty(**BACKGROUND), calls=calls)
    yield Case("K1B", len(few), appended, empty(), calls=calls)
    yield Case("K2", len(book), lambda log: stored(log, book), empty())

    def through_storage(log: Log) -> int:
        for pair in some.pairs():
            log.append(*pair)
        log.flush()
        return count(log)

    yield Case("K3", len(some), through_storage, empty())

    def around_deletion(log: Log) -> list[int]:
        log.extend(list(book.pairs()))
        rows = [count(log)]
        log.delete_range(*tenth(book))
        rows.append(count(log))
        settle(log)
        return [*rows, count(log)]

    yield Case("K4", len(book), around_deletion, empty())


def grid(files: Files) -> Case:
    """K5: one run is storing with each of some settings."""
    pairs = list(files.book(20_000).pairs())
    settings = [
        {"maintenance": maintenance, "memtable_max_bytes": memtable, "sealed_max_runs": runs}
        for maintenance in ("background", "disabled")
        for memtable in (64 << 10, 1 << 20, 16 << 20)
        for runs in (2, 8)
    ]

    def all_settings(side: Side) -> int:
        rows = 0
        for each in settings:
            log = side.open(**each)
            log.extend(pairs)
            rows += len(log)
            log.close()
        return rows

    note = f"{len(settings)} settings of maintenance, memtable and sealed runs"
    return Case("K5", len(settings) * len(pairs), all_settings, lambda side: side, note=note)


def growth(files: Files, sides: dict[SideName, Side]) -> Iterator[Result]:
    """J2's exponent and J3's doubling, which are of several runs each."""
    book = files.book(100_000)
    sizes = [len(book) * share // 100 for share in (1, 2, 4, 8, 16)]
    for key, side in sides.items():
        rounds = [
            [(float(rows), complexity.seconds_of_rows(side, book, rows)) for rows in sizes]
            for _ in range(3)
        ]
        note = f"append and scan of {sizes[0]:,} to {sizes[-1]:,} rows, least of 5"
        for name, found in (
            ("J2 exponent", [complexity.slope(each) for each in rounds]),
            ("J3 doubling", [each[-1][1] / each[-2][1] for each in rounds]),
        ):
            value = percentile(found, 0.5)
            yield Result(
                report="timelog",
                id=name,
                side=key,
                label=side.label,
                value=value,
                runs=len(found),
                note=note,
            )


def measured(
    case: Case, sides: dict[SideName, Side], shared: dict[SideName, Log], turns: int
) -> Iterator[Result]:
    """A row on both sides, in turns that begin with the other one each time; answers are compared."""
    taken: dict[SideName, Taken] = {key: Taken() for key in sides}
    for turn in range(-1, turns):
        answers = {}
        for key in list(sides)[:: 1 if turn % 2 else -1]:
            log = shared[key] if case.make is None else case.make(sides[key])
            into = taken[key] if turn >= 0 else Taken()
            given = into.add(partial(case.run, log))
            answers[key] = given
            if case.make is not None and log is not sides[key]:
                answers[key] = (given, case.answer(log))
                log.close()
        first, *others = answers.values()
        if not all(same(first, other) for other in others):
            raise DiffersError(
                f"{case.id}: {', '.join(repr(given)[:80] for given in answers.values())}"
            )
    for key, side in sides.items():
        if case.calls is not None:
            log = shared[key] if case.make is None else case.make(side)
            with quiet():
                taken[key].calls = [ns / 1e9 for ns in case.calls(log)]
        yield Result(
            report="timelog", id=case.id, side=key, label=side.label, value=case.amount / taken[key].median,
            runs=turns, **taken[key].latencies(), cpu=percentile(taken[key].cpu, 0.5),
            peak=percentile(taken[key].peak, 0.5), note=case.note,
        )  # fmt: skip


def run(folder: Path, ours: Side, peer: Side, *, few: bool) -> Iterator[Result]:
    """All rows."""
    files, turns = Files(folder, few), 3 if few else TURNS
    sides: dict[SideName, Side] = {"ours": ours, "peer": peer}
    book = files.book(100_000)
    shared: dict[SideName, Log] = {key: loaded(side, book) for key, side in sides.items()}
    cases: Sequence[Iterator[Case]] = (
        ingestion(files), reading(book), deletion(files), tiers(files, book), production(files), iter([grid(files)]),
    )  # fmt: skip
    for case in chain.from_iterable(cases):
        yield from measured(case, sides, shared, turns)
    yield from growth(files, sides)
    for log in shared.values():
        log.close()
