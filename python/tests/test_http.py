"""A server over HTTP, asked by other people's clients: for all that its description says, and for its figures."""

from __future__ import annotations

import json
import subprocess
import sysconfig
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

import timestrata
from waiting import until

SCRIPTS = Path(sysconfig.get_path("scripts"))
LISTENS = "listening on "
# Seconds in which requests are made up; those under way then are still answered.
TRIED_SECONDS = 45
# That a request is sent which the description allows and the store refuses is no fault: names of what isn't there,
# filters that are none. Nor that tokens aren't asked for where the server has none.
CHECKS = [
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "unsupported_method",
    "negative_data_rejection",
]


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store with something of each model, by the names that paths are filled with."""
    path = tmp_path / "store"
    with timestrata.open(path) as opened:
        rooms = opened.table("rooms", tags="room")
        rooms.append([{"time": "2024-05-01", "room": "hall", "celsius": 20.5}])
        opened.logs("app").write("disk is full", level="error", device="sda1")
        opened.topic("events").send({"value": "created"})
        opened.timelog("door").append(1_700_000_000_000, {"state": "open"})
        graph = opened.graph("code")
        graph.put(b"fn main() {}")
    return path


@pytest.fixture
def server(store: Path) -> Iterator[str]:
    said = store.with_suffix(".log")
    words = [str(SCRIPTS / "timestrata"), "serve", str(store), "--listen", "127.0.0.1:0"]
    # Less than a client waits for an answer.
    words += ["--set", "limits.wait_max=1s"]
    with said.open("wb") as log:
        process = subprocess.Popen(words, stderr=log)
        try:
            yield address(process, said)
            assert process.poll() is None, f"the server has ended: {said.read_text()[-2000:]}"
        finally:
            process.terminate()
            assert process.wait(60) == 0
    # What stands there is a bug of ours, also where the answer was well formed.
    assert '"level":"ERROR"' not in said.read_text(), said.read_text()[-5000:]


def address(process: subprocess.Popen[bytes], said: Path) -> str:
    def lines() -> list[str]:
        said_so_far = said.read_text().splitlines(keepends=True)
        return [line for line in said_so_far if line.startswith(LISTENS)]

    until(lambda: process.poll() is not None or any(line.endswith("\n") for line in lines()))
    assert lines(), f"the server does not listen: {said.read_text()}"
    return lines()[0].removeprefix(LISTENS).strip()


def get(url: str) -> bytes:
    with urllib.request.urlopen(url, timeout=60) as answer:
        return bytes(answer.read())


def test_the_figures_are_read_by_the_parser_of_prometheus(server: str) -> None:
    parser = pytest.importorskip("prometheus_client.openmetrics.parser")
    get(f"{server}/tables/rooms/count")
    text = get(f"{server}/metrics").decode()
    families = {family.name: family for family in parser.text_string_to_metric_families(text)}
    assert families["timestrata_http_requests"].type == "counter"
    requests = families["timestrata_http_requests"].samples
    counted = [sample for sample in requests if sample.labels["route"] == "/tables/{table}/count"]
    assert [(sample.labels["status"], sample.value) for sample in counted] == [("200", 1)]
    seconds = families["timestrata_http_request_seconds"]
    assert (seconds.type, seconds.unit) == ("histogram", "seconds")
    assert all(family.documentation for family in families.values())
    assert families["timestrata_streams"].samples[0].value >= 5


def test_what_is_described_is_what_is_answered(server: str, tmp_path: Path) -> None:
    pytest.importorskip("schemathesis")
    described = json.loads(get(f"{server}/openapi.json"))
    assert len(described["paths"]) > 40
    # 410 among them: what is tried purges too, and moments before that are gone, whatever else a request gets wrong.
    refusals = ["400", "401", "403", "404", "405", "406", "409", "410", "415", "422", "428", "429", "5xx"]
    settings = f"[checks.negative_data_rejection]\nexpected-statuses = {json.dumps(refusals)}\n"
    (tmp_path / "schemathesis.toml").write_text(settings)
    words = [
        str(SCRIPTS / "schemathesis"),
        "run",
        f"{server}/openapi.json",
        f"--checks={','.join(CHECKS)}",
        "--workers=1",
        "--max-examples=20",
        f"--max-time={TRIED_SECONDS}",
        "--seed=20260501",
        # That few random lines are entries of a time log says nothing of the server.
        "--suppress-health-check=filter_too_much",
        "--generation-deterministic",
        # Its answer has no end.
        "--exclude-path=/logs/{name}/tail",
        "--no-shrink",
        "--no-color",
        "--continue-on-failure",
        "--request-timeout=30",
        "--warnings=off",
    ]
    tried = subprocess.run(
        words, cwd=tmp_path, capture_output=True, text=True, timeout=10 * TRIED_SECONDS
    )
    assert tried.returncode == 0, f"{tried.stdout[-20000:]}\n{tried.stderr[-2000:]}"
