"""Docstrings in numpy's style as Markdown."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

# Sections whose entries are `name : type`, or a kind, with what is said of it below.
OF_ENTRIES = frozenset({"Parameters", "Returns", "Raises", "Yields", "Attributes"})
SECTION = re.compile(r"^(?P<name>[A-Z]\w+)\n-{3,}\n", re.MULTILINE)


def markdown(docstring: str) -> str:
    """The whole of it; examples become blocks of `pycon`."""
    text = inspect.cleandoc(docstring)
    parts = SECTION.split(text)
    out = [plain(parts[0])]
    for name, body in zip(parts[1::2], parts[2::2], strict=True):
        if name == "Examples":
            out.append("\n\n".join(examples(body)))
        elif name in OF_ENTRIES:
            out.append(f"**{name}**\n\n" + "\n".join(entries(body)))
        else:
            out.append(f"**{name}**\n\n{plain(body)}")
    return "\n\n".join(part.strip() for part in out if part.strip()) + "\n"


def plain(text: str) -> str:
    """Prose: its names in one pair of backquotes."""
    return text.replace("``", "`").replace("**settings", r"\*\*settings").strip()


def entries(body: str) -> Iterator[str]:
    """One line for each entry, what is said of it behind its name."""
    for entry in re.split(r"\n(?=\S)", body.strip("\n")):
        head, _, said = entry.partition("\n")
        name, _, kind = (part.strip() for part in head.partition(" : "))
        told = plain(" ".join(said.split()))
        yield f"- `{name}`" + (f" ({kind})" if kind else "") + (f": {told}" if told else "")


def examples(body: str) -> Iterator[str]:
    """What is typed and what comes of it, and the prose between."""
    for part in re.split(r"\n\s*\n", body.strip("\n")):
        yield f"```pycon\n{part}\n```" if part.startswith(">>>") else plain(part)
