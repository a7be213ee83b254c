"""What the groups of this suite share."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from bench.python.common.run import Run
from bench.python.table.data import Files


@dataclass(kw_only=True)
class Bench(Run):
    """A run of this suite."""

    files: Files
    command: Path
    bench_command: Path
