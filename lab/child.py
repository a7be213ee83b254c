"""Children: processes that write to a store, or read beside the one that does, until they are killed.

A child tells on a pipe, a line each: `F lane first last` what it found of a lane, the fewest and the most
steps that leave it, `B lane step` that a step
begins, `A lane step synced|written STEP` that it was acknowledged, and which step
that acknowledges, `X text` that a promise was broken. A line is
one write of fewer bytes than a pipe keeps together, so lines of threads don't mix, and their order is one
in which things happened.
"""

from __future__ import annotations

import copy
import faulthandler
import os
import random
import select
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import timestrata
from lab.lanes import Lane, lanes

# A child that says nothing for so long hangs, however busy the machine is.
SILENCE_SECONDS_MAX = 120.0


class Broken(Exception):
    """A promise was not kept."""


@dataclass(eq=False)
class Child:
    """A forked process, and what it has said so far."""

    pid: int
    output: int
    rest: bytes = b""
    lines: list[str] = field(default_factory=list)
    is_done: bool = False

    def read(self, seconds: float) -> list[str]:
        """Lines that come within the time; an empty list and `is_done` at the end."""
        if not select.select([self.output], [], [], seconds)[0]:
            return []
        data = os.read(self.output, 1 << 16)
        if not data:
            self.is_done = True
        *whole, self.rest = (self.rest + data).split(b"\n")
        new = [line.decode() for line in whole]
        self.lines.extend(new)
        return new

    def kill(self) -> None:
        """Ends it at once, and hears what it said before."""
        os.kill(self.pid, signal.SIGKILL)
        self.finish()

    def finish(self) -> int:
        """Hears it to its end; gives how it ended."""
        deadline = time.monotonic() + SILENCE_SECONDS_MAX
        while not self.is_done:
            if self.read(1.0):
                deadline = time.monotonic() + SILENCE_SECONDS_MAX
            elif time.monotonic() > deadline:
                os.kill(self.pid, signal.SIGKILL)
                self.lines.append("X a child hangs")
                break
        os.close(self.output)
        _alive.remove(self)
        return os.waitpid(self.pid, 0)[1]


Say = Callable[[str], None]
# Those that may still run.
_alive: list[Child] = []


def kill_all() -> None:
    """Ends what a round that broke off has left."""
    while _alive:
        _alive[-1].kill()


def start(work: Callable[[Say], None]) -> Child:
    """Forks: this process has no threads and no store, so a fork is as good as a new one, and quick."""
    output, other = os.pipe()
    pid = os.fork()
    if pid:
        os.close(other)
        _alive.append(Child(pid, output))
        return _alive[-1]
    status = 1
    try:
        os.close(output)
        faulthandler.dump_traceback_later(SILENCE_SECONDS_MAX, exit=True)

        def say(line: str) -> None:
            os.write(other, line.encode()[:2000].replace(b"\n", b" | ") + b"\n")

        try:
            work(say)
            status = 0
        except BaseException:
            say("X " + traceback.format_exc(limit=-4))
    finally:
        sys.stdout.flush()
        os._exit(status)


def settings(rng: random.Random) -> dict[str, Any]:
    """Sizes so small that flushes, compactions and new files of the log happen all the time."""
    return {
        "memtable_bytes_max": rng.choice((4096, 16_384, 65_536)),
        "wal_segment_bytes": rng.choice((16_384, 65_536, 262_144)),
        "sync_interval": rng.choice((0.005, 0.05, 1.0)),
        "level0_runs_max": rng.choice((4, 12)),
        # Followers have to be told of all.
        "history_min": "10m",
    }


def locate(lane: Lane, least: int, most: int) -> int:
    """How many of its steps a store has of a lane: at least and at most so many, or it is broken."""
    found = lane.found()
    lane.skip_to(least)
    while lane.expected() != found:
        if lane.drawn >= most:
            raise Broken(
                f"{lane.name}: what is found is not what any {least} to {most} steps leave: "
                f"{str(found)[-400:]}"
            )
        lane.draw()
    return lane.drawn


