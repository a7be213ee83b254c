"""Tools for agents, called by the client that the makers of the Model Context Protocol publish, over a store of all
five models that another process writes meanwhile."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import sysconfig
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest

import timestrata

mcp = pytest.importorskip("mcp")

COMMAND = str(Path(sysconfig.get_path("scripts")) / "timestrata")
# Longer than any of this takes.
SECONDS_MAX = 60
ENDLESS = "SELECT count(*) FROM range(10000000) a, range(10000000) b WHERE a.value + b.value = 7"
# Both ways to begin a session that the client knows: asking what the server speaks, and the handshake of old.
MODES = ["auto", "legacy"]

Call = Callable[..., Awaitable[Any]]

SOURCES = {
    "parser.py": "class Parser:\n    def parse(self, text):\n        return scan(text)\n\ndef scan(text):\n    return text.split()\n",
    "main.py": "from parser import Parser\n\ndef main():\n    return Parser().parse('a b')\n",
}
# Writes an entry, a row and a record again and again, in one commit each, and tells when it has begun.
WRITER = """
import sys, timestrata
with timestrata.open(sys.argv[1]) as store:
    app, rooms, events = store.logs("app"), store.table("rooms"), store.topic("events")
    number = 0
    while True:
        app.write("written meanwhile", level="debug", number=number)
        rooms.append({"time": 1_800_000_000_000 + number, "room": "attic", "celsius": float(number)})
        events.send({"value": f"meanwhile {number}"})
        if number == 0:
            print("begun", flush=True)
        number += 1
"""


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "store"
    with timestrata.open(path) as opened:
        app = opened.logs("app", labels={"service": "shop"})
        entry = {"level": "info", "fields": {"status": 200}}
        app.write_many({"message": f"request {number}", **entry} for number in range(100))
        app.write("disk is full", level="error", device="sda1")
        rooms = opened.table("rooms", tags="room")
        rooms.append([{"time": "2024-05-01", "room": "hall", "celsius": 20.5}])
        opened.timelog("door").append(1_700_000_000_000, {"state": "open"})
        events = opened.topic("events")
        for number in range(20):
            events.send({"key": "k", "value": f"event {number}"})
        key = timestrata.SigningKey.generate(tmp_path / "signing.key", "example.org/log")
        events.checkpoint(key)
        (tmp_path / "vkey").write_text(key.vkey)
    tree = tmp_path / "tree"
    tree.mkdir()
    for name, text in SOURCES.items():
        (tree / name).write_text(text)
    subprocess.run([COMMAND, "graph", "index", str(path), "code", str(tree)], check=True, capture_output=True)
    return path


@contextmanager
def writing(store: Path) -> Iterator[None]:
    with subprocess.Popen([sys.executable, "-c", WRITER, str(store)], stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        try:
            assert writer.stdout.readline() == "begun\n"
            yield
            assert writer.poll() is None, "it wrote to the end"
        finally:
            writer.kill()


@asynccontextmanager
async def session(store: Path, mode: str, *options: str) -> AsyncIterator[tuple[Any, Call]]:
    """A client, and what calls a tool and gives its answer; an error is raised with its text."""
    started = mcp.StdioServerParameters(command=COMMAND, args=["mcp", str(store), *options])
    async with mcp.Client(started, mode=mode) as client:

        async def call(tool: str, **arguments: Any) -> Any:
            # The client holds each answer against the tool's output schema by itself.
            result = await client.call_tool(tool, arguments)
            if result.is_error:
                raise ValueError(result.content[0].text)
            return result.structured_content

        yield client, call


def run(work: Awaitable[None]) -> None:
    async def bounded() -> None:
        await asyncio.wait_for(work, SECONDS_MAX)

    asyncio.run(bounded())


@pytest.mark.parametrize("mode", MODES)
def test_every_tool_answers_while_another_process_writes(mode: str, store: Path) -> None:
    async def ask() -> None:
        async with session(store, mode) as (client, call):
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert all(tool.annotations.read_only_hint for tool in tools.values())
            schema = await call("schema")
            models = {stream["name"]: stream["model"] for stream in schema["streams"]}
            assert models == {"app": "logs", "code": "graph", "door": "timelog", "events": "topic", "rooms": "table"}
            for name in models:
                assert (await call("schema", name=name))["streams"][0]["sample"]["rows"]
            seen = []
            for _ in range(5):
                asked = await call("sql", query="SELECT count(*) FROM app")
                seen.append(asked["rows"][0][0])
            assert seen == sorted(seen) and seen[0] > 101
            errors = await call("search", name="app", filter="level>=error")
            [entry] = errors["entries"]
            assert (entry["message"], entry["fields"]) == ("disk is full", {"device": "sda1"})
            around = await call("context", name="app", timestamp=entry["timestamp"], before=2, after=0)
            assert [one["message"] for one in around["entries"]] == ["request 98", "request 99", "disk is full"]
            assert (await call("histogram", name="app", filter="level=info"))["count"] == 100
            facets = await call("facets", name="app", filter="request", fields=["status"])
            assert facets["facets"][0]["values"] == [["200", 100]]
            records = await call("read", topic="events", offset=3, limit=1)
            assert records["records"][0]["value"] == "event 3" and records["end"] > 20
            vkey = (store.parent / "vkey").read_text()
            proved = await call("verify", topic="events", offset=3, vkey=vkey, record=records["records"][0])
            assert proved["proved"] and proved["is_signature_checked"]
            defined = await call("definition", name="Parser.parse")
            assert "return scan(text)" in defined["found"][0]["source"]
            callers = await call("callers", name="scan")
            assert callers["of"][0]["links"][0]["name"] == "Parser.parse"
            assert (await call("callees", name="scan"))["count"] == 1
            members = await call("show", what="members", name="parser.py")
            assert {link["name"] for link in members["of"][0]["links"]} >= {"Parser", "scan"}
            path = await call("path", **{"from": "main", "to": "scan"})
            assert [step["name"] for step in path["path"]][0] == "main"
            with pytest.raises(ValueError, match="logs of this store: app"):
                await call("search", name="none")

    with writing(store):
        run(ask())


@pytest.mark.parametrize("mode", MODES)
def test_what_a_client_gives_up_is_worked_on_no_more(mode: str, store: Path) -> None:
    async def ask() -> None:
        # Four calls are worked on at once: if those that are given up went on, the last would wait for hours.
        async with session(store, mode, "--timeout", "12h") as (_, call):
            endless = [asyncio.create_task(call("sql", query=ENDLESS)) for _ in range(8)]
            schema = asyncio.create_task(call("schema"))
            await asyncio.wait([schema, *endless], timeout=0.5)
            for task in endless:
                task.cancel()
            gone = await asyncio.gather(*endless, return_exceptions=True)
            assert all(isinstance(why, asyncio.CancelledError) for why in gone)
            assert (await call("sql", query="SELECT 7"))["rows"] == [[7]]
            assert (await schema)["streams"]

    with writing(store):
        run(ask())


def test_answers_are_bounded_and_say_how_to_go_on(store: Path) -> None:
    async def ask() -> None:
        async with session(store, "auto", "--bytes", "8KiB") as (_, call):
            seen: list[str] = []
            arguments: dict[str, Any] = {}
            while True:
                page = await call("search", name="app", filter="request", order="asc", limit=1000, **arguments)
                seen += [entry["message"] for entry in page["entries"]]
                if "next" not in page:
                    break
                assert "bound of 8192 bytes" in page["cut"][0]["what"]
                arguments["after"] = page["next"]
            assert seen == [f"request {number}" for number in range(100)]

    run(ask())
