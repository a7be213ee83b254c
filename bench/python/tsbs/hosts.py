"""The 15 queries on hosts, the rows compacted or as they have just come in; bytes on disk."""

from __future__ import annotations

from bench.python.common.files import bytes_of
from bench.python.common.report import Measure
from bench.python.tsbs.bench import Bench
from bench.python.tsbs.data import DAY_OF_400, HOURS_OF_4000, Shape
from bench.python.tsbs.queries import QUERIES
from bench.python.tsbs.sides import DUCK, Sides, asked, create, fill, opened

INGESTED_ROWS = 10_000
AIM, AIM_INGESTED = 1.2, 0.7
# Four fifths of the others' bytes.
AIM_SIZE = 1.25


def all_queries(bench: Bench, on: Sides, shape: Shape, where: str, aim: float) -> None:
    for name, query in QUERIES.items():
        title = f"{name}, {where}"
        asked(bench, on, title, query.drawn(shape, title, bench.rounds), aims={DUCK: aim})


def compacted(bench: Bench, full: Shape, where: str) -> None:
    shape = bench.shape(full)
    with opened(bench) as on:
        fill(on, "cpu", bench.files.rows(shape), time="time", tags=list(shape.tags))
        all_queries(bench, on, shape, where, AIM)


def day_of_400(bench: Bench) -> None:
    compacted(bench, DAY_OF_400, "400 hosts")


def hours_of_4000(bench: Bench) -> None:
    compacted(bench, HOURS_OF_4000, "4,000 hosts")


def just_ingested(bench: Bench) -> None:
    """Both sides get the rows in small batches, in turns, and are asked as they are then."""
    shape = bench.shape(DAY_OF_400)
    rows, step = bench.files.rows(shape), INGESTED_ROWS // 10 if bench.quick else INGESTED_ROWS
    with opened(bench) as on:
        create(on, "cpu", shape.schema, time="time", tags=list(shape.tags))
        ours = duck = 0.0
        for first in range(0, shape.rows, step):
            batch = rows.slice(first, step)
            ours += on.ours("append", "cpu", batch).seconds
            duck += on.duck("append", "cpu", batch).seconds
        name, note = f"append of {step} rows [{DUCK}]", "batch by batch in turns"
        bench.report(
            Measure(name, "rows/s", shape.rows / ours, DUCK, shape.rows / duck, None, note)
        )
        all_queries(bench, on, shape, "just ingested", AIM_INGESTED)


def size(bench: Bench) -> None:
    for full, where in ((DAY_OF_400, "400 hosts"), (HOURS_OF_4000, "4,000 hosts")):
        shape = bench.shape(full)
        with opened(bench) as on:
            fill(on, "cpu", bench.files.rows(shape), time="time", tags=list(shape.tags))
            ours = on.ours("run_bytes").given / 1e6
        others = {
            DUCK: bytes_of(on.duck_path) / 1e6,
            "Parquet, ZSTD 3": bytes_of(bench.files.parquet(shape)) / 1e6,
        }
        for side, other in others.items():
            name, note = f"size on disk, {where} [{side}]", f"{shape.rows} rows"
            bench.report(Measure(name, "MB", ours, side, other, AIM_SIZE, note))
