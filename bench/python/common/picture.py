"""What pictures are drawn of: a frame with a title and a legend, words, and axes of powers of ten."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape

TEXT, FAINT, LINE = "#222222", "#767676", "#dddddd"
WIDTH = 800


def words(x: float, y: float, text: str, fill: str, size: int, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y}" fill="{fill}" font-size="{size}" text-anchor="{anchor}">{escape(text)}</text>'


@dataclass(frozen=True)
class Axis:
    """Powers of ten from one place to another."""

    least: float
    most: float
    start: float
    end: float

    @classmethod
    def of(cls, values: list[float], start: float, end: float) -> Axis:
        known = [value for value in values if value > 0] or [1.0]
        least, most = math.floor(math.log10(min(known))), math.ceil(math.log10(max(known)))
        return cls(10.0**least, 10.0 ** max(most, least + 1), start, end)

    def at(self, value: float) -> float:
        share = math.log10(min(max(value, self.least), self.most) / self.least) / math.log10(
            self.most / self.least
        )
        return self.start + share * (self.end - self.start)

    def ticks(self) -> Iterator[float]:
        for power in range(round(math.log10(self.least)), round(math.log10(self.most)) + 1):
            yield 10.0**power


@dataclass(frozen=True)
class Linear:
    """From nothing to a round number above the greatest value, from one place to another."""

    most: float
    step: float
    start: float
    end: float

    @classmethod
    def of(cls, values: Iterable[float], start: float, end: float, ticks: int = 5) -> Linear:
        greatest = max((*values, 1e-9))
        rough = greatest / ticks
        size = 10.0 ** math.floor(math.log10(rough))
        step = next(size * each for each in (1, 2, 5, 10) if size * each >= rough)
        return cls(step * math.ceil(greatest / step), step, start, end)

    def at(self, value: float) -> float:
        return self.start + min(max(value / self.most, 0.0), 1.0) * (self.end - self.start)

    def ticks(self) -> Iterator[float]:
        for at in range(round(self.most / self.step) + 1):
            yield at * self.step


def framed(title: str, height: int, body: list[str], legend: Sequence[tuple[str, str]]) -> str:
    """A whole picture; the legend has colours and what they stand for."""
    marks, x = [], 16.0
    for colour, label in legend:
        marks.append(f'<rect x="{x}" y="36" width="10" height="10" fill="{colour}"/>')
        marks.append(words(x + 15, 45, label, FAINT, 11))
        x += 40 + 6.2 * len(label)
    inner = "\n".join([words(16, 24, title, TEXT, 15), *marks, *body])
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" '
        f'font-family="sans-serif" font-size="12" role="img">\n<title>{title}</title>\n'
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>\n{inner}\n</svg>\n'
    )
