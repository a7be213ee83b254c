"""What the parts of the lab in Python share: their arguments, their loop, their last line."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import traceback
from collections.abc import Callable

from lab import child

Round = Callable[[str], dict[str, int]]


def run(kind: str, module: str, arguments: argparse.Namespace, one: Round) -> int:
    """Rounds until the time is over; each has a seed of its own, and one is run again by that seed."""
    totals: dict[str, int] = {"rounds": 0, "found": 0}
    end = time.monotonic() + arguments.seconds
    number = 0
    while number == 0 or (time.monotonic() < end and not arguments.round and number != arguments.rounds):
        seed = arguments.round or f"{arguments.seed}.{number}"
        try:
            counts = one(seed)
        except Exception:
            counts = {"found": 1}
            child.kill_all()
            print(f"{kind}: FAILED: python -m {module} --round {seed}", file=sys.stderr)
            print(traceback.format_exc(), file=sys.stderr, flush=True)
        for what, count in {"rounds": 1, **counts}.items():
            totals[what] = totals.get(what, 0) + count
        number += 1
    print(json.dumps({"kind": kind, "seed": arguments.seed, **totals}), flush=True)
    return 1 if totals["found"] else 0


def parser(text: str | None) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=text)
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4), "big"))
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--rounds", type=int, help="stop after so many, however long they take")
    parser.add_argument("--round", help="one round again, by its seed")
    return parser
