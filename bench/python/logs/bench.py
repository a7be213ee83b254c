"""What the groups of this suite share."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from bench.python.common.run import Run
from bench.python.logs import corpus
from bench.python.logs.corpus import Text

RARE_LINES = 3


@dataclass(kw_only=True)
class Bench(Run):
    """A run of this suite."""

    logs: Path
    command: Path
    bench_command: Path

    def all_lines(self, full: int) -> Text:
        """Lines of all logs, few of them with the rare word."""
        path = self.dir / "all.log"
        return corpus.written(path, self.logs, corpus.ALL, self.many(full), RARE_LINES)

    def access_lines(self, full: int) -> Text:
        path = self.dir / "access.log"
        return corpus.written(path, self.logs, corpus.ACCESS, self.many(full))
