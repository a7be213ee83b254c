"""What all lanes have in common."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any, ClassVar

import timestrata


@dataclass(frozen=True)
class Step:
    """One call: all that it changes is one commit."""

    verb: str
    arguments: dict[str, Any] = field(default_factory=dict)
    # Whether its acknowledgement survives a power cut. A step that may change nothing makes no commit, and
    # promises nothing of others.
    synced: bool = False
    # Where it says again what was said before: the step that did, which is what it acknowledges.
    repeats: int | None = None


class Lane:
    """Draws steps, carries them out, and tells what they leave."""

    model: ClassVar[str]

    def __init__(self, seed: str, number: int) -> None:
        self.seed, self.number = seed, number
        self.rng = random.Random(f"{seed}/{type(self).__name__}/{number}")
        # How many steps have been drawn; `expected` is what they leave.
        self.drawn = 0

    @property
    def name(self) -> str:
        return f"{type(self).__name__} {self.number}"

    def draw(self) -> Step:
        """The next step. What is expected has it from now on."""
        step = self._next()
        self.drawn += 1
        return step

    def skip_to(self, steps: int) -> None:
        """Draws so many steps in all, and carries out none."""
        while self.drawn < steps:
            self.draw()

    def text(self, bytes_max: int = 60) -> str:
        """Some text; rarely much of it, so that files of the log fill at odd places."""
        length = self.rng.randrange(bytes_max)
        if self.rng.random() < 0.02:
            length *= 40
        return f"{self.drawn}:" + chr(97 + self.drawn % 26) * length

    def sync(self) -> bool:
        return self.rng.random() < 0.25

    def _next(self) -> Step:
        raise NotImplementedError

    def expected(self) -> Any:
        """What a store must give of this lane after the steps drawn so far."""
        raise NotImplementedError

    def attach(self, store: timestrata.Store) -> None:
        """Takes what it needs of an open store; makes it if the store can be written to."""
        raise NotImplementedError

    def apply(self, step: Step) -> None:
        """Carries a step out on the store."""
        getattr(self, f"_{step.verb}")(step)

    def found(self) -> Any:
        """What the store gives, as `expected` has it. Empty if nothing was made yet."""
        raise NotImplementedError

    def inspect(self) -> None:
        """What must hold besides, whatever was found; raises if it does not."""
