"""Files that packages carry, loaded without an option, and held against what pandas and DuckDB read where these agree.

    python -m lab.tables --packages FOLDER         what `make lab-tables` runs; the packages are in FOLDER
    python -m lab.tables --packages FOLDER --only vega_datasets/stocks.csv
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import timestrata

from lab.tables.origins import File, files
from lab.tables.readings import columns, of_duckdb, of_pandas

FILES_MIN = 60
ORIGINS_MIN = 20
# How a refusal names what helps: an option, or what is wrong with a file that no option mends.
OPTION = re.compile(r"\b[a-z_]+=(True|False|'[^']*')|unpack it first|: bad [A-Z]|^bad [A-Z]|is empty")


def load(file: File, store: timestrata.Store, **options: Any) -> str | None:
    """Load a file; give why it was refused, if so."""
    try:
        store.table("t").ingest(file.path, sync=False, **options)
    except timestrata.TimestrataError as refused:
        return str(refused)
    return None


def are_times(values: Counter[str]) -> bool:
    """Whether all values are times, as far as there are any."""
    return all(value.startswith("time ") for value in values if value != "null")


def is_on_purpose(ours: Counter[str], theirs: Counter[str]) -> bool:
    """Whether we read otherwise what neither of the two reads: days as people write them, and empty text in quotes."""
    if are_times(ours) and not are_times(theirs):
        return True
    return set(ours - theirs) == {"text "} and set(theirs - ours) == {"null"}


def differences(file: File, store: timestrata.Store) -> tuple[int, list[str]]:
    """Give how many columns both others read alike, and of these what we don't read so."""
    pandas, duckdb = of_pandas(file.path), of_duckdb(file.path)
    if pandas is None or duckdb is None:
        return 0, []
    if not store.table("t").exists:
        return 0, []
    ours = columns(store.table("t").scan().to_pandas())
    agreed = [name for name in pandas if name in ours and pandas[name] == duckdb.get(name)]
    found = []
    for name in agreed:
        more, less = ours[name] - pandas[name], pandas[name] - ours[name]
        if (more or less) and not is_on_purpose(ours[name], pandas[name]):
            found.append(f"column {name!r}: ours has {next(iter(more), None)!r}, theirs {next(iter(less), None)!r}")
    return len(agreed), found


def judge(file: File, totals: Counter[str]) -> list[str]:
    """Load a file as a user would: without an option, then with what the refusal names."""
    with timestrata.open() as store:
        refused = load(file, store)
        if refused is not None:
            totals["refused"] += 1
            print(f"{file.name}: refused: {refused}", flush=True)
            if not OPTION.search(refused):
                return ["the refusal names nothing that helps"]
            if "time_of_load=True" not in refused:
                return []
            again = load(file, store, time_of_load=True)
            if again is not None:
                print(f"{file.name}: with time_of_load refused: {again}", flush=True)
                return [] if OPTION.search(again) else ["the second refusal names nothing that helps"]
            totals["loaded with time_of_load"] += 1
        else:
            totals["loaded"] += 1
            if not store.table("t").exists:
                print(f"{file.name}: no rows", flush=True)
                return []
            print(f"{file.name}: {len(store.table('t'))} rows, time {store.table('t').time!r}", flush=True)
        agreed, found = differences(file, store)
        totals["columns that both others read alike"] += agreed
        return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--packages", type=Path, required=True)
    parser.add_argument("--only", help="a file by its origin and name")
    arguments = parser.parse_args()
    totals: Counter[str] = Counter()
    origins: set[str] = set()
    failures = 0
    with tempfile.TemporaryDirectory(prefix="lab-tables-") as unpacked:
        for file in files(arguments.packages, Path(unpacked)):
            if arguments.only and file.name != arguments.only:
                continue
            totals["files"] += 1
            origins.add(file.origin)
            for found in judge(file, totals):
                failures += 1
                print(f"{file.name}: FAILED: {found}", file=sys.stderr, flush=True)
    print(json.dumps({"kind": "tables", "origins": len(origins), **totals, "found": failures}))
    if not arguments.only and (totals["files"] < FILES_MIN or len(origins) < ORIGINS_MIN):
        print(f"tables: FAILED: fewer than {FILES_MIN} files of {ORIGINS_MIN} origins", file=sys.stderr)
        return 1
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
