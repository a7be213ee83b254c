"""A store behind a server is used as one that is open here: the same calls give the same."""

from __future__ import annotations

import datetime as dt
import inspect
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import timestrata
import trustme
from serving import COMMAND, Served, either, served
from timestrata import remote

__all__ = ["either", "served"]  # fixtures

UTC = dt.timezone.utc
# The remote class of each embedded one.
CLASSES: dict[type, type] = {
    timestrata.Store: remote.RemoteStore,
    timestrata.Table: remote.RemoteTable,
    timestrata.Topic: remote.RemoteTopic,
    timestrata.Producer: remote.RemoteProducer,
    timestrata.Consumer: remote.RemoteConsumer,
    timestrata.Logs: remote.RemoteLogs,
    timestrata.LogTail: remote.RemoteLogTail,
    timestrata.TimelogTail: remote.RemoteTimelogTail,
    timestrata.Graph: remote.RemoteGraph,
    timestrata.Timelog: remote.RemoteTimelog,
    timestrata.TimelogIter: remote.RemoteTimelogIter,
    timestrata.Changes: remote.RemoteChanges,
    timestrata.Commit: remote.RemoteCommit,
    timestrata.CommitTable: remote.RemoteCommitTable,
    timestrata.CommitTopic: remote.RemoteCommitTopic,
    timestrata.CommitLogs: remote.RemoteCommitLogs,
    timestrata.CommitGraph: remote.RemoteCommitGraph,
    timestrata.CommitTimelog: remote.RemoteCommitTimelog,
}
# What a server can't be asked for, and why.
LEFT_OUT = {
    "Store.timelog": {"schema"},  # a server makes no typed time log
    "Timelog.extend": {"atomic"},  # a request has an end: what is larger is several
    "Timelog.extend_async": {"atomic"},
    "Store.table": {"schema"},  # a table of a server comes into being with its first rows
    "Table.scan": {"skip_damaged"},  # a server gives all rows, or says what is damaged
    "Topic.checkpoint": {"key"},  # no key goes over the network: the server signs by its own
    "Topic.checkpoint_all": {"key"},
    "Topic.log_vkey": {"key"},
    # A server's answer tells who has which partition; nobody is called.
    "Topic.consumer": {"on_assigned", "on_revoked", "on_lost"},
    "Store.consumer": {"on_assigned", "on_revoked", "on_lost"},
    "Producer.send_batch": {"also"},  # a request changes one model
    "Producer.send_batch_async": {"also"},
    "Consumer.commit": {"also"},
    "Graph.walk": {"filter"},  # a program's own function doesn't go over the network
}  # fmt: skip
# What only a remote object has.
ADDED = {"RemoteStore": {"url"}}
# Made by other names of the same module.
NOT_OF_SERVERS = {"Timelog": {"for_bulk_ingest", "for_low_latency", "for_streaming"}, "TimelogIter": {"view"}}


# What there is


def public(cls: type) -> set[str]:
    return {name for name in dir(cls) if not name.startswith("_")}


def parameters(method: Any) -> dict[str, inspect.Parameter]:
    """What a method takes beside its object."""
    taken = dict(inspect.signature(method).parameters)
    taken.pop("self", None)
    return taken


@pytest.mark.parametrize("own", CLASSES, ids=lambda cls: cls.__name__)
def test_a_remote_class_has_what_the_embedded_one_has_or_says_what_to_do_instead(own: type) -> None:
    there = CLASSES[own]
    missing = set(getattr(there, "MISSING", {}))
    offered = public(there) - {"MISSING"}
    assert offered - public(own) == ADDED.get(there.__name__, set())
    assert not offered & missing
    left = public(own) - offered - missing - NOT_OF_SERVERS.get(own.__name__, set())
    assert left == set(), f"{there.__name__} has neither these nor a word for them"


@pytest.mark.parametrize("own", CLASSES, ids=lambda cls: cls.__name__)
def test_what_both_have_takes_the_same(own: type) -> None:
    there = CLASSES[own]
    for name in sorted(public(there) & public(own)):
        mine = inspect.getattr_static(own, name)
        theirs = inspect.getattr_static(there, name)
        if isinstance(theirs, property):
            assert not callable(mine) or inspect.isdatadescriptor(mine), name
            continue
        expected = parameters(getattr(own, name))
        for left in LEFT_OUT.get(f"{own.__name__}.{name}", set()):
            del expected[left]
        given = parameters(getattr(there, name))
        assert list(expected) == list(given), f"{own.__name__}.{name}"
        for parameter, one in expected.items():
            other = given[parameter]
            assert one.kind == other.kind, f"{own.__name__}.{name}({parameter})"
            if parameter != "obj_or_none":
                assert one.default == other.default, f"{own.__name__}.{name}({parameter})"


