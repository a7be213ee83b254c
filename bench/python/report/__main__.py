"""`python -m bench.python.report [SUITE]`: stamps a suite (or all) as measured now, and writes page and picture."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from bench.python.common.arguments import ROOT
from bench.python.common.report import read_lines
from bench.python.report import page, picture, stamps
from bench.python.report.suites import SUITES


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.python.report", description=__doc__)
    names = [suite.key for suite in SUITES]
    parser.add_argument(
        "suite", nargs="?", choices=[*names, "all"], help="measured just now, whole"
    )
    parser.add_argument("--results", type=Path, default=ROOT / "bench" / "results" / "latest.json")
    parser.add_argument("--page", type=Path, default=ROOT / "docs" / "benchmarks.md")
    asked = parser.parse_args()
    results = read_lines(asked.results)
    for suite in SUITES:
        if asked.suite in (suite.key, "all") and suite.rows(results):
            stamps.stamp(asked.results, suite, suite.rows(results))
    asked.page.write_text(page.text(results, stamps.read(asked.results)), encoding="utf-8")
    asked.page.with_suffix(".svg").write_text(picture.svg(results), encoding="utf-8")
    print(f"{len(results)} rows: {asked.page} and its picture")
    return 0


if __name__ == "__main__":
    sys.exit(main())
