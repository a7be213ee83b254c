"""Topics of a server."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from timestrata import awaiting
from timestrata._timestrata import Proof, Receipt, Record, Rows, _Server
from timestrata.errors import NotFoundError, OutOfRangeError
from timestrata.remote.connection import TEXT, Connection, Remote, ns_text, quoted
from timestrata.remote.consumer import RemoteConsumer
from timestrata.remote.producer import RemoteProducer, send_records
from timestrata.remote.reading import record_of

if TYPE_CHECKING:
    from timestrata._timestrata import Recordlike, Retained, TableTime

__all__ = ["RemoteTopic", "open_topic"]

# Of an argument that was left out, where None says something.
_UNSAID: Any = ...


def open_topic(
    connection: Connection, name: str, options: Mapping[str, Any], create: bool
) -> RemoteTopic:
    """Give the topic of a name, as it is or as it is asked for; made if it is missing and may be."""
    try:
        found = connection.get("topics", name)
    except NotFoundError:
        if not create or connection.at is not None:
            raise
        connection.send("PUT", "topics", name, body=dict(options), repeats=True)
        return RemoteTopic(connection, name)
    wanted = {option: value for option, value in options.items() if found[option] != value}
    if wanted:
        # Changes what can be changed, or says what can't.
        connection.send("PATCH", "topics", name, body=wanted, repeats=True)
    return RemoteTopic(connection, name)


class RemoteTopic(Remote):
    """A topic of a server. Made by `RemoteStore.topic`; its methods are those of `Topic`."""

    MISSING: ClassVar[Mapping[str, str]] = {
        "audit": "whoever asks would have to trust its word: audit a backup's directory, or verify the log at /topics/NAME/log/0/",
        "cosign": "ask the witness where the store's directory is, while no server has it open",
        "entry": "the server gives the log's entries at /topics/NAME/log/PARTITION/tile/entries/N",
        "export_tiles": "the server gives the tiles at /topics/NAME/log/PARTITION/",
    }

    def __init__(self, connection: Connection, name: str) -> None:
        super().__init__(connection)
        self._name = name

    def _get(self, *path: str, **parameters: Any) -> Any:
        return self._connection.get("topics", self._name, *path, **parameters)

    @property
    def name(self) -> str:
        """Its name."""
        return self._name

    @property
    def partitions(self) -> int:
        """How many partitions it has."""
        return int(self._get()["partitions"])

    def describe(self) -> dict[str, Any]:
        """Give what it was made as, with what has been changed since: spans in seconds, None for no bound."""
        said: dict[str, Any] = self._get()
        del said["partitions"]
        said["offsets"] = [range(one["first"], one["end"]) for one in said["offsets"]]
        return said

    def producer(
        self,
        *,
        producer_id: str | None = None,
        durability: Literal["synced", "written"] = "synced",
    ) -> RemoteProducer:
        """Give a producer, which sends records. With a ``producer_id`` a send whose answer was lost is stored once."""
        return RemoteProducer(self._connection, self._name, producer_id, self.partitions)

    def send(self, record: Recordlike, *, partition: int | None = None) -> Receipt:
        """Append one record and give its receipt, as `Topic.send` does."""
        return self.send_batch([record], partition=partition)[0]

    async def send_async(self, record: Recordlike, *, partition: int | None = None) -> Receipt:
        """`send` without holding up an event loop; a task that is cancelled waits for its end."""
        return await awaiting.write(self.send, record, partition=partition)

    def send_batch(
        self, records: Iterable[Recordlike], *, partition: int | None = None
    ) -> list[Receipt]:
        """Append records, all of them or none, with one sync. Gives their receipts, in order."""
        return send_records(self._connection, self._name, records, partition)

    async def send_batch_async(
        self, records: Iterable[Recordlike], *, partition: int | None = None
    ) -> list[Receipt]:
        """`send_batch` without holding up an event loop; a task that is cancelled waits for its end."""
        return await awaiting.write(self.send_batch, records, partition=partition)

    def consumer(
        self,
        group: str | None = None,
        *,
        member: str | None = None,
        reset: Literal["earliest", "latest", "error"] = "earliest",
        strategy: Literal["sticky", "range", "round_robin"] = "sticky",
        session: float = 30.0,
        poll_interval_max: float = 300.0,
        auto_commit: float | None = None,
        idle_timeout: float | None = None,
    ) -> RemoteConsumer:
        """Read the topic from now on: on from where the group was, or alone, as `Topic.consumer` does."""
        return RemoteConsumer(
            self._connection,
            self._name,
            group,
            member=member,
            reset=reset,
            strategy=strategy,
            session=session,
            poll_interval_max=poll_interval_max,
            auto_commit=auto_commit,
            idle_timeout=idle_timeout,
        )

    def _of_partition(self, partition: int, **parameters: Any) -> dict[str, Any]:
        for one in self._get("offsets", **parameters):
            if one["partition"] == partition:
                found: dict[str, Any] = one
                return found
        raise NotFoundError(
            f"topic {self._name!r} has no partition {partition}", hint="check the number"
        )

    def offsets(self, partition: int = 0) -> range:
        """Give the offsets that there are: from the first that is kept to before the next."""
        one = self._of_partition(partition)
        return range(one["first"], one["end"])

    def offset_at_time(self, time: TableTime, partition: int = 0) -> int | None:
        """Give the offset of the first record whose time is this or later; None if there is none."""
        at = ns_text(_Server.time_ns(time))
        offset: int | None = self._of_partition(partition, time=at)["at_time"]
        return offset

    def get(self, offset: int, partition: int = 0) -> Record | None:
        """Give one record; None where it is not kept any more."""
        try:
            return record_of(self._get("records", str(offset), partition=partition))
        except NotFoundError:
            end = self.offsets(partition).stop
        if offset >= end:
            raise OutOfRangeError(
                f"topic {self._name!r} partition {partition} ends at {end}: there is no record {offset} yet",
                hint="ask for the offsets that there are",
            )
        return None

    def scan(
        self,
        start: int | None = None,
        end: int | None = None,
        *,
        partition: int = 0,
        limit: int | None = None,
    ) -> Rows:
        """Read records as rows, from offset ``start`` to before ``end``. It is done in SQL."""
        said = [f"partition = {int(partition)}"]
        said += [f'"offset" >= {int(start)}'] if start is not None else []
        said += [f'"offset" < {int(end)}'] if end is not None else []
        bound = "" if limit is None else f" LIMIT {int(limit)}"
        return self._connection.sql(
            'SELECT "offset", timestamp, "key", value, headers '
            f'FROM {quoted(self._name)} WHERE {" AND ".join(said)} ORDER BY "offset"{bound}'
        )

    def root(self, partition: int = 0, size: int | None = None) -> tuple[int, bytes]:
        """Give size and root of a partition's tree, now or at a size."""
        said = self._get("root", partition=partition, size=size)
        return int(said["size"]), base64.b64decode(said["root"])

    def inclusion_proof(self, offset: int, size: int, partition: int = 0) -> list[bytes]:
        """Give the hashes that prove a record to be in the tree of a size."""
        said = self._get("inclusion", offset=offset, size=size, partition=partition)
        return [base64.b64decode(each) for each in said["hashes"]]

    def consistency_proof(self, old: int, new: int, partition: int = 0) -> list[bytes]:
        """Give the hashes that prove the tree of ``old`` records to be the beginning of that of ``new``."""
        said = self._get("consistency", old=old, new=new, partition=partition)
        return [base64.b64decode(each) for each in said["hashes"]]

    def checkpoint(self, partition: int = 0) -> str:
        """Have the server sign what a partition is now, by its own key (``topics.key_file``). Gives the signed note."""
        return str(
            self._connection.send(
                "POST", "topics", self._name, "checkpoint", accept=TEXT, partition=partition
            )
        )

    def checkpoint_all(self) -> list[str]:
        """Have the server sign each partition that has records since its last checkpoint. Gives the last of each."""
        signed = self._connection.send("POST", "topics", self._name, "checkpoints")
        return [one["checkpoint"] for one in signed]

    def log_vkey(self, partition: int = 0) -> str:
        """Give the public key by which checkpoints of a partition are verified: that of the server under the log's name."""
        return str(self._get("vkey", accept=TEXT, partition=partition)).strip()

    def last_checkpoint(self, partition: int = 0) -> str | None:
        """Give the last checkpoint of a partition, a signed note; None without one."""
        try:
            return str(self._get("checkpoint", accept=TEXT, partition=partition))
        except NotFoundError:
            if partition < self.partitions:
                return None
            raise

    def prove(self, offset: int, partition: int = 0) -> Proof:
        """Give a proof that stands alone of a record, by the last checkpoint."""
        return Proof(self._get("proof", accept=TEXT, offset=offset, partition=partition))

    def groups(self) -> dict[str, dict[int, int]]:
        """List the groups that have committed something: a dict of partition and next offset each."""
        found = {
            one["group"]: {each["partition"]: each["committed"] for each in one["offsets"]}
            for one in self._get("groups")
        }
        return {group: offsets for group, offsets in found.items() if offsets}

    def members(self, group: str) -> dict[str, list[tuple[str, int]]]:
        """List the members of a group, each with the partitions that it reads."""
        return {
            one["member"]: [(self._name, partition) for partition in one["partitions"]]
            for one in self._get("groups", group)["members"]
        }

    def reset_group(self, group: str, offset: int | TableTime, partition: int = 0) -> int:
        """Put a group at an offset, "earliest", "latest" or a time in a partition, back too. Gives the offset."""
        body: dict[str, Any] = {"partition": partition}
        if isinstance(offset, int):
            body["offset"] = offset
        else:
            is_word = offset in ("earliest", "latest")
            body["to"] = offset if is_word else ns_text(_Server.time_ns(offset))
        said = self._connection.send(
            "PUT", "topics", self._name, "groups", group, body=body, repeats=True
        )
        return next(
            int(one["committed"]) for one in said["offsets"] if one["partition"] == partition
        )

    def delete_group(self, group: str) -> int:
        """Forget what a group without members has committed in this topic, durably. Gives of how many partitions."""
        said = self._connection.send("DELETE", "topics", self._name, "groups", group)
        return int(said["partitions"])

    def set_partitions(self, partitions: int) -> None:
        """Add partitions, so that there are so many."""
        self._change(partitions=partitions)

    def set_retention(
        self,
        *,
        age: float | None = _UNSAID,
        bytes: int | None = _UNSAID,
        records: int | None = _UNSAID,
        compact: bool = _UNSAID,
        groups_age: float | None = _UNSAID,
    ) -> None:
        """Say what may be thrown away; None: no bound. What is not named stays as it is."""
        options: dict[str, Any] = {
            "retention_age": age,
            "retention_bytes": bytes,
            "retention_records": records,
            "compact": compact,
            "retention_groups_age": groups_age,
        }
        self._change(**{name: value for name, value in options.items() if value is not ...})

    def _change(self, **options: Any) -> None:
        self._connection.send("PATCH", "topics", self._name, body=options, repeats=True)

    def retain(self) -> Retained:
        """Throw away now what retention lets go."""
        said: Retained = self._connection.send("POST", "topics", self._name, "retain")
        return said

    def drop(self) -> None:
        """Remove the topic and its records, durably."""
        self._connection.send("DELETE", "topics", self._name)

    def __repr__(self) -> str:
        return f"<RemoteTopic {self._name!r} of {self._connection.server.url}>"
