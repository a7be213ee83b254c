"""Files that sides make."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path


def fresh(path: Path) -> Path:
    """A path where nothing is, in a folder that is there."""
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def bytes_of(path: Path) -> int:
    """Bytes of a file, or of all files below a folder; of a store without those that only its history needs, which go within minutes."""
    if path.is_file():
        return path.stat().st_size
    past = 0
    if (path / "MANIFEST").is_file():
        import timestrata

        with timestrata.open(path, mode="r") as store:
            history = store.history()
            past = history["run_bytes"] + history["log_bytes"]
    return sum(each.stat().st_size for each in path.rglob("*") if each.is_file()) - past


def made(path: Path, write: Callable[[Path], object]) -> Path:
    """The file of that name, written if it isn't there; it gets its name once it is whole."""
    if not path.exists():
        begun = path.with_name(f"{path.name}.begun")
        write(begun)
        begun.replace(path)
    return path


def is_in_memory(path: Path, mounts: Path = Path("/proc/self/mounts")) -> bool:
    """Whether a path is on a file system that is memory, where a sync costs nothing; false where that can't be told."""
    if not mounts.exists():
        return False
    at, best, kind = path.absolute(), -1, ""
    for line in mounts.read_text(encoding="utf-8").splitlines():
        _, point, name, *_ = line.split()
        depth = len(Path(point).parts)
        # The last of those that cover the path is the one that is seen.
        if at.is_relative_to(point) and depth >= best:
            best, kind = depth, name
    return kind in ("tmpfs", "ramfs")
