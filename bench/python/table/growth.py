"""What the same costs with ten and a hundred times the rows."""

from __future__ import annotations

import random
import time

import timestrata

from bench.python.common.files import fresh, made
from bench.python.common.report import Measure
from bench.python.common.sample import percentile, quiet, timed
from bench.python.table.bench import Bench
from bench.python.table.data import chunks, write_csv
from bench.python.table.sides import moment, run_bytes

SIZES = (1_000_000, 10_000_000, 100_000_000)
ASKED_ROWS, SAMPLES = 100, 500


def figures(bench: Bench, rows: int) -> dict[str, tuple[str, float]]:
    """Each as something of which less is better."""
    csv = bench.files.csv(rows) if rows < SIZES[-1] else bench.dir / "growth.csv"
    made(csv, lambda begun: write_csv(begun, chunks(rows)))
    with timestrata.open(fresh(bench.dir / "growth.store")) as store:
        table = store.table("trades", time="timestamp", tags="symbol")
        start = time.perf_counter()
        table.ingest(csv)
        store.sync()
        loaded = time.perf_counter()
        store.compact("trades")
        compacted = time.perf_counter()
        if rows == SIZES[-1]:
            csv.unlink()
        chance = random.Random(rows)
        taken = []
        with quiet():
            for _ in range(SAMPLES):
                first = chance.randrange(rows - ASKED_ROWS)
                begin, end = moment(first), moment(first + ASKED_ROWS)
                seconds, answer = timed(lambda a=begin, b=end: table.scan(a, b).to_arrow())
                if answer.num_rows != ASKED_ROWS:
                    raise ValueError(f"{answer.num_rows} rows of {ASKED_ROWS}")
                taken.append(seconds * 1e6)
        counted = percentile([timed(table.count)[0] * 1e6 for _ in range(SAMPLES)], 0.5)
        return {
            "ingest, a row": ("ns", (loaded - start) / rows * 1e9),
            "compaction, a row": ("ns", (compacted - loaded) / rows * 1e9),
            "100 rows, p50": ("us", percentile(taken, 0.5)),
            "count": ("us", counted),
            "size": ("B/row", run_bytes(store) / rows),
        }


def growth(bench: Bench) -> None:
    sizes = [bench.many(rows) for rows in SIZES]
    first: dict[str, tuple[str, float]] = {}
    for rows in sizes:
        taken = figures(bench, rows)
        first = first or taken
        for name, (unit, value) in taken.items():
            if rows == sizes[0]:
                bench.told(f"{name}, {rows} rows", unit, value)
                continue
            base = first[name][1]
            title, against = f"{name}, {rows} rows", f"{sizes[0]} rows"
            # 1.3 times the cost is the most that counts as flat.
            bench.report(Measure(title, unit, value, against, base, round(1 / 1.3, 3), ""))
