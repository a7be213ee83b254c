"""Blocks and edges of a server's graph, as requests and answers have them."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, cast
from uuid import UUID

from timestrata._timestrata import Block, Edge, Rows, _Server
from timestrata.errors import InvalidArgumentError, TooLargeError
from timestrata.remote.connection import bytes_of, dumps, names_text, time_ns

if TYPE_CHECKING:
    from timestrata._timestrata import BlockId, Blocklike, Edgelike, Kinds

__all__ = [
    "ITEMS_MAX",
    "block_line",
    "block_of",
    "each_of",
    "edge_key",
    "edge_line",
    "edge_of",
    "expect_whole",
    "id_text",
    "kinds_text",
    "object_text",
]

# Blocks and edges of an answer at most, as the server has it.
ITEMS_MAX = 1_000_000
_BLOCK_PARTS = ("id", "content", "version", "source_uri", "metadata")
_EDGE_PARTS = ("source", "kind", "target", "weight", "valid_from", "properties")


def id_text(id: BlockId) -> str:
    """Give an id as a path has it."""
    if isinstance(id, UUID):
        return id.hex
    if isinstance(id, str):
        # With hyphens and in capitals too, as the embedded graph takes it.
        return id
    if isinstance(id, (bytes, bytearray, memoryview)):
        found = bytes(id)
        if len(found) != 16:
            raise InvalidArgumentError(f"the id of a block is 16 bytes, not {len(found)}")
        return found.hex()
    raise TypeError(
        "the id of a block is 16 bytes, a str of 32 hexadecimal digits or a uuid.UUID, not "
        f"{type(id).__name__!r}"
    )


def each_of(given: Any) -> Iterable[Any]:
    """Give blocks or edges one by one, those of Arrow data too."""
    if given is None:
        return ()
    if hasattr(given, "__arrow_c_stream__") or hasattr(given, "__arrow_c_array__"):
        return Rows._of(given)
    if isinstance(given, (str, bytes, bytearray, memoryview, Mapping, Block, Edge)):
        raise TypeError(f"a list of them is needed, not {type(given).__name__!r}")
    return cast(Iterable[Any], given)


def object_text(given: Mapping[str, Any] | str | None) -> str | None:
    """Give a JSON object as text."""
    if given is None or isinstance(given, str):
        return given
    if not isinstance(given, Mapping):
        raise TypeError(f"metadata and properties are mappings or JSON text, not {type(given).__name__!r}")
    return dumps(dict(given))


def block_line(given: Blocklike) -> tuple[bytes, str]:
    """Give a block's id, and its line in a body of changes."""
    if isinstance(given, Block):
        parts: dict[str, Any] = {
            "id": given.id,
            "content": given.content,
            "version": given.version,
            "source_uri": given.source_uri,
            "metadata": given.metadata,
        }
    elif isinstance(given, Mapping):
        parts = dict(given)
        for name in parts:
            if name not in _BLOCK_PARTS and name != "is_text":
                raise ValueError(f"a block has no part {name!r}: it has {', '.join(_BLOCK_PARTS)}")
    else:
        parts = {"content": given}
    content = parts.get("content")
    if content is None:
        raise ValueError("a block has no content")
    held = content if isinstance(content, str) else bytes(content)
    if parts.get("is_text") and isinstance(held, bytes):
        held = held.decode()
    id = parts.get("id")
    plain = held.encode() if isinstance(held, str) else held
    own = hashlib.sha256(plain).digest()[:16] if id is None else bytes.fromhex(id_text(id).replace("-", ""))
    said = [f'"block":{dumps(own.hex())}']
    said += [f'"{name}":{dumps(parts[name])}' for name in ("version", "source_uri") if parts.get(name) is not None]
    metadata = object_text(parts.get("metadata"))
    if metadata is not None:
        said.append(f'"metadata":{_on_one_line(metadata)}')
    said.append(f'"content":{dumps(_content_json(held))}')
    return own, "{" + ",".join(said) + "}"


def _content_json(held: str | bytes) -> Any:
    if isinstance(held, str):
        return held
    # Bytes that are UTF-8 too: a text is another content.
    return {"base64": base64.b64encode(held).decode()}


def _on_one_line(text: str) -> str:
    # No text of JSON has a line end in it.
    return text.replace("\n", " ").replace("\r", " ")


def _edge_parts(given: Edgelike) -> dict[str, Any]:
    """Give the parts of an edge, by their names."""
    if isinstance(given, Edge):
        return {name: getattr(given, name) for name in _EDGE_PARTS}
    if isinstance(given, Mapping):
        for name in given:
            if name not in _EDGE_PARTS:
                raise ValueError(f"an edge has no part {name!r}: it has {', '.join(_EDGE_PARTS)}")
        return dict(given)
    parts = list(given)
    if not 3 <= len(parts) <= len(_EDGE_PARTS):
        raise ValueError(f"an edge has {', '.join(_EDGE_PARTS)}, of which three are needed")
    return dict(zip(_EDGE_PARTS, parts, strict=False))


def edge_key(given: Edgelike) -> dict[str, str]:
    """Give what an edge is known by."""
    parts = _edge_parts(given)
    return {
        "source": id_text(parts["source"]),
        "kind": parts["kind"],
        "target": id_text(parts["target"]),
    }


def edge_line(given: Edgelike) -> str:
    """Give the line of an edge in a body of changes."""
    parts = _edge_parts(given)
    said = [f'"{name}":{dumps(part)}' for name, part in edge_key(given).items()]
    if parts.get("weight") is not None:
        said.append(f'"weight":{dumps(float(parts["weight"]))}')
    if parts.get("valid_from") is not None:
        said.append(f'"valid_from":{_Server.time_ns(parts["valid_from"])}')
    properties = object_text(parts.get("properties"))
    if properties is not None:
        said.append(f'"properties":{_on_one_line(properties)}')
    return "{" + ",".join(said) + "}"


def block_of(told: Mapping[str, Any]) -> Block:
    """Give the block that an answer tells of."""
    content = told["content"]
    held = content if isinstance(content, str) else bytes_of(content) or b""
    return Block._of(
        told["block"], told["version"], told["source_uri"], _text_of(told["metadata"]), held
    )


def edge_of(told: Mapping[str, Any]) -> Edge:
    """Give the edge that an answer tells of."""
    since = told["valid_from"]
    return Edge._of(
        told["source"],
        told["kind"],
        told["target"],
        told["weight"],
        time_ns(since) if isinstance(since, str) else since,
        _text_of(told["properties"]),
    )


def _text_of(told: Any) -> str | None:
    return None if told is None else json.dumps(told, ensure_ascii=False)


def kinds_text(kinds: Kinds | None) -> str | None:
    """Give the kinds of edges as a request has them."""
    if kinds is None:
        return None
    each = [kinds] if isinstance(kinds, str) else list(kinds)
    if not each:
        raise InvalidArgumentError("kinds: name one, or leave it out for all")
    return names_text("kinds", each)


def expect_whole(said: Mapping[str, Any]) -> None:
    """Refuse an answer that has not all of them."""
    if said["is_cut"]:
        raise TooLargeError(
            f"a server's answer has at most {ITEMS_MAX:,} of them", hint="ask in SQL"
        )
