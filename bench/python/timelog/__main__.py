"""`python -m bench.python.timelog [OPTIONS]`: runs the suite and writes its report."""

from __future__ import annotations

import argparse
import os
import platform
import sys
import tempfile
from functools import partial
from pathlib import Path

from bench.python.common.run import play
from bench.python.timelog.groups import GROUPS, Sources
from bench.python.timelog.race import Bench
from bench.python.timelog.sides import PEER_MODULE, side

ROOT = Path(__file__).resolve().parents[3]
# Beside the repository, where it is checked out for development.
MARKET = ROOT.parent / "shared" / "data" / "market"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.python.timelog", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes: shows that it works")
    parser.add_argument("--only", default="", help="only groups whose name holds this")
    parser.add_argument("--ours", default="timestrata", help="the module that has our Timelog")
    parser.add_argument("--market", type=Path, default=MARKET, help="folder of the real rows")
    scratch = Path(os.environ.get("CARGO_TARGET_DIR") or tempfile.gettempdir())
    parser.add_argument("--dir", type=Path, default=scratch, help="where stores are made")
    out = ROOT / "bench" / "results" / "latest.timelog.json"
    parser.add_argument("--out", type=Path, default=out, help="the report")
    return parser.parse_args()


def main() -> int:
    asked = arguments()
    try:
        ours, peer = side(asked.ours), side(PEER_MODULE)
    except (ImportError, AttributeError, TypeError) as error:
        print(f"bench.python.timelog: one side cannot be used: {error}", file=sys.stderr)
        return 2
    asked.dir.mkdir(parents=True, exist_ok=True)
    bench = Bench(
        ours=ours, peer=peer, market=asked.market, dir=asked.dir, quick=asked.quick
    )
    python = f"{platform.python_implementation()} {platform.python_version()}"
    print(f"{ours.label} beside {peer.label}, {python}, {os.cpu_count()} processors")
    sources = Sources(bench)
    groups = [(name, partial(group, bench, sources)) for name, group in GROUPS]
    return play(bench, "timelog", groups, asked.only, asked.out)


if __name__ == "__main__":
    sys.exit(main())
