"""The kept baseline: of each measure its turns by round, what it was held against, and when, where and at which commit.

A file with a line a measure, so that a difference of two commits shows which ones were taken anew.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from bench.python.check.judge import Rounds
from bench.python.common.arguments import ROOT
from bench.python.common.report import short, write_lines

PATH = ROOT / "bench" / "results" / "baseline.json"
KEYS = ("name", "against", "date", "commit", "machine", "rounds")


class BaselineError(Exception):
    """A baseline's file that can't be read; the message says which, why, and what to do."""


@dataclass(frozen=True, kw_only=True)
class Line:
    """One measure of a baseline."""

    name: str
    # With its version: a ratio to another version is another figure.
    against: str
    date: str
    commit: str
    machine: str
    rounds: Rounds


def read(path: Path = PATH) -> dict[str, Line]:
    """All measures by name; none where there is no file.

    Raises:
        BaselineError: it is not such a file.
    """
    if not path.exists():
        return {}
    try:
        lines = [_line(form) for form in json.loads(path.read_text(encoding="utf-8"))]
    except (ValueError, TypeError) as error:
        what = "mend it, or write a new one: make bench-check UPDATE=1"
        raise BaselineError(f"{path} is not a baseline: {error}; {what}") from error
    return {line.name: line for line in lines}


def _line(form: Mapping[str, object]) -> Line:
    if not isinstance(form, dict) or tuple(form) != KEYS:
        raise ValueError(f"a line must have {', '.join(KEYS)}, and has {form!r:.80}")
    line = Line(**form)
    if not line.rounds or not all(turns and min(turns) > 0 for turns in line.rounds):
        raise ValueError(f"{line.name}: a round without turns, or a ratio that is not above 0")
    if len({len(turns) for turns in line.rounds}) > 1:
        raise ValueError(f"{line.name}: rounds with different numbers of turns")
    return line


def write(path: Path, lines: Iterable[Line], names: Iterable[str]) -> None:
    """Puts lines in the place of those of the same names; lines of measures that aren't any more go.

    `names` are those of all measures, in their order.
    """
    new = {line.name: line for line in lines}
    kept = read(path) | new
    forms = [asdict(kept[name]) for name in names if name in kept]
    for form in forms:
        form["rounds"] = [[short(turn) for turn in turns] for turns in form["rounds"]]
    write_lines(path, forms)
