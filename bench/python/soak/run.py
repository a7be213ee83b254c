"""A run: one store, a thread a load, and who looks at them until the time is over or something is wrong."""

from __future__ import annotations

import faulthandler
import gc
import sys
import threading
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter_ns
from typing import Any

import timestrata
from bench.python.common.files import fresh
from bench.python.soak.events import Events
from bench.python.soak.floor import DiskFloor, Floor, HostFloor, ProcessorFloor, SchedulerFloor
from bench.python.soak.lines import Lines
from bench.python.soak.loads.consumers import ConsumerLoad, Group
from bench.python.soak.loads.graph import GraphLoad
from bench.python.soak.loads.load import Load, Shared
from bench.python.soak.loads.logs import LogsLoad
from bench.python.soak.loads.queries import QueryLoad
from bench.python.soak.loads.table import TableLoad
from bench.python.soak.loads.timelog import TimelogLoad
from bench.python.soak.loads.topic import TopicLoad
from bench.python.soak.loads.upkeep import UpkeepLoad
from bench.python.soak.recorder import Recorder
from bench.python.soak.sampler import Sampler
from bench.python.soak.settings import STORE, Settings

MODELS = ("timelog", "table", "logs", "topic", "graph")
# An operation that is not over by then hangs.
HANGS_SECONDS = 120.0
CATCH_UP_SECONDS = 60.0
# How long a thread of Python may keep the others waiting while it computes: a tenth of what is usual.
SWITCH_SECONDS = 0.0005
CONSUMERS = 2


@dataclass
class Outcome:
    """What a run gave: lines of samples, what operations took, and what went wrong."""

    settings: Settings
    begun: float
    seconds: float
    lines: list[dict[str, Any]]
    recorder: Recorder
    floors: Sequence[Floor]
    failures: list[str]
    # Steps by load: how many, and how many it had to leave out because it came late.
    steps: dict[str, tuple[int, int]]
    # Records that were sent to the topic, by partition.
    sent: dict[int, int]
    processor_seconds: float
    # How often the store told of what.
    events: dict[str, int]
    streams: list[dict[str, list[int]]]
    # By interval, what operations of each kind took.
    kinds: list[dict[str, Any]] = field(default_factory=list)
    hangs: bool = False


