"""One run of something: its time, its processors' time and what memory rose by."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.python.common.sample import percentile, quiet

STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


@dataclass
class Taken:
    """What the runs of one side took."""

    seconds: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    peak: list[int] = field(default_factory=list)
    # Of single calls, where a row is about these.
    calls: list[float] = field(default_factory=list)

    @property
    def median(self) -> float:
        return percentile(self.seconds, 0.5)

    def latencies(self) -> dict[str, float]:
        """Of calls, and of whole runs where a row has none."""
        of = self.calls or self.seconds
        return {
            "p50": percentile(of, 0.5),
            "p95": percentile(of, 0.95),
            "p99": percentile(of, 0.99),
        }

    def add(self, run: Callable[[], Any]) -> Any:
        """Runs once more, and gives what that gave."""
        before = _reset()
        with quiet():
            cpu, start = time.process_time(), time.perf_counter()
            given = run()
            self.seconds.append(time.perf_counter() - start)
            self.cpu.append(time.process_time() - cpu)
        self.peak.append(max(0, _kib("VmHWM") - before) << 10)
        return given


def _kib(name: str) -> int:
    for line in STATUS.read_text().splitlines() if STATUS.exists() else ():
        if line.startswith(f"{name}:"):
            return int(line.split()[1])
    return 0


def _reset() -> int:
    """Lets the peak begin at what is there now, in KiB."""
    try:
        CLEAR.write_text("5")
    except OSError:
        # Where that isn't allowed, only a rise above the highest peak so far is seen.
        return _kib("VmHWM")
    return _kib("VmRSS")
