"""A witness that shares no code with ours: its keys are those of `cryptography`, its protocol is read from C2SP's tlog-witness."""

import base64
import hashlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

import timestrata

NAME, TIME = "witness.example", 1_700_000_000
COSIGNATURE = b"\x04"


class Witness:
    """What it has seen of each log, and how it answers."""

    def __init__(self) -> None:
        self._key = Ed25519PrivateKey.generate()
        self._public = self._key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
        self._id = hashlib.sha256(NAME.encode() + b"\n" + COSIGNATURE + self._public).digest()[:4]
        self.vkey = f"{NAME}+{self._id.hex()}+{base64.b64encode(COSIGNATURE + self._public).decode()}"
        self.seen: dict[str, tuple[int, bytes]] = {}
        self.unknown: set[str] = set()
        self.asked = 0

    def answer(self, body: str) -> tuple[int, str]:
        self.asked += 1
        head, note = body.split("\n\n", 1)
        old, *proof = head.split("\n")
        text, _signatures = note.split("\n\n", 1)
        origin, size, root = text.split("\n")[:3]
        begun = int(old.removeprefix("old "))
        if origin in self.unknown:
            return 404, "unknown log\n"
        size_seen, root_seen = self.seen.get(origin, (0, b""))
        if begun != size_seen:
            return 409, f"{size_seen}\n"
        new = (int(size), base64.b64decode(root))
        hashes = [base64.b64decode(line) for line in proof]
        if size_seen and not timestrata.verify_consistency(size_seen, root_seen, *new, hashes):
            return 422, "not a continuation\n"
        self.seen[origin] = new
        signed = self._key.sign(f"cosignature/v1\ntime {TIME}\n{text}\n".encode())
        line = base64.b64encode(self._id + TIME.to_bytes(8, "big") + signed).decode()
        return 200, f"\N{EM DASH} {NAME} {line}\n"


@pytest.fixture
def witness() -> Iterator[tuple[Witness, str]]:
    witness = Witness()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            assert self.path == "/witness/add-checkpoint"
            body = self.rfile.read(int(self.headers["content-length"])).decode()
            status, answer = witness.answer(body)
            self.send_response(status)
            self.send_header("content-length", str(len(answer.encode())))
            self.end_headers()
            self.wfile.write(answer.encode())

        def log_message(self, *said: Any) -> None: ...

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield witness, f"http://127.0.0.1:{server.server_port}/witness"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def key(tmp_path: Path) -> timestrata.SigningKey:
    return timestrata.SigningKey.generate(tmp_path / "key", "example.org/log")


@pytest.fixture
def payments(tmp_path: Path) -> Iterator[timestrata.Topic]:
    with timestrata.open(tmp_path / "s") as store:
        yield store.topic("payments", partitions=2)


def test_a_witness_of_another_make_cosigns_what_goes_on_from_what_it_saw(
    payments: timestrata.Topic, key: timestrata.SigningKey, witness: tuple[Witness, str]
) -> None:
    seen, url = witness
    payments.send_batch(["1", "2", "3"], partition=1)
    assert payments.cosign(url, seen.vkey, key) == {0: [NAME], 1: [NAME]}
    payments.send("4", partition=1)
    # The other partition is as it was, and is cosigned again.
    assert payments.cosign(url, [Witness().vkey, seen.vkey], key) == {0: [NAME], 1: [NAME]}
    assert seen.seen["example.org/log/payments/1"][0] == 4
    note = payments.last_checkpoint(1)
    assert note is not None and NAME in note
    record = payments.get(3, partition=1)
    assert record is not None
    # The log's own signature holds as before, and proofs carry the witness's.
    proof = payments.prove(3, 1)
    assert NAME in proof.checkpoint and timestrata.verify(proof, record, key.vkey)
    asked = seen.asked
    assert payments.cosign(url, seen.vkey, partition=1) == {1: [NAME]}
    # It says that it has seen 4 records, and is asked from there.
    assert seen.asked == asked + 2


def test_what_a_witness_refuses_is_told_and_holds_up_no_other_partition(
    payments: timestrata.Topic, key: timestrata.SigningKey, witness: tuple[Witness, str]
) -> None:
    seen, url = witness
    with pytest.raises(timestrata.OutOfRangeError, match="checkpoint"):
        payments.cosign(url, seen.vkey)
    seen.unknown = {"example.org/log/payments/0"}
    with pytest.raises(timestrata.NotFoundError, match="payments/0: .*unknown log"):
        payments.cosign(url, seen.vkey, key)
    assert NAME in (payments.last_checkpoint(1) or "")
    # It has seen another log of this name.
    seen.unknown = set()
    payments.send_batch(["1", "2"], partition=0)
    seen.seen["example.org/log/payments/0"] = (1, b"\0" * 32)
    with pytest.raises(timestrata.ConflictError, match="422"):
        payments.cosign(url, seen.vkey, key, 0)
    seen.seen["example.org/log/payments/0"] = (7, b"\0" * 32)
    with pytest.raises(timestrata.ConflictError, match="has seen 7 records"):
        payments.cosign(url, seen.vkey, key, 0)
    other = Witness()
    with pytest.raises(timestrata.InvalidArgumentError, match="by a key that was given"):
        payments.cosign(url, other.vkey, partition=1)
    for wrong in ("no key", key.vkey, []):
        with pytest.raises(timestrata.InvalidArgumentError, match="vkey"):
            payments.cosign(url, wrong, partition=1)
    with pytest.raises(timestrata.InvalidArgumentError):
        payments.cosign("witness.example", seen.vkey)
