"""A table `hits` with the columns that ClickBench's queries use, made from a fixed seed.

The values are not the real ones, but spread like them: a few are in many rows and most are in few, most texts of
searches are empty, and what the queries look for is there. Times differ, so that an order by them is one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from bench.python.tsbs.data import TIME

ROWS = 1_000_000
JULY_S, JULY_DAYS = 1_372_636_800, 31
# What queries ask for by its value.
USER, REFERER_HASH, URL_HASH, COUNTER = (
    435090932899640449, 3594120000172545465, 2868770270353813622, 62,
)  # fmt: skip
WORDS = (
    "buy", "car", "cheap", "cinema", "city", "flat", "forum", "free", "games", "map", "music", "new", "online",
    "photo", "recipe", "summer", "ticket", "video", "weather", "work",
)  # fmt: skip


class Drawn:
    """Columns of as many values as there are rows."""

    def __init__(self, rows: int) -> None:
        self.rows, self.rng = rows, np.random.default_rng([43, rows])

    def skewed(self, size: int, power: float) -> np.ndarray:
        """Numbers below `size`, the more of the small ones the greater the power is."""
        return (size * self.rng.random(self.rows) ** power).astype(np.int64)

    def flag(self, share: float) -> np.ndarray:
        """1 in this share of the rows, 0 in the others."""
        return (self.rng.random(self.rows) < share).astype(np.int64)

    def texts(self, places: np.ndarray, pool: Sequence[str]) -> pa.Array:
        return pa.array(pool).take(pa.array(places))

    def numbers(self, size: int, first: int) -> np.ndarray:
        """A pool of numbers with 62 bits, of which the first is given."""
        found = self.rng.integers(1, 1 << 62, size)
        found[0] = first
        return found

    def pool(self, size: int, text: Callable[[list[str], int], str]) -> list[str]:
        """Texts made of three words and a number each."""
        words = self.rng.integers(0, len(WORDS), (size, 3))
        return [text([WORDS[at] for at in row], number) for number, row in enumerate(words.tolist())]


def _url(words: list[str], number: int) -> str:
    """Of a hundred sites, the first of which has a tenth of the pages."""
    if number % 500 == 7:
        return f"http://www.google.com/search?q={'+'.join(words)}&start={number}"
    site = 0 if number % 10 == 0 else number % 100
    return f"http://{'www.' if site % 2 else ''}site{site}.example/{words[0]}/{words[1]}-{number}.html"


def _title(words: list[str], number: int) -> str:
    return f"{' '.join(words)} {number}{' - Google' if number % 300 == 5 else ''}"


def table(rows: int) -> pa.Table:
    """All rows, in the order of their times."""
    drawn = Drawn(rows)
    rng = drawn.rng
    seconds = np.sort(rng.choice(JULY_DAYS * 86_400, rows, replace=False)) + JULY_S
    pages = max(rows // 6, 10)
    urls, titles = drawn.pool(pages, _url), drawn.pool(pages, _title)
    at, referer = drawn.skewed(pages, 2.0), drawn.skewed(pages, 4.0)
    users, addresses = drawn.numbers(max(rows // 6, 10), USER), rng.integers(0, 1 << 31, max(rows // 5, 10))
    phrases = ["", *drawn.pool(max(rows // 20, 10), lambda words, number: f"{' '.join(words)} {number}")]
    searched = drawn.flag(0.13)
    models = ["", *(f"model {number}" for number in range(150))]
    mobile = drawn.flag(0.05) * (1 + drawn.skewed(150, 2.0))
    widths = np.array([0, 1024, 1280, 1366, 1440, 1600, 1638, 1680, 1750, 1920])
    counter = drawn.skewed(5_000, 4.5)
    columns: dict[str, object] = {
        "eventtime": pa.array(seconds * 1_000_000, TIME),
        "eventdate": pa.array((seconds // 86_400).astype(np.int32), pa.date32()),
        "watchid": rng.integers(1, 1 << 62, rows),
        "counterid": np.where(counter == 0, COUNTER, counter + 100),
        "clientip": addresses[drawn.skewed(len(addresses), 2.0)],
        "regionid": drawn.skewed(5_000, 3.0),
        "userid": users[drawn.skewed(len(users), 2.0)],
        "url": drawn.texts(at, urls),
        "referer": drawn.texts(np.where(drawn.flag(0.8) == 1, referer, pages), [*urls, ""]),
        "title": drawn.texts(np.where(drawn.flag(0.85) == 1, at, pages), [*titles, ""]),
        "isrefresh": drawn.flag(0.1),
        "islink": drawn.flag(0.2),
        "isdownload": drawn.flag(0.01),
        "dontcounthits": drawn.flag(0.05),
        "searchphrase": drawn.texts(searched * (1 + drawn.skewed(len(phrases) - 1, 2.0)), phrases),
        "searchengineid": searched * (1 + drawn.skewed(40, 3.0)),
        "advengineid": drawn.flag(0.006) * (1 + drawn.skewed(18, 2.0)),
        "traficsourceid": drawn.skewed(9, 1.5) - 1,
        "mobilephone": np.minimum(mobile, 80),
        "mobilephonemodel": drawn.texts(mobile, models),
        "resolutionwidth": widths[rng.integers(0, len(widths), rows)],
        "windowclientwidth": rng.integers(200, 1_920, rows),
        "windowclientheight": rng.integers(200, 1_080, rows),
        "urlhash": drawn.numbers(pages, URL_HASH)[at],
        "refererhash": drawn.numbers(pages, REFERER_HASH)[referer],
    }  # fmt: skip
    return pa.table(columns)
