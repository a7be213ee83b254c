"""`python -m bench.python.graph [OPTIONS]`: runs the part of the suite that is in Python."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from bench.python.common.arguments import parser_of
from bench.python.common.run import Run, play
from bench.python.graph import data, loading, reading
from bench.python.graph.library import folder_of_graph


def arguments() -> argparse.Namespace:
    parser = parser_of("graph", __doc__)
    parser.add_argument("--real", type=Path, help="folder of the real graph")
    return parser.parse_args()


def main() -> int:
    asked = arguments()
    run = Run(dir=asked.dir, quick=asked.quick)
    nodes, edges = run.many(100_000), run.many(1_000_000)
    uniform = data.uniform(nodes, edges)
    folder = asked.real or folder_of_graph()
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
