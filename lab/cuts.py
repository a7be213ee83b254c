"""Power cuts of the real package: it writes to a file system that loses what was not synced; at a random
moment the power goes, and what is left is opened. Every commit acknowledged as synced is there, and what is
there is a prefix of the order of commits.

    python -m lab.cuts --seed N --seconds S
    python -m lab.cuts --lie --seconds 20        a disk that lies about its syncs: this must fail
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

from lab import child, part
from lab.child import Broken
from lab.kills import judge, moment, wait_until_open
from lab.progress import Progress

TURNS_MAX = 6


class CutDisk:
    """A mounted file system that obeys."""

    def __init__(self, program: Path, folder: str) -> None:
        self.process = subprocess.Popen(
            [program, folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        if self.process.stdout.readline() != "ready\n":
            self.process.wait()
            raise OSError("it could not be mounted")

    def say(self, line: str) -> str:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def program() -> Path:
    """The file system, built."""
    target = Path(os.environ["CARGO_TARGET_DIR"])
    manifest = Path(__file__).parent / "cutfs" / "Cargo.toml"
    command = ["cargo", "build", "--quiet", "--locked", "--manifest-path", manifest]
    subprocess.run(command, check=True)
    return target / "debug" / "timestrata-cutfs"


def turn(disk: CutDisk, store: Path, seed: str, number: int, progress: Progress) -> None:
    """One life of a writer, ended by a cut: at once, or of what a killed process left behind."""
    rng = random.Random(f"{seed}/moment/{number}")
    bounds = progress.bounds(power_cut=True)
    writer = child.start(partial(child.write, str(store), seed, number, bounds))
    wait_until_open(writer, rng, progress)
    moment(writer, rng, progress)
    heard = len(writer.lines)
    if rng.random() < 0.7:
        # What comes later on the pipe may have been acknowledged before, and is not asked for.
        disk.say("freeze")
        writer.kill()
    else:
        writer.kill()
        progress.hear(writer.lines[heard:])
        heard = len(writer.lines)
    judge(writer.lines[:heard], "writer")
    # What was begun by then may be there, acknowledged or not.
    progress.hear([line for line in writer.lines[heard:] if line.startswith(("F", "O", "B"))])
    progress.end()
    survival = rng.choice(("nothing", "everything", "mixture", "mixture", "mixture"))
    answer = disk.say(f"cut {survival} {rng.randrange(1 << 60)}")
    if not answer.startswith("cut"):
        raise Broken(f"the file system says: {answer}")


def one(made: Path, is_lying: bool, seed: str) -> dict[str, int]:
    """One store, through some lives and cuts, and looked at in the end."""
    rng = random.Random(seed)
    counts = {"cuts": 0, "found": 0}
    progress = Progress()
    with tempfile.TemporaryDirectory(prefix="lab-cuts-") as folder:
        disk = CutDisk(made, folder)
        try:
            if is_lying:
                disk.say("lie")
            # A directory of its own: the topmost one's name is no name in this file system.
            store = Path(folder) / "store"
            for number in range(rng.randrange(2, TURNS_MAX + 1)):
                turn(disk, store, seed, number, progress)
                counts["cuts"] += 1
            looked = child.start(
                partial(child.look, str(store), seed, progress.bounds(power_cut=True))
            )
            looked.finish()
            judge(looked.lines, "opened in the end")
            progress.hear(looked.lines)
            counts["disk_syncs"] = int(disk.say("syncs"))
        finally:
            child.kill_all()
            disk.close()
    counts["commits"], counts["syncs"] = progress.commits, progress.syncs
    return counts


def mounts(made: Path) -> str | None:
    """Why nothing can be mounted here; none if it can."""
    with tempfile.TemporaryDirectory(prefix="lab-cuts-") as folder:
        try:
            CutDisk(made, folder).close()
        except OSError as error:
            return str(error)
    return None


def main(arguments: argparse.Namespace) -> int:
    made = program()
    reason = mounts(made)
    if reason is not None:
        # Told, and not counted: a machine without it runs all else.
        print(f"cuts: left out, {reason}", file=sys.stderr)
        print(json.dumps({"kind": "cuts", "seed": arguments.seed, "cuts": 0, "found": 0}))
        return 0
    return part.run("cuts", "lab.cuts", arguments, partial(one, made, arguments.lie))


if __name__ == "__main__":
    options = part.parser(__doc__)
    options.add_argument("--lie", action="store_true", help="a disk that drops every sync")
    sys.exit(main(options.parse_args()))
