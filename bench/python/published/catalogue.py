"""What was published: reports, their rows and figures, as `bench/published` has them."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.python.common.arguments import ROOT

FOLDER = ROOT / "bench" / "published"
# Units of which less is better; of all others, which are rates and shares, more is.
LOWER = frozenset({"us", "ns", "ms", "B", "MB", "x", "s/s"})
LATENCIES = ("p50", "p95", "p99")


@dataclass(frozen=True)
class Row:
    """A row of a report. `published` is its figure in `unit`, and the latencies are in seconds."""

    id: str
    what: str
    unit: str
    published: float | None = None
    p50: float | None = None
    p95: float | None = None
    p99: float | None = None
    # Why it is not measured, or what it can't be held against, told beside it.
    why: str = ""
    # Why ours is behind, told where it is.
    behind: str = ""

    @property
    def is_time(self) -> bool:
        return self.unit in LOWER

    def ratio(self, ours: float, other: float) -> float:
        """Above 1 where ours is better; without bound where it takes nothing at all."""
        over, under = (other, ours) if self.is_time else (ours, other)
        return over / under if under else math.inf


@dataclass(frozen=True)
class Section:
    title: str
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Report:
    """One system's report, in the order in which its file has it."""

    key: str
    title: str
    version: str
    model: str
    peer: str
    about: str
    durability: str
    sections: tuple[Section, ...]

    @property
    def rows(self) -> tuple[Row, ...]:
        return tuple(row for section in self.sections for row in section.rows)


def read(path: Path) -> Report:
    """One report.

    Raises:
        ValueError: two rows have one id, or a row lacks what each has.
    """
    with path.open("rb") as file:
        form = tomllib.load(file)
    try:
        sections = tuple(
            Section(each["title"], tuple(Row(**row) for row in each["rows"]))
            for each in form.pop("section")
        )
        report = Report(key=path.stem, sections=sections, **form)
    except (KeyError, TypeError) as error:
        raise ValueError(f"{path.name}: {error}") from error
    ids = [row.id for row in report.rows]
    twice = sorted({one for one in ids if ids.count(one) > 1})
    if twice:
        raise ValueError(f"{path.name}: two rows are called {', '.join(twice)}")
    return report


def reports(folder: Path = FOLDER) -> Iterator[Report]:
    """All of them, by their files' names."""
    for path in sorted(folder.glob("*.toml")):
        yield read(path)


def report(key: str, **more: Any) -> Report:
    return read(FOLDER / f"{key}.toml", **more)
