"""What a table takes on a disk and in memory is bounded by what is in it, not by how it came."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import timestrata

LOAD = """
import sys, timestrata
with timestrata.open(sys.argv[1]) as store:
    store.table("t", time="time").ingest(sys.argv[2])
    rows = len(store.table("t"))
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(rows, peak.split()[1])
"""


def write_trades(path: Path, rows: int) -> int:
    chance = random.Random(3)
    trades = [
        f",S{chance.randrange(40)},{chance.randrange(10_000, 12_000) / 100},"
        f"{chance.randrange(1, 50) * 100}\n"
        for _ in range(100_003)
    ]
    with path.open("w") as file:
        file.write("time,symbol,price,volume\n")
        file.writelines(
            f"{1_700_000_000_000 + row * 10}{trades[row % len(trades)]}" for row in range(rows)
        )
    return path.stat().st_size


def test_a_compacted_table_is_a_fraction_of_its_csv(tmp_path: Path) -> None:
    csv_bytes = write_trades(tmp_path / "trades.csv", 100_000)
    with timestrata.open(tmp_path / "s") as store:
        table = store.table("t", time="time", tags="symbol")
        table.ingest(tmp_path / "trades.csv")
        table.compact()
        run_bytes = sum(stream["run_bytes"] for stream in store.stats()["streams"].values())
    assert run_bytes < csv_bytes / 4, f"{run_bytes} bytes of {csv_bytes}"


def test_memory_of_an_ingest_does_not_grow_with_its_rows(tmp_path: Path) -> None:
    peaks = []
    # Fewer rows do not fill what waits between reading and writing.
    for rows in (2_000_000, 5_000_000):
        csv = tmp_path / f"{rows}.csv"
        write_trades(csv, rows)
        command = [sys.executable, "-c", LOAD, str(tmp_path / f"{rows}.store"), str(csv)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        stored, peak_kib = map(int, done.stdout.split())
        assert stored == rows
        peaks.append(peak_kib)
    # Three million rows more are 90 MiB of CSV, and as much in memory, if they are held.
    assert peaks[1] < peaks[0] + 40 * 1024, f"{peaks} KiB"
    assert peaks[1] < 300 * 1024, f"{peaks} KiB"
