"""The lab: all parts in turn with fresh seeds, on and on, and their totals.

    python -m lab --hours 2          fresh seeds; totals go to lab-totals.jsonl
    python -m lab --short            fixed seeds and so many rounds, as the gate runs it
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
TOTALS = ROOT / "lab-totals.jsonl"
# One part's turn in the lab.
TURN_SECONDS = 120
SIMULATED_KINDS = ("streams", "tables", "topics", "graphs", "logs", "timelogs", "models")
PARTS = ("lab.kills", "lab.cuts", "lab.random_models", "lab.fuzz")
# Of the gate, only what its seed decides whole: where a kill or a cut falls follows the machine's
# load too, and a change must not fail by luck.
SHORT_ROUNDS = (("lab.random_models", 3, 4),)
SHORT_SCHEDULES = 100
SHORT_QUERIES = 1_000


def last_line(command: list[str]) -> tuple[int, str]:
    """Runs a part; what it says of failures goes on to the terminal, its last line comes back."""
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    lines = done.stdout.splitlines() or [""]
    print("\n".join(lines[:-1]), end="\n" if lines[1:] else "")
    return done.returncode, lines[-1]


def counted(kind: str, command: list[str]) -> tuple[int, dict[str, Any]]:
    """Runs a part, whose last line has its totals. Ended without them it has failed, whatever its status."""
    status, line = last_line(command)
    try:
        totals: dict[str, Any] = json.loads(line)
    except ValueError:
        print(f"FAILED: {' '.join(command)}\n{line}", file=sys.stderr)
        return status or 1, {"kind": kind, "found": 1}
    if status:
        print(f"FAILED: {' '.join(command)}", file=sys.stderr)
    return status, totals


def simulated(kind: str, options: list[str]) -> tuple[int, dict[str, Any]]:
    binary = Path(os.environ["CARGO_TARGET_DIR"]) / "debug" / "timestrata-sim"
    return counted(kind, [str(binary), *options])


def simulator(seed: int, seconds: float) -> tuple[int, dict[str, Any]]:
    """The simulator's long workloads, all kinds in turn."""
    sums: dict[str, Any] = {"kind": "simulator", "seed": seed}
    end, number, worst = time.monotonic() + seconds, 0, 0
    while number == 0 or time.monotonic() < end:
        kind = SIMULATED_KINDS[number % len(SIMULATED_KINDS)]
        status, totals = simulated("simulator", ["--of", kind, "--drawn", "2", "--seed", str(seed + number)])
        for what, count in totals.items():
            if what != "kind":
                sums[what] = sums.get(what, 0) + count
        worst, number = max(worst, status), number + 1
    return worst, sums


def schedules(options: list[str]) -> tuple[int, dict[str, Any]]:
    """A store used by several at once, in orders that the simulator chooses."""
    return simulated("schedules", options)


def python_part(module: str, options: list[str]) -> tuple[int, dict[str, Any]]:
    return counted(module.rpartition(".")[2], [sys.executable, "-m", module, *options])


def short() -> int:
    """Counts parts, a count line of the plain form at the end."""
    turns = [schedules(["--schedules", str(SHORT_SCHEDULES), "--seed", "1"])]
    for module, seed, rounds in SHORT_ROUNDS:
        options = ["--seed", str(seed), "--rounds", str(rounds), "--seconds", "600"]
        turns.append(python_part(module, options))
    turns.append(python_part("lab.sql", ["--seed", "1", "--queries", str(SHORT_QUERIES)]))
    failed = sum(status != 0 for status, _ in turns)
    for _, totals in turns:
        print(json.dumps(totals), flush=True)
    print(f"lab: {len(turns) - failed} passed, {failed} failed")
    return int(failed > 0)


def long(hours: float) -> int:
    end, failed = time.monotonic() + 3600 * hours, 0
    while time.monotonic() < end:
        seed = int.from_bytes(os.urandom(4), "big")
        seconds = min(TURN_SECONDS, max(end - time.monotonic(), 1))
        timed = ["--seed", str(seed), "--seconds", str(seconds)]
        turns = [simulator(seed, seconds), schedules(["--seconds", str(int(seconds)), "--seed", str(seed)])]
        turns += [python_part(module, timed) for module in PARTS]
        turns.append(python_part("lab.sql", [*timed, "--queries", "20000"]))
        for status, totals in turns:
            failed += status != 0
            line = json.dumps(totals)
            print(line, flush=True)
            with TOTALS.open("a") as file:
                file.write(line + "\n")
    print(f"lab: totals are in {TOTALS.name}; python -m lab.totals {TOTALS.name} adds them to docs/testing.md")
    return int(failed > 0)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hours", type=float, default=1.0)
    parser.add_argument("--short", action="store_true")
    arguments = parser.parse_args()
    return short() if arguments.short else long(arguments.hours)


if __name__ == "__main__":
    sys.exit(main())
