"""What was measured of published rows: a line a row and side, in one file for all reports."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from bench.python.common.arguments import ROOT
from bench.python.common.report import short, write_lines

PATH = ROOT / "bench" / "results" / "report.json"
SideName = Literal["ours", "peer", "floor"]
SIDES: tuple[SideName, ...] = ("ours", "peer", "floor")


@dataclass(frozen=True, kw_only=True)
class Result:
    """A row on one side. `value` is in the row's unit; latencies and times of processors are in seconds."""

    report: str
    id: str
    side: SideName
    label: str
    value: float
    runs: int
    p50: float | None = None
    p95: float | None = None
    p99: float | None = None
    # Seconds of processor time a run, and what its memory rose by at most.
    cpu: float | None = None
    peak: float | None = None
    note: str = ""

    def form(self) -> dict[str, Any]:
        form = {key: value for key, value in asdict(self).items() if value not in (None, "")}
        return {key: short(v) if isinstance(v, float) else v for key, v in form.items()}


Lines = list[dict[str, Any]]


def read(path: Path = PATH) -> Lines:
    lines: Lines = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    return lines


def merge(path: Path, new: Iterable[Result]) -> None:
    """Puts lines in the place of those of the same rows, which are of the past on all sides."""
    forms = [result.form() for result in new]
    rows = {(form["report"], form["id"]) for form in forms}
    kept = [form for form in read(path) if (form["report"], form["id"]) not in rows]
    write_lines(path, sorted(kept + forms, key=lambda form: str(form["report"])))
