"""Over HTTP: bodies in, small queries out."""

from __future__ import annotations

import http.client
import json
import subprocess
from pathlib import Path
from typing import Any

from bench.python.common.files import fresh
from bench.python.common.listening import listening
from bench.python.common.race import OURS, race
from bench.python.common.report import Measure
from bench.python.common.sample import median
from bench.python.table.bench import Bench
from bench.python.table.loading import ROWS, ingest
from bench.python.table.sides import moment

BATCH_ROWS, CONNECTIONS, SECONDS, ROUNDS = 10_000, 8, 5, 3
TIMEOUT_S = 600


def serve(bench: Bench, path: Path) -> Any:
    options = ["--listen", "127.0.0.1:0", "--set", "log.level=error"]
    return listening([bench.command, "serve", path, *options])


def post(client: http.client.HTTPConnection, body: Any) -> int:
    headers = {"Content-Type": "text/csv"}
    client.request("POST", "/tables/trades/ingest?time=timestamp", body, headers)
    answer = json.loads(client.getresponse().read())
    if not answer["success"]:
        raise RuntimeError(answer["error"])
    return int(answer["data"]["rows_inserted"])


def bodies(bench: Bench) -> None:
    """A file as one body, and as many."""
    rows = bench.many(ROWS)
    csv = bench.files.csv(rows)
    path = bench.dir / "http.store"
    lines = csv.read_bytes().splitlines(keepends=True)
    few = lines[1 : rows // 10 + 1]
    parts = [
        b"".join([lines[0], *few[at : at + BATCH_ROWS]]) for at in range(0, len(few), BATCH_ROWS)
    ]
    del lines

    def one() -> int:
        with serve(bench, fresh(path)) as (host, port), csv.open("rb") as body:
            return post(http.client.HTTPConnection(host, port, timeout=TIMEOUT_S), body)

    def plain(host: str, port: int) -> http.client.HTTPConnection:
        """A client, and a table without the ids that HTTP gives by itself."""
        client = http.client.HTTPConnection(host, port, timeout=TIMEOUT_S)
        columns = "timestamp TIMESTAMP, symbol VARCHAR, price DOUBLE, volume BIGINT"
        query = json.dumps({"query": f"CREATE TABLE trades ({columns})"})
        client.request("POST", "/sql", query, {"Content-Type": "application/json"})
        if not json.loads(client.getresponse().read())["success"]:
            raise RuntimeError("no table was made")
        return client

    def one_plain() -> int:
        with serve(bench, fresh(path)) as (host, port), csv.open("rb") as body:
            return post(plain(host, port), body)

    def many() -> int:
        with serve(bench, fresh(path)) as (host, port):
            client = plain(host, port)
            return sum(post(client, part) for part in parts)

    small = bench.dir / "part.csv"
    small.write_bytes(b"".join([parts[0].split(b"\n", 1)[0] + b"\n", *few]))
    store = bench.dir / "file.store"
    file = {"own file": lambda: ingest(store, csv, time="timestamp", ids=True)}
    title = "HTTP, one body of CSV"
    race(bench, f"{title}, with ids", rows, {OURS: one, **file}, {"own file": 0.7}, rounds=3)
    file = {"own file": lambda: ingest(store, csv, time="timestamp")}
    race(bench, title, rows, {OURS: one_plain, **file}, {"own file": 0.7}, rounds=3)
    file = {"own file": lambda: ingest(store, small, time="timestamp")}
    name = f"HTTP, bodies of {BATCH_ROWS} rows, each synced"
    race(bench, name, len(few), {OURS: many, **file}, {"own file": 0.5}, rounds=3)


def load(bench: Bench, host: str, port: int, path: str) -> dict[str, float]:
    command = [bench.bench_command, "http-load", f"{host}:{port}", path]
    command += [str(CONNECTIONS), str(1 if bench.quick else SECONDS)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    figures: dict[str, float] = json.loads(done.stdout)
    return figures


def queries(bench: Bench) -> None:
    """1,000 rows as JSON, beside a server that has the same bytes at hand."""
    rows = bench.many(ROWS // 10)
    path = fresh(bench.dir / "http.store")
    ingest(path, bench.files.csv(rows), time="timestamp")
    start = moment(rows // 2).isoformat().replace("+00:00", "Z")
    query = f"/tables/trades/query?start={start}&limit=1000"
    with serve(bench, path) as ours:
        client = http.client.HTTPConnection(*ours)
        client.request("GET", query)
        body = client.getresponse().read()
        if len(json.loads(body)["data"]) != 1000:
            raise ValueError("not 1,000 rows")
        constant = bench.dir / "constant.json"
        constant.write_bytes(body)
        with listening([bench.bench_command, "http-constant", constant]) as other:
            taken: dict[str, list[dict[str, float]]] = {"ours": [], "other": []}
            for turn in range(1 if bench.quick else ROUNDS):
                each = [("ours", ours, query), ("other", other, "/")]
                for key, (host, port), asked in each if turn % 2 else reversed(each):
                    taken[key].append(load(bench, host, port, asked))
    against, note = "the same bytes, constant", f"{CONNECTIONS} connections, {len(body)} bytes each"
    for figure, unit, aim in (("per_second", "req/s", 0.3), ("p50_us", "us", None), ("p99_us", "us", None)):
        mine, theirs = (median([each[figure] for each in taken[key]]) for key in ("ours", "other"))
        name = f"HTTP, 1,000 rows as JSON, {figure}"
        bench.report(Measure(name, unit, mine, against, theirs, aim, note))
