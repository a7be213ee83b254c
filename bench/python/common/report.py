"""The report: a table for people, and a file for whoever compares runs.

The same form as `bench/rust/src/report.rs` writes; both put their lines into one file.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

# Times and sizes; of everything else, more is better.
LOWER_IS_BETTER = frozenset({"ns", "us", "ms", "s", "B/row", "MB", "min", "x"})


def short(value: float) -> float:
    """Four digits: more would claim a precision that no benchmark has."""
    return float(f"{value:.3e}")


@dataclass(frozen=True)
class Measure:
    """A figure, what it is held against, and what was hoped for."""

    name: str
    unit: str
    value: float
    against: str
    against_value: float
    aim: float | None
    note: str

    @property
    def ratio(self) -> float:
        """Above 1: better than what it is held against."""
        pair = (self.against_value, self.value)
        over, under = pair if self.unit in LOWER_IS_BETTER else pair[::-1]
        return short(over / under) if under else 0.0

    @property
    def verdict(self) -> str:
        if self.aim is None:
            return "told"
        return "reached" if self.ratio >= self.aim else "SHORT"

    def as_json(self, suite: str) -> dict[str, Any]:
        form = {"suite": suite, **asdict(self), "ratio": self.ratio}
        for key in ("value", "against_value", "aim"):
            # Short, also so that every reader and writer of the file keeps it to the last digit.
            form[key] = None if form[key] is None else short(form[key])
        order = ("suite", "name", "unit", "value", "against", "against_value", "ratio", "aim")
        return {key: form[key] for key in (*order, "note")}


def told(name: str, unit: str, value: float, note: str = "") -> Measure:
    """A figure with nothing to hold it against."""
    return Measure(name, unit, value, "-", value, None, note)


def readable(value: float) -> str:
    """A value with three digits and, where it is long, a word for its size."""
    scaled, word = value, ""
    for size, each in ((1e9, " G"), (1e6, " M"), (1e4, " K")):
        if abs(value) >= size:
            scaled, word = value / (1e3 if size == 1e4 else size), each
            break
    digits = 0 if abs(scaled) >= 100 else 1 if abs(scaled) >= 10 else 2
    return f"{scaled:.{digits}f}{word}"


def heading() -> str:
    return f"{'measure':<70} {'value':>9} {'unit':<7} {'against':>9}  {'ratio':>7}  {'aim':>5}"


def line(measure: Measure) -> str:
    """One line of the table."""
    aim = "-" if measure.aim is None else readable(measure.aim)
    return (
        f"{measure.name:<70} {readable(measure.value):>9} {measure.unit:<7} "
        f"{readable(measure.against_value):>9}  {readable(measure.ratio):>7}  {aim:>5}  "
        f"{measure.verdict:<7}  against {measure.against}"
    )


def merge_into(path: Path, suite: str, new: Iterable[Measure], *, whole: bool) -> None:
    """Puts new lines of a suite into a report file, among those of others.

    After a whole run, lines of this suite that it did not give are of the past; after a part
    of one they stay.
    """
    lines = [measure.as_json(suite) for measure in new]
    if not all(math.isfinite(form[key]) for form in lines for key in ("value", "against_value")):
        raise ValueError("a figure is no number")
    names = {form["name"] for form in lines}
    old = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    kept = [
        form for form in old if form["suite"] != suite or not (whole or form["name"] in names)
    ]
    merged = sorted(kept + lines, key=lambda form: str(form["suite"]))
    write_lines(path, merged)


def read_lines(path: Path) -> list[dict[str, Any]]:
    """The lines of a report file, and of that beside it which has those of time logs: they are as many as all others."""
    files = [file for file in (path, path.with_suffix(".timelog.json")) if file.exists()]
    return [form for file in files for form in json.loads(file.read_text(encoding="utf-8"))]


def write_lines(path: Path, forms: Iterable[dict[str, Any]]) -> None:
    """Puts a file of these in the place of the one that there is.

    A line a measure, so that a difference of two reports shows which ones differ.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".json.new")
    text = ",\n".join(json.dumps(form, ensure_ascii=False) for form in forms)
    unfinished.write_text(f"[\n{text}\n]\n", encoding="utf-8")
    os.replace(unfinished, path)
