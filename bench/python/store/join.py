"""A table, a log, a topic and a graph joined on one axis of time, beside DuckDB over the same as Parquet."""

from __future__ import annotations

import random
import shutil
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import timestrata

from bench.python.common.race import OURS, race
from bench.python.common.run import Run

ROWS, ENTRIES, RECORDS, EDGES, ROOMS = 1_000_000, 200_000, 100_000, 20_000, 100
ROWS_AT_ONCE = 100_000
BEGIN_NS, SPAN_NS = 1_700_000_000_000_000_000, 86_400_000_000_000
DUCKDB = "DuckDB over Parquet"

# What each reading of a room was made under: the level of the last entry about the room, the kind of its last event, and who was its
# last owner.
QUERY = """
SELECT level, event, owner, count(*) AS readings, avg(celsius) AS mean FROM asof_join(
    (SELECT * FROM asof_join(
        (SELECT * FROM asof_join(
            readings, (SELECT source_time AS time, fields->>'room' AS room, level FROM app),
            on => time, by => room, suffix => '_of_entry')),
        (SELECT timestamp AS time, value->>'room' AS room, value->>'event' AS event FROM events),
        on => time, by => room, suffix => '_of_record')),
    (SELECT valid_from AS time, properties->>'room' AS room, kind AS owner FROM "owners/edges"), on => time, by => room)
GROUP BY level, event, owner ORDER BY level, event, owner
"""
QUERY_OF_DUCKDB = """
SELECT level, event, owner, count(*) AS readings, avg(celsius) AS mean
FROM '{dir}/readings.parquet' AS r
ASOF LEFT JOIN (SELECT source_time AS time, fields->>'room' AS room, level FROM '{dir}/app.parquet') AS l
    ON r.room = l.room AND r.time >= l.time
ASOF LEFT JOIN (
    SELECT timestamp AS time, decode(value)->>'room' AS room, decode(value)->>'event' AS event FROM '{dir}/events.parquet'
) AS e ON r.room = e.room AND r.time >= e.time
ASOF LEFT JOIN (SELECT valid_from AS time, properties->>'room' AS room, kind AS owner FROM '{dir}/edges.parquet') AS o
    ON r.room = o.room AND r.time >= o.time
GROUP BY level, event, owner ORDER BY level NULLS LAST, event NULLS LAST, owner NULLS LAST
"""


def times(rng: random.Random, count: int) -> list[int]:
    """Different ones, in order: which of two of one time is the last would not be said."""
    step = SPAN_NS // count
    return [BEGIN_NS + number * step + rng.randrange(step) for number in range(count)]


def fill(store: timestrata.Store, run: Run) -> None:
    rng = random.Random(31)
    rooms = [f"room-{number:03}" for number in range(ROOMS)]
    readings = store.table("readings", tags="room")
    moments = times(rng, run.many(ROWS))
    for first in range(0, len(moments), ROWS_AT_ONCE):
        some = moments[first : first + ROWS_AT_ONCE]
        columns = {
            "time": pa.array(some, pa.timestamp("ns", "UTC")),
            "room": [rng.choice(rooms) for _ in some],
            "celsius": [rng.randrange(150, 300) / 10 for _ in some],
        }
        readings.append(pa.table(columns))
    levels = ["info", "info", "info", "warn", "error"]
    # An entry's own time is when it came: what is asked for is when it happened.
    entries = [
        {"message": "checked", "level": rng.choice(levels), "source_time": time, "fields": {"room": rng.choice(rooms)}}
        for time in times(rng, run.many(ENTRIES))
    ]
    store.logs("app").write_many(entries)
    producer = store.topic("events").producer()
    records = [
        {"timestamp": time, "value": f'{{"room": "{rng.choice(rooms)}", "event": "{rng.choice(["open", "shut"])}"}}'}
        for time in times(rng, run.many(RECORDS))
    ]
    producer.send_batch(records, durability="written")
    graph = store.graph("owners")
    ada, bob = graph.put("ada"), graph.put("bob")
    edges: list[dict[str, Any]] = []
    for number, time in enumerate(times(rng, run.many(EDGES))):
        block = graph.put(f"room at {number}")
        owner, kind = rng.choice([(ada, "ada"), (bob, "bob")])
        edges.append(
            {"source": block, "kind": kind, "target": owner, "valid_from": time, "properties": {"room": rng.choice(rooms)}}
        )
    graph.link_many(edges)
    store.compact()


def export(store: timestrata.Store, folder: Path) -> None:
    folder.mkdir(parents=True)
    streams = {"readings": "readings", "app": "app", "events": "events", "edges": '"owners/edges"'}
    for name, stream in streams.items():
        pq.write_table(store.sql(f"SELECT * FROM {stream}").to_arrow(), folder / f"{name}.parquet", compression="zstd")


def of_four_models(run: Run) -> None:
    import duckdb

    shutil.rmtree(run.dir / "join", ignore_errors=True)
    folder = run.dir / "join" / "parquet"
    with timestrata.open(run.dir / "join" / "store") as store, closing(duckdb.connect()) as other:
        fill(store, run)
        export(store, folder)
        query = QUERY_OF_DUCKDB.format(dir=folder)
        rows = run.many(ROWS)
        race(
            run,
            f"table, log, topic and graph joined by time [{rows:,} rows]",
            rows,
            {
                OURS: lambda: store.sql(QUERY).to_pylist(),
                DUCKDB: lambda: other.execute(query).to_arrow_table().to_pylist(),
            },
            {DUCKDB: 1.0},
            answer=lambda rows: [tuple(row.values()) for row in rows],
            note=f"{run.many(ENTRIES):,} entries, {run.many(RECORDS):,} records and {run.many(EDGES):,} edges, each joined to the last of its room; "
            "the answers compared; DuckDB reads files of all columns, ZSTD",
        )

