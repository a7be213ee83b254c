"""`python -m bench.table [OPTIONS]`: runs the suite and writes its report."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

from bench.common.run import play
from bench.table import growth, loading, reading, serving
from bench.table.bench import Bench
from bench.table.data import Files

ROOT = Path(__file__).resolve().parents[2]
# Beside the repository, where it is checked out for development.
SHARED = ROOT.parent / "shared" / "data"
GROUPS: dict[str, Callable[[Bench], None]] = {
    "files": loading.files,
    "arrow": loading.arrow,
    "single": loading.single,
    "size": loading.size,
    "memory": loading.memory,
    "reads": reading.all_reads,
    "late": loading.late,
    "http bodies": serving.bodies,
    "http queries": serving.queries,
    "growth": growth.growth,
}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.table", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes: shows that it works")
    parser.add_argument("--only", default="", help="only groups whose name holds this")
    parser.add_argument("--shared", type=Path, default=SHARED, help="folder of the real rows")
    target = Path(os.environ.get("CARGO_TARGET_DIR") or tempfile.gettempdir())
    parser.add_argument("--dir", type=Path, default=target / "bench-table", help="for stores")
    built = target / "release"
    parser.add_argument("--command", type=Path, default=built / "timestrata")
    parser.add_argument("--bench-command", type=Path, default=built / "timestrata-bench")
    out = ROOT / "bench" / "results" / "latest.json"
    parser.add_argument("--out", type=Path, default=out, help="the report")
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
