"""Lanes: what one thread writes to one model, step by step, and what must then be found.

A lane's steps follow from its seed alone, so whoever knows the seed knows what the store holds after
any number of them. Lanes of one model share its stream and never touch each other's rows: what is found
of a lane after a crash is right if it is what some number of its steps leaves.
"""

from __future__ import annotations

from lab.lanes.graph import GraphLane
from lab.lanes.lane import Lane, Step
from lab.lanes.logs import LogsLane
from lab.lanes.table import KeyedTableLane, TableLane
from lab.lanes.timelog import TimelogLane
from lab.lanes.together import TogetherLane
from lab.lanes.topic import TopicLane

KINDS: tuple[type[Lane], ...] = (
    TimelogLane,
    TableLane,
    KeyedTableLane,
    TopicLane,
    GraphLane,
    LogsLane,
    TogetherLane,
)
# So many lanes of each kind write to the same stream.
LANES_EACH = 2


def lanes(seed: str) -> list[Lane]:
    """All lanes of a store, in a fixed order: a lane's place names it."""
    return [kind(seed, number) for kind in KINDS for number in range(LANES_EACH)]


__all__ = ["KINDS", "LANES_EACH", "Lane", "Step", "lanes"]
