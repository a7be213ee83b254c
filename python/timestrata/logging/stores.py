"""Stores that handlers open by their path: one for all of a process's handlers, closed behind the last of them."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from timestrata._timestrata import open as open_store

if TYPE_CHECKING:
    from timestrata._timestrata import Store

__all__ = ["shared"]


class _Shared:
    def __init__(self, store: Store) -> None:
        self.store = store
        self.handlers = 0


_lock = threading.Lock()
_open: dict[str, _Shared] = {}


def shared(path: str | os.PathLike[str]) -> tuple[Store, Callable[[], None]]:
    """Give the store in a directory, made if it is missing, and what is to be called when it is not needed any more.

    Raises
    ------
    LockedError
        Another process writes to it, or this one has it open by itself.
    """
    place = os.path.realpath(os.path.expanduser(path))
    with _lock:
        known = _open.get(place)
        if known is None:
            known = _open[place] = _Shared(open_store(path))
        known.handlers += 1

    def release() -> None:
        with _lock:
            known.handlers -= 1
            if known.handlers or _open.get(place) is not known:
                return
            del _open[place]
            # At the interpreter's exit it may be closed already, and in a child of the process it is the parent's.
            with contextlib.suppress(Exception):
                known.store.close()

    return known.store, release


def _after_fork_in_child() -> None:
    # Whoever had the lock in the parent isn't here, and neither are its stores.
    global _lock
    _lock = threading.Lock()
    _open.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
