"""What all loads are: steps drawn by a seed, each timed, and answers held against what was written."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter_ns
from typing import Any, ParamSpec, TypeVar

import timestrata
from bench.python.soak.recorder import Kind, Recorder
from bench.python.soak.settings import Settings

P = ParamSpec("P")
T = TypeVar("T")


class WrongAnswerError(AssertionError):
    """The store answered something else than what was written to it."""


@dataclass
class Shared:
    """What loads of one run have in common."""

    store: timestrata.Store
    settings: Settings
    recorder: Recorder
    # Records that were sent, by partition; consumers read as many.
    sent: dict[int, int] = field(default_factory=dict)
    # No load has more to write, so who follows comes to an end.
    writers_are_done: Callable[[], bool] = lambda: False


class Load:
    """One thread's work on one model."""

    model = ""
    # Steps a second at rate 1; 0: as fast as they come, where a step waits itself.
    rate = 10.0
    follows = False
    # Of the rounds that all are to do, for who does few but long ones.
    share = 1.0

    def __init__(self, shared: Shared, name: str | None = None) -> None:
        self.shared = shared
        self.name = name or self.model
        self.rng = random.Random(f"{shared.settings.seed}/{self.name}")
        self.steps = 0
        # What it does now and since when, for whoever waits for it.
        self.under_way: tuple[str, int] | None = None
        self.last = "nothing yet"
        self._kinds: dict[str, Kind] = {}
        self.choices: list[tuple[Callable[[], None], float]] = []

    def attach(self, store: timestrata.Store) -> None:
        """Takes hold of the model, in a store that was just opened."""
        raise NotImplementedError

    def step(self) -> None:
        """One drawn step."""
        works, weights = zip(*self.choices, strict=True)
        self.rng.choices(works, weights)[0]()

    def catch_up(self) -> bool:
        """For who follows: whether all is read now that the writers are done."""
        return True

    def verify(self) -> None:
        """Holds all that can be told against the store."""
        raise NotImplementedError

    def close(self) -> None:
        """Lets go of what it holds of an open store."""

    def timed(self, name: str, call: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
        """Calls, and notes how long it took as an operation of this kind."""
        kind = self._kinds.get(name)
        if kind is None:
            kind = self._kinds[name] = self.shared.recorder.kind(self.model, name)
        self.last = kind.name
        start = perf_counter_ns()
        self.under_way = (kind.name, start)
        given = call(*args, **named)
        end = perf_counter_ns()
        self.under_way = None
        kind.add(start, end, self.shared.recorder.is_steady)
        return given

    def expect(self, what: str, found: Any, wanted: Any) -> None:
        if found != wanted:
            raise WrongAnswerError(f"{what}: found {short(found)}, expected {short(wanted)}")

    def text(self, length: int) -> str:
        return f"{self.rng.getrandbits(4 * length):0{length}x}"


def short(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= 400 else f"{shown[:300]} ... {shown[-80:]}"
