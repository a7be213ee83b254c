"""Tables: with an upsert key that lacks the time, and without a key."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import timestrata
from lab.lanes.lane import Lane, Step

START_MS = 1_700_000_000_000
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
SCHEMA = {
    "at": "timestamp[ms, tz=UTC]",
    "lane": "int64",
    "id": "string",
    "value": "float64",
    "note": "string",
}
Row = dict[str, Any]


class TableLane(Lane):
    """Every row is kept; deletes are by range of times within the lane's own."""

    model = "table"
    table_name = "plain"
    key: list[str] | None = None

    def __init__(self, seed: str, number: int) -> None:
        super().__init__(seed, number)
        self.rows: list[Row] = []
        # A lane's times are its own, so that a range of them is too.
        self.start = START_MS + number * 10_000_000_000
        self.newest = self.start

    def attach(self, store: timestrata.Store) -> None:
        self.table = opened(store, self.table_name, SCHEMA, self.key)

    def _time(self) -> int:
        if self.rng.random() < 0.75 or self.newest == self.start:
            self.newest += self.rng.randrange(1, 4)
            return self.newest
        return self.rng.randrange(self.start, self.newest)

    def _row(self, part: int) -> Row:
        value = None if self.rng.random() < 0.1 else self.rng.randrange(1000) / 4
        return {
            "at": self._time(),
            "lane": self.number,
            "id": f"{self.number}-{self.drawn}-{part}",
            "value": value,
            "note": self.text(),
        }

    def _next(self) -> Step:
        kind = self.rng.random()
        if kind < 0.08 and self.rows:
            lo = self.rng.choice(self.rows)["at"]
            hi = lo + 1 + self.rng.randrange(6)
            self.rows = [row for row in self.rows if not lo <= row["at"] < hi]
            return Step("delete", {"lo": lo, "hi": hi}, self.sync())
        if kind < 0.13 and self.rows:
            limit = self.rng.randrange(40) / 4
            kept = [row for row in self.rows if row["value"] is None or row["value"] >= limit]
            synced = self.sync() and len(kept) < len(self.rows)
            self.rows = kept
            where = f"lane = {self.number} AND value < {limit}"
            return Step("delete_where", {"where": where}, synced)
        rows = [self._row(part) for part in range(self.rng.choice((1, 1, 1, 2, 12)))]
        self._put(rows)
        return Step("append", {"rows": rows}, self.sync())

    def _put(self, rows: list[Row]) -> None:
        self.rows.extend(rows)
        self.rows.sort(key=lambda row: row["at"])

    def _append(self, step: Step) -> None:
        self.table.append(step.arguments["rows"], sync=step.synced)

    def _delete(self, step: Step) -> None:
        self.table.delete(_moment(step.arguments["lo"]), _moment(step.arguments["hi"]), sync=step.synced)

    def _delete_where(self, step: Step) -> None:
        self.table.delete(where=step.arguments["where"], sync=step.synced)

    def expected(self) -> Any:
        return self.rows

    def found(self) -> Any:
        if self.table is None:
            return []
        rows = self.table.scan(where=f"lane = {self.number}").to_pylist()
        return [{**row, "at": milliseconds(row["at"])} for row in rows]

    def inspect(self) -> None:
        if self.table is not None and self.table.count() != self.table.scan().count():
            raise AssertionError(f"{self.table_name}: count() differs from the rows of a scan")


class KeyedTableLane(TableLane):
    """Of one id the row committed last is the table's, at whatever time."""

    table_name = "keyed"
    key = ["id"]
    ids = 40

    def _row(self, part: int) -> Row:
        return {**super()._row(part), "id": f"{self.number}-{self.rng.randrange(self.ids)}"}

    def _put(self, rows: list[Row]) -> None:
        for row in rows:
            self.rows = [old for old in self.rows if old["id"] != row["id"]]
            self.rows.append(row)
        self.rows.sort(key=lambda row: row["at"])

    def expected(self) -> Any:
        return {row["id"]: row for row in self.rows}

    def found(self) -> Any:
        rows = super().found()
        found = {row["id"]: row for row in rows}
        if len(found) != len(rows):
            raise AssertionError("a table has two rows of one key")
        return found

    def inspect(self) -> None:
        super().inspect()
        if self.table is None:
            return
        for key, row in list(self.found().items())[:5]:
            one = self.table.row(key)
            if one is None or milliseconds(one["at"]) != row["at"] or one["note"] != row["note"]:
                raise AssertionError(f"row({key!r}) gives {one}, a scan {row}")


def opened(
    store: timestrata.Store, name: str, schema: dict[str, str], key: list[str] | None = None
) -> timestrata.Table | None:
    """A table, made if it can be; none where a reader comes before it."""
    if name in store.tables():
        return store.table(name)
    return None if store.mode == "r" else store.table(name, time="at", key=key, schema=schema)


def _moment(ms: int) -> datetime:
    return EPOCH + timedelta(milliseconds=ms)


def milliseconds(time: Any) -> int:
    """A time of a row as a number, whatever form it was read in."""
    return time if isinstance(time, int) else (time - EPOCH) // timedelta(milliseconds=1)
