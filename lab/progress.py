"""What the lines of a child tell: how many steps of each lane must be found, and how many may."""

from __future__ import annotations

from dataclasses import dataclass, field

from lab.child import Broken
from lab.lanes import lanes

LANES = len(lanes(""))


@dataclass
class Progress:
    """Of one store, through all its writers."""

    begun: list[int] = field(default_factory=lambda: [0] * LANES)
    written: list[int] = field(default_factory=lambda: [0] * LANES)
    synced: list[int] = field(default_factory=lambda: [0] * LANES)
    # (lane, step) of each beginning, and what was acknowledged by then.
    acknowledged_before: dict[tuple[int, int], tuple[int, ...]] = field(default_factory=dict)
    # What a new writer has told of the lanes so far, before it writes: the fewest and the most steps
    # that leave what is there.
    found: list[tuple[int, int]] = field(default_factory=list)
    commits: int = 0
    syncs: int = 0

    def hear(self, lines: list[str]) -> None:
        for line in lines:
            kind, *words = line.split(" ", 4)
            if kind == "F":
                self.found.append((int(words[1]), int(words[2])))
            elif kind == "O":
                self._resume()
            elif kind == "B":
                lane, step = int(words[0]), int(words[1])
                self.begun[lane] = step
                self.acknowledged_before[lane, step] = tuple(self.written)
            elif kind == "A":
                lane, step = int(words[0]), int(words[1])
                self.written[lane] = step
                self.commits += 1
                if words[2] == "synced":
                    self.syncs += 1
                    # A step that repeats another acknowledges that one.
                    meant = int(words[3])
                    self.synced[lane] = max(self.synced[lane], meant)
                    # What was acknowledged before a synced one began is before it in the order. One of an
                    # earlier writer is durable since the store was opened.
                    none = (0,) * LANES
                    earlier = self.acknowledged_before.get((lane, meant), none)
                    self.synced = [max(pair) for pair in zip(self.synced, earlier, strict=True)]

    def bounds(self, power_cut: bool) -> list[tuple[int, int]]:
        """Least and most steps of each lane that a reopened store may have."""
        least = self.synced if power_cut else self.written
        return list(zip(least, self.begun, strict=True))

    def end(self) -> None:
        """The writer is gone; what it told of the lanes without opening whole counts for nothing."""
        self.found.clear()

    def _hold(self) -> None:
        """What was found is a prefix: no commit is there of which one acknowledged before it began is not."""
        for lane, (steps, _) in enumerate(self.found):
            earlier = self.acknowledged_before.get((lane, steps), (0,) * LANES)
            for other, least in enumerate(earlier):
                most = self.found[other][1]
                if most < least:
                    raise Broken(
                        f"lane {lane} has step {steps}, and lane {other} has {most} steps though "
                        f"{least} of it were acknowledged before that one began"
                    )

    def _resume(self) -> None:
        """A new writer goes on from what was found, which it makes durable by opening."""
        self._hold()
        self.begun, self.written, self.synced = ([steps for steps, _ in self.found] for _ in range(3))
        self.acknowledged_before.clear()
        self.found.clear()