def test_what_a_server_does_not_do_says_so_and_what_to_do_instead(served: Served) -> None:
    with timestrata.connect(served.url) as store:
        with pytest.raises(AttributeError, match="a server doesn't do 'backup': .*directory"):
            store.backup()
        with pytest.raises(AttributeError, match="a server doesn't do 'views'"):
            store.timelog("door").views()
        with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
            store.nothing()
        assert not hasattr(store, "flush")


@pytest.mark.parametrize(
    ("url", "words"),
    [("localhost:8080", {}), ("http://", {}), ("http://a?b", {}), ("http://a", {"token": "a\nb"}),
     ("https://a", {"certificates": b"none"}), ("http://a", {"token": "a", "token_file": "b"}),
     ("http://a", {"timeout": 0})],
)  # fmt: skip
def test_bad_addresses_and_options_are_refused_before_anything_is_sent(url: str, words: Any) -> None:
    with pytest.raises(timestrata.InvalidArgumentError):
        timestrata.connect(url, **words)


def test_who_opens_a_directory_imports_nothing_for_servers() -> None:
    program = "import sys, timestrata; print('asyncio' in sys.modules, timestrata.connect.__name__, 'asyncio' in sys.modules)"
    said = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout
    assert said.split() == ["False", "connect", "True"]
    with pytest.raises(AttributeError, match="has no attribute 'disconnect'"):
        timestrata.disconnect


def test_no_server_is_an_error_of_the_system(tmp_path: Path) -> None:
    with pytest.raises(timestrata.IoError, match="no whole answer from http://127.0.0.1:1") as caught:
        timestrata.connect("http://127.0.0.1:1")
    assert "see that a server runs there" in str(caught.value.hint)
    assert "all the same" not in str(caught.value)


def test_a_closed_connection_takes_no_calls(served: Served) -> None:
    store = timestrata.connect(served.url)
    table = store.table("closing")
    with store:
        assert not store.closed
    assert store.closed
    for call in (store.tables, table.count, lambda: store.sql("SELECT 1"), store.__enter__):
        with pytest.raises(timestrata.ClosedError):
            call()
    store.close()


# Tables and SQL


def test_rows_go_in_and_come_out(either: Any) -> None:
    rooms = either.table("rooms", tags="room")
    assert not rooms.exists and rooms.count() == 0
    rows = {
        "time": ["2024-05-01", "2024-05-02", "2024-05-03"],
        "room": ["hall", "attic", "hall"],
        "celsius": [20.5, None, 21.5],
        "big": [2**53 + 1, -(2**63), 2**63 - 1],
    }
    assert rooms.append(rows) == 3
    assert rooms.append({"time": dt.datetime(2024, 5, 4), "room": "zürich 日本", "celsius": 19.0, "big": 1}) == 1
    assert rooms.exists and rooms.count() == len(rooms) == 4 and "rooms" in either.tables()
    assert (rooms.time, rooms.key, rooms.tags) == ("time", [], ["room"])
    assert rooms.columns == ["time", "room", "celsius", "big"] and rooms.types["big"] == "Int64"
    found = rooms.scan().to_pylist()
    assert [row["time"] for row in found] == [dt.datetime(2024, 5, day, tzinfo=UTC) for day in (1, 2, 3, 4)]
    assert [row["big"] for row in found] == [2**53 + 1, -(2**63), 2**63 - 1, 1]
    assert [row["celsius"] for row in found] == [20.5, None, 21.5, 19.0]
    scanned = rooms.scan("2024-05-02", dt.datetime(2024, 5, 4), columns=["room"], reverse=True)
    assert scanned.columns == ["room"]
    assert [row["room"] for row in scanned] == ["hall", "attic"]
    # Read a second time.
    assert [row["room"] for row in scanned] == ["hall", "attic"] and scanned.count() == 2
    assert [row["big"] for row in rooms.scan(where="celsius > 20", limit=1, offset=1)] == [2**63 - 1]
    picked = rooms.scan(where="room = $1", params=["zürich 日本"], columns=["celsius"])
    assert picked.to_pylist() == [{"celsius": 19.0}]
    assert [row["celsius"] for row in rooms.head(1)] == [20.5]
    assert [row["celsius"] for row in rooms.tail(2)] == [21.5, 19.0]
    assert [(row["room"], row["celsius"]) for row in rooms.latest("room", end="2024-05-04")] == [("hall", 21.5), ("attic", None)]
    assert rooms.count("2024-05-02", "2024-05-04") == 2
    assert rooms.count(dt.datetime(2024, 5, 2, tzinfo=UTC)) == 3
    assert rooms.min_time() == dt.datetime(2024, 5, 1, tzinfo=UTC)
    assert rooms.max_time() == dt.datetime(2024, 5, 4, tzinfo=UTC)
    assert rooms.delete("2024-05-01", "2024-05-02") == 1
    assert rooms.delete(where="room = $1", params=["attic"]) == 1
    assert rooms.count() == 2
    rooms.drop()
    assert "rooms" not in either.tables()


