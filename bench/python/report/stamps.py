"""When, where and at which commit a suite was measured, in a file beside the results."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from bench.python.common.arguments import ROOT
from bench.python.report.suites import Row

Stamp = dict[str, str]
# What runs of the benchmarks write themselves; it says nothing of what was measured.
WRITTEN = ("bench/results", "docs/benchmarks.md", "docs/benchmarks.svg", "docs/report")


class Keyed(Protocol):
    """A suite, or a report."""

    @property
    def key(self) -> str: ...


def path_of(results: Path) -> Path:
    return results.with_suffix(".runs.json")


def read(results: Path) -> dict[str, Stamp]:
    path = path_of(results)
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def digest(rows: list[Row]) -> str:
    """What tells whether lines were measured by the run that the stamp is of."""
    return hashlib.sha256(json.dumps(rows, sort_keys=True).encode()).hexdigest()[:16]


def stamp(results: Path, suite: Keyed, rows: list[Row]) -> None:
    """Says of a suite that its lines were measured now, here."""
    stamps = read(results)
    stamps[suite.key] = {
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "commit": commit(),
        "machine": machine(),
        "lines": digest(rows),
    }
    text = json.dumps(dict(sorted(stamps.items())), indent=2) + "\n"
    unfinished = path_of(results).with_suffix(".json.new")
    unfinished.write_text(text, encoding="utf-8")
    os.replace(unfinished, path_of(results))


def commit() -> str:
    """The commit that is checked out, and whether anything differs from it."""

    def git(*arguments: str) -> str:
        done = subprocess.run(
            ["git", "-C", ROOT, *arguments], capture_output=True, text=True, check=False
        )
        return done.stdout if done.returncode == 0 else ""

    head = git("rev-parse", "--short=12", "HEAD").strip()
    changed = [line[3:] for line in git("status", "--porcelain").splitlines()]
    differs = any(not path.startswith(WRITTEN) for path in changed)
    return f"{head or 'no commit'}{' and changes' if differs else ''}"


def machine() -> str:
    """Processors, memory and system; no names."""
    model = platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = (
            line.partition(":")[2].strip()
            for line in info.read_text().splitlines()
            if line.startswith("model name")
        )
        model = next(names, model)
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / (1 << 30)
    return f"{count} x {model}, {memory:.0f} GiB, {platform.system()} {platform.release().partition('-')[0]}"
