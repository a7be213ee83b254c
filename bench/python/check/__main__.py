"""`python -m bench.python.check`: holds the package's ratios against the kept baseline, or writes a new one.

Ends with 1 where something has become slower by more than its class allows, with 2 where something could not be measured.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

from bench.python.check import baseline, rounds, table
from bench.python.check.judge import Verdict
from bench.python.check.measures import MEASURES, NAMES
from bench.python.common.arguments import TARGET
from bench.python.common.files import is_in_memory
from bench.python.report import stamps

FINE, SLOWER, FAILED = 0, 1, 2
MINUTES = 8.0


def handicap(text: str) -> tuple[str, float]:
    """A measure's name and by how many times its work is made to take longer."""
    name, _, factor = text.rpartition("=")
    if name not in NAMES:
        raise argparse.ArgumentTypeError(
            f"{name!r} is no measure; NAME=FACTOR with one of: {', '.join(NAMES)}"
        )
    try:
        found = float(factor)
    except ValueError:
        found = 0.0
    if not 1 < found < 100:
        raise argparse.ArgumentTypeError(
            f"{factor!r} is no number between 1 and 100: as in {name}=1.3"
        )
    return name, found


def arguments(words: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.python.check",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--only", default="", help="only measures whose name holds this")
    parser.add_argument(
        "--update", action="store_true", help="write what is measured as the new baseline"
    )
    parser.add_argument(
        "--minutes",
        type=float,
        default=MINUTES,
        help=f"until nothing is repeated any more (default {MINUTES:g})",
    )
    parser.add_argument(
        "--handicap",
        type=handicap,
        action="append",
        default=[],
        metavar="NAME=FACTOR",
        help="let ours take so many times as long: tries whether a regression is caught",
    )
    parser.add_argument("--baseline", type=Path, default=baseline.PATH)
    parser.add_argument("--dir", type=Path, default=TARGET / "bench-check", help="for stores")
    asked = parser.parse_args(words)
    if asked.update and asked.handicap:
        parser.error("--update with --handicap would keep figures that are wrong on purpose")
    if asked.update and is_in_memory(asked.dir):
        parser.error(
            f"--update with stores in {asked.dir}, which is memory: syncs cost nothing there; name a folder on a disk with --dir"
        )
    if not any(asked.only in name for name in NAMES):
        parser.error(
            f"--only {asked.only}: no measure's name holds that; there are: {', '.join(NAMES)}"
        )
    asked.handicap = dict(asked.handicap)
    return asked


def main() -> int:
    asked = arguments()
    end = time.monotonic() + asked.minutes * 60
    try:
        before = baseline.read(asked.baseline)
    except baseline.BaselineError as error:
        print(error, file=sys.stderr)
        return FAILED
    # The processes that measure begin with this one's environment: sets and dictionaries of them all have one order.
    os.environ["PYTHONHASHSEED"] = "0"
    commit, machine = stamps.commit(), stamps.machine()
    run = rounds.Run(
        [each for each in MEASURES if asked.only in each.name], asked.dir, asked.handicap
    )
    run.take(rounds.ROUNDS_OF_BASELINE if asked.update else rounds.ROUNDS_FIRST)
    if not asked.update:
        run.decide(before, end)
    found = run.all_found(before)
    print("\n".join(table.lines(found)))
    print("\n" + "\n".join(table.notes(found, run.failures, before, machine, NAMES)))
    if asked.update:
        new = [
            baseline.Line(
                name=one.measure.name,
                against=one.taken.against,
                date=f"{datetime.now(UTC):%Y-%m-%d}",
                commit=commit,
                machine=machine,
                rounds=one.taken.rounds,
            )
            for one in found
        ]
        baseline.write(asked.baseline, new, NAMES)
        print(f"{len(new)} measures written to {asked.baseline}")
    if run.failures:
        return FAILED
    is_slower = any(one.verdict is Verdict.REGRESSION for one in found)
    return SLOWER if is_slower and not asked.update else FINE


if __name__ == "__main__":
    sys.exit(main())
