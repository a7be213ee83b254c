"""Real logs, repeated until there are many lines: each repetition at later times."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

# A folder of logs that were made has this above it.
STAND_IN = "bench-stand-in"
# Access, authentication and server logs.
ALL = ("apache_logs.log", "auth.log", "kafka_state-change.log")
ACCESS = ("apache_logs.log",)
# A word that no real line has.
RARE = "zyxwv7"


@dataclass(frozen=True)
class Text:
    """A file of so many lines."""

    path: Path
    lines: int
    is_real: bool

    def __str__(self) -> str:
        logs = "real logs" if self.is_real else "logs that stand in for real ones"
        return f"{self.lines} lines of {logs}, {self.path.stat().st_size / 1e6:.0f} MB"


# What is said of the day: how it is found, what stands for it, and how it is said of another day.
DAYS = (
    (r"\d\d/May/2015:", "\x01", "{day:02}/May/{access_year}:"),
    (r"^Mar [ \d]\d", "\x02", "Mar {day:02}"),
    (r"^\[2016-12-19", "\x03", "[{kafka_year}-12-{kafka_day:02}"),
)


def read(folder: Path, names: tuple[str, ...]) -> str:
    """All lines of some logs, with a mark in place of each day."""
    text = ""
    for name in names:
        one = (folder / name).read_text(encoding="utf-8", errors="replace")
        text += one if one.endswith("\n") else one + "\n"
    if any(mark in text for _, mark, _ in DAYS):
        raise ValueError("the logs have control characters")
    for pattern, mark, _ in DAYS:
        text = re.sub(pattern, mark, text, flags=re.MULTILINE)
    return text


def repetitions(text: str, lines: int) -> Iterator[str]:
    """So many lines in all, some thousands at once, each time a day later: only days differ."""
    each, left = text.count("\n"), lines
    for repetition in range(-(-lines // each)):
        years, day = repetition // 28 % 80, repetition % 28 + 1
        kafka_day = (repetition + 18) % 28 + 1
        whole = text
        for _, mark, form in DAYS:
            date = form.format(
                day=day, kafka_day=kafka_day, access_year=2015 + years, kafka_year=2016 + years
            )
            whole = whole.replace(mark, date)
        yield whole if left >= each else "".join(whole.splitlines(keepends=True)[:left])
        left -= each


def marked(text: str, first: int, places: list[int]) -> str:
    """The text, whose lines have numbers from `first`, with the rare word in the lines of `places`."""
    lines = text.split("\n")
    for place in places:
        if first <= place < first + len(lines) - 1:
            lines[place - first] += f" {RARE}"
    return "\n".join(lines)


def written(path: Path, folder: Path, names: tuple[str, ...], lines: int, rare: int = 0) -> Text:
    """A file of so many lines of the named logs, `rare` of them with the rare word; made once."""
    is_real = STAND_IN not in folder.parts
    name = f"{path.stem}-{lines}{path.suffix}"
    text = Text(path.with_name(name if is_real else f"stand-in-{name}"), lines, is_real)
    if text.path.exists():
        return text
    text.path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = text.path.with_suffix(".new")
    places = [(2 * at + 1) * lines // (2 * rare) for at in range(rare)]
    first = 0
    with unfinished.open("w", encoding="utf-8", newline="\n") as file:
        for part in repetitions(read(folder, names), lines):
            file.write(marked(part, first, places))
            first += part.count("\n")
    os.replace(unfinished, text.path)
    return text
