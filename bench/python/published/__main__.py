"""`python -m bench.python.published [measure | live | keep VERSION | page]`: the rows of the published reports.

Measures them, keeps what was measured as a release's, or writes their page.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from bench.python.common.arguments import ROOT, TARGET
from bench.python.published import kept, live, page, pictures, releases, results
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
    try:
        known_releases = kept.read(of, asked.kept)
    except kept.KeptError as error:
        print(error, file=sys.stderr)
        return 1
    asked.page.mkdir(parents=True, exist_ok=True)
    over = releases.text(of, known_releases)
    text = page.text(of, lines, stamps.read(asked.results), over)
    (asked.page / "index.md").write_text(text, encoding="utf-8")
    drawn = [each for report in of for each in pictures.drawn(report, lines)]
    for name, picture in [*drawn, *releases.drawn(of, known_releases)]:
        (asked.page / f"{name}.svg").write_text(picture, encoding="utf-8")
    print(f"{asked.page}: {len(of)} reports")
    return 0


def keep(asked: argparse.Namespace) -> int:
    lines, known = results.read(asked.results), stamps.read(asked.results)
    try:
        path = kept.keep(asked.release, list(reports()), lines, known, asked.kept)
    except kept.KeptError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{len(lines)} lines kept in {path}")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m bench.python.published",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("what", choices=["measure", "live", "keep", "page"])
    parser.add_argument(
        "release", nargs="?", default="", help="the version whose results these are"
    )
    parser.add_argument("--quick", action="store_true", help="small sizes: shows that it works")
    parser.add_argument("--only", default="", help="only reports whose name holds this")
    parser.add_argument(
        "--check", action="store_true", help="live: only whether folders can be measured with"
    )
    parser.add_argument(
        "--stamp",
        action="append",
        default=[],
        metavar="REPORT",
        help="say of all its rows that they were measured now, here; or of all reports: all",
    )
    parser.add_argument("--results", type=Path, default=results.PATH)
    parser.add_argument("--page", type=Path, default=PAGE, help="the folder of the page")
    parser.add_argument(
        "--kept", type=Path, default=kept.FOLDER, help="the folder of what releases measured"
    )
    parser.add_argument("--dir", type=Path, default=TARGET / "bench-published", help="for stores")
    asked = parser.parse_args()
    if (asked.what == "keep") != bool(asked.release):
        parser.error("a version stands behind keep, and only there: keep 0.1.0")
    return {"measure": measure, "live": live.run, "keep": keep, "page": write}[asked.what](asked)


if __name__ == "__main__":
    sys.exit(main())
