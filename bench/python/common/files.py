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
    """Bytes of a file, or of all files below a folder."""
    if path.is_file():
        return path.stat().st_size
    return sum(each.stat().st_size for each in path.rglob("*") if each.is_file())


def made(path: Path, write: Callable[[Path], object]) -> Path:
    """The file of that name, written if it isn't there; it gets its name once it is whole."""
    if not path.exists():
        begun = path.with_name(f"{path.name}.begun")
        write(begun)
        begun.replace(path)
    return path
