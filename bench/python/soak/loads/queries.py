"""SQL over all models at one instant, by a thread that writes nothing."""

from __future__ import annotations

import timestrata
from bench.python.soak.loads.load import Load, Shared

BOOKS = (
    "SELECT b.partition AS partition, b.next AS one, c.next AS other FROM book b "
    "FULL JOIN copy c ON b.partition = c.partition"
)
DENSE = (
    'SELECT partition, count(*) AS n, min("offset") AS first, max("offset") AS last '
    "FROM events GROUP BY partition"
)
JOINED = (
    "SELECT c.host AS host, count(*) AS n FROM metrics m JOIN current c ON m.host = c.host "
    "WHERE m.load >= 4.0 GROUP BY c.host"
)
ALL = (
    "SELECT 'metrics' AS what, count(*) AS n FROM metrics UNION ALL SELECT 'app', count(*) FROM app "
    "UNION ALL SELECT 'times', count(*) FROM times UNION ALL SELECT 'events', count(*) FROM events "
    "UNION ALL SELECT 'code', count(*) FROM code UNION ALL SELECT 'edges', count(*) FROM \"code/edges\""
)
BY_SECOND = (
    "SELECT time_bucket(INTERVAL '1 second', at) AS second, count(*) AS n, avg(load) AS load "
    "FROM metrics GROUP BY second ORDER BY second DESC LIMIT 10"
)


class QueryLoad(Load):
    model = "sql"
    rate = 4.0
    share = 0.2

    def __init__(self, shared: Shared) -> None:
        super().__init__(shared)
        self.choices = [
            (self.books, 0.3), (self.dense, 0.2), (self.joined, 0.15), (self.all, 0.2), (self.by_second, 0.15)
        ]  # fmt: skip
        self.attach(shared.store)

    def attach(self, store: timestrata.Store) -> None:
        self.store = store

    def _rows(self, kind: str, query: str) -> list[dict[str, object]]:
        return self.timed(kind, lambda: self.store.sql(query, timeout=60).to_pylist())

    def books(self) -> None:
        """Two tables that are always written in one commit are equal at any instant."""
        for row in self._rows("two tables", BOOKS):
            self.expect(f"books of one commit: {row}", row["one"], row["other"])

    def dense(self) -> None:
        """A partition has no gap, also where retention is just letting records go."""
        for row in self._rows("topic", DENSE):
            n, first, last = row["n"], row["first"], row["last"]
            if not isinstance(first, int) or not isinstance(last, int):
                raise TypeError(f"offsets are no numbers: {row}")
            self.expect(f"records of {row}", n, last - first + 1)

    def joined(self) -> None:
        rows = self._rows("join", JOINED)
        self.expect("groups of a join", len({row["host"] for row in rows}), len(rows))

    def all(self) -> None:
        self.expect("models in one query", len(self._rows("all models", ALL)), 6)

    def by_second(self) -> None:
        seconds = [str(row["second"]) for row in self._rows("by second", BY_SECOND)]
        self.expect("order of seconds", seconds, sorted(seconds, reverse=True))

    def verify(self) -> None:
        self.books()
        self.dense()
