"""Values by the codecs of Python's own library: JSON, and pickles where they are asked for."""

import json
import math
from pathlib import Path

import pytest

import timestrata
from timestrata import InvalidArgumentError


class Trap:
    def __reduce__(self) -> tuple[object, ...]:
        return (exec, ("raise __import__('test_python_codecs_marker')",))


def test_json_values_come_back_and_are_text_on_disk(path: Path) -> None:
    values = [{"a": [1, 2.5, None, True]}, "né", 2**70, [], -0.0]
    with timestrata.Timelog(path=path, codec="json") as log:
        log.extend(range(len(values)), values)
        assert [value for _, value in log] == values
    with timestrata.open(path) as store:
        log = store.timelog("log")
        assert log.codec == "json"
        assert [value for _, value in log] == values
    raw = b"".join(file.read_bytes() for file in path.rglob("*") if file.is_file())
    assert json.dumps(values[0], separators=(",", ":")).encode() in raw
    assert "né".encode() in raw


@pytest.mark.parametrize("value", [math.nan, math.inf, b"bytes", {1, 2}, object()])
def test_what_json_has_no_word_for_is_refused_and_nothing_is_stored(value: object) -> None:
    log = timestrata.open().timelog("log", codec="json")
    with pytest.raises((TypeError, ValueError)):
        log.append(1, value)
    with pytest.raises((TypeError, ValueError)):
        log.extend([(1, 1), (2, value)])
    assert len(log) == 0


def test_pickles_are_written_and_read_only_where_they_are_named(path: Path) -> None:
    value = {"set": {1, 2}, "path": Path("x"), "complex": 1j}
    with timestrata.Timelog(path=path, codec="pickle") as log:
        log.append(5, value)
        assert log[5] == [value]
    with timestrata.open(path) as store:
        with pytest.raises(InvalidArgumentError, match="codec='pickle'"):
            store.timelog("log")
        assert store.timelog("log", codec="pickle")[5] == [value]
        with pytest.raises(timestrata.AlreadyExistsError):
            store.timelog("log", codec="cbor")


def test_a_pickle_runs_only_when_it_is_read(path: Path) -> None:
    with timestrata.Timelog(path=path, codec="pickle") as log:
        log.append(5, Trap())
        assert len(log) == 1
        assert log.max_ts() == 5
        with pytest.raises(ModuleNotFoundError, match="marker"):
            log.at(5)
