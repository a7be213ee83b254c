"""Flights and hourly weather as tables: joined as of each departure, in buckets of days, asked
from Python and over HTTP, and drawn."""

from __future__ import annotations

import bisect
import json
import subprocess
import time
import urllib.request
import zipfile
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import timestrata

Tell = Callable[[str, str], None]
Verify = Callable[[bool, str], None]

# Mean delay of departures a day, and how much it rained in the hour of departure.
BY_DAY = """
    SELECT time_bucket(interval '1 day', time_hour) AS date,
           avg(dep_delay) AS delay, avg(precip) AS rain, count(*) AS departures
    FROM asof_join(flights_table, weather, 'time_hour', by => 'origin', tolerance => '3 hours')
    GROUP BY date ORDER BY date
"""


def show_tables(
    directory: Path, flights: Path, command: Path | None, tell: Tell, verify: Verify
) -> None:
    with timestrata.open(directory) as store:
        load(store, flights, tell, verify)
        join(store, tell, verify)
        began = time.perf_counter()
        days = store.sql(BY_DAY).to_pylist()
        tell("sql", f"{len(days)} days of departures with their weather, in "
             f"{(time.perf_counter() - began) * 1e3:.0f} ms")
        verify(sum(day["departures"] for day in days) == store.table("flights_table").count(),
               "departures were lost on the way to their days")
    draw(days, Path("demo-delays.svg"), tell)
    if command is None:
        tell("http", "left out: there is no 'timestrata' command (--command)")
        return
    served = ask_over_http(command, directory, tell)
    same = [(day["delay"], day["departures"]) for day in served] == [
        (day["delay"], day["departures"]) for day in days
    ]
    verify(same, "HTTP and Python give different answers")


def load(store: timestrata.Store, flights: Path, tell: Tell, verify: Verify) -> None:
    table = store.table("flights_table", time="time_hour", tags="origin")
    began = time.perf_counter()
    if flights.suffix == ".zip":
        with zipfile.ZipFile(flights) as packed, packed.open("flights.csv") as rows:
            done = table.ingest(rows, "csv")
    else:
        done = table.ingest(flights)
    took = time.perf_counter() - began
    tell("table", f"{done['rows']:,} flights in {took:.2f} s, as one commit")
    weather = store.table("weather", time="time_hour", tags="origin")
    hours = weather.ingest(flights.parent / "weather.csv")
    tell("table", f"{hours['rows']:,} hours of weather; columns {', '.join(weather.columns[:9])}")
    verify(table.count() == done["rows"] and done["skipped"] == 0, "flights were skipped")


def join(store: timestrata.Store, tell: Tell, verify: Verify) -> None:
    flights, weather = store.table("flights_table"), store.table("weather")
    began = time.perf_counter()
    joined = flights.asof_join(weather, by="origin").to_pylist()
    took = time.perf_counter() - began
    # The same in plain Python.
    seen: dict[str, list[datetime]] = {}
    for row in weather.scan(columns=["time_hour", "origin"]):
        seen.setdefault(row["origin"], []).append(row["time_hour"])
    expected = 0
    for row in flights.scan(columns=["time_hour", "origin"]):
        expected += bisect.bisect_right(seen.get(row["origin"], []), row["time_hour"]) > 0
    found = sum(row["temp"] is not None or row["humid"] is not None or row["wind_speed"] is not None
                or row["visib"] is not None for row in joined)
    tell("join", f"{len(joined):,} departures, {found:,} with the weather before them, "
         f"in {took:.2f} s with the rows as dicts")
    verify(len(joined) == flights.count(), "the join lost flights")
    verify(found == expected, f"{expected:,} departures have weather before them, not {found:,}")


def ask_over_http(command: Path, directory: Path, tell: Tell) -> list[dict[str, Any]]:
    arguments = [command, "serve", directory, "--listen", "127.0.0.1:0", "--set", "log.level=warn"]
    with subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        try:
            line = server.stderr.readline()
            address = line.rsplit(" ", 1)[-1].strip()
            body = json.dumps({"query": BY_DAY}).encode()
            request = urllib.request.Request(
                f"{address}/sql", body, {"content-type": "application/json"}
            )
            began = time.perf_counter()
            with urllib.request.urlopen(request, timeout=60) as answer:
                rows: list[dict[str, Any]] = json.load(answer)["data"]
            took = time.perf_counter() - began
            with urllib.request.urlopen(f"{address}/tables", timeout=60) as answer:
                names = json.load(answer)["data"]
            tell("http", f"{len(rows)} days from {address} in {took * 1e3:.0f} ms; "
                 f"tables {', '.join(names)}")
            return rows
        finally:
            server.terminate()


def draw(days: list[dict[str, Any]], path: Path, tell: Tell) -> None:
    """Two lines over a year, as SVG."""
    width, height, margin = 960, 320, 40

    def line(name: str, colour: str) -> str:
        values = [day[name] or 0.0 for day in days]
        low, high = min(values), max(values)
        points = " ".join(
            f"{margin + index * (width - 2 * margin) / max(1, len(values) - 1):.1f},"
            f"{height - margin - (value - low) / ((high - low) or 1) * (height - 2 * margin):.1f}"
            for index, value in enumerate(values)
        )
        return f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.2"/>'

    path.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        'font-family="sans-serif" font-size="13">'
        f'<rect width="{width}" height="{height}" fill="white"/>'
        f'<text x="{margin}" y="24">Departures from New York, {days[0]["date"]:%Y-%m-%d} to '
        f'{days[-1]["date"]:%Y-%m-%d}: mean delay (red), rain in the hour (blue)</text>'
        f'{line("rain", "#3b7dd8")}{line("delay", "#c0392b")}</svg>\n'
    )
    tell("plot", f"{path}: mean delay and rain by day")