class Soak:
    def __init__(self, settings: Settings, folder: Path) -> None:
        self.settings, self.folder = settings, folder
        self.stop, self.writers_stop = threading.Event(), threading.Event()
        self.failures: list[str] = []
        self.behind: dict[str, int] = {}
        self.events = Events()
        self.begin = perf_counter_ns()

    def run(self) -> Outcome:
        folder = fresh(self.folder)
        folder.mkdir(parents=True)
        switch = sys.getswitchinterval()
        sys.setswitchinterval(SWITCH_SECONDS)
        gc.collect()
        gc.freeze()
        try:
            with self.events, timestrata.open(folder / "store", mode="x", **STORE) as store:
                outcome = self._run_in(store)
            if not outcome.failures and not outcome.hangs:
                self._after_reopening(folder / "store")
        finally:
            gc.unfreeze()
            sys.setswitchinterval(switch)
        return outcome

    def _loads(self, store: timestrata.Store) -> list[Load]:
        self.shared = Shared(store, self.settings, Recorder(self.begin, Lines(self.folder / "slow")))
        shared, group = self.shared, Group()
        loads: list[Load] = [
            TimelogLoad(shared), TableLoad(shared), LogsLoad(shared), TopicLoad(shared), GraphLoad(shared),
            QueryLoad(shared), UpkeepLoad(shared, self.folder),
        ]  # fmt: skip
        return loads + [ConsumerLoad(shared, group, number) for number in range(CONSUMERS)]

    def _run_in(self, store: timestrata.Store) -> Outcome:
        self.loads = self._loads(store)
        floors: list[Floor] = [
            SchedulerFloor(), ProcessorFloor(), HostFloor(), DiskFloor(self.folder / "floor"),
        ]
        begun, used = time.time(), time.process_time()
        self.begin = self.shared.recorder.begin = perf_counter_ns()
        sampler = Sampler(self, store, floors)
        around = [threading.Thread(target=floor.run, args=(self.stop,)) for floor in floors]
        around.append(threading.Thread(target=self._sample, args=(sampler,)))
        writers = [self._thread(load) for load in self.loads if not load.follows]
        followers = [self._thread(load) for load in self.loads if load.follows]
        for thread in (*around, *writers, *followers):
            thread.start()
        hangs = not (self._wait(writers) and self._wait(followers, CATCH_UP_SECONDS))
        seconds, processor = (perf_counter_ns() - self.begin) / 1e9, time.process_time() - used
        self.stop.set()
        for thread in around:
            thread.join(HANGS_SECONDS)
        if not self.failures and not hangs:
            self._verify("before closing")
        for load in self.loads:
            if not hangs:
                load.close()
        steps = {load.name: (load.steps, self.behind.get(load.name, 0)) for load in self.loads}
        return Outcome(
            self.settings, begun, seconds, sampler.samples.all(), self.shared.recorder, floors,
            self.failures, steps, dict(self.shared.sent), processor, dict(self.events.counts), sampler.streams, sampler.kinds.all(), hangs,
        )  # fmt: skip

    def _thread(self, load: Load) -> threading.Thread:
        return threading.Thread(target=self._drive, args=(load,), name=load.name, daemon=True)

    def _drive(self, load: Load) -> None:
        try:
            self._steps(load)
            if load.follows:
                while not self.failures and not load.catch_up():
                    pass
        except BaseException as error:
            self.fail(load, error)

    def _steps(self, load: Load) -> None:
        """Steps until the time is over; those of who writes at a steady pace, or none where rounds are counted."""
        rounds, pace = self.settings.rounds, load.rate * self.settings.rate
        due = time.monotonic()
        while not (self.stop.is_set() or self.writers_stop.is_set()):
            if rounds is not None and not load.follows and load.steps >= rounds * load.share:
                return
            load.step()
            load.steps += 1
            if rounds is None and pace:
                due += 1 / pace
                late = time.monotonic() - due
                if late < 0:
                    self.writers_stop.wait(-late)
                elif late > 1.0 + 1 / pace:
                    # What it can't make up for is left out, and counted.
                    self.behind[load.name] = self.behind.get(load.name, 0) + int(late * pace)
                    due += int(late * pace) / pace

    def fail(self, load: Load, error: BaseException) -> None:
        seed, at = self.settings.seed, (perf_counter_ns() - self.begin) / 1e9
        text = f"{load.name}, step {load.steps}, {load.last}, after {at:.1f} s, seed {seed}: {type(error).__name__}: {error}"
        self.failures.append(text)
        print(f"soak: FAILED {text}", file=sys.stderr, flush=True)
        traceback.print_exception(error)
        self.writers_stop.set()

    def _sample(self, sampler: Sampler) -> None:
        try:
            sampler.run(self.stop)
        except BaseException as error:
            self.failures.append(f"sampler: {type(error).__name__}: {error}")
            traceback.print_exception(error)
            self.writers_stop.set()

    def _wait(self, threads: list[threading.Thread], more: float = 0.0) -> bool:
        """Waits for loads to end, and ends them when it is time; false if one hangs."""
        given_up = time.monotonic() + more + HANGS_SECONDS
        while any(thread.is_alive() for thread in threads):
            next(thread for thread in threads if thread.is_alive()).join(0.2)
            elapsed = (perf_counter_ns() - self.begin) / 1e9
            if self.settings.rounds is None and elapsed >= self.settings.seconds:
                self.writers_stop.set()
            if not self.writers_stop.is_set():
                given_up = time.monotonic() + more + HANGS_SECONDS
            hanging = [load for load in self.loads if self._hangs(load)]
            if hanging or time.monotonic() > given_up:
                names = ", ".join(
                    f"{load.name} in {load.under_way}" for load in hanging or self.loads
                )
                self.failures.append(
                    f"an operation is not over after {HANGS_SECONDS:.0f} s: {names}"
                )
                faulthandler.dump_traceback(all_threads=True)
                return False
        # Who follows has nothing to wait for any more.
        self.writers_stop.set()
        return True

    def _hangs(self, load: Load) -> bool:
        under_way = load.under_way
        return under_way is not None and perf_counter_ns() - under_way[1] > HANGS_SECONDS * 1e9

    def _verify(self, when: str) -> None:
        for load in self.loads:
            try:
                load.last = f"all of it, {when}"
                load.verify()
            except Exception as error:
                self.fail(load, error)

    def _after_reopening(self, path: Path) -> None:
        """What was there before closing is there afterwards."""
        try:
            with timestrata.open(path, mode="r+", **STORE) as store:
                for load in self.loads:
                    load.attach(store)
                self._verify("after reopening")
                for load in self.loads:
                    load.close()
        except Exception as error:
            self.failures.append(f"reopening {path}: {type(error).__name__}: {error}")
            traceback.print_exception(error)
