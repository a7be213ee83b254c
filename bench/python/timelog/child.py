"""What needs a process of its own: memory, and time that threads of maintenance take.

`python -m bench.python.timelog.child MODULE WHAT ROWS` prints its figures as JSON; `play` runs it.
"""

from __future__ import annotations

import gc
import json
import subprocess
import sys
from array import array
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

from bench.python.timelog.sides import Side, settle, side

ROOT = Path(__file__).resolve().parents[3]
STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")
TIMEOUT_S = 900
HOUR_NS = 3_600_000_000_000
BATCH_ROWS = 10_000


def play(module: str, what: str, rows: int) -> dict[str, Any]:
    """Runs one part in a new process."""
    command = [sys.executable, "-m", "bench.python.timelog.child", module, what, str(rows)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=TIMEOUT_S)
    if done.returncode:
        last = (done.stderr.strip() or "no message").splitlines()[-1]
        raise RuntimeError(f"{what} of {module}: exit {done.returncode}: {last}")
    figures: dict[str, Any] = json.loads(done.stdout)
    return figures


def resident(which: str) -> int:
    """Bytes of memory, as the kernel counts them."""
    for line in STATUS.read_text().splitlines():
        if line.startswith(which + ":"):
            return int(line.split()[1]) << 10
    raise OSError(f"{STATUS} has no {which}")


def memory(made: Side, rows: int, *, bulk: bool) -> dict[str, float]:
    """Bytes a row beyond the payload: after storing, after compaction, and the most between.

    The payload is a million objects of their own, all there before the first look.
    """
    objects, times = [float(at) for at in range(rows)], array("q", range(rows))
    log = made.open()
    gc.collect()
    before = resident("RssAnon")
    if bulk:
        log.bulk_append(times, objects)
    else:
        for at in range(0, rows, BATCH_ROWS):
            end = min(at + BATCH_ROWS, rows)
            log.extend(zip(islice(times, at, end), islice(objects, at, end), strict=True))
    stored = resident("RssAnon")
    CLEAR.write_text("5")  # the peak begins anew
    file_backed = resident("VmRSS") - stored
    settle(log)
    peak = resident("VmHWM") - file_backed
    settled = resident("RssAnon")
    if len(log) != rows:
        raise ValueError(f"{len(log)} rows of {rows}")
    figures = {"stored": stored, "settled": settled, "peak": max(peak, stored, settled)}
    return {key: (value - before) / rows for key, value in figures.items()}


def hot_hour(made: Side, rows: int) -> dict[str, Any]:
    """Rows streamed into one window of an hour, with background maintenance.

    The processor time of each sixth, threads included; what is left over is done in the last.
    """
    log = made.open(maintenance="background", busy_policy="flush")
    step, part = HOUR_NS // rows, rows // 6
    append, taken = log.append, []
    gc.disable()
    start = perf_counter()
    for at in range(6):
        begin = process_time()
        for row in range(at * part, (at + 1) * part):
            append(row * step, row)
        if at == 5:
            log.flush()
            log.stop_maintenance()
        taken.append((process_time() - begin) / part * 1e9)
    seconds = perf_counter() - start
    kept, stats = len(log), log.stats()
    if kept != part * 6:
        raise ValueError(f"{kept} rows of {part * 6}")
    waits = stats["operational"]["backpressure_waits"]
    segments = stats["storage"]["segments_l0"] + stats["storage"]["segments_l1"]
    return {"cpu_ns": taken, "seconds": seconds, "waits": waits, "segments": segments}


PARTS: dict[str, Callable[[Side, int], dict[str, Any]]] = {
    "memory": lambda made, rows: memory(made, rows, bulk=False),
    "memory-bulk": lambda made, rows: memory(made, rows, bulk=True),
    "hot-hour": hot_hour,
}


def main() -> None:
    module, what, rows = sys.argv[1:]
    print(json.dumps(PARTS[what](side(module), int(rows))))


if __name__ == "__main__":
    main()
