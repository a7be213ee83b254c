"""A disk that is really full: what needs room is refused and not made, all else goes on, and room ends it."""

import random
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from waiting import PATIENCE_S

import timestrata

THINGS = 40
ROUNDS_MAX = 4_000
SCHEMA = {"at": "timestamp[ms, tz=UTC]", "text": "string"}
SETTINGS = {
    "memtable_bytes_max": "1MiB",
    "memory_bytes_max": "4MiB",
    "wal_segment_bytes": "1MiB",
    "wal_bytes_max": "8MiB",
}


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 40 MiB in memory."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=40m", "tmpfs", str(folder)]
    try:
        mounted = subprocess.run(command, capture_output=True, text=True)
    except OSError as error:
        pytest.skip(f"'mount' can't be run: {error}")
    if mounted.returncode:
        pytest.skip(f"no file system can be mounted: {mounted.stderr.strip()}")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def texts(round: int) -> list[str]:
    """Texts that don't compress."""
    return [random.Random(f"{round}.{number}").randbytes(480).hex() for number in range(THINGS)]


class Model:
    """A model's own way to write `THINGS` things in one commit, and to count what it holds."""

    def __init__(self, store: timestrata.Store) -> None:
        self.acknowledged = 0

    def write(self, round: int) -> None:
        self.put(range(round * THINGS, (round + 1) * THINGS), texts(round))
        self.acknowledged += THINGS

    def put(self, numbers: range, texts: list[str]) -> None:
        raise NotImplementedError

    def count(self) -> int:
        raise NotImplementedError


class OfTimelog(Model):
    def __init__(self, store: timestrata.Store) -> None:
        super().__init__(store)
        self.model = store.timelog("door", unit="ns")

    def put(self, numbers: range, texts: list[str]) -> None:
        self.model.extend(numbers, texts)

    def count(self) -> int:
        return len(self.model)


class OfTable(Model):
    def __init__(self, store: timestrata.Store) -> None:
        super().__init__(store)
        self.model = store.table("rows", time="at", schema=SCHEMA)

    def put(self, numbers: range, texts: list[str]) -> None:
        self.model.append([{"at": at, "text": text} for at, text in zip(numbers, texts, strict=True)])

    def count(self) -> int:
        return self.model.count()


class OfLogs(Model):
    def __init__(self, store: timestrata.Store) -> None:
        super().__init__(store)
        self.model = store.logs("app")

    def put(self, numbers: range, texts: list[str]) -> None:
        self.model.write_many([{"message": text} for text in texts])

    def count(self) -> int:
        return self.model.count("*")


class OfTopic(Model):
    def __init__(self, store: timestrata.Store) -> None:
        super().__init__(store)
        self.model = store.topic("events")

    def put(self, numbers: range, texts: list[str]) -> None:
        self.model.send_batch([{"value": text} for text in texts])

    def count(self) -> int:
        return len(self.model.offsets())


class OfGraph(Model):
    def __init__(self, store: timestrata.Store) -> None:
        super().__init__(store)
        self.model = store.graph("code", keep_versions=1)

    def put(self, numbers: range, texts: list[str]) -> None:
        ids = [number.to_bytes(16, "big") for number in numbers]
        self.model.put_many([{"id": id, "content": text} for id, text in zip(ids, texts, strict=True)])

    def count(self) -> int:
        return len(self.model.view())


MODELS: list[Callable[[timestrata.Store], Model]] = [OfTimelog, OfTable, OfLogs, OfTopic, OfGraph]


def refuses(model: Model, round: int) -> bool:
    try:
        model.write(round)
    except timestrata.NoSpaceError as error:
        assert isinstance(error, OSError)
        assert error.hint
        return True
    return False


def fill(models: list[Model]) -> None:
    """Writes to all in turn until each has been refused."""
    refused = [False] * len(models)
    for round in range(ROUNDS_MAX):
        for place, model in enumerate(models):
            refused[place] |= refuses(model, round)
        if all(refused):
            return
    raise AssertionError(f"the disk didn't get full: {[model.acknowledged for model in models]}")


def counts(models: list[Model]) -> list[tuple[str, int]]:
    return [(type(model).__name__, model.count()) for model in models]


def acknowledged(models: list[Model]) -> list[tuple[str, int]]:
    return [(type(model).__name__, model.acknowledged) for model in models]


def test_all_models_outlive_a_full_disk_and_go_on_by_themselves(small_disk: Path) -> None:
    path = small_disk / "store"
    with timestrata.open(path, **SETTINGS) as store:
        models = [model(store) for model in MODELS]
        fill(models)
        kept = acknowledged(models)
        assert all(count > THINGS for _, count in kept), kept
        assert counts(models) == kept, "read while the disk is full"
        with pytest.raises(timestrata.NoSpaceError):
            while True:
                models[0].write(ROUNDS_MAX)
    with timestrata.open(path, **SETTINGS) as store:
        given = dict(acknowledged(models))
        models = [model(store) for model in MODELS]
        for model in models:
            model.acknowledged = given[type(model).__name__]
        assert counts(models) == acknowledged(models), "opened on the full disk"
        # Room is made: by a range delete, and by dropping.
        times, rows, *others = models
        assert isinstance(times, OfTimelog) and isinstance(rows, OfTable)
        times.model.delete(0, 2**62)
        times.acknowledged = 0
        assert times.count() == 0
        rows.model.drop()
        assert "rows" not in store.tables()
        begun = time.monotonic()
        for model in [times, *others]:
            # Files go in the background; a refused write says so at once and is made again.
            while refuses(model, ROUNDS_MAX + 1):
                assert time.monotonic() - begun < PATIENCE_S, f"{type(model).__name__} is refused for ever"
            assert model.count() == model.acknowledged, "after room was made"
        left = acknowledged([times, *others])
    with timestrata.open(path, **SETTINGS) as store:
        assert store.check().is_sound
        assert counts([model(store) for model in MODELS if model is not OfTable]) == left


def test_a_synced_write_to_a_full_disk_is_refused_as_one_and_the_store_is_not_poisoned(small_disk: Path) -> None:
    with timestrata.open(small_disk / "store", durability="synced", **SETTINGS) as store:
        log = store.timelog("door", unit="ns")
        filler = small_disk / "filler"
        with pytest.raises(OSError, match="space") as refused, filler.open("wb", buffering=0) as file:
            while True:
                file.write(bytes(1 << 16))
        assert not isinstance(refused.value, timestrata.TimestrataError)
        written = 0
        with pytest.raises(timestrata.NoSpaceError):
            while True:
                log.append(written, "x" * 1000)
                written += 1
        assert len(log) == written
        filler.unlink()
        begun = time.monotonic()
        while True:
            try:
                log.append(written, "y")
                break
            except timestrata.NoSpaceError:
                assert time.monotonic() - begun < PATIENCE_S
        assert len(log) == written + 1
