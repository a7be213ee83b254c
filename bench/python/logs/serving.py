"""The line protocol, beside a server in the same runtime that sends back what it gets."""

from __future__ import annotations

import json
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.python.common.files import fresh
from bench.python.common.listening import listening, listening_on
from bench.python.common.race import turns
from bench.python.common.report import Measure
from bench.python.common.sample import median
from bench.python.logs.bench import Bench

CLIENTS, SECONDS, ROUNDS = 8, 3, 3
LINES_AT_ONCE = (1, 32, 256)
# A line alone is a round trip, which has to wait for the disk if it is synced: no aim is fair.
AIM, AIM_LINES_MIN, AIM_DURABILITY = 0.3, 32, "synced"
READ_ENTRIES = 500
ECHO = "echo"
Address = tuple[str, int]
Figures = dict[str, float]


@dataclass(frozen=True)
class Server:
    """Where a server is, over HTTP and with its line protocol."""

    http: Address
    lines: Address

    def count(self) -> int:
        """Entries in its log."""
        host, port = self.http
        with urllib.request.urlopen(f"http://{host}:{port}/logs/default/count") as answer:
            form: dict[str, Any] = json.load(answer)
        return int(form["data"]["count"])


@contextmanager
def serving(bench: Bench, durability: str) -> Iterator[Server]:
    """A server of ours with an empty store."""
    path = fresh(bench.dir / f"{durability}.store")
    options = ["--listen", "127.0.0.1:0", "--log-tcp", "127.0.0.1:0", "--set", "log.level=error"]
    durable = ["--set", f"logs.tcp_durability={durability}"]
    command = [bench.command, "serve", path, *options, *durable]
    with listening_on(command, 2) as [http, lines]:
        yield Server(http, lines)


def echoing(bench: Bench) -> Any:
    return listening([bench.bench_command, "line-echo"])


def load(bench: Bench, address: Address, file: Path, lines: int) -> Figures:
    """What clients get that send so many lines of a file at once."""
    host, port = address
    command = [bench.bench_command, "line-load", f"{host}:{port}", file]
    command += [str(CLIENTS), str(lines), str(1 if bench.quick else SECONDS)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    figures: Figures = json.loads(done.stdout)
    return figures


def in_turns(
    bench: Bench, addresses: dict[str, Address], file: Path, lines: int
) -> dict[str, list[Figures]]:
    """What each server takes, in turns that begin with another one."""
    taken: dict[str, list[Figures]] = {side: [] for side in addresses}
    for order in turns(list(addresses), 1 if bench.quick else ROUNDS):
        for side in order:
            taken[side].append(load(bench, addresses[side], file, lines))
    return taken


def written(number: int) -> str:
    """A line that writes an entry."""
    message = f"GET /orders/{number} took {number % 97} ms"
    fields = {"level": "info", "status": 200, "path": f"/orders/{number}"}
    entry = {"source_ts": 1_700_000_000_000 + number, "message": message, "metadata": fields}
    return json.dumps({"action": "write", **entry}, separators=(",", ":")) + "\n"


def writes(bench: Bench) -> None:
    """Entries a second, by how many lines are sent at once."""
    file = bench.dir / "writes.ndjson"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(map(written, range(max(LINES_AT_ONCE)))), encoding="utf-8")
    with ExitStack() as stack:
        servers = {kind: stack.enter_context(serving(bench, kind)) for kind in ("synced", "written")}
        addresses = {kind: server.lines for kind, server in servers.items()}
        addresses[ECHO] = stack.enter_context(echoing(bench))
        answers = dict.fromkeys(servers, 0)
        for lines in LINES_AT_ONCE:
            taken = in_turns(bench, addresses, file, lines)
            for kind in servers:
                answers[kind] += sum(int(each["answers"]) for each in taken[kind])
                aimed = kind == AIM_DURABILITY and lines >= AIM_LINES_MIN
                tell(bench, f"TCP, {kind}, {lines} at once", taken, kind, AIM if aimed else None)
        for kind, server in servers.items():
            if server.count() != answers[kind]:
                raise ValueError(f"{kind}: {server.count()} entries of {answers[kind]}")


def tell(
    bench: Bench, name: str, taken: dict[str, list[Figures]], kind: str, aim: float | None
) -> None:
    mine, other = (median([each["per_second"] for each in taken[side]]) for side in (kind, ECHO))
    p50 = median([each["p50_us"] for each in taken[kind]])
    p99 = max(each["p99_us"] for each in taken[kind])
    note = f"{CLIENTS} clients, median of {len(taken[kind])} runs; from sending so many lines to "
    note += f"the last answer p50 {p50:.0f}, p99 at most {p99:.0f} us"
    bench.report(Measure(name, "1/s", mine, "sending back the lines", other, aim, note))


def reads(bench: Bench) -> None:
    """One entry by the time of its arrival."""
    file = bench.dir / "reads.ndjson"
    with serving(bench, "written") as server, echoing(bench) as echo:
        asked = "".join(f"{line}\n" for line in arrivals(server.lines))
        file.write_text(asked, encoding="utf-8")
        taken = in_turns(bench, {"written": server.lines, ECHO: echo}, file, 1)
        tell(bench, "TCP, one entry by its time", taken, "written", None)


def arrivals(address: Address) -> Iterator[str]:
    """Requests for one entry each, of which there are so many, no two in a millisecond."""
    with socket.create_connection(address) as client, client.makefile("rw", encoding="utf-8") as lines:

        def ask(request: str) -> dict[str, Any]:
            lines.write(request)
            lines.flush()
            answer: dict[str, Any] = json.loads(lines.readline())
            if answer["status"] != "ok":
                raise ValueError(str(answer))
            return answer

        for number in range(READ_ENTRIES):
            ask(written(number))
            time.sleep(0.002)
        everything = {"action": "read", "start_ts": 0, "end_ts": 2**63 // 10**6}
        for entry in ask(json.dumps(everything) + "\n")["data"]:
            at = entry["timestamp"]
            request = json.dumps({"action": "read", "start_ts": at, "end_ts": at})
            if len(ask(request + "\n")["data"]) != 1:
                raise ValueError(f"more than one entry at {at}")
            yield request
