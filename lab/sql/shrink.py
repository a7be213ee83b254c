"""The least query that still shows a difference."""

from __future__ import annotations

from collections.abc import Callable

from lab.sql.query import Query

TRIES_MAX = 400


def shrunk(query: Query, is_different: Callable[[Query], bool]) -> Query:
    """Takes the first smaller query that still differs, again and again."""
    tries = 0
    while True:
        for less in query.smaller():
            tries += 1
            if tries > TRIES_MAX:
                return query
            if is_different(less):
                query = less
                break
        else:
            return query
