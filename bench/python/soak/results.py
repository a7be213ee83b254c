"""What a run gave, as lines of files: the run itself, each kind of operation and the samples; and, beside them, what was slow."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.python.common.arguments import ROOT
from bench.python.common.report import write_lines
from bench.python.report import stamps
from bench.python.soak.floor import Floor
from bench.python.soak.recorder import Kind, Slow
from bench.python.soak.run import Outcome
from bench.python.soak.settings import STORE

PATH = ROOT / "bench" / "results" / "soak.json"
# An operation is slow if it takes so many medians: its own kind's, or if that is more, a floor's.
SLOW_MEDIANS = 50
SLOW_LINES = 300
Line = dict[str, Any]
WHY = ("disk", "scheduler", "processor", "host", "neither")


@dataclass(frozen=True)
class Results:
    run: Line
    kinds: list[Line]
    slow: list[Line]
    samples: list[Line]


def write(path: Path, outcome: Outcome) -> Results:
    """Puts the results of a run in the place of those that there are; by kind and interval, beside them."""
    medians = {
        floor.name: floor.steady.percentile(0.5) for floor in outcome.floors if floor.is_a_wait
    }
    kinds, slow, kept = [], [], outcome.recorder.slow()
    for kind in outcome.recorder.all():
        line, of = kind_lines(kind, kept[kind.name], medians)
        kinds.append(line)
        slow += of
    # Those that nothing explains are kept, however short.
    slow.sort(key=lambda line: (line["why"] != "neither", -float(line["ms"])))
    results = Results(_run(outcome), kinds, slow[:SLOW_LINES], outcome.lines)
    write_lines(_slow_path(path), results.slow)
    write_lines(path, _forms(results))
    write_lines(path.with_suffix(".kinds.json"), outcome.kinds)
    return results


def _slow_path(path: Path) -> Path:
    return path.with_suffix(".slow.json")


def _forms(results: Results) -> Iterator[Line]:
    yield {"line": "run", **results.run}
    for name, lines in (("kind", results.kinds), ("sample", results.samples)):
        yield from ({"line": name, **line} for line in lines)


def read(path: Path = PATH) -> Results | None:
    """The results of the last run; none if there was none."""
    if not path.exists():
        return None
    run: Line = {}
    lists: dict[str, list[Line]] = {"kind": [], "sample": []}
    for line in json.loads(path.read_text(encoding="utf-8")):
        name = line.pop("line")
        if name == "run":
            run = line
        else:
            lists[name].append(line)
    slow: list[Line] = json.loads(_slow_path(path).read_text(encoding="utf-8"))
    return Results(run, lists["kind"], slow, lists["sample"])


def _run(outcome: Outcome) -> Line:
    return {
        "date": f"{datetime.fromtimestamp(outcome.begun, UTC):%Y-%m-%d}",
        "commit": stamps.commit(),
        "machine": stamps.machine(),
        "seconds": round(outcome.seconds, 1),
        "settings": outcome.settings.form(),
        "store": STORE,
        "steps": outcome.steps,
        "records": sum(outcome.sent.values()),
        "processor_seconds": round(outcome.processor_seconds, 1),
        "failures": outcome.failures,
        "events": outcome.events,
        "streams": outcome.streams,
        "floors": {floor.name: _floor(floor) for floor in outcome.floors},
    }


def _floor(floor: Floor) -> Line:
    return {"steady": floor.steady.form()}


def kind_lines(
    kind: Kind, kept: Sequence[Slow], medians: dict[str, int]
) -> tuple[Line, list[Line]]:
    """A kind's figures, and those of its operations that were slow, each with why."""
    median = kind.steady.percentile(0.5)
    limit = SLOW_MEDIANS * max(median, *medians.values())
    slow = [_slow(each) for each in kept if each.ns > limit]
    why = {name: sum(line["why"] == name for line in slow) for name in WHY}
    line = {
        "name": kind.name,
        "model": kind.model,
        "steady": kind.steady.form(),
        "whole": kind.whole.form(),
        "limit_ms": round(limit / 1e6, 2),
        "over_own": kind.steady.over(SLOW_MEDIANS * median) if kind.steady.count else 0,
        "slow": why,
    }
    return line, slow


def _slow(slow: Slow) -> Line:
    beside = dict(slow.floors)
    return {
        "kind": slow.kind,
        "at": round(slow.at / 1e9, 2),
        "ms": round(slow.ns / 1e6, 2),
        **{f"{name}_ms": round(ns / 1e6, 2) for name, ns in beside.items()},
        "why": why(slow.ns, beside, slow.together),
        "events": slow.events,
    }


def why(ns: int, floors: dict[str, int], together: int) -> str:
    """The floor that waited longer, if probes of any waited for at least half of an operation's time; else neither."""
    held: Sequence[tuple[int, str]] = sorted((waited, name) for name, waited in floors.items())
    return held[-1][1] if held and together * 2 >= ns else "neither"
