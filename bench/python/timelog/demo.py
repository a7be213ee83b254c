"""The scenarios of the peer's own demo, on the peer and on the module that stands in for it.

The demo comes from the peer's source distribution, whose hash is known, and runs as it is: it finds as `timelog` either the peer or
`timestrata.compat.timelog`. Each side has a process of its own; they take turns, scenario by scenario.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

from bench.python.common.sample import median
from bench.python.timelog.race import Bench

VERSION = "timelog_lib-1.4.0"
SDIST = Path(sys.prefix) / "timelog-lib" / f"{VERSION}.tar.gz"
OURS, PEER = "timestrata.compat.timelog", "timelog"
ROWS, TURNS = 100_000, 7
# Of scenarios that take longer there are fewer turns.
LONG_S, TURNS_OF_LONG = 1.0, 3


class Side:
    """The demo of one side, in its process."""

    def __init__(self, module: str, folder: Path, data: Path) -> None:
        command = [sys.executable, "-m", "bench.python.timelog.demo_child", module, folder, data]
        self._process = subprocess.Popen(
            list(map(str, command)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.scenarios: list[str] = self._read()

    def _read(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("the demo's process has ended: what it said stands above")
        return json.loads(line)

    def run(self, code: str) -> dict[str, Any]:
        """Give what one run of a scenario took."""
        assert self._process.stdin is not None
        print(code, file=self._process.stdin, flush=True)
        found: dict[str, Any] = self._read()
        return found

    def close(self) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(60)
        self._process.stdout.close()


def prepared(dir: Path, rows: int) -> tuple[Path, Path]:
    """Unpack the demo, and have it make its rows, 5 % of them late, and others that one scenario holds them against."""
    with tarfile.open(SDIST) as archive:
        archive.extractall(dir, filter="data")
    folder = dir / VERSION / "demo"
    # Under the names by which it finds the one to the other.
    for name, share in (("generated_20pct.csv", "0.20"), ("generated_5pct.csv", "0.05")):
        command = [sys.executable, folder / "hft_synthetic.py", "--output", dir / name]
        command += ["--rows", rows, "--ooo-rate", share, "--seed", "12345"]
        subprocess.run(list(map(str, command)), check=True, stdout=subprocess.DEVNULL)
    return folder, dir / "generated_5pct.csv"


def scenario(bench: Bench, code: str, ours: Side, peer: Side) -> None:
    """One scenario, in turns."""
    taken: dict[str, list[float]] = {"ours": [], "peer": []}
    walls: dict[str, list[float]] = {"ours": [], "peer": []}
    turn = 0
    while True:
        sides = [("ours", ours), ("peer", peer)]
        for name, side in sides if turn % 2 == 0 else sides[::-1]:
            found = side.run(code)
            if found["error"] is not None:
                bench.failures.append(f"demo {code}, {name}: {found['error']}")
                return
            # The first turn warms up.
            if turn > 0:
                taken[name].append(found["cpu"])
                walls[name].append(found["wall"])
        turn += 1
        longest = max([0.0, *taken["ours"], *taken["peer"]])
        if turn > (1 if bench.quick else TURNS_OF_LONG if longest > LONG_S else TURNS):
            break
    wall = median(walls["peer"]) / median(walls["ours"])
    note = f"processor time of a run; by the clock {wall:.2f}"
    mine, other = median(taken["ours"]) * 1e3, median(taken["peer"]) * 1e3
    bench.compare(f"demo {code}", "ms", mine, other, aim=1.0, note=note)


def run(bench: Bench, only: str = "") -> None:
    """All scenarios, or those whose codes begin so."""
    if not SDIST.exists():
        bench.skip("the peer's demo", f"no {SDIST}, which tools/setup bench timelog fetches")
        return
    folder, data = prepared(bench.dir / "demo", bench.many(ROWS))
    sides = [Side(module, folder, data) for module in (OURS, PEER)]
    try:
        for code in sides[0].scenarios:
            if code.startswith(only):
                scenario(bench, code, *sides)
    finally:
        for side in sides:
            side.close()
