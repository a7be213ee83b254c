"""`python -m bench.python.published [measure | page]`: measures rows of the published reports, and writes their page."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from bench.python.common.arguments import ROOT, TARGET
from bench.python.published import page, pictures, results
from bench.python.published.catalogue import reports
from bench.python.report import stamps

PAGE = ROOT / "docs" / "report"


def measure(asked: argparse.Namespace) -> int:
    # Each peer is imported only where it is measured.
    from bench.python.published import pulsora, timelog
    from bench.python.timelog.sides import PEER_MODULE, side

    asked.dir.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=asked.dir) as name:
        folder = Path(name)
        runs: dict[str, Callable[[], Iterator[results.Result]]] = {
            "timelog": lambda: timelog.run(
                folder, side("timestrata"), side(PEER_MODULE), few=asked.quick
            ),
            "pulsora": lambda: pulsora.run(folder, few=asked.quick),
        }
        for key, run in runs.items():
            if asked.only not in key:
                continue
            print(f"\n== {key}")
            taken = []
            for result in run():
                print(f"{result.id:<16} {result.side:<6} {result.value:.4g}", flush=True)
                taken.append(result)
            results.merge(asked.results, taken)
            print(f"{len(taken)} results in {asked.results}")
    return 0


def write(asked: argparse.Namespace) -> int:
    of, lines = list(reports()), results.read(asked.results)
    known = {(report.key, row.id) for report in of for row in report.rows}
    strange = sorted({(line["report"], line["id"]) for line in lines} - known)
    if strange:
        print(f"results of rows that no report has: {strange}", file=sys.stderr)
        return 1
    for report in of:
        if report.key in asked.stamp or "all" in asked.stamp:
            stamps.stamp(asked.results, report, page.of_report(lines, report))
    asked.page.mkdir(parents=True, exist_ok=True)
    text = page.text(of, lines, stamps.read(asked.results))
    (asked.page / "index.md").write_text(text, encoding="utf-8")
    for report in of:
        for name, picture in pictures.drawn(report, lines):
            (asked.page / f"{name}.svg").write_text(picture, encoding="utf-8")
    print(f"{asked.page}: {len(of)} reports")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.python.published", description=__doc__)
    parser.add_argument("what", choices=["measure", "page"])
    parser.add_argument("--quick", action="store_true", help="small sizes: shows that it works")
    parser.add_argument("--only", default="", help="only reports whose name holds this")
    parser.add_argument(
        "--stamp",
        action="append",
        default=[],
        metavar="REPORT",
        help="say of all its rows that they were measured now, here; or of all reports: all",
    )
    parser.add_argument("--results", type=Path, default=results.PATH)
    parser.add_argument("--page", type=Path, default=PAGE, help="the folder of the page")
    parser.add_argument("--dir", type=Path, default=TARGET / "bench-published", help="for stores")
    asked = parser.parse_args()
    return measure(asked) if asked.what == "measure" else write(asked)


if __name__ == "__main__":
    sys.exit(main())
