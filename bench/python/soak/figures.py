"""What the process and the store's folder are at a moment."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import timestrata
from timestrata._timestrata import _allocator_bytes as allocator_bytes

Figures = dict[str, int]
# A topic keeps the hashes of records that have gone: so many bytes a record, for ever.
TREE = "t"


class _Mallinfo2(ctypes.Structure):
    """glibc's `struct mallinfo2`, of all threads' shares together."""

    _fields_ = tuple(
        (name, ctypes.c_size_t)
        for name in (
            *("arena", "ordblks", "smblks", "hblks", "hblkhd"),
            *("usmblks", "fsmblks", "uordblks", "fordblks", "keepcost"),
        )
    )


def of_allocators() -> Figures:
    """What the program holds of its allocators' memory (`in_use`), and what these have of the system beside it: free and kept, or
    lost to pages that hold little. Nothing where one does not tell."""
    figures = {"python_blocks": sys.getallocatedblocks()}
    tell, native = getattr(ctypes.CDLL(None), "mallinfo2", None), allocator_bytes()
    if native is not None:
        figures |= dict(zip(("native", "native_active", "native_resident"), native, strict=True))
    if tell is not None:
        tell.restype = _Mallinfo2
        told = tell()
        of_system = told.uordblks + told.hblkhd
        figures |= {"system": of_system, "system_free": told.fordblks}
        figures["in_use"] = of_system + (native[0] if native else 0)
    return figures


def of_process() -> Figures:
    """Resident and anonymous memory, what of it is in use, open files and threads."""
    memory = dict(_pairs(Path("/proc/self/smaps_rollup")))
    status = dict(_pairs(Path("/proc/self/status")))
    return {
        "rss": int(memory["Rss"].split()[0]) << 10,
        "anonymous": int(memory["Anonymous"].split()[0]) << 10,
        "open_files": len(os.listdir("/proc/self/fd")),
        "threads": int(status["Threads"]),
        **of_allocators(),
    }


def _pairs(path: Path) -> Iterator[tuple[str, str]]:
    for line in path.read_text(encoding="ascii", errors="replace").splitlines():
        name, colon, value = line.partition(":")
        if colon:
            yield name, value


def of_folder(path: Path) -> Figures:
    """Files of a store and their bytes, and how many of both are its log's."""
    figures = {"files": 0, "bytes": 0, "wal_files": 0, "wal_bytes": 0}
    for folder, _, names in os.walk(path):
        for name in names:
            try:
                size = os.stat(os.path.join(folder, name)).st_blocks * 512
            except FileNotFoundError:
                # It went between the look at the folder and the one at it.
                continue
            figures["files"] += 1
            figures["bytes"] += size
            if Path(folder).name == "wal":
                figures["wal_files"] += 1
                figures["wal_bytes"] += size
    return figures


def of_streams(store: timestrata.Store) -> dict[str, list[int]]:
    """Runs of each stream, their rows and their bytes."""
    streams = store.stats()["streams"].items()
    return {name: [of["runs"], of["run_rows"], of["run_bytes"]] for name, of in streams}


def of_store(store: timestrata.Store, topic: str) -> tuple[Figures, list[str]]:
    """What the store says of itself, and what is wrong with it."""
    stats = store.stats()
    streams = stats["streams"]
    trees = [
        of["run_bytes"]
        for name, of in streams.items()
        if name.startswith(f"{topic}/") and name.endswith(TREE)
    ]
    figures = {
        "runs": sum(of["runs"] for of in streams.values()),
        "tombstones": sum(of["tombstones"] for of in streams.values()),
        "memtable_bytes": stats["memtable_bytes"],
        "debt_bytes": sum(of["compaction_debt_bytes"] for of in streams.values()),
        "tree_bytes": sum(trees),
        "flushes": stats["flushes"],
        "compactions": stats["compactions"],
        "flush_bytes": stats["flush_bytes"],
        "compaction_bytes": stats["compaction_bytes"],
    }
    wrong = list(stats["troubles"])
    if stats["background_error"] is not None:
        wrong.append(stats["background_error"])
    if stats["damaged"] or stats["scrub"]["found_damage"]:
        wrong.append(f"damage was found: {stats['damaged']}")
    return figures, wrong
