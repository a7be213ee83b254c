"""Totals: a line of JSON at a part's end, added up in a file, and written into docs/testing.md.

    python -m lab.totals lab-totals.jsonl      adds a run's totals to those in docs/testing.md
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

PAGE = Path(__file__).resolve().parent.parent / "docs" / "testing.md"
ROW = re.compile(r"^\| (\w+) \| (\w+) \| ([\d,]+) \|$", re.MULTILINE)
BEGIN, END = "<!-- totals begin -->\n", "<!-- totals end -->\n"
HEAD = "| part | what | so many |\n| --- | --- | --- |\n"


def add(sums: dict[tuple[str, str], int], totals: dict[str, Any]) -> None:
    """Adds a part's totals: all its numbers but the seed."""
    for what, count in totals.items():
        if isinstance(count, int) and not isinstance(count, bool) and what != "seed":
            key = (str(totals["kind"]), what)
            sums[key] = sums.get(key, 0) + count


def merge(page: str, lines: list[str]) -> str:
    """The page with the totals of these lines added to its own."""
    before, _, rest = page.partition(BEGIN)
    table, _, after = rest.partition(END)
    rows = ROW.findall(table)
    sums = {(kind, what): int(count.replace(",", "")) for kind, what, count in rows}
    for line in lines:
        add(sums, json.loads(line))
    rows = [f"| {kind} | {what} | {count:,} |\n" for (kind, what), count in sorted(sums.items())]
    return before + BEGIN + HEAD + "".join(rows) + END + after


def main() -> None:
    for name in sys.argv[1:]:
        path = Path(name)
        PAGE.write_text(merge(PAGE.read_text(), path.read_text().splitlines()))
        # Counted once: a second run of this adds nothing.
        path.rename(path.with_suffix(".merged"))


if __name__ == "__main__":
    main()
