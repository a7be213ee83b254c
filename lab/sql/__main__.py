"""Random SQL over stores in all states, held against DuckDB.

    python -m lab.sql --queries 20000 --seed N     so many; --seconds S ends it earlier
    python -m lab.sql --seed N --query 417         one again, made as small as it goes
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import tempfile
import time
from pathlib import Path

from lab.sql.answers import Verdict, judge
from lab.sql.expression import ours, theirs
from lab.sql.query import Queries, Query
from lab.sql.shrink import shrunk
from lab.sql.world import World, world

# Queries of one world.
EACH = 250
# More that are refused by one side alone, and the generator asks for what both don't have.
REFUSED_MAX = 0.1

# Found and not mended yet, by seed and number: told each time, and no failure, as long as ours is an error that
# docs/reference/sql.md tells of.
KNOWN: dict[tuple[int, int], str] = {}


def drawn(seed: str, number: int, of: World) -> Query:
    return Queries(random.Random(f"{seed}.query.{number}"), of).draw()


def tell(seed: int, number: int, query: Query, verdict: Verdict) -> None:
    print(f"sql: FAILED: query {number}: {verdict.difference}", file=sys.stderr)
    print(f"  asked: {ours(query.text())}\n  there: {theirs(query.text())}", file=sys.stderr)
    print(f"  ours: {verdict.ours}\n  DuckDB: {verdict.theirs}", file=sys.stderr)
    print(f"  again: python -m lab.sql --seed {seed} --query {number}", file=sys.stderr, flush=True)


def again(seed: int, number: int) -> int:
    """One query, and the least that differs as it does."""
    with tempfile.TemporaryDirectory(prefix="lab-sql-") as folder, world(str(seed), number // EACH, Path(folder)) as of:
        query = drawn(str(seed), number, of)
        verdict = judge(of, query)
        if not verdict.difference:
            print(f"query {number} in a world that is {of.state}: both agree\n  {ours(query.text())}\n  {verdict.ours}")
            return 0
        tell(seed, number, query, verdict)
        least = shrunk(query, lambda less: bool(judge(of, less).difference))
        print("made smaller:", file=sys.stderr)
        tell(seed, number, least, judge(of, least))
    return 1


def all_of(seed: int, queries: int, seconds: float, failures_max: int) -> int:
    totals = {"queries": 0, "refused": 0, "rows": 0, "worlds": 0, "known": 0, "found": 0}
    end = time.monotonic() + seconds
    with tempfile.TemporaryDirectory(prefix="lab-sql-") as folder:
        for first in range(0, queries, EACH):
            if time.monotonic() > end or totals["found"] >= failures_max:
                break
            with world(str(seed), first // EACH, Path(folder)) as of:
                totals["worlds"] += 1
                for number in range(first, min(first + EACH, queries)):
                    query = drawn(str(seed), number, of)
                    verdict = judge(of, query)
                    totals["queries"] += 1
                    totals["rows"] += len(verdict.ours.rows)
                    totals["refused"] += bool(verdict.refused)
                    if verdict.difference and (seed, number) in KNOWN and not verdict.ours.rows:
                        totals["known"] += 1
                        print(f"sql: known: query {number}: {KNOWN[seed, number]}", file=sys.stderr)
                    elif verdict.difference:
                        totals["found"] += 1
                        tell(seed, number, query, verdict)
                    if time.monotonic() > end or totals["found"] >= failures_max:
                        break
    if totals["refused"] > max(REFUSED_MAX * totals["queries"], 20):
        totals["found"] += 1
        print(f"sql: FAILED: {totals['refused']} of {totals['queries']} queries were refused", file=sys.stderr)
    print(json.dumps({"kind": "sql", "seed": seed, **totals}), flush=True)
    return int(totals["found"] > 0)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4), "big"))
    parser.add_argument("--queries", type=int, default=20_000)
    parser.add_argument("--seconds", type=float, default=3_600.0)
    parser.add_argument("--query", type=int, help="one query again, by its number")
    parser.add_argument("--failures", type=int, default=20, help="stop after so many (default 20)")
    arguments = parser.parse_args()
    if arguments.query is not None:
        return again(arguments.seed, arguments.query)
    return all_of(arguments.seed, arguments.queries, arguments.seconds, arguments.failures)


if __name__ == "__main__":
    sys.exit(main())
