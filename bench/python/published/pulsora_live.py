"""Pulsora beside our own rows: a driver of ours, `bench/peers/pulsora`, built against a clone that the user names.

It calls the functions that Pulsora's own benchmarks call, on rows as ours are, and asks for the rows that ours gives: what
is published gives a thousand at most, and of ranges often none.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.python.common.arguments import ROOT
from bench.python.published import catalogue, clones
from bench.python.published.results import Result

KNOWN = clones.Known(
    title="Pulsora",
    variable="PULSORA",
    repository="github.com/Muvon/pulsora",
    commit="bd3f242c5b328dd4d281b3105966c889c2027c10",
    files=("Cargo.toml", "src/storage/mod.rs", "src/storage/ingestion.rs", "src/storage/query.rs"),
)
DRIVER = ROOT / "bench" / "peers" / "pulsora" / "driver.rs"
# Groups of `timestrata-bench published` that measure rows of ours; the others are measured by the package of Python.
OURS = ("parse",)
BY_PACKAGE = True
# Calls of 1,000 rows, and values of a type.
AMOUNTS = (300, 100_000)
AMOUNTS_FEW = (5, 2_000)
# How many of the row's unit a call is, where that isn't the number in the row's name.
AMOUNTS_OF = {"batch": 10_000, "symbols": 10_000, "tables": 10_000, "mixed": 11, "page": 1}
RANGES = "the rows that ours gives, as JSON values; with a limit, as in its own benchmark, it takes so many rows of a block and then looks at their times, so that a range in the middle has none"
# By the beginning of a row's name, what is said of it.
NOTES = {
    "parse": "each row a map of texts",
    "insert": "rows are maps of texts",
    "whole": "a small one waits in memory and in its log until more come",
    "batch": "rows are maps of texts, so many a block",
    "scan": "as many rows as ours gives, as JSON values",
    "range10": RANGES,
    "recent1": RANGES,
    "page": "rows are JSON values",
    "symbols": "it has no tags",
    "pack": "the column alone is encoded, in memory",
    "unpack": "the column alone is decoded, in memory",
    "ratio": "the column alone, packed in memory",
    "block": "one block of its columns from bytes in memory to maps of texts",
    "peak": "what a process rose by, beyond the text itself",
}


def prepare(folder: Path, into: Path) -> Path:
    """Builds the driver; raises what `clones` does."""
    wanted = ['serde_json = "1"', 'tokio = { version = "1", features = ["rt-multi-thread"] }']
    return clones.build_cargo(DRIVER, "pulsora", folder, wanted, into)


def measure(driver: Path, dir: Path, *, few: bool) -> Iterator[Result]:
    """All rows of one run of the driver, in a folder of its own."""
    amounts = AMOUNTS_FEW if few else AMOUNTS
    with tempfile.TemporaryDirectory(dir=dir) as name:
        command = [str(driver), str(Path(name).absolute()), *map(str, amounts)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(
            f"Pulsora: the driver ended with {done.returncode}: {done.stderr[-500:]}"
        )
    yield from rows(json.loads(done.stdout), typed=amounts[1])


def rows(told: dict[str, Any], *, typed: int = AMOUNTS[1]) -> Iterator[Result]:
    """The rows that a run's figures are, of so many values of a type."""
    units = {row.id: row.unit for row in catalogue.report("pulsora").rows}
    for id, figure in told.items():
        kind = id.split()[0]
        note = f"Pulsora: {NOTES[kind]}" if kind in NOTES else ""
        if "value" in figure:
            yield _row(id, figure["value"], 1, note)
            continue
        median = figure["p50"]
        amount = typed if kind in ("pack", "unpack") else AMOUNTS_OF.get(kind)
        value = median * 1e3 if units[id] == "ms" else (amount or int(id.split()[1])) / median
        yield _row(id, value, figure["calls"], note, p50=median, p95=figure["p95"], p99=figure["p99"])  # fmt: skip


def _row(id: str, value: float, runs: int, note: str, **more: float) -> Result:
    return Result(
        report="pulsora", id=id, side="peer", label=KNOWN.label, value=value, runs=runs, note=note, **more
    )  # fmt: skip
