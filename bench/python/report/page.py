"""The page: a table a suite."""

from __future__ import annotations

from collections.abc import Iterator

from bench.python.common.report import readable
from bench.python.report.stamps import Stamp, digest
from bench.python.report.suites import SUITES, Row, Suite

HEAD = """# Results

What has been measured, by `make bench`, which wrote this page; nothing in it is typed.

A ratio above 1 is better than what the row is held against. An aim is the least ratio hoped for; rows without one are
told for what they are. Rows that fall short of their aim say so. A figure means something on its machine only, so repeat
those that matter to you on yours: each table has its command. [How they are made](../bench/README.md) says what is
compared, with which settings and in which order.

![Five figures, one a model, each held against a named peer](benchmarks.svg)
"""


def text(results: list[Row], stamps: dict[str, Stamp]) -> str:
    """The whole page."""
    parts = [HEAD, "\n".join(overview(results, stamps)) + "\n"]
    parts += [
        "\n".join(of_suite(suite, suite.rows(results), stamps.get(suite.key))) + "\n"
        for suite in SUITES
    ]
    return "\n".join(parts)


def overview(results: list[Row], stamps: dict[str, Stamp]) -> Iterator[str]:
    yield "| suite | rows with an aim | reached | measured | at |"
    yield "| --- | --- | --- | --- | --- |"
    for suite in SUITES:
        rows = suite.rows(results)
        aimed = [row for row in rows if row["aim"] is not None]
        reached = sum(is_reached(row) for row in aimed)
        stamp = known(rows, stamps.get(suite.key))
        if not rows:
            yield f"| {suite.title} | - | - | not yet: `{suite.command}` | - |"
        else:
            when, at = (stamp["date"], f"`{stamp['commit']}`") if stamp else ("in parts", "-")
            yield f"| {suite.title} | {len(aimed)} | {reached} | {when} | {at} |"


def of_suite(suite: Suite, rows: list[Row], stamp: Stamp | None) -> Iterator[str]:
    yield f"## {suite.title}\n"
    if not rows:
        yield f"Not measured yet, {suite.about}: `{suite.command}`."
        return
    yield f"Measured {suite.about}. Repeat it with `{suite.command}`.\n"
    if known(rows, stamp):
        yield f"{stamp['date']}, commit `{stamp['commit']}`, {stamp['machine']}.\n"
    else:
        yield f"Some of these rows were measured by themselves, at times that are not known; `{suite.command}` measures all.\n"
    yield "| | ours | held against | ratio | aim | |"
    yield "| --- | --- | --- | --- | --- | --- |"
    yield from (line(row) for row in rows if row["against"] != "-")
    told = [row for row in rows if row["against"] == "-"]
    if told:
        yield "\nHeld against nothing:\n"
        yield "| | ours |"
        yield "| --- | --- |"
        yield from (f"| {cell(row['name'])} | {value(row, 'value')} |" for row in told)


def line(row: Row) -> str:
    name = (
        row["name"].removesuffix(f" [{row['against']}]").removesuffix(f": against {row['against']}")
    )
    other = f"{cell(row['against'])}: {value(row, 'against_value')}"
    aim = "-" if row["aim"] is None else readable(row["aim"])
    verdict = "" if row["aim"] is None else "reached" if is_reached(row) else "**short**"
    return f"| {cell(name)} | {value(row, 'value')} | {other} | {readable(row['ratio'])} | {aim} | {verdict} |"


def known(rows: list[Row], stamp: Stamp | None) -> Stamp | None:
    """The stamp, if the lines are those of its run."""
    return stamp if stamp is not None and stamp["lines"] == digest(rows) else None


def is_reached(row: Row) -> bool:
    return bool(row["aim"] is not None and row["ratio"] >= row["aim"])


def value(row: Row, key: str) -> str:
    return f"{readable(row[key])} {row['unit']}"


def cell(text: str) -> str:
    return text.replace("|", r"\|")
