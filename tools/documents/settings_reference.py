"""The page of settings: those of a store as the engine's source tells them, a server's as its command does."""

from __future__ import annotations

import re
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path

from tools.documents.pages import ROOT

HEAD = """# Settings

There are few, and each has a reason to change it. Sizes are written `64MiB`, durations `100ms`.

This page is made of the engine's source and of `timestrata config show` (`make references`).

## Of a store

In Python they are keywords of `timestrata.open`, in Rust fields of `timestrata::Settings`. `timestrata serve` takes each of them
as `--set store.NAME=VALUE`, in the section `[store]` of its file, and as `TIMESTRATA_STORE_NAME` in the environment. They are of
the process that opens the store, not kept in it, and may be others the next time: whatever a store was written with,
it opens with any others.

<!-- not run: it would need a store of its own for each line -->
```python
store = timestrata.open("house.store", memtable_bytes_max="16MiB", sync_interval="100ms")
```

| keyword | flag of `timestrata serve` | default | meaning |
| --- | --- | --- | --- |"""

SERVER = """
## Of a server

Of `timestrata serve`. Defaults, over them a TOML file (`--config FILE`), over that the environment
(`TIMESTRATA_SECTION_NAME`), over all flags. `timestrata config show` prints every setting with its meaning and where
its value comes from. A name that nobody knows is an error. What a server opens its store with is above.

```toml title="timestrata.toml"
[server]
listen = "0.0.0.0:8080"
token_file = "tokens"

[limits]
query_time_max = "1m"
```

```sh
TIMESTRATA_LIMITS_ROWS_MAX=5000 timestrata config show --config timestrata.toml | grep -A 1 'Rows of an answer'
```

```output
# Rows of an answer in JSON or protobuf; CSV and Arrow have no bound
rows_max = "5000" # environment, TIMESTRATA_LIMITS_ROWS_MAX
```

| setting | default | meaning |
| --- | --- | --- |"""

# Where a server has another default than the engine.
OTHERS = {"store.busy_policy": "`block`; of a server `raise`"}
STRUCT = re.compile(r"pub struct Settings \{\n(?P<fields>.*?)\n\}", re.DOTALL)
FIELD = re.compile(r"(?P<doc>(?:^    ///.*\n)+)^    pub (?P<name>\w+): ", re.MULTILINE)
LINK = re.compile(r"\[`(?:crate::)?([^`]+)`\]")


def text(command: Path) -> str:
    """The whole page."""
    shown = list(of_server(command))
    defaults = {name: f"`{default}`" for name, default, _ in shown} | OTHERS
    store = (
        f"| `{name}` | `--set store.{name}=...` | {defaults[f'store.{name}']} | {said} |"
        for name, said in of_store()
    )
    server = (
        f"| `{name}` | {default and f'`{default}`'} | {said} |"
        for name, default, said in shown
        if not name.startswith("store.")
    )
    return "\n".join([HEAD, *store, SERVER, *server]) + "\n"


def of_store() -> Iterator[tuple[str, str]]:
    """Names and meanings, from the comments of the engine's `Settings`."""
    sources = sorted((ROOT / "crates" / "engine" / "src").rglob("settings.rs"))
    found = next(
        found for path in sources if (found := STRUCT.search(path.read_text(encoding="utf-8")))
    )
    for field in FIELD.finditer(found["fields"]):
        lines = (line.strip().removeprefix("///").strip() for line in field["doc"].splitlines())
        yield field["name"], LINK.sub(r"`\1`", " ".join(lines)).replace("|", r"\|")


def of_server(command: Path) -> Iterator[tuple[str, str, str]]:
    """Names, defaults and meanings, as the command prints them."""
    done = subprocess.run(
        [command, "config", "show"], capture_output=True, text=True, check=True, env={}
    )
    values = tomllib.loads(done.stdout)
    section, said = "", ""
    for line in done.stdout.splitlines():
        if line.startswith("["):
            section = line.strip("[]")
        elif line.startswith("# "):
            said = line.removeprefix("# ")
        elif " = " in line:
            name = line.partition(" = ")[0]
            yield f"{section}.{name}", str(values[section][name]), said