def test_rows_have_keys_and_times_are_ints(either: Any) -> None:
    users = either.table("users", key="name")
    assert users.append([{"ts": 1_700_000_000, "name": "ada", "age": 36}, {"ts": 1_700_000_001, "name": "bob", "age": 1}]) == 2
    assert users.append({"ts": 1_700_000_002, "name": "ada", "age": 37}) == 1
    row = users.row("ada")
    assert row is not None and (row["age"], users.row("nobody")) == (37, None)
    assert users.key == ["name"] and users.count() == 2
    assert users.count(1_700_000_002) == 1
    assert [row["name"] for row in users.scan(1_700_000_001, 1_700_000_002)] == ["bob"]


def test_times_that_are_ints_are_in_the_unit_of_their_table(either: Any) -> None:
    fine, coarse = either.table("fine"), either.table("coarse", time="at")
    assert fine.append({"time": "2024-05-01T00:00:00.000001Z", "x": 0}) == 1
    assert fine.append([{"time": 5, "x": 1}, {"time": 7, "x": 2}]) == 2
    assert [row["time"] for row in fine.scan(end=6)] == [dt.datetime(1970, 1, 1, 0, 0, 0, 5, tzinfo=UTC)]
    assert fine.scan(end=2**62).count() == 3 and fine.scan(-(2**62), 6).count() == 1
    # In a new table of the unit that their size tells.
    assert coarse.append({"at": [1_700_000_000_000, 1_700_000_000_001], "x": [1, 2]}) == 2
    assert coarse.types["at"] == 'Timestamp(ms, "UTC")'
    assert coarse.append({"at": 3, "x": 3}) == 1 and coarse.count(3, 4) == 1
    assert coarse.min_time() == dt.datetime(1970, 1, 1, 0, 0, 0, 3_000, tzinfo=UTC)


def test_every_kind_of_rows_is_taken(either: Any) -> None:
    pa = pytest.importorskip("pyarrow")
    np = pytest.importorskip("numpy")
    pd = pytest.importorskip("pandas")
    kinds = either.table("kinds")
    times = pa.array([1_700_000_000_000_000_001, None, 1], pa.timestamp("ns", "UTC"))
    table = pa.table({"time": times.drop_null(), "bytes": [b"\xff\x00", None], "text": ["a", None]})
    assert kinds.append(table) == 2
    assert kinds.append(table.to_batches()[0]) == 2
    assert kinds.append({"time": np.array(["2024-05-01T00:00:00.000000003"], "datetime64[ns]"), "text": ["b"]}) == 1
    assert kinds.append(pd.DataFrame({"time": pd.to_datetime(["2024-05-02"]), "text": ["c"]})) == 1
    reader = pa.RecordBatchReader.from_batches(table.schema, table.to_batches())
    assert kinds.append(reader) == 2
    found = kinds.scan().to_arrow()
    assert found.schema.field("time").type == pa.timestamp("ns", "UTC")
    assert found["time"].cast(pa.int64()).to_pylist() == sorted([1_700_000_000_000_000_001, 1] * 3 + [
        1_714_521_600_000_000_003, 1_714_608_000_000_000_000,
    ])
    assert found["bytes"].to_pylist().count(b"\xff\x00") == 3
    exact = kinds.scan(np.datetime64("2024-05-01T00:00:00.000000003", "ns"), limit=1)
    assert [row["text"] for row in exact] == ["b"]
    with pytest.raises(TypeError):
        kinds.append(7)
    with pytest.raises(timestrata.InvalidDataError):
        kinds.append({"time": ["2024-05-01", "2024-05-02"], "text": ["a"]})


