"""A thread that looks at process, folder and store each second, and makes a line of each interval."""

from __future__ import annotations

import statistics
import threading
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

import timestrata
from bench.python.soak import figures
from bench.python.soak.floor import Floor
from bench.python.soak.histogram import merged
from bench.python.soak.lines import Lines
from bench.python.soak.loads.topic import NAME

if TYPE_CHECKING:
    from bench.python.soak.run import Soak

LOOK_SECONDS = 1.0
# What the greatest of an interval is told of, beside its median.
PEAKS = ("rss", "anonymous", "bytes", "files", "open_files", "threads")


class Sampler:
    def __init__(self, soak: Soak, store: timestrata.Store, floors: Sequence[Floor]) -> None:
        if store.path is None:
            raise TypeError("a store in memory has no folder")
        self.soak, self.store, self.floors, self.path = soak, store, floors, Path(store.path)
        self.samples, self.kinds = Lines(soak.folder / "samples"), Lines(soak.folder / "kinds")
        self.looks: list[figures.Figures] = []
        # Runs, rows and bytes of each stream, when the steady part begins and at the end.
        self.streams: list[dict[str, list[int]]] = []

    def run(self, stop: threading.Event) -> None:
        settings = self.soak.settings
        self.look()
        line_at = settings.line_seconds
        while not stop.wait(min(LOOK_SECONDS, settings.line_seconds)):
            self.look()
            elapsed = self._elapsed()
            if not self.soak.shared.recorder.is_steady and elapsed >= settings.warm_up:
                self._begin_steady()
            if elapsed >= line_at:
                self.line()
                line_at += settings.line_seconds
        self.look()
        self.line()
        self.streams.append(figures.of_streams(self.store))

    def _elapsed(self) -> float:
        return (perf_counter_ns() - self.soak.begin) / 1e9

    def _begin_steady(self) -> None:
        self.soak.shared.recorder.is_steady = True
        self.streams.append(figures.of_streams(self.store))
        for floor in self.floors:
            floor.is_steady = True

    def look(self) -> None:
        of_store, wrong = figures.of_store(self.store, NAME)
        self.looks.append(figures.of_process() | figures.of_folder(self.path) | of_store)
        if wrong:
            raise RuntimeError(f"the store is in trouble: {'; '.join(wrong)}")

    def line(self) -> None:
        """Makes a line of what was seen since the last one."""
        looks, self.looks = self.looks, []
        line: dict[str, Any] = {
            "t": round(self._elapsed(), 2),
            "is_steady": self.soak.shared.recorder.is_steady,
        }
        line |= {name: int(statistics.median(look[name] for look in looks)) for name in looks[0]}
        line |= {f"{name}_most": max(look[name] for look in looks) for name in PEAKS}
        line["floors"] = {floor.name: floor.take().form() for floor in self.floors}
        taken = self.soak.shared.recorder.take(self.floors, self.soak.events.during)
        models = sorted({model for model, _ in taken.values()})
        line["models"] = {
            model: merged(part for of, part in taken.values() if of == model).form()
            for model in models
        }
        self.samples.add(line)
        kinds = {name: part.form() for name, (_, part) in taken.items() if part.count}
        self.kinds.add({"t": line["t"], "kinds": kinds})
