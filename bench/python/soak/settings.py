"""What a soak is told: how long, how much, and from which seed."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

# A line of results is of so many seconds at least (but in runs of seconds) and at most; a long run has as many lines as
# are drawn.
LINE_SECONDS = (1.0, 30.0)
LINES = 240


@dataclass(frozen=True, kw_only=True)
class Settings:
    """`rounds` ends each load after so many steps, without pacing; else the clock does, after `seconds`."""

    seed: int
    seconds: float
    rounds: int | None = None
    # What all rates are multiplied by.
    rate: float = 1.0
    # How long data is kept, by retention where a model has it; None: it follows from the length of the run.
    retention: float | None = None
    # Between two backups or checks.
    upkeep: float = 20.0

    @property
    def kept_seconds(self) -> float:
        """Short enough that data goes many times over within the run."""
        return self.retention or min(max(self.seconds / 24, 15.0), 300.0)

    @property
    def warm_up(self) -> float:
        """Until what is kept is as much as it will be: a run that is too short for it has no steady part."""
        return min(max(3 * self.kept_seconds, self.seconds / 8), self.seconds / 2)

    @property
    def line_seconds(self) -> float:
        least = min(LINE_SECONDS[0], self.seconds / 10)
        return min(max(self.seconds / LINES, least), LINE_SECONDS[1])

    def form(self) -> dict[str, Any]:
        return {**asdict(self), "kept_seconds": self.kept_seconds, "warm_up": self.warm_up}


# Small, so that flushes, changes of log files and compactions come every few seconds, not once an hour.
STORE: dict[str, Any] = {
    "memtable_bytes_max": "256KiB",
    "memory_bytes_max": "32MiB",
    "wal_segment_bytes": "2MiB",
    "wal_bytes_max": "16MiB",
    "cache_bytes_max": "16MiB",
    "quarantine_bytes_max": "16MiB",
}