def test_rows_that_do_not_fit_are_refused_whole(either: Any) -> None:
    fits = either.table("fits")
    assert fits.append({"time": "2024-05-01", "x": 1}) == 1
    with pytest.raises(timestrata.InvalidDataError, match="x"):
        fits.append({"time": ["2024-05-02", "2024-05-03"], "x": ["one", "two"]})
    assert fits.count() == 1
    assert fits.append({"time": "2024-05-02", "x": 1.5}, on_mismatch="widen") == 1
    assert [row["x"] for row in fits.scan()] == [1.0, 1.5]
    with pytest.raises(timestrata.InvalidArgumentError):
        fits.scan("2024-05-02", "2024-05-01").count()
    with pytest.raises(timestrata.NotFoundError):
        either.sql("SELECT * FROM nothing")
    with pytest.raises(timestrata.InvalidArgumentError):
        either.sql("SELEC 1")


def test_files_are_taken_in(either: Any, tmp_path: Path) -> None:
    import gzip
    import io

    flights = either.table("flights")
    assert flights.ingest(io.BytesIO(b"time,delay\n2024-04-30,3\n"), format="csv")["rows"] == 1
    csv = b"time,delay\n2024-05-01,5\n2024-05-02,x\n"
    with pytest.raises(timestrata.InvalidDataError, match="delay"):
        flights.ingest(io.BytesIO(csv), format="csv")
    report = flights.ingest(io.BytesIO(csv), "csv", on_error="skip")
    assert (report["rows"], report["skipped"], len(report["errors"])) == (1, 1, 1)
    packed = tmp_path / "more.csv.gz"
    packed.write_bytes(gzip.compress(b"time;delay\n2024-05-03;7\n"))
    assert flights.ingest(packed, delimiter=";")["rows"] == 1
    lines = tmp_path / "more.jsonl"
    lines.write_text('{"time": "2024-05-04", "delay": 9}\n')
    assert flights.ingest(str(lines))["rows"] == 1
    meter = b"Meter 2\n31.01.24;-;\xfc\n01.02.24;1,5\n"
    written = {
        "skip_lines": 1, "header": False, "null_text": ["-"], "decimal": ",", "fill_short_rows": True,
        "encoding": "cp1252", "time_format": "%d.%m.%y", "delimiter": ";",
    }
    told = either.table("meter").ingest(io.BytesIO(meter), "csv", dry_run=True, **written)
    assert (told["rows"], told["time"], told["refusal"]) == (2, "column_1", None)
    assert told["columns"][0]["note"] == "in the format '%d.%m.%y'"
    either.table("meter").ingest(io.BytesIO(meter), "csv", **written)
    assert [row["column_2"] for row in either.table("meter").scan()] == [None, 1.5]
    either.table("iris").ingest(io.BytesIO(b"petals\n1.4\n"), "csv", time_of_load=True)
    assert either.table("iris").time == "time"
    assert [row["delay"] for row in flights.scan()] == [3, 5, 7, 9]
    with pytest.raises(TypeError, match="source must be a path"):
        flights.ingest(7)

    class Breaks:
        def read(self, size: int) -> bytes:
            raise RuntimeError("the disk went away")

    with pytest.raises(RuntimeError, match="the disk went away"):
        flights.ingest(Breaks(), format="csv")
    assert flights.count() == 4


def test_sql_reads_and_writes(either: Any) -> None:
    numbers = either.table("numbers")
    numbers.append({"time": ["2024-05-01", "2024-05-02"], "x": [1, 2]})
    rows = either.sql("SELECT sum(x) AS total FROM numbers WHERE time > $1", [dt.datetime(2024, 5, 1)])
    assert rows.to_pylist() == [{"total": 2}] == rows.to_pylist()
    assert either.sql("SELECT $a AS a, $b IS NULL AS b", {"a": "ä", "b": None}, timeout="10s").to_pylist() == [{"a": "ä", "b": True}]
    assert either.sql("SELECT $1 AS x", [2**63 - 1]).to_pylist() == [{"x": 2**63 - 1}]
    written = either.sql("INSERT INTO numbers (time, x) VALUES ('2024-05-03', 3)")
    # What it answers is kept: to ask again would be to do it again.
    assert written.to_pylist() == written.to_pylist() == [{"count": 1}]
    assert numbers.count() == 3
    with pytest.raises(TypeError):
        either.sql("SELECT $1", "text")


