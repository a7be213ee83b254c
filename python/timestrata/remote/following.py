"""What objects that follow something over a server have in common: they are iterators, also for ``async for``."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

from timestrata import awaiting

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Following"]

_Entry = TypeVar("_Entry")


class Following(Generic[_Entry]):
    """Gives entries one by one as they come: what is there at once, and else what the server sends next."""

    # How long the server is asked to wait for an entry. For the await forms too: cancelling gives up a request at once.
    _wait_seconds: ClassVar[float] = 5.0

    def _fill(self, seconds: float) -> bool:
        """Ask for more, which may take so long; False at the end."""
        raise NotImplementedError

    def _take(self) -> _Entry | None:
        """Give the next entry that is there."""
        raise NotImplementedError

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> _Entry:
        while True:
            entry = self._take()
            if entry is not None:
                return entry
            if not self._fill(self._wait_seconds):
                raise StopIteration

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> _Entry:
        return await awaiting.next_followed(self)
