"""The queue of a handler of ``logging``, and the thread behind it."""

import logging
import threading
from collections import deque
from typing import Any

from timestrata import Logs, Store
from timestrata.logging import Handler


def await_waiting(changed: threading.Condition) -> None:
    """Wait until the thread of a writer waits for entries, or will before any is put."""
    is_waiting = threading.Event()

    def wait(timeout: float | None = None) -> bool:
        # Its lock is held until it does wait.
        is_waiting.set()
        return threading.Condition.wait(changed, timeout)

    changed.wait = wait  # type: ignore[method-assign]
    with changed:
        changed.notify_all()
    assert is_waiting.wait(60)


def test_who_logs_between_two_steps_of_another_leaves_nobody_waiting(store: Store) -> None:
    """A signal handler that logged just when an entry had been queued: the thread never woke up again."""
    logs: Logs = store.logs("app")
    logger = logging.Logger("test.logger", logging.DEBUG)
    handler = Handler(logs)
    logger.addHandler(handler)
    writer = handler._writer
    written = threading.Semaphore(0)

    class Interrupted(deque[Any]):
        is_first = True

        def append(self, item: Any) -> None:
            super().append(item)
            if Interrupted.is_first:
                Interrupted.is_first = False
                logger.info("from a signal handler")

        def popleft(self) -> Any:
            written.release()
            return super().popleft()

    await_waiting(writer._changed)
    writer._queue = Interrupted()
    logger.info("interrupted")
    assert all(written.acquire(timeout=60) for _ in range(2))
    handler.close()
    assert [entry.message for entry in logs.search()] == ["interrupted", "from a signal handler"]
