"""Pulsora's rows that need a server: bodies of CSV over HTTP, by one client and by four at once."""

from __future__ import annotations

import http.client
import json
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import count
from pathlib import Path

import timestrata

from bench.python.common.listening import listening
from bench.python.published.results import Result
from bench.python.published.taking import Taken

LABEL = f"timestrata serve {timestrata.__version__}"
CLIENTS, BODIES_A_CLIENT, CLIENT_ROWS = 4, 10, 1_000
TIMEOUT_S = 60


def post(client: http.client.HTTPConnection, table: str, body: bytes) -> int:
    """Rows that a table took of a body; each answer is synced."""
    path = f"/tables/{table}/ingest?time=timestamp"
    client.request("POST", path, body, {"Content-Type": "text/csv"})
    answer = json.loads(client.getresponse().read())
    if not answer["success"]:
        raise RuntimeError(answer["error"])
    return int(answer["data"]["rows_inserted"])


def run(folder: Path, csv_of_rows: Callable[[int], bytes], *, few: bool) -> Iterator[Result]:
    """Bodies of 100 to 10,000 rows to a new table each, and four clients with a table each."""
    command: list[str | Path] = [sys.executable, "-m", "timestrata", "serve", folder / "http.store"]
    command += ["--listen", "127.0.0.1:0", "--set", "log.level=error"]
    numbers = count()
    with listening(command) as (host, port):
        client = http.client.HTTPConnection(host, port, timeout=TIMEOUT_S)
        for rows in (100, 1_000, 10_000):
            body, taken = csv_of_rows(rows), Taken()
            post(client, f"h{next(numbers)}", body)
            for _ in range(5 if few else max(15, min(200, 200_000 // rows))):
                table = f"h{next(numbers)}"
                if taken.add(partial(post, client, table, body)) != rows:
                    raise ValueError(f"not all {rows} rows were taken")
            note = "one connection, a new table each whose columns are told from the text; answered once it is synced"
            yield _told(f"http {rows}", rows, taken, note)
        yield _clients(host, port, csv_of_rows(CLIENT_ROWS), numbers, 3 if few else 15)


def _clients(host: str, port: int, body: bytes, numbers: Iterator[int], rounds: int) -> Result:
    clients = [http.client.HTTPConnection(host, port, timeout=TIMEOUT_S) for _ in range(CLIENTS)]

    def bodies(client: http.client.HTTPConnection, table: str) -> int:
        return sum(post(client, table, body) for _ in range(BODIES_A_CLIENT))

    taken, rows = Taken(), CLIENTS * BODIES_A_CLIENT * CLIENT_ROWS
    with ThreadPoolExecutor(CLIENTS) as pool:

        def at_once() -> int:
            tables = [f"c{next(numbers)}" for _ in clients]
            return sum(pool.map(bodies, clients, tables))

        at_once()
        for _ in range(rounds):
            if taken.add(at_once) != rows:
                raise ValueError(f"not all {rows} rows were taken")
    note = (
        f"{BODIES_A_CLIENT} bodies each to a new table of its own, each answered once it is synced"
    )
    return _told("clients", rows, taken, note)


def _told(id: str, rows: int, taken: Taken, note: str) -> Result:
    # The server is another process: what this one used of its processors says nothing.
    return Result(
        report="pulsora", id=id, side="ours", label=LABEL, value=rows / taken.median,
        runs=len(taken.seconds), **taken.latencies(), note=note,
    )  # fmt: skip
