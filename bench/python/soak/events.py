"""What the store tells of its work in the background, so that slow operations can be held against it."""

from __future__ import annotations

import logging
import threading
from collections import deque
from time import perf_counter_ns

KEPT_NS = 180 * 1_000_000_000


class Events(logging.Handler):
    """Hears flushes, compactions and their like, and when each was. Times are those of hearing, a moment late."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.heard: deque[tuple[int, int, str]] = deque()
        self.counts: dict[str, int] = {}
        self._guard = threading.Lock()
        self.logger = logging.getLogger("timestrata")

    def emit(self, record: logging.LogRecord) -> None:
        fields = getattr(record, "fields", {})
        end = perf_counter_ns()
        start = end - int(float(fields.get("ms", 0)) * 1e6)
        name = record.name.rpartition(".")[2]
        with self._guard:
            self.counts[name] = self.counts.get(name, 0) + 1
            self.heard.append((start, end, f"{name} {fields.get('stream', '')}".strip()))
            while self.heard[0][1] < end - KEPT_NS:
                self.heard.popleft()

    def during(self, start: int, end: int) -> tuple[str, ...]:
        """What went on in a span of time, by name, each once."""
        with self._guard:
            names = {name for since, until, name in self.heard if since < end and until > start}
        return tuple(sorted(names))

    def __enter__(self) -> Events:
        self.level_before = self.logger.level
        self.logger.addHandler(self)
        self.logger.setLevel(logging.DEBUG)
        return self

    def __exit__(self, *error: object) -> None:
        self.logger.removeHandler(self)
        self.logger.setLevel(self.level_before)