def test_lists_are_parameters_here_and_over_http(either: Any) -> None:
    table = either.table("lists", time="time")
    table.append([{"time": "2024-05-01", "s": "A", "n": 1}, {"time": "2024-05-02", "s": "B", "n": 2}])
    query = "SELECT count(*) AS found FROM lists WHERE s IN ($1) AND n = ANY($2)"
    for params, found in [
        ([["A", "B"], [1, 2]], 2),
        ([["B"], [2, 3]], 1),
        ([["A", None], [1]], 1),
        ([["nobody"], [1]], 0),
        ([[], [1, 2]], 0),
    ]:
        assert either.sql(query, params).to_pylist() == [{"found": found}], params
    named = either.sql("SELECT n FROM lists WHERE s NOT IN ($names)", {"names": ["A"]})
    assert named.to_pylist() == [{"n": 2}]


def test_files_say_what_was_told_apart_and_times_become_finer(either: Any, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("time||n\n31.05.2024||1,234\n01.06.2024||7\n")
    table = either.table("told")
    done = table.ingest(path, thousands=",")
    assert done["notes"] == {"time": "day before month", "n": "',' between thousands"}
    assert [row["n"] for row in table.scan()] == [1234, 7]
    either.sql("ALTER TABLE told ALTER COLUMN time TYPE TIMESTAMP(9)")
    table.append([{"time": "2024-05-31T00:00:00.000000001", "n": 2}])
    assert [row["n"] for row in table.scan()] == [1234, 2, 7]
    html = table._repr_html_()
    assert html.count("<tr>") == 4
    assert "<td>1234</td>" in html


def test_names_may_have_any_character(either: Any) -> None:
    for name in ("a b", "ä/ö", "100%", "x?y&z=#", 'say "hi"', "..."):
        try:
            table = either.table(name)
            assert table.append({"time": "2024-05-01", "x": 1}) == 1
        except timestrata.InvalidArgumentError:
            # The store takes no such name, wherever it is.
            continue
        assert table.count() == 1 and name in either.tables()
        assert table.count("2024-05-01") == 1


# Moments, changes, and what a store is asked


def test_the_store_as_it_was_is_read_and_not_written(either: Any) -> None:
    door = either.table("door then")
    door.append({"time": "2024-05-01", "x": 1})
    seqs = [commit.seq for commit in either.changes(0)]
    door.append({"time": "2024-05-02", "x": 2})
    then = either.at(seqs[-1])
    assert then.table("door then").count() == 1 and door.count() == 2
    assert then.sql('SELECT count(*) AS n FROM "door then"').to_pylist() == [{"n": 1}]
    with pytest.raises(timestrata.ReadOnlyError):
        then.table("door then").append({"time": "2024-05-03", "x": 3})
    with pytest.raises(timestrata.NotFoundError):
        then.topic("then")
    with pytest.raises(timestrata.InvalidArgumentError):
        either.at(10**9)
    with pytest.raises(timestrata.NotFoundError):
        either.at(pin="none")
    with pytest.raises(timestrata.InvalidArgumentError):
        either.at()


def test_changes_are_followed_and_noted(either: Any) -> None:
    seen = [commit.seq for commit in either.changes(0)]
    begin = seen[-1] if seen else 0
    feed = either.changes(begin, follow=True)
    table = either.table("changing")
    table.append({"time": ["2024-05-01", "2024-05-02"], "x": [1, 2]})
    commit = next(feed)
    [change] = [change for change in commit.changes if change.name == "changing"]
    assert (change.kind, change.model, change.part, change.range) == ("inserted", "table", "rows", None)
    assert [row["x"] for row in change.rows] == [1, 2]
    assert commit.seq == feed.seq > begin and abs(commit.time - dt.datetime.now(UTC)) < dt.timedelta(minutes=5)
    follower = either.changes(begin, name="copier")
    assert next(follower).seq == commit.seq and follower.save() == commit.seq
    assert either.followers()["copier"] == commit.seq
    door = either.timelog("changing door")
    door.append(5, "opened")
    door.delete_range(0, 10)
    later = [change for commit in either.changes(name="copier") for change in commit.changes]
    assert [(change.kind, change.range) for change in later][-1] == ("deleted_range", (0, 10))
    either.remove_follower("copier")
    assert "copier" not in either.followers()
    with pytest.raises(timestrata.InvalidArgumentError):
        either.changes()
    with pytest.raises(timestrata.InvalidArgumentError):
        either.changes(begin).save()


def test_what_is_dropped_is_gone(either: Any) -> None:
    either.table("going").append({"time": "2024-05-01", "x": 1})
    either.timelog("going log").append(1, 1)
    for name in ("going", "going log"):
        either.drop(name)
    assert "going" not in either.tables() and "going log" not in either.timelogs()
    with pytest.raises(timestrata.NotFoundError):
        either.drop("going")


# Who may ask


def test_a_token_opens_what_its_scopes_say(tmp_path: Path) -> None:
    path = tmp_path / "guarded"
    with timestrata.open(path) as store:
        store.table("orders").append({"time": "2024-05-01", "x": 1})

    def token(*scopes: str) -> str:
        words = [word for scope in scopes for word in ("--scope", scope)]
        command = [str(COMMAND), "token", "create", str(path), "--name", "me", *words]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    reads, writes = token("read"), token("write")
    file = tmp_path / "token"
    file.touch(0o600)
    file.write_text(f"# mine\n{reads}\n")
    with Served(path) as server:
        for wrong in ({}, {"token": "tsk_wrong"}):
            with pytest.raises(timestrata.InvalidArgumentError) as caught:
                timestrata.connect(server.url, **wrong)
            assert caught.value.hint == "give a token that the server knows"
        with timestrata.connect(server.url, token_file=file) as store:
            assert store.table("orders").count() == 1
            assert store.sql("SELECT x FROM orders").to_pylist() == [{"x": 1}]
            for write in (
                lambda: store.table("orders").append({"time": "2024-05-02", "x": 2}),
                lambda: store.sql("DELETE FROM orders"),
                lambda: store.topic("new"),
                lambda: store.drop("orders"),
            ):
                with pytest.raises(timestrata.ReadOnlyError):
                    write()
        with timestrata.connect(server.url, token=writes) as store:
            assert store.table("orders").append({"time": "2024-05-02", "x": 2}) == 1
            with pytest.raises(timestrata.ReadOnlyError):
                store.table("orders").scan()
        file.write_text("\n")
        with pytest.raises(timestrata.InvalidArgumentError, match="no token"):
            timestrata.connect(server.url, token_file=file)


def test_the_environment_names_the_token_as_it_does_for_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, secret = tmp_path / "store", tmp_path / "secret"
    timestrata.open(path).close()
    secret.touch(0o600)
    secret.write_text("a secret of at least sixteen letters\n")
    with Served(path, "--token-file", str(secret)) as server:
        with pytest.raises(timestrata.InvalidArgumentError):
            timestrata.connect(server.url)
        monkeypatch.setenv("TIMESTRATA_TOKEN_FILE", str(secret))
        assert timestrata.connect(server.url).tables() == []


def test_certificates_are_trusted_where_they_are_given(tmp_path: Path) -> None:
    timestrata.open(tmp_path / "store").close()
    authority = trustme.CA()
    ca, cert, key = tmp_path / "ca.pem", tmp_path / "cert.pem", tmp_path / "key.pem"
    authority.cert_pem.write_to_path(str(ca))
    of_server = authority.issue_cert("127.0.0.1")
    of_server.cert_chain_pems[0].write_to_path(str(cert))
    of_server.private_key_pem.write_to_path(str(key))
    key.chmod(0o600)
    with Served(tmp_path / "store", "--tls-cert", str(cert), "--tls-key", str(key)) as server:
        assert server.url.startswith("https://")
        for certificates in (ca, str(ca), ca.read_bytes()):
            with timestrata.connect(server.url, certificates=certificates) as store:
                assert store.table("rooms").append({"time": "2024-05-01", "x": 1}) == 1
                assert store.sql("SELECT count(*) AS n FROM rooms").to_pylist()[0]["n"] > 0
        with pytest.raises(timestrata.IoError, match="certificate|UnknownIssuer"):
            timestrata.connect(server.url)
