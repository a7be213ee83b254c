"""What the groups of this suite share."""

from __future__ import annotations

from dataclasses import dataclass

from bench.python.common.run import Run
from bench.python.tsbs.data import Files, Shape


# How often each query is asked, each time about another window and other hosts.
ROUNDS, ROUNDS_QUICK = 7, 2


@dataclass(kw_only=True)
class Bench(Run):
    """A run of this suite."""

    files: Files

    def shape(self, full: Shape) -> Shape:
        """As many rows as that, or few of them in a quick run."""
        return full.few() if self.quick else full

    @property
    def rounds(self) -> int:
        return ROUNDS_QUICK if self.quick else ROUNDS
