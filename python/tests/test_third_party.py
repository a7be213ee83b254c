"""Software that nobody here wrote accepts what topics give out, and refuses what was tampered with.

The Go program in ``third_party/go`` uses Go's own transparency log and that of transparency.dev. It
is given a folder with a log's exported tiles, and with its entries, roots and proofs as JSON.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import pytest

import timestrata

Go = Callable[..., subprocess.CompletedProcess[str]]

GO_SOURCES = Path(__file__).parent / "third_party" / "go"
KEY_NAME = "example.org/log"
ORIGIN = f"{KEY_NAME}/t/0"
TILE = 256
# No modules but those of go.sum, no stamp of the clone, and a cache that can be deleted.
GO_ENVIRONMENT = {"GOFLAGS": "-mod=readonly -modcacherw -buildvcs=false", "GOTOOLCHAIN": "local"}

NOTE_CHECKS = [
    "note.Open accepts the checkpoint",
    "tlog.ParseTree finds size and root in it",
    "note.Open refuses another key",
    "note.Open refuses the key under its own name",
    "note.Open refuses another log's checkpoint",
    "note.Open refuses each changed byte of the text",
    "note.Open refuses each changed byte of the signature",
    "note.Open refuses another size",
    "note.Open refuses another root",
    "note.Open refuses another origin",
    "note.Open refuses a line more",
    "note.Open refuses a signature in another name",
    "note.Open refuses another log's signature",
    "note.Open refuses no signature",
    "note.Open refuses a cut note",
]
BUNDLE_CHECKS = [
    "each entry of the bundles is a leaf",
    "each given entry is that of its bundle",
    "a changed byte of each bundle is no leaf",
    "a cut bundle is refused",
]
TILE_CHECKS = [
    "the folder has the files of tlog.NewTiles and no more",
    "tlog.TreeHash of the tiles is the root",
    "tlog.TreeHash of the tiles is each older root",
    "tlog.TileHashReader accepts each tile",
    "compact.Range over the tiles gives the root",
    "tlog.TileHashReader refuses a changed byte of each tile",
    "tlog.TileHashReader refuses a cut tile",
    "tlog.TileHashReader refuses another root",
    *BUNDLE_CHECKS,
    "tlog.ProveRecord makes the same proofs",
    "tlog.ProveTree makes the same proofs",
]
PROOF_CHECKS = [
    "refuses a changed hash",
    "refuses a proof cut at its end",
    "refuses a proof cut at its start",
    "refuses a longer proof",
    "refuses a proof with a hash before it",
    "refuses a proof in another order",
]
INCLUSION_CHECKS = [
    "accepts each proof",
    "refuses another record",
    "refuses a longer record",
    "refuses another index",
    "refuses an index behind the last",
    "refuses another size",
    "refuses another root",
    *PROOF_CHECKS,
]
GROWTH_CHECKS = [
    "accepts each proof",
    "refuses another old root",
    "refuses another new root",
    "refuses roots the other way round",
    "refuses sizes the other way round",
    "refuses another old size",
    "refuses another new size",
    *PROOF_CHECKS,
]
INCLUSION_VERIFIERS = ["tlog.CheckRecord", "proof.VerifyInclusion"]
GROWTH_VERIFIERS = ["tlog.CheckTree", "proof.VerifyConsistency"]
CHECKS = [
    *NOTE_CHECKS,
    *TILE_CHECKS,
    *map(" ".join, product(INCLUSION_VERIFIERS, INCLUSION_CHECKS)),
    "each proof file holds",
    *map(" ".join, product(GROWTH_VERIFIERS, GROWTH_CHECKS)),
]
# What can't be done to the proofs of the smallest trees: those of one entry have no hashes.
NEVER = {
    1: [
        "refuses a changed hash",
        "refuses a proof cut at its end",
        "refuses a proof cut at its start",
        "refuses a proof in another order",
        "refuses another index",
        "refuses roots the other way round",
        "refuses sizes the other way round",
        "refuses another old size",
    ],
    2: ["refuses a proof in another order"],
}


@pytest.fixture(scope="session")
def go(tmp_path_factory: pytest.TempPathFactory) -> Go:
    """The Go program, built."""
    command = shutil.which("go")
    if command is None:
        pytest.skip("there is no go: nothing checks topics that wasn't written here")
    environment = {**os.environ, **GO_ENVIRONMENT}

    def run(*command: str | Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command,
            cwd=GO_SOURCES,
            env=environment,
            capture_output=True,
            text=True,
            timeout=600,
        )

    def numbers(text: str) -> list[int]:
        found = re.search(r"\bgo ?(\d+)\.(\d+)", text)
        return [int(number) for number in found.groups()] if found else []

    version = run(command, "env", "GOVERSION").stdout.strip()
    wanted = numbers((GO_SOURCES / "go.mod").read_text())
    if numbers(version) < wanted:
        pytest.skip(f"go is {version}: the modules want {wanted[0]}.{wanted[1]} or later")
    program = tmp_path_factory.mktemp("go") / "third-party"
    built = run(command, "build", "-o", program, ".")
    assert built.returncode == 0, built.stderr
    return lambda *arguments: run(program, *arguments)


@dataclass
class Log:
    """A topic as it is shown to others: what was taken of it, and where it is written."""

    topic: timestrata.Topic
    folder: Path
    entries: dict[int, bytes] = field(default_factory=dict)
    inclusions: list[dict[str, Any]] = field(default_factory=list)
    growths: list[dict[str, Any]] = field(default_factory=list)

    def take_entries(self, offsets: Iterable[int]) -> None:
        self.entries.update((offset, self.topic.entry(offset)) for offset in offsets)

    def take_inclusion(self, offset: int, size: int) -> None:
        proof = self.topic.inclusion_proof(offset, size)
        self.inclusions.append({
            "index": offset,
            "entry": self.entries[offset].hex(),
            "size": size,
            "root": self.topic.root(size=size)[1].hex(),
            "proof": [part.hex() for part in proof],
        })

    def take_growth(self, old: int, new: int) -> None:
        self.growths.append({
            "old": old,
            "old_root": self.topic.root(size=old)[1].hex(),
            "new": new,
            "new_root": self.topic.root(size=new)[1].hex(),
            "proof": [part.hex() for part in self.topic.consistency_proof(old, new)],
        })

    def write(self, store: timestrata.Store) -> Mapping[str, object]:
        """Sign it, and write all that was taken."""
        self.folder.mkdir()
        key = timestrata.SigningKey.generate(self.folder / "key", KEY_NAME)
        other = timestrata.SigningKey.generate(self.folder / "other", KEY_NAME)
        sibling = store.topic("sibling")
        sibling.send(b"of another log")
        note = self.topic.checkpoint(key)
        size, root = self.topic.root()
        assert note.startswith(f"{ORIGIN}\n{size}\n")
        proofs = [
            {"index": offset, "entry": entry.hex(), "text": str(self.topic.prove(offset))}
            for offset, entry in self.entries.items()
        ]
        log = {
            "vkey": key.vkey,
            "other_vkey": other.vkey,
            "origin": ORIGIN,
            "sibling": sibling.checkpoint(key),
            "size": size,
            "root": root.hex(),
            "first_kept": self.topic.offsets().start,
            "inclusions": self.inclusions,
            "growths": self.growths,
            "proof_files": proofs,
        }
        (self.folder / "log.json").write_text(json.dumps(log))
        return self.topic.export_tiles(self.folder / "tiles")


def sent(topic: timestrata.Topic, count: int) -> None:
    """Send records of which some lack this part or that."""
    first = topic.offsets().stop
    records: list[dict[str, Any]] = [
        {
            "value": None if n % 7 == 3 else f"value {n}" * (n % 3),
            "key": None if n % 5 == 2 else f"key {n % 11}",
            "headers": {"n": str(n)} if n % 4 == 1 else {},
            "timestamp": n * 1_000,
        }
        for n in range(first, first + count)
    ]
    topic.producer(durability="written").send_batch(records)


def whole(store: timestrata.Store, folder: Path, size: int) -> Log:
    """A log of so many records of which none is gone, with proofs of all kinds of places."""
    log = Log(store.topic("t"), folder)
    sent(log.topic, size)
    edges = {0, 1, 2, 100, TILE - 1, TILE, TILE + 1, size // 2, size - 2, size - 1}
    offsets = sorted(offset for offset in edges if 0 <= offset < size)
    log.take_entries(offsets)
    for offset in offsets:
        for tree in sorted({offset + 1, (offset + 1 + size) // 2, size}):
            log.take_inclusion(offset, tree)
    trees = [offset + 1 for offset in offsets]
    for old, new in [*pairwise(trees), *((old, size) for old in trees)]:
        log.take_growth(old, new)
    return log


def counts(done: subprocess.CompletedProcess[str]) -> dict[str, int]:
    """How often each check was made, all of which held."""
    assert done.returncode == 0, done.stdout[-300:] + done.stderr
    lines = [line.split(" ", 1) for line in done.stdout.splitlines()]
    # The order too: what is listed twice would hide one that is gone.
    assert [name for _, name in lines] == CHECKS
    return {name: int(times) for times, name in lines}


def never(times: dict[str, int]) -> list[str]:
    return [name for name, count in times.items() if count == 0]


@pytest.mark.parametrize("size", [1, 2, 255, 256, 257, 512, 65_537])
def test_others_accept_our_logs_and_refuse_tampered_ones(
    tmp_path: Path, go: Go, size: int
) -> None:
    with timestrata.open(tmp_path / "s") as store:
        log = whole(store, tmp_path / "log", size)
        assert log.write(store)["gone"] == 0
    times = counts(go("verify", log.folder))
    assert times["each entry of the bundles is a leaf"] == size
    assert times["compact.Range over the tiles gives the root"] == size
    assert times["each given entry is that of its bundle"] == len(log.inclusions)
    assert times["each proof file holds"] == len(log.entries)
    for verifier in INCLUSION_VERIFIERS:
        assert times[f"{verifier} accepts each proof"] == len(log.inclusions)
        hashes = sum(len(each["proof"]) for each in log.inclusions)
        assert times[f"{verifier} refuses a changed hash"] == hashes
    for verifier in GROWTH_VERIFIERS:
        assert times[f"{verifier} accepts each proof"] == len(log.growths)
        hashes = sum(len(each["proof"]) for each in log.growths)
        assert times[f"{verifier} refuses a changed hash"] == hashes
    verifiers = [*INCLUSION_VERIFIERS, *GROWTH_VERIFIERS]
    names = map(" ".join, product(verifiers, NEVER.get(size, [])))
    assert set(never(times)) == set(names) & set(CHECKS)


def test_others_accept_proofs_of_records_that_are_gone(tmp_path: Path, go: Go) -> None:
    with timestrata.open(tmp_path / "s") as store:
        log = Log(store.topic("t", retention_records=10), tmp_path / "log")
        sent(log.topic, 1_000)
        offsets = [0, 5, TILE - 1, TILE, 767, 768, 989, 990, 999]
        log.take_entries(offsets)
        for offset in offsets:
            log.take_inclusion(offset, 1_000)
        before = list(log.inclusions)
        assert log.topic.retain() == {"expired": 990, "superseded": 0, "groups": 0}
        log.inclusions.clear()
        for offset in offsets:
            log.take_inclusion(offset, 1_000)
        # What is proven of a record is the same, whether it is there or not.
        assert log.inclusions == before
        assert log.topic.get(989) is None
        sent(log.topic, 300)
        for offset in offsets:
            log.take_inclusion(offset, 1_300)
        for old, new in product([1, 500, 768, 989, 1_000, 1_299], [1_000, 1_300]):
            if old <= new:
                log.take_growth(old, new)
        done = log.write(store)
    # Five full tiles and a partial one of leaves, the one above them, and two files of entries.
    assert done == {"size": 1_300, "tiles": 9, "gone": 4}
    bundles = log.folder / "tiles" / "tile" / "entries"
    assert sorted(path.name for path in bundles.iterdir()) == ["004", "005.p"]
    times = counts(go("verify", log.folder))
    assert times["each entry of the bundles is a leaf"] == 1_300 - 4 * TILE
    assert times["compact.Range over the tiles gives the root"] == 1_300
    assert times["each proof file holds"] == len(offsets)
    # All records whose proofs were taken are in bundles that are gone.
    assert never(times) == ["each given entry is that of its bundle"]


def test_others_accept_a_log_that_keeps_no_whole_bundle(tmp_path: Path, go: Go) -> None:
    with timestrata.open(tmp_path / "s") as store:
        log = Log(store.topic("t", retention_records=1), tmp_path / "log")
        sent(log.topic, 400)
        log.take_entries([0, 300, 399])
        log.topic.retain()
        assert log.topic.offsets() == range(399, 400)
        for offset, size in [(0, 400), (300, 301), (300, 400), (399, 400)]:
            log.take_inclusion(offset, size)
        log.take_growth(300, 400)
        assert log.write(store)["gone"] == 2
    assert not (log.folder / "tiles" / "tile" / "entries").exists()
    times = counts(go("verify", log.folder))
    assert never(times) == BUNDLE_CHECKS


def flip(path: Path, at: int) -> None:
    changed = bytearray(path.read_bytes())
    changed[at] ^= 1
    path.write_bytes(changed)


def edit(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    log = json.loads((folder / "log.json").read_text())
    change(log)
    (folder / "log.json").write_text(json.dumps(log))


def swap_proofs(log: dict[str, Any]) -> None:
    first, *_, last = log["inclusions"]
    first["proof"], last["proof"] = last["proof"], first["proof"]


TAMPERINGS: dict[str, Callable[[Path], object]] = {
    "note.Open accepts the checkpoint": lambda to: flip(to / "tiles" / "checkpoint", 5),
    "tlog.ParseTree finds size and root in it": lambda to: edit(
        to, lambda log: log.update(size=log["size"] - 1)
    ),
    "the folder has the files of tlog.NewTiles and no more": lambda to: (
        to / "tiles" / "tile" / "0" / "001.p" / "44"
    ).unlink(),
    "tlog.TreeHash of the tiles is the root": lambda to: flip(
        to / "tiles" / "tile" / "0" / "001.p" / "44", 7
    ),
    "tlog.TileHashReader accepts each tile": lambda to: flip(
        to / "tiles" / "tile" / "0" / "000", TILE * 32 - 1
    ),
    "tlog.TreeHash of the tiles is each older root": lambda to: edit(
        to, lambda log: log["growths"][0].update(old_root=log["root"])
    ),
    "each entry of the bundles is a leaf": lambda to: flip(
        to / "tiles" / "tile" / "entries" / "000", 100
    ),
    "each given entry is that of its bundle": lambda to: edit(
        to, lambda log: log["inclusions"][0].update(entry=log["inclusions"][-1]["entry"])
    ),
    "tlog.ProveRecord makes the same proofs": lambda to: edit(to, swap_proofs),
    "tlog.ProveTree makes the same proofs": lambda to: edit(
        to, lambda log: log["growths"][-2]["proof"].pop()
    ),
    "each proof file holds": lambda to: edit(
        to, lambda log: log["proof_files"][0].update(text=log["proof_files"][1]["text"])
    ),
}


@pytest.mark.parametrize("check", TAMPERINGS)
def test_the_verifier_stops_at_what_was_changed(tmp_path: Path, go: Go, check: str) -> None:
    with timestrata.open(tmp_path / "s") as store:
        log = whole(store, tmp_path / "log", 300)
        # None of an older tree whose root needs single hashes of the first tile: that one is to be
        # missed only where each tile is read.
        log.inclusions = [each for each in log.inclusions if each["size"] == 300]
        log.growths = [each for each in log.growths if each["old"] >= TILE]
        log.write(store)
    counts(go("verify", log.folder))
    TAMPERINGS[check](log.folder)
    done = go("verify", log.folder)
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1].startswith(f"WRONG {check}: ")


@pytest.mark.parametrize("is_theirs", [True, False])
def test_a_key_signs_the_same_here_and_there(tmp_path: Path, go: Go, is_theirs: bool) -> None:
    path = tmp_path / "key"
    if is_theirs:
        made = go("generate", KEY_NAME, path)
        assert made.returncode == 0, made.stderr
        key = timestrata.SigningKey.open(path)
        assert f"{key.vkey}\n" == made.stdout
    else:
        key = timestrata.SigningKey.generate(path, KEY_NAME)
    assert key.name == KEY_NAME
    with timestrata.open(tmp_path / "s") as store:
        topic = store.topic("t")
        sent(topic, 300)
        ours = topic.checkpoint(key)
    text, _, _ = ours.partition("\n\n")
    (tmp_path / "text").write_text(f"{text}\n")
    theirs = go("sign", path, ORIGIN, tmp_path / "text")
    assert theirs.returncode == 0, theirs.stderr
    assert theirs.stdout == ours


def test_pymerkle_gives_the_same_roots_and_proofs() -> None:
    pymerkle = pytest.importorskip("pymerkle", reason="pymerkle is not installed: no second tree")
    last = 1_025
    with timestrata.open() as store:
        topic = store.topic("t")
        sent(topic, last)
        entries = [topic.entry(offset) for offset in range(last)]
        theirs = pymerkle.InmemoryTree(algorithm="sha256")
        theirs.append_entries(entries)
        sizes = [*range(1, 601), 767, 768, 769, 1_000, 1_023, 1_024, 1_025]
        for size in sizes:
            assert topic.root(size=size) == (size, theirs.get_root(size))
        for size in [1, 2, 3, 255, 256, 257, 600, 1_025]:
            for offset in {0, 1, size // 3, size // 2, size - 1} & set(range(size)):
                proof = theirs.prove_inclusion(offset + 1, size)
                # Theirs begins with the leaf itself.
                leaf, *path = proof.path
                ours = topic.inclusion_proof(offset, size)
                assert ours == path
                root = topic.root(size=size)[1]
                proof.path = [leaf, *ours]
                where = {"index": offset + 1, "size": size}
                pymerkle.verify_inclusion(leaf, root, proof, **where)
                for other in ([leaf, *ours, leaf], [bytes(32), *ours], ours):
                    proof.path = other
                    with pytest.raises(pymerkle.InvalidProof):
                        pymerkle.verify_inclusion(leaf, root, proof, **where)


def test_pymerkle_finds_our_trees_consistent() -> None:
    pymerkle = pytest.importorskip("pymerkle", reason="pymerkle is not installed: no second tree")
    with timestrata.open() as store:
        topic = store.topic("t")
        sent(topic, 600)
        theirs = pymerkle.InmemoryTree(algorithm="sha256")
        theirs.append_entries(topic.entry(offset) for offset in range(600))
        sizes = [1, 2, 3, 100, 255, 256, 257, 511, 512, 513, 600]
        for old, new in product(sizes, sizes):
            if old > new:
                continue
            # Their proofs have other hashes in another order than RFC 6962 says: only what they
            # show can be held against ours.
            proof = theirs.prove_consistency(old, new)
            old_root, new_root = topic.root(size=old)[1], topic.root(size=new)[1]
            where = {"prior_size": old, "later_size": new}
            pymerkle.verify_consistency(old_root, new_root, proof, **where)
            ours = topic.consistency_proof(old, new)
            assert timestrata.verify_consistency(old, old_root, new, new_root, ours)
            if old < new:
                with pytest.raises(pymerkle.InvalidProof):
                    pymerkle.verify_consistency(new_root, old_root, proof, **where)
                assert not timestrata.verify_consistency(old, new_root, new, old_root, ours)
