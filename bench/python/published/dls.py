"""dls beside our own rows: a driver of ours, `bench/peers/dls`, which is built against a clone that the user names.

Entries have as many bytes as ours, and each is synced on both sides. Of an entry's metadata dls keeps the level alone.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.python.common.arguments import ROOT
from bench.python.published import clones
from bench.python.published.results import Result

KNOWN = clones.Known(
    title="dls",
    variable="DLS",
    repository="github.com/xingyuli/dls",
    commit="0084a860ca2a016ede8190bdc6e230626d44e7fd",
    files=("build.zig.zon", "src/memtable.zig", "src/wal.zig", "src/model.zig"),
)
DRIVER = ROOT / "bench" / "peers" / "dls" / "driver.zig"
# Groups of `timestrata-bench published` that measure the same rows of ours.
OURS = ("synced", "written", "ten thousand", "memory")
BY_PACKAGE = False
NEVER = 2**32 - 1


@dataclass(frozen=True)
class Run:
    """One run of the driver: how many entries, flushed how often, and the rows of writes and reads that it is."""

    entries: int
    flush_each: int
    kind: str
    write: str
    read: str


RUNS = (
    Run(100_000, 1_000, "long", "V8 write synced", "V8 read"),
    Run(100_000, NEVER, "long", "V3 write", "V3 read"),
    Run(10_000, NEVER, "long", "V3 10k write", "V3 10k read"),
    Run(10_000, NEVER, "short", "V2 write", "V2 read"),
)
NOTE = "dls: a program of its own, before and after ours in turn; an entry as long as ours, of whose metadata it keeps the level"


def prepare(folder: Path, into: Path) -> Path:
    """Builds the driver; raises what `clones` does."""
    words = clones.zig()
    zbor = clones.zig_package(words, folder, "zbor")
    modules = [
        "--dep", "dls", f"-Mroot={DRIVER}",
        "--dep", "zbor", f"-Mdls={folder / 'src' / 'memtable.zig'}",
        f"-Mzbor={zbor / 'src' / 'main.zig'}",
    ]  # fmt: skip
    return clones.build_zig(words, DRIVER, modules, into)


def measure(driver: Path, dir: Path, *, few: bool) -> Iterator[Result]:
    """Each of its runs, in a folder of its own."""
    for run in RUNS:
        entries = run.entries // 50 if few else run.entries
        with tempfile.TemporaryDirectory(dir=dir) as name:
            done = subprocess.run(
                [driver, str(entries), str(run.flush_each), run.kind],
                cwd=name, capture_output=True, text=True, check=False,
            )  # fmt: skip
        if done.returncode:
            raise RuntimeError(
                f"dls, {run.write}: the driver ended with {done.returncode}: {done.stderr[-500:]}"
            )
        yield from rows(run, json.loads(done.stdout))


def rows(run: Run, told: dict[str, Any]) -> Iterator[Result]:
    """The rows that a run's figures are.

    Raises:
        ValueError: what was read back is not what was written.
    """
    entries = told["entries"]
    if told["read_entries"] != entries or not told["answers_equal"]:
        raise ValueError(
            f"dls, {run.read}: {told['read_entries']} of {entries} entries were read back, or other ones"
        )

    def row(id: str, value: float, runs: int, **more: Any) -> Result:
        return Result(report="dls", id=id, side="peer", label=KNOWN.label, value=value, runs=runs, **more)  # fmt: skip

    def spread(of: str) -> dict[str, float]:
        return {key: told[f"{of}_{key}"] for key in ("p50", "p95", "p99")}

    write, read = told["write_seconds"], told["read_seconds"]
    yield row(run.write, write / entries * 1e6, entries, **spread("write"), note=NOTE)
    yield row(run.read, read / entries * 1e6, 9, note=NOTE)
    if run is not RUNS[0]:
        return
    yield row("V8 ratio", write / read, 1, note=NOTE)
    if told["flushes"]:
        flush = told["flush_seconds"] / told["flushes"] * 1e3
        yield row("V8 flush", flush, told["flushes"], note="dls: with each fourth it compacts")
    own = "dls: its own count, over all of its writes"
    yield row("V8 encode", told["encode_seconds"] / entries * 1e6, entries, note=own)
    yield row(
        "V8 log", told["log_seconds"] / entries * 1e6, entries, note=f"{own}, without the sync"
    )
    newest = f"dls: by the time of the 1,000th newest, which gives {told['newest_entries']:,}"
    yield row("last 1000", told["newest_p50"] * 1e6, 20, **spread("newest"), note=newest)
    yield row(
        "peak", told["rise_bytes"] / 1e6, 1, note="dls: looked at before each flush, as ours is"
    )
    yield row("log growth", told["log_bytes"] / 1e6, 1, note="dls: its log is never cut")
