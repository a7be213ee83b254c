"""KausalDB beside our own rows: a driver of ours, `bench/peers/kausaldb`, built against a clone that the user names.

Its own benchmarks put most of their files into memory that stands in for a disk; the driver's are real. At the commit that
is measured each change waits for the disk, so only 'put synced' of the rows that change anything has a live figure: our deletes and
edges are `Written`.
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
    title="KausalDB",
    variable="KAUSALDB",
    repository="github.com/kausaldb/kausaldb",
    commit="4689adebd69fb4be6b5b55bc69861ccb24b57b42",
    files=("build.zig.zon", "src/kausaldb.zig", "src/storage/engine.zig", "src/query/engine.zig"),
)
DRIVER = ROOT / "bench" / "peers" / "kausaldb" / "driver.zig"
# Groups of `timestrata-bench published` that measure the same rows of ours.
OURS = ("puts", "gets and deletes", "edges", "walks")
BY_PACKAGE = False
# Puts, blocks in files, nodes with edges, hops. With 100,000 blocks, as ours has, it can't be opened again: it reads no log of so many entries.
AMOUNTS = (2_500, 20_000, 10_000, 128_000)
AMOUNTS_FEW = (50, 2_000, 200, 2_560)
NODES = {"bfs": 1_111, "dfs": 3_906}
# Of each row of the driver: the report's rows, and what is said of it.
ROWS = {
    "put synced": (("put synced",), "each waits for the disk, as ours"),
    "get hot": (("get hot", "hit cache"), "64 calls at once"),
    "get cold": (("get cold", "hit second"), "each for the first time since it was opened, of 20,000 blocks (ours are 100,000, with which it can't be opened again); a single lookup reads a file's index anew"),
    "miss": (("miss",), "its filters are in memory by then"),
    "hop 1": (("hop 1", "edges"), "its slice of edges walked through, {found:.1f} on average; 64 calls at once"),
    "hop reverse": (("hop reverse",), "asked of its index: the engine's own call sees no edges in memory; 64 calls at once"),
    "hop filtered": (("hop filtered",), "the same slice, of which the caller takes one kind"),
    "hop 3": (("hop 3",), "with its blocks and paths, no cache of answers; {found:.1f} nodes on average"),
    "bfs": (("bfs",), "with its blocks and paths, no cache of answers"),
    "dfs": (("dfs",), "with its blocks and paths, no cache of answers"),
}  # fmt: skip


def prepare(folder: Path, into: Path) -> Path:
    """Builds the driver; raises what `clones` does."""
    modules = ["--dep", "kausaldb", f"-Mroot={DRIVER}", f"-Mkausaldb={folder / 'src' / 'kausaldb.zig'}"]  # fmt: skip
    return clones.build_zig(clones.zig(), DRIVER, modules, into)


def measure(driver: Path, dir: Path, *, few: bool) -> Iterator[Result]:
    """All rows of one run of the driver, in a folder of its own."""
    amounts = [str(amount) for amount in (AMOUNTS_FEW if few else AMOUNTS)]
    with tempfile.TemporaryDirectory(dir=dir) as name:
        command = [str(driver), str(Path(name).absolute()), *amounts]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(
            f"KausalDB: the driver ended with {done.returncode}: {done.stderr[-500:]}"
        )
    yield from rows(json.loads(done.stdout))


def rows(told: dict[str, Any]) -> Iterator[Result]:
    """The rows that a run's figures are.

    Raises:
        ValueError: a walk did not come to all nodes, or hops came to no edge.
    """
    units = {row.id: row.unit for row in catalogue.report("kausaldb").rows}
    for name, nodes in NODES.items():
        if told[name]["found"] != nodes:
            raise ValueError(f"KausalDB, {name}: {told[name]['found']:.0f} nodes of {nodes}")
    for name, (ids, note) in ROWS.items():
        figure = told[name]
        if name.startswith("hop") and not figure["found"]:
            raise ValueError(f"KausalDB, {name}: no edges were found")
        for id in ids:
            median = figure["p50"]
            value = median * 1e6 if units[id] == "us" else 1 / median
            yield Result(
                report="kausaldb", id=id, side="peer", label=KNOWN.label, value=value, runs=figure["calls"],
                p50=median, p95=figure["p95"], p99=figure["p99"], note=f"KausalDB: {note.format(**figure)}",
            )  # fmt: skip
