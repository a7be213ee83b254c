"""What installs the package installs the command `timestrata`, which is the one that cargo builds: the
same words, exit codes, pipes and signals."""

import json
import signal
import subprocess
import sys
import sysconfig
import urllib.request
from pathlib import Path

import pytest

import timestrata

SCRIPT = [str(Path(sysconfig.get_path("scripts")) / "timestrata")]
MODULE = [sys.executable, "-m", "timestrata"]
# Longer than any of this takes.
SECONDS_MAX = 60
# More than a pipe holds: once it is written, somebody reads.
PIPED_BYTES = 1 << 18


def run(
    *words: object, command: list[str] = SCRIPT, given: str = "", code: int = 0
) -> subprocess.CompletedProcess[str]:
    words_text = [*command, *map(str, words)]
    ran = subprocess.run(words_text, input=given, capture_output=True, text=True, timeout=SECONDS_MAX)
    assert ran.returncode == code, ran
    return ran


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "store"
    with timestrata.open(path) as opened:
        opened.table("t").append({"time": range(20_000), "name": ["long enough"] * 20_000})
    return path


@pytest.mark.parametrize("command", [SCRIPT, MODULE], ids=["script", "module"])
def test_it_is_the_command_whichever_way_it_is_called(command: list[str], tmp_path: Path) -> None:
    assert run("--version", command=command).stdout == f"timestrata {timestrata.__version__}\n"
    assert "Usage: timestrata <COMMAND>" in run("--help", command=command).stdout
    assert "complete -F _timestrata" in run("completions", "bash", command=command).stdout
    wrong = run("ingets", command=command, code=2)
    assert wrong.stdout == "" and "'ingest'" in wrong.stderr
    missing = run("info", tmp_path / "nothing", command=command, code=1)
    assert missing.stdout == "" and missing.stderr.startswith("error: ")
    assert "hint: " in missing.stderr


def test_verbs_read_stdin_and_files_and_the_package_reads_what_they_wrote(tmp_path: Path) -> None:
    store = tmp_path / "store"
    rows = "time,x\n2024-05-01,1\n2024-05-02,2\n"
    told = run("ingest", store, "t", "-", "--as", "table", "--time", "time", given=rows)
    assert told.stdout == "" and "2 rows" in told.stderr
    with timestrata.open(store, mode="r") as opened:
        assert opened.sql("SELECT sum(x) AS x FROM t").to_pylist() == [{"x": 3}]
    assert run("sql", store, "SELECT max(x) AS x FROM t", "--format", "csv").stdout == "x\n2\n"
    assert json.loads(run("check", store, "--json").stdout)["sound"] is True


def test_names_that_are_no_unicode_reach_it_as_they_are(tmp_path: Path) -> None:
    words = [*SCRIPT, b"info", bytes(tmp_path) + b"/\xff"]
    ran = subprocess.run(words, capture_output=True, timeout=SECONDS_MAX)
    assert ran.returncode == 1 and ran.stderr.startswith(b"error: ")


@pytest.mark.parametrize(("form", "first"), [("csv", "time,name\n"), ("json", '{"time":')])
def test_whoever_reads_no_further_is_no_failure(form: str, first: str, store: Path) -> None:
    words = [*SCRIPT, "sql", str(store), "SELECT * FROM t", "--format", form]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as ran:
        assert ran.stdout is not None and ran.stderr is not None
        assert ran.stdout.readline().startswith(first)
        ran.stdout.close()
        assert ran.stderr.read() == ""
        assert ran.wait(SECONDS_MAX) == 0


def test_what_is_printed_to_a_closed_stdout_gets_into_no_file(store: Path) -> None:
    """Files take the lowest descriptors that are free, and stdout is a number: the writer's lock would be it."""
    insert = "INSERT INTO t VALUES (20000, 'one more')"
    assert "count" in run("sql", store, insert.replace("20000", "20001"), "--write").stdout
    closed = ["sh", "-c", 'exec "$@" <&- >&-', "sh", *SCRIPT]
    run("sql", store, insert, "--write", command=closed)
    assert "count" not in (store / "LOCK").read_text()
    assert json.loads(run("check", store, "--json").stdout)["findings"] == []
    count = run("sql", store, "SELECT count(*) AS n FROM t", "--format", "csv").stdout
    assert count == "n\n20002\n"


def begin_sql(store: Path, command: list[str]) -> subprocess.Popen[bytes]:
    """A command that has begun to read its query."""
    words = [*command, "sql", str(store), "-", "--format", "csv"]
    started = subprocess.Popen(
        words,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # Whoever runs the tests in the background of a shell has it ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert started.stdin is not None
    started.stdin.write(b" " * PIPED_BYTES)
    started.stdin.flush()
    return started


def test_ctrl_c_ends_it_at_once(store: Path) -> None:
    with begin_sql(store, SCRIPT) as started:
        started.send_signal(signal.SIGINT)
        assert started.wait(SECONDS_MAX) == -signal.SIGINT
        assert started.stderr is not None and started.stderr.read() == b""


def test_ctrl_c_stays_ignored_where_it_was(store: Path) -> None:
    ignoring = ["sh", "-c", 'trap "" INT; exec "$@"', "sh", *SCRIPT]
    with begin_sql(store, ignoring) as started:
        started.send_signal(signal.SIGINT)
        told, _ = started.communicate(b"SELECT 1 AS x", timeout=SECONDS_MAX)
        assert (started.returncode, told) == (0, b"x\n1\n")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_server_stops_in_good_order(number: signal.Signals, tmp_path: Path) -> None:
    serve = ["serve", str(tmp_path / "store"), "--listen", "127.0.0.1:0", "--set", "log.level=error"]
    with subprocess.Popen([*SCRIPT, *serve], stderr=subprocess.PIPE, text=True) as server:
        try:
            assert server.stderr is not None
            url = server.stderr.readline().split()[-1]
            request = urllib.request.Request(
                f"{url}/tables/t/ingest", b"time,x\n2024-05-01,2\n", {"content-type": "text/csv"}
            )
            with urllib.request.urlopen(request, timeout=SECONDS_MAX) as answer:
                assert answer.status == 200
            server.send_signal(number)
            assert server.wait(SECONDS_MAX) == 0
            assert server.stderr.read() == ""
        finally:
            server.kill()
    with timestrata.open(tmp_path / "store", mode="r") as store:
        assert store.recovery.commits_replayed == 0
        assert len(store.table("t")) == 1
