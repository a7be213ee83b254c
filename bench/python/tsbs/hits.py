"""ClickBench's 43 queries, which are not about time: told for what they are, without an aim."""

from __future__ import annotations

from bench.python.common.apart import ApartError
from bench.python.tsbs.bench import Bench
from bench.python.tsbs.hits_data import ROWS, table
from bench.python.tsbs.hits_queries import QUERIES
from bench.python.tsbs.queries import same
from bench.python.tsbs.sides import asked, fill, opened


# What ours says of a query that it doesn't take. Any other error is a failure.
REFUSALS = {"InvalidArgumentError", "InvalidDataError", "OutOfMemoryError", "TooLargeError"}


def hits(bench: Bench) -> None:
    """Queries that ours refuses are listed with the error: they have no figure, and are no failure."""
    refused: list[str] = []
    with opened(bench) as on:
        fill(on, "hits", table(bench.many(ROWS)), time="eventtime")
        for number, query in enumerate(QUERIES):
            name = f"hits, query {number}"
            try:
                on.ours("ask", query.text)
            except ApartError as error:
                if error.kind not in REFUSALS:
                    raise
                refused.append(f"query {number}: {error}")
                print(f"{name:<70} refused: {error}", flush=True)
                continue
            asked(bench, on, name, [same(query.text)], aims={}, places=query.places)
    bench.told("hits, queries that are refused", "queries", len(refused), "; ".join(refused))
