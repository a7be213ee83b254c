"""`python -m bench.graph [OPTIONS]`: runs the part of the suite that is in Python."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

from bench.common.run import Run, play
from bench.graph import data, loading, reading

ROOT = Path(__file__).resolve().parents[2]
# Beside the repository, where it is checked out for development.
SHARED = ROOT.parent / "shared" / "data"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.graph", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes: shows that it works")
    parser.add_argument("--only", default="", help="only groups whose name holds this")
    parser.add_argument("--shared", type=Path, default=SHARED, help="folder of the real graph")
    target = Path(os.environ.get("CARGO_TARGET_DIR") or tempfile.gettempdir())
    parser.add_argument("--dir", type=Path, default=target / "bench-graph", help="for stores")
    out = ROOT / "bench" / "results" / "latest.json"
    parser.add_argument("--out", type=Path, default=out, help="the report")
    return parser.parse_args()


def main() -> int:
    asked = arguments()
    run = Run(dir=asked.dir, quick=asked.quick)
    nodes, edges = run.many(100_000), run.many(1_000_000)
    uniform = data.uniform(nodes, edges)
    folder = asked.shared / "graph"
    groups = [
        ("load", lambda: loading.load(run, uniform)),
        ("reopen", lambda: loading.reopen(run, uniform)),
        ("uniform", lambda: reading.of_shape(run, uniform)),
        ("power law", lambda: reading.of_shape(run, data.power_law(nodes, edges))),
        ("standard library", lambda: reading.of_shape(run, data.standard_library(folder))),
    ]
    return play(run, "graph-python", groups, asked.only, asked.out)


if __name__ == "__main__":
    sys.exit(main())
