"""`python -m bench.python.soak run | page`: a soak of so many hours, and its page."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import time
from pathlib import Path

from bench.python.common.arguments import ROOT, TARGET
from bench.python.soak import page, pictures, results
from bench.python.soak.settings import Settings
from bench.python.soak.verdict import failed, verdict

PAGE = ROOT / "docs" / "report"
QUICK = ROOT / "bench" / "results" / "soak.quick"
# A shorter run shows that it works, and says little of a store: it goes beside the results of longer ones.
QUICK_HOURS = 0.5


def run(asked: argparse.Namespace) -> int:
    from bench.python.soak.run import Soak

    seed = asked.seed if asked.seed is not None else time.time_ns() % 1_000_000_000
    settings = Settings(
        seed=seed, seconds=asked.hours * 3600, rate=asked.rate, retention=asked.retention
    )
    print(f"soak: {asked.hours:g} hours with seed {seed}, in {asked.dir}", flush=True)
    outcome = Soak(settings, asked.dir).run()
    found = results.write(asked.results, outcome)
    write_page(asked)
    criteria = verdict(found)
    for each in criteria:
        print(f"{each.word.strip('*'):<11} {each.name}: {each.figure} (limit: {each.limit})")
    has_failed = failed(criteria)
    if has_failed:
        print(f"soak: FAILED with seed {seed}; the store is in {asked.dir}", flush=True)
    else:
        shutil.rmtree(asked.dir)
        print("soak: passed", flush=True)
    if outcome.hangs:
        # A thread that hangs keeps the process from ending.
        sys.stderr.flush()
        os._exit(1)
    return 1 if has_failed else 0


def write_page(asked: argparse.Namespace) -> int:
    found = results.read(asked.results)
    asked.page.mkdir(parents=True, exist_ok=True)
    path = asked.page / "soak.md"
    path.write_text(page.text(found), encoding="utf-8")
    if found is not None:
        for name, picture in pictures.drawn(found):
            (asked.page / f"{name}.svg").write_text(picture, encoding="utf-8")
    print(path)
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.python.soak", description=__doc__)
    parser.add_argument("what", choices=["run", "page"])
    parser.add_argument("--hours", type=float, default=1.0, help="fractions too, such as 0.05")
    parser.add_argument("--seed", type=int, help="what draws the steps; else the clock")
    parser.add_argument("--rate", type=float, default=1.0, help="what all rates are multiplied by")
    parser.add_argument(
        "--retention",
        type=float,
        metavar="SECONDS",
        help="how long data is kept; else it follows from the hours",
    )
    parser.add_argument(
        "--quick", action="store_true", help="not to docs/, as runs of under half an hour"
    )
    parser.add_argument("--results", type=Path, help="file of results")
    parser.add_argument("--page", type=Path, help="folder of the page")
    parser.add_argument("--dir", type=Path, default=TARGET / "soak", help="for the store")
    asked = parser.parse_args()
    if asked.hours <= 0 or asked.rate <= 0 or (asked.retention or 1) <= 0:
        parser.error("--hours, --rate and --retention are numbers above 0")
    is_quick = asked.what == "run" and (asked.quick or asked.hours < QUICK_HOURS)
    asked.results = asked.results or (
        QUICK.with_suffix(".quick.json") if is_quick else results.PATH
    )
    asked.page = asked.page or (QUICK if is_quick else PAGE)
    return run(asked) if asked.what == "run" else write_page(asked)


if __name__ == "__main__":
    sys.exit(main())
