"""Kills: a process that writes over all models is killed at a random moment, with a reader, followers of changes and sometimes a
backup beside it; then everything that was acknowledged is there, and followers were told of all of it once.

    python -m lab.kills --seed N --seconds S
"""

from __future__ import annotations

import random
import shutil
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

from lab import child, follower, part
from lab.child import Broken, Child
from lab.lanes import KINDS, LANES_EACH, TogetherLane
from lab.progress import LANES, Progress

TURNS_MAX = 6


def moment(writer: Child, rng: random.Random, progress: Progress) -> None:
    """Waits for the moment to kill: among the first lines of all, or later."""
    lines_wanted = rng.choice((0, rng.randrange(20), rng.randrange(60), rng.randrange(1200)))
    deadline = time.monotonic() + child.SILENCE_SECONDS_MAX
    while len(writer.lines) < lines_wanted and not writer.is_done:
        progress.hear(writer.read(1.0))
        if time.monotonic() > deadline:
            break
    time.sleep(rng.random() * 0.01)


def wait_until_open(writer: Child, rng: random.Random, progress: Progress) -> None:
    """Mostly it may open in peace; sometimes the end comes before."""
    while not writer.is_done and "O" not in writer.lines and rng.random() < 0.97:
        progress.hear(writer.read(1.0))


def judge(lines: list[str], who: str) -> None:
    broken = [line for line in lines if line.startswith("X")]
    if broken:
        raise Broken(f"{who}: " + "\n  ".join(broken))


def notes_of(store: Path) -> tuple[Path, Path]:
    """Of the follower in the writer, and of the one beside it."""
    return store.with_name("followed-by-name"), store.with_name("followed-beside")


def judge_followers(store: Path, seed: str, progress: Progress) -> int:
    """Has them told of the rest, and holds them against the lanes."""
    first = KINDS.index(TogetherLane) * LANES_EACH
    bounds = progress.bounds(power_cut=False)[first : first + LANES_EACH]
    followed = 0
    for notes in notes_of(store):
        last = child.start(partial(follower.catch_up, str(store), str(notes)))
        last.finish()
        judge(last.lines, notes.name)
        followed += follower.judge(seed, notes, dict(enumerate(bounds)))
    return followed


def turn(store: Path, seed: str, number: int, progress: Progress, counts: dict[str, int]) -> None:
    """One life of a writer."""
    rng = random.Random(f"{seed}/moment/{number}")
    bounds = progress.bounds(power_cut=False)
    by_name = partial(follower.follow_by_name, notes=str(notes_of(store)[0]))
    writer = child.start(partial(child.write, str(store), seed, number, bounds, beside=by_name))
    beside = partial(follower.follow, str(store), str(notes_of(store)[1]))
    following = child.start(beside) if rng.random() < 0.6 else None
    reader = child.start(partial(child.read, str(store), seed)) if rng.random() < 0.5 else None
    backup, target = None, store.with_name(f"backup{number}")
    wait_until_open(writer, rng, progress)
    least = list(progress.written)
    if rng.random() < 0.15 and "O" in writer.lines:
        backup = child.start(partial(child.back_up, str(store), str(target)))
    moment(writer, rng, progress)
    if backup is not None:
        while not backup.is_done:
            backup.read(0.01)
            progress.hear(writer.read(0.01))
        backup.finish()
    heard = len(writer.lines)
    writer.kill()
    progress.hear(writer.lines[heard:])
    progress.end()
    if reader is not None:
        reader.kill()
        judge(reader.lines, "reader")
        counts["reads"] = counts.get("reads", 0) + reader.lines.count("R") * LANES
    judge(writer.lines, "writer")
    if following is not None:
        following.kill()
        judge(following.lines, "follower")
    if backup is not None:
        judge(backup.lines, "backup")
        counts["backups"] = counts.get("backups", 0) + 1
        bounds = list(zip(least, progress.begun, strict=True))
        looker = child.start(partial(child.look, str(target), seed, bounds))
        looker.finish()
        judge(looker.lines, "backup, opened")
        shutil.rmtree(target)


def one(seed: str) -> dict[str, int]:
    """One store, through some lives and kills, and looked at in the end."""
    rng = random.Random(seed)
    counts: dict[str, int] = {"kills": 0, "found": 0}
    progress = Progress()
    with tempfile.TemporaryDirectory(prefix="lab-kills-") as folder:
        store = Path(folder) / "store"
        for number in range(rng.randrange(2, TURNS_MAX + 1)):
            turn(store, seed, number, progress, counts)
            counts["kills"] += 1
        looker = child.start(
            partial(child.look, str(store), seed, progress.bounds(power_cut=False))
        )
        looker.finish()
        judge(looker.lines, "opened in the end")
        progress.hear(looker.lines)
        counts["followed"] = judge_followers(store, seed, progress)
    counts["commits"], counts["syncs"] = progress.commits, progress.syncs
    return counts


if __name__ == "__main__":
    sys.exit(part.run("kills", "lab.kills", part.parser(__doc__).parse_args(), one))
