"""Random models: steps of all lanes by one thread, with flushes, compactions, backups and reopening between
them; after each of these every model gives what plain Python gives.

    python -m lab.random_models --seed N --seconds S
"""

from __future__ import annotations

import random
import sys
import tempfile
from pathlib import Path

import timestrata
from lab import part
from lab.child import Broken, settings
from lab.lanes import Lane, lanes

STEPS = 400


def compare(of_store: list[Lane], after: str) -> None:
    for lane in of_store:
        found, expected = lane.found(), lane.expected()
        if found != expected:
            raise Broken(f"{lane.name}, after {after}: found {found!r}, expected {expected!r}")
        lane.inspect()


def one(seed: str) -> dict[str, int]:
    rng = random.Random(seed)
    operations = comparisons = 0
    with tempfile.TemporaryDirectory(prefix="lab-models-") as folder:
        path = Path(folder) / "store"
        of_store = lanes(seed)
        kept = settings(rng)
        kept["maintenance"] = rng.choice(("background", "manual"))
        store = timestrata.open(path, **kept)
        for lane in of_store:
            lane.attach(store)
        for step in range(STEPS):
            lane = rng.choice(of_store)
            lane.apply(lane.draw())
            operations += 1
            if rng.random() > 0.03:
                continue
            after = rng.choice(("flush", "compact", "sync", "reopen", "backup", "reader"))
            if after == "reopen":
                store.close()
                store = timestrata.open(path, **kept)
                for lane in of_store:
                    lane.attach(store)
            elif after in ("backup", "reader"):
                other = path
                if after == "backup":
                    other = Path(folder) / f"backup{step}"
                    store.backup(other)
                with timestrata.open(other, mode="r") as reader:
                    for lane in of_store:
                        lane.attach(reader)
                    compare(of_store, after)
                for lane in of_store:
                    lane.attach(store)
            else:
                getattr(store, after)()
            compare(of_store, after)
            comparisons += len(of_store)
        report = store.check()
        store.close()
        if not report.is_sound:
            raise Broken(f"check: {[str(finding) for finding in report.findings]}")
    return {"operations": operations, "comparisons": comparisons, "found": 0}


if __name__ == "__main__":
    sys.exit(part.run("models", "lab.random_models", part.parser(__doc__).parse_args(), one))
