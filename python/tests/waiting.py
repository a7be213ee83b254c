"""Waiting for what another thread does, without guessing how long that takes."""

import time
from collections.abc import Callable

PATIENCE_S = 30.0


def until(condition: Callable[[], bool]) -> None:
    """Returns once the condition holds; fails if it never does."""
    begun = time.monotonic()
    while not condition():
        assert time.monotonic() - begun < PATIENCE_S, "what the test waits for doesn't come"
