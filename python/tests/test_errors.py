"""Every error is a TimestrataError, of Python's own kind too, that says what to do."""

import pickle
from collections.abc import Callable
from pathlib import Path

import pytest

import timestrata
from timestrata import Store, TimestrataError, errors

KINDS: dict[str, type[Exception]] = {
    "InvalidArgumentError": ValueError,
    "InvalidDataError": ValueError,
    "TooLargeError": ValueError,
    "NotFoundError": KeyError,
    "OutOfRangeError": LookupError,
    "HistoryLostError": LookupError,
    "ConflictError": Exception,
    "VerificationError": ValueError,
    "AlreadyExistsError": ValueError,
    "NotAStoreError": ValueError,
    "UnsupportedVersionError": Exception,
    "LockedError": OSError,
    "ReadOnlyError": OSError,
    "BusyError": Exception,
    "CancelledError": Exception,
    "TimedOutError": TimeoutError,
    "NoSpaceError": OSError,
    "OutOfMemoryError": MemoryError,
    "IoError": OSError,
    "CorruptionError": Exception,
    "PoisonedError": Exception,
    "ClosedError": Exception,
    "ForkedError": Exception,
    "TimelogError": Exception,
    "TimelogBusyError": timestrata.TimelogError,
}


def test_the_tree_is_complete() -> None:
    assert set(errors.__all__) == {"TimestrataError", *KINDS}
    for name, kind in KINDS.items():
        error = getattr(timestrata, name)
        assert issubclass(error, TimestrataError)
        assert issubclass(error, kind)


@pytest.mark.parametrize("name", KINDS)
def test_an_error_shows_one_sentence_keeps_its_parts_and_can_be_pickled(name: str) -> None:
    error = getattr(errors, name)("it broke [f, byte 3]", path="f", offset=3, hint="mend it")
    for one in (error, pickle.loads(pickle.dumps(error))):
        assert type(one) is type(error)
        assert str(one) == "it broke [f, byte 3]"
        assert (one.path, one.offset, one.hint) == ("f", 3, "mend it")
        assert one.__notes__ == ["hint: mend it"]


def test_a_missing_stream_is_a_key_error_with_a_plain_message(store: Store) -> None:
    with pytest.raises(KeyError) as caught:
        store.drop("nothing")
    assert isinstance(caught.value, timestrata.NotFoundError)
    assert "nothing" in str(caught.value)
    assert not str(caught.value).startswith('"')


def test_a_directory_that_is_no_store_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(timestrata.NotAStoreError) as caught:
        timestrata.open(tmp_path)
    assert caught.value.path == str(tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["notes.txt"]


@pytest.mark.parametrize("mode", ["r", "r+"])
def test_a_store_that_is_not_there_is_not_found(path: Path, mode: str) -> None:
    with pytest.raises(timestrata.NotFoundError):
        timestrata.open(path, mode=mode)  # type: ignore[arg-type]
    assert not path.exists()


def test_mode_x_makes_a_new_store_and_nothing_else(path: Path) -> None:
    with timestrata.open(path, mode="x") as store:
        store.timelog("log").append(1, "a")
    with pytest.raises(timestrata.AlreadyExistsError):
        timestrata.open(path, mode="x")
    with timestrata.open(path, mode="r+") as store:
        assert list(store.timelog("log")) == [(1, "a")]


def test_a_damaged_file_is_named_with_the_byte(path: Path) -> None:
    with timestrata.open(path) as store:
        log = store.timelog("log")
        log.extend((n, "x" * 100) for n in range(1_000))
        store.flush()
    # The log that the history keeps holds the rows as well, and nobody reads them there.
    [damaged] = (path / "runs").iterdir()
    data = bytearray(damaged.read_bytes())
    data[len(data) // 2] ^= 1
    damaged.write_bytes(data)
    with pytest.raises(timestrata.CorruptionError) as caught:
        with timestrata.open(path, mode="r") as store:
            list(store.timelog("log"))
    assert caught.value.path is not None
    assert damaged.name in caught.value.path


def test_a_closed_store_says_so_whatever_is_asked(store: Store) -> None:
    log = store.timelog("log")
    log.append(1, "a")
    store.close()
    store.close()
    assert store.closed and log.closed
    assert (log.name, log.codec, log.unit, store.path) == ("log", "cbor", "ms", None)
    calls: list[Callable[[], object]] = [
        lambda: log.append(1, "a"),
        lambda: log.append("a"),
        lambda: log.extend([]),
        lambda: log[1],
        lambda: log[:],
        lambda: list(log),
        lambda: len(log),
        lambda: bool(log),
        lambda: log.delete(1),
        lambda: log.flush(),
        lambda: store.timelog("log"),
        lambda: store.streams,
        lambda: store.stats(),
        lambda: store.__enter__(),
    ]
    for call in calls:
        with pytest.raises(timestrata.ClosedError):
            call()
    assert "closed" in repr(store)
    assert "closed" in repr(log)


def test_an_exception_in_the_body_is_not_hidden_by_closing(path: Path) -> None:
    with pytest.raises(RuntimeError, match="mine"):
        with timestrata.open(path):
            raise RuntimeError("mine")
    timestrata.open(path).close()
