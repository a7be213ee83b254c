"""How many of many lines have something, beside what reads all of them and what has an index too."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import timestrata

from bench.python.common.race import OURS, race
from bench.python.common.report import Measure
from bench.python.common.sample import timed
from bench.python.logs import sides
from bench.python.logs.bench import Bench
from bench.python.logs.corpus import RARE, Text

LINES, ROUNDS = 5_000_000, 5
# The same question as ours: whole words in any case.
WORD = ("-i", "-w", "-F")
EXACT = "bytes as they are"


@dataclass(frozen=True)
class Sought:
    """What is looked for, and how each side is asked; those that can't be asked aren't."""

    name: str
    filter: str
    # Arguments of ripgrep and of grep, by what is said of them.
    programs: Mapping[str, tuple[str, ...]]
    grep: tuple[str, ...]
    # Conditions in SQL.
    duck: Mapping[str, str]
    match: str | None
    aims: Mapping[str, float] = field(default_factory=dict)


def word(
    name: str, text: str, exact: str | None, aims: Mapping[str, float] | None = None
) -> Sought:
    """A word or phrase in any case; `exact` is how the lines write it, if there is one way only."""
    programs, duck = {"ripgrep": (*WORD, text)}, {"DuckDB, ILIKE": f"line ILIKE '%{text}%'"}
    if exact is not None:
        programs[f"ripgrep, {EXACT}"] = ("-F", exact)
        duck["DuckDB, LIKE"] = f"line LIKE '%{exact}%'"
    aims = {**(aims or {}), **dict.fromkeys(duck, 1.0)}
    query = text if text.isalnum() else f'"{text}"'
    match = f"lines MATCH '\"{text}\"'"
    return Sought(name, query, programs, (*WORD, text), duck, match, aims)


REGEX = "port 4[0-9]{4} ssh"
SOUGHT = (
    word("rare word", RARE, RARE, {"ripgrep": 20.0}),
    word("phrase", "invalid user", None),
    word("usual word", "googlebot", "Googlebot"),
    Sought(
        "regular expression",
        f"/{REGEX}/",
        {"ripgrep": (REGEX,)},
        ("-E", REGEX),
        {"DuckDB, regexp_matches": f"regexp_matches(line, '{REGEX}')"},
        None,
        {"DuckDB, regexp_matches": 1.0},
    ),
)


def search(bench: Bench) -> None:
    text = bench.all_lines(LINES)
    path = bench.dir / "search.store"

    def ours() -> timestrata.Store:
        # Each line whole, as the others see it.
        sides.ingest(bench.command, path, text.path, "--log-format", "plain")
        store = timestrata.open(path)
        store.logs("app").compact()
        return store

    makers: dict[str, Callable[[], Any]] = {
        OURS: ours,
        "DuckDB": lambda: sides.duck_of(bench.dir / "search.duckdb", text.path),
        "SQLite FTS5": lambda: sides.fts5_of(bench.dir / "search.sqlite", text.path),
    }
    taken, made = {}, {}
    for side, make in makers.items():
        taken[side], made[side] = timed(make)
    try:
        for sought in SOUGHT:
            ask(bench, text, sought, made)
        for side in list(makers)[1:]:
            mine, other = (text.lines / taken[key] for key in (OURS, side))
            name = f"lines until they can be searched [{side}]"
            note = f"{text}; once, compacted or merged"
            bench.report(Measure(name, "lines/s", mine, side, other, None, note))
    finally:
        for side in made.values():
            side.close()


def ask(bench: Bench, text: Text, sought: Sought, made: Mapping[str, Any]) -> None:
    logs = made[OURS].logs("app")
    works: dict[str, Callable[[], int]] = {OURS: lambda: logs.count(sought.filter)}
    for side, arguments in sought.programs.items():
        works[side] = partial(sides.ripgrep, text.path, *arguments)
    works["grep"] = partial(sides.grep, text.path, *sought.grep)
    for side, where in sought.duck.items():
        works[side] = partial(sides.counted, made["DuckDB"], where)
    if sought.match is not None:
        works["SQLite FTS5"] = partial(sides.counted, made["SQLite FTS5"], sought.match)
    title, note = f"count of a {sought.name}", f"{text}; {logs.count(sought.filter)} hits"
    race(bench, title, 1, works, sought.aims, unit="ms", rounds=ROUNDS, note=note)
