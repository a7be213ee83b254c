"""`python -m bench.logs [OPTIONS]`: runs the part of the suite that is in Python."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

from bench.common.run import play
from bench.logs import ingesting, searching, serving
from bench.logs.bench import Bench

ROOT = Path(__file__).resolve().parents[2]
# Beside the repository, where it is checked out for development.
LOGS = ROOT.parent / "shared" / "data" / "logs"
GROUPS: dict[str, Callable[[Bench], None]] = {
    "search": searching.search,
    "ingest": ingesting.ingest,
    "tcp writes": serving.writes,
    "tcp reads": serving.reads,
}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.logs", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes: shows that it works")
    parser.add_argument("--only", default="", help="only groups whose name holds this")
    logs = Path(os.environ.get("TIMESTRATA_LOGS") or LOGS)
    parser.add_argument("--logs", type=Path, default=logs, help="folder of the real logs")
    target = Path(os.environ.get("CARGO_TARGET_DIR") or tempfile.gettempdir())
    parser.add_argument("--dir", type=Path, default=target / "bench-logs", help="for stores")
    built = target / "release"
    parser.add_argument("--command", type=Path, default=built / "timestrata")
    parser.add_argument("--bench-command", type=Path, default=built / "timestrata-bench")
    out = ROOT / "bench" / "results" / "latest.json"
    parser.add_argument("--out", type=Path, default=out, help="the report")
    return parser.parse_args()


def main() -> int:
    asked = arguments()
    bench = Bench(
        logs=asked.logs,
        command=asked.command,
        bench_command=asked.bench_command,
        dir=asked.dir,
        quick=asked.quick,
    )
    groups = [(name, partial(group, bench)) for name, group in GROUPS.items()]
    return play(bench, "logs-python", groups, asked.only, asked.out)


if __name__ == "__main__":
    sys.exit(main())
