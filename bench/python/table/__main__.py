"""`python -m bench.python.table [OPTIONS]`: runs the suite and writes its report."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from bench.python.common.arguments import SHARED, add_commands, parser_of
from bench.python.common.run import play
from bench.python.table import flights, growth, loading, reading, serving
from bench.python.table.bench import Bench
from bench.python.table.data import Files

GROUPS: dict[str, Callable[[Bench], None]] = {
    "files": loading.files,
    "arrow": loading.arrow,
    "single": loading.single,
    "size": loading.size,
    "memory": loading.memory,
    "reads": reading.all_reads,
    "flights": flights.flights,
    "late": loading.late,
    "http bodies": serving.bodies,
    "http queries": serving.queries,
    "growth": growth.growth,
}


def arguments() -> argparse.Namespace:
    parser = parser_of("table", __doc__)
    parser.add_argument("--shared", type=Path, default=SHARED, help="folder of the real rows")
    add_commands(parser)
    return parser.parse_args()


def main() -> int:
    asked = arguments()
    bench = Bench(
        files=Files(asked.dir / "files", asked.shared),
        command=asked.command,
        bench_command=asked.bench_command,
        dir=asked.dir,
        quick=asked.quick,
    )
    groups = [(name, partial(group, bench)) for name, group in GROUPS.items()]
    return play(bench, "table", groups, asked.only, asked.out)


if __name__ == "__main__":
    sys.exit(main())
