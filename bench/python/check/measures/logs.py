"""Logs: entries in beside a file of them, searches beside reading that file, a tail beside decoding JSON."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import timestrata

from bench.python.check.measure import Class, Measure, Pair, Place, Work, emptied, measure
from bench.python.logs import corpus
from bench.python.logs.corpus import RARE, Text
from bench.python.logs.stand_in import made_in

LINES, WRITTEN, BATCH, TAILED = 100_000, 10_000, 500, 5_000
RARE_LINES = 3
PYTHON = f"Python {sys.version_info.major}.{sys.version_info.minor}"


def _text(place: Place) -> Text:
    # Those that are made, even where real ones are: a baseline is held against the same lines everywhere.
    folder = made_in(place.shared / corpus.STAND_IN)
    return corpus.written(place.shared / "all.log", folder, corpus.ALL, LINES, RARE_LINES)


def _lines(place: Place, count: int) -> list[str]:
    with _text(place).path.open(encoding="utf-8") as file:
        return [line.rstrip("\n") for line in islice(file, count)]


@measure("logs append", Class.WRITE)
def append(place: Place) -> Iterator[Pair]:
    """Entries in batches, `written`, beside lines of JSON that are written and flushed as often."""
    entries = [
        {"message": line, "fields": {"n": at}} for at, line in enumerate(_lines(place, WRITTEN))
    ]
    batches = [entries[at : at + BATCH] for at in range(0, WRITTEN, BATCH)]
    path, plain = place.new(), place.new()

    def ours(store: timestrata.Store) -> None:
        logs = store.logs("app")
        for batch in batches:
            logs.write_many(batch)

    def floor() -> None:
        with plain.open("w", encoding="utf-8") as file:
            for batch in batches:
                file.writelines(f"{json.dumps(entry)}\n" for entry in batch)
                file.flush()

    work = Work(ours, lambda: emptied(path))
    yield Pair(work, Work(floor), f"json, {PYTHON}", True)


def _filled(place: Place) -> Iterator[tuple[timestrata.Logs, Path]]:
    """A compacted log, and the file of the same lines."""
    text = _text(place)
    with timestrata.open(place.new()) as store:
        logs = store.logs("app")
        with text.path.open(encoding="utf-8") as file:
            while batch := [line.rstrip("\n") for line in islice(file, 20_000)]:
                logs.write_many(batch)
        logs.compact()
        yield logs, text.path


@measure("logs search, a word", Class.READ)
def word(place: Place) -> Iterator[Pair]:
    """How many entries have a rare word, beside reading the file and looking for it."""
    logs, path = place.common(_filled)
    yield Pair(
        Work(lambda: logs.count(RARE)),
        Work(lambda: path.read_bytes().count(RARE.encode())),
        f"a file's bytes, {PYTHON}",
    )


@measure("logs search, a regular expression", Class.READ)
def regex(place: Place) -> Iterator[Pair]:
    """The same of an expression, which looks at each message."""
    pattern = "port 4[0-9]{4} ssh"
    compiled = re.compile(pattern.encode())
    logs, path = place.common(_filled)
    yield Pair(
        Work(lambda: logs.count(f"/{pattern}/")),
        Work(lambda: len(compiled.findall(path.read_bytes()))),
        f"re, {PYTHON}",
    )


@measure("logs tail", Class.READ)
def tail(place: Place) -> Iterator[Pair]:
    """Entries as who follows a log gets them, beside decoding them from JSON."""
    lines = _lines(place, TAILED)
    with timestrata.open(place.new()) as store:
        logs = store.logs("app")
        first = logs.write("begin")
        logs.write_many([{"message": line, "fields": {"n": at}} for at, line in enumerate(lines)])
        coded = [json.dumps({"message": line, "n": at}) for at, line in enumerate(lines)]

        def ours() -> list[str]:
            return [entry.message for entry in islice(logs.tail(after=first), TAILED)]

        def floor() -> list[Any]:
            return [json.loads(each)["message"] for each in coded]

        yield Pair(Work(ours), Work(floor), f"json, {PYTHON}")


MEASURES: tuple[Measure, ...] = (append, word, regex, tail)