def tell(number: int, lane: Lane, bounds: tuple[int, int]) -> str:
    """What is found of a lane, as a line. A step may change nothing, or undo the one before: so it is the
    fewest steps that leave it, where the lane goes on, and the most."""
    first = last = locate(lane, *bounds)
    twin = type(lane)(lane.seed, lane.number)
    twin.skip_to(first)
    left = copy.deepcopy(twin.expected())
    while twin.drawn < bounds[1]:
        twin.draw()
        if twin.expected() == left:
            last = twin.drawn
    return f"F {number} {first} {last}"


def write(
    path: str,
    seed: str,
    turn: int,
    bounds: list[tuple[int, int]],
    say: Say,
    beside: Callable[[timestrata.Store], None] | None = None,
) -> None:
    """Opens, tells what is there, then writes by a thread a lane until it is killed. One thread does what is to be done beside."""
    rng = random.Random(f"{seed}/{turn}")
    store = timestrata.open(path, **settings(rng))
    # What was found is told before anything is written, and each lane goes on from there.
    of_store = lanes(seed)
    for number, lane in enumerate(of_store):
        lane.attach(store)
        say(tell(number, lane, bounds[number]))
    if turn:
        report = store.check()
        if not report.is_sound:
            raise Broken(f"check: {[str(finding) for finding in report.findings]}")
        for lane in rng.sample(of_store, 3):
            lane.inspect()
    say("O")
    failed = threading.Event()

    def run(number: int, lane: Lane) -> None:
        try:
            while not failed.is_set():
                step = lane.draw()
                say(f"B {number} {lane.drawn}")
                lane.apply(step)
                kind = "synced" if step.synced else "written"
                say(f"A {number} {lane.drawn} {kind} {step.repeats or lane.drawn}")
        except timestrata.PoisonedError as error:
            say(f"P {error}")
        except BaseException:
            say(f"X {lane.name}, step {lane.drawn}: " + traceback.format_exc(limit=-3))
            failed.set()

    def run_beside(work: Callable[[timestrata.Store], None]) -> None:
        try:
            work(store)
        except BaseException:
            say("X beside: " + traceback.format_exc(limit=-3))
            failed.set()

    for number, lane in enumerate(of_store):
        threading.Thread(target=run, args=(number, lane), daemon=True).start()
    if beside is not None:
        threading.Thread(target=run_beside, args=(beside,), daemon=True).start()
    while not failed.is_set():
        faulthandler.dump_traceback_later(SILENCE_SECONDS_MAX, exit=True)
        rng.choice((store.flush, store.compact, store.sync, store.stats))()


def read(path: str, seed: str, say: Say) -> None:
    """Follows the writer until it is killed: what it sees of a lane is what some steps leave, and never fewer
    than before; between two refreshes it sees the same."""
    of_store = lanes(seed)
    while True:
        try:
            store = timestrata.open(path, mode="r")
        except (timestrata.NotAStoreError, timestrata.NotFoundError):
            # Nobody has made it yet.
            time.sleep(0.01)
            continue
        break
    while True:
        faulthandler.dump_traceback_later(SILENCE_SECONDS_MAX, exit=True)
        for lane in of_store:
            lane.attach(store)
            before = lane.drawn
            locate(lane, before, before + 20_000)
            if lane.found() != lane.expected():
                raise Broken(f"{lane.name}: a reader sees something else without a refresh")
        say("R")
        store.refresh()


def back_up(path: str, target: str, say: Say) -> None:
    """A backup from beside the writer."""
    with timestrata.open(path, mode="r") as store:
        store.backup(target)
    say("K")


def look(path: str, seed: str, bounds: list[tuple[int, int]], say: Say) -> None:
    """What a store holds, read by a writer that writes nothing."""
    with timestrata.open(path, history_min="10m") as store:
        for number, lane in enumerate(lanes(seed)):
            lane.attach(store)
            say(tell(number, lane, bounds[number]))
            lane.inspect()
        report = store.check()
        if not report.is_sound:
            raise Broken(f"check: {[str(finding) for finding in report.findings]}")
    say("O")
