"""`python -m bench.python.logs [OPTIONS]`: runs the part of the suite that is in Python."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from bench.python.common.arguments import add_commands, parser_of
from bench.python.common.run import play
from bench.python.logs import ingesting, searching, serving
from bench.python.logs.bench import Bench
from bench.python.logs.stand_in import folder_of_logs

GROUPS: dict[str, Callable[[Bench], None]] = {
    "search": searching.search,
    "ingest": ingesting.ingest,
    "tcp writes": serving.writes,
    "tcp reads": serving.reads,
}


def arguments() -> argparse.Namespace:
    parser = parser_of("logs", __doc__)
    parser.add_argument("--logs", type=Path, help="folder of the real logs")
    add_commands(parser)
    return parser.parse_args()


def main() -> int:
    asked = arguments()
    bench = Bench(
        logs=asked.logs or folder_of_logs(),
        command=asked.command,
        bench_command=asked.bench_command,
        dir=asked.dir,
        quick=asked.quick,
    )
    groups = [(name, partial(group, bench)) for name, group in GROUPS.items()]
    return play(bench, "logs-python", groups, asked.only, asked.out)


if __name__ == "__main__":
    sys.exit(main())
