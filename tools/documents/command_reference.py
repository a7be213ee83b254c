"""The page of the command: what it says of itself, verb by verb."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

HEAD = """# Command line

The verb comes first, then the store (its directory, or the URL of a server that has it open), then the name of what is in it. Data goes to stdout, messages and the
progress bar to stderr; `-` is stdin.

`pip install timestrata` brings the command with it. A script for your shell's completion is printed by
`timestrata completions SHELL`.

This page is what `timestrata --help` and the help of each verb say (`make references`).
"""
COMMANDS = re.compile(r"^Commands:\n(?P<lines>.*?)\n\n", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^  (?P<name>[a-z-]+) ", re.MULTILINE)


def text(command: Path) -> str:
    """The whole page."""
    return "\n".join([HEAD, *told(command, [])])


def told(command: Path, verbs: list[str]) -> Iterator[str]:
    """The help of a verb, and those of the verbs below it."""
    said = help_of(command, verbs)
    yield f"## {' '.join(verbs) or 'timestrata'}\n"
    yield f"```text\n{said.rstrip()}\n```\n"
    below = COMMANDS.search(said)
    for name in COMMAND.findall(below["lines"] + "\n") if below else []:
        if name != "help":
            yield from told(command, [*verbs, name])


def help_of(command: Path, verbs: list[str]) -> str:
    # Wrapped as where there is no terminal, whatever the environment says of one.
    done = subprocess.run(
        [command, *verbs, "--help"],
        capture_output=True,
        text=True,
        check=True,
        env={"COLUMNS": "100"},
    )
    return "\n".join(line.rstrip() for line in done.stdout.splitlines())
