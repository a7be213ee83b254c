"""Objects that CBOR has no word of its own for: how the codec "cbor" writes them, and what is read of them.

Dates, decimals, arrays and the like have tags that are registered for them. All others, and the classes of a
program, are an item of tag 27: a name, what was in the object, and what else it takes to make it. No name is ever
looked up as a class or a module: what is made of bytes is made by this file, or by what the program has registered.
"""

from __future__ import annotations

import dataclasses
import enum
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from timestrata.errors import AlreadyExistsError, InvalidArgumentError

__all__ = ["UnknownValue", "register_type"]

T = TypeVar("T")

#: An object of a name, as RFC 8949's registry has it: a name, and what the object is made of.
TAG_OBJECT = 27


@dataclass(frozen=True)
class UnknownValue:
    """A stored object of a type that this program has not registered. Stored again, it is what it was.

    Attributes
    ----------
    name : str
        What its type was registered as; of enumerations and dataclasses that were not, the name of their class.
    content : object
        What was stored of it: of an enumeration the member's name, of a dataclass a dict of its fields.
    more : tuple
        What else it takes to make it.

    Examples
    --------
    >>> import enum, timestrata
    >>> class Lamp(enum.Enum):
    ...     RED = 1
    >>> timestrata.cbor_decode(timestrata.cbor_encode(Lamp.RED)).content
    'RED'
    """

    name: str
    content: Any
    more: tuple[Any, ...] = ()


@dataclass(frozen=True)
class _Registered:
    cls: type
    name: str
    to_plain: Callable[[Any], Any]
    of_plain: Callable[[Any], Any]


class _Registry:
    """Types by class and by name. Reads take no lock: a dict is replaced, never changed."""

    def __init__(self) -> None:
        self.changing = threading.Lock()
        self.by_class: dict[type, _Registered] = {}
        self.by_name: dict[str, _Registered] = {}

    def add(self, entry: _Registered) -> None:
        with self.changing:
            there = self.by_name.get(entry.name)
            # A class that is defined anew, as in a notebook, takes the place of what it was.
            if there is not None and _place_of(there.cls) != _place_of(entry.cls):
                raise AlreadyExistsError(
                    f"{entry.name!r} is registered for {there.cls!r} already: give another name",
                    hint="a name stands in what is stored, so it belongs to one type",
                )
            before = self.by_class.get(entry.cls)
            if before is not None and before.name != entry.name:
                raise AlreadyExistsError(f"{entry.cls!r} is registered as {before.name!r} already")
            self.by_class = {**self.by_class, entry.cls: entry}
            self.by_name = {**self.by_name, entry.name: entry}


def _place_of(cls: type) -> tuple[str, str]:
    return cls.__module__, cls.__qualname__


_registry = _Registry()


def register_type(
    cls: type[T],
    name: str | None = None,
    *,
    to_plain: Callable[[T], Any] | None = None,
    of_plain: Callable[[Any], T] | None = None,
) -> type[T]:
    """Have objects of a class stored by the codec "cbor" and come back as objects of it, without pickle.

    Nothing that is stored names code: what is read is given to `of_plain`, of the type that the program has
    registered under the stored name, and to nothing else. Give the class to this function in each program that reads
    it; as a decorator it is called without arguments. Objects of subclasses are other types.

    Parameters
    ----------
    cls : type
        The class. Enumerations, dataclasses and named tuples need no functions.
    name : str, optional
        What stands in the store for it, for ever: the module's name and that of the class unless given.
    to_plain : callable, optional
        Makes of an object what the codec takes: a dict, a list, a text, other registered objects.
    of_plain : callable, optional
        Makes the object again of what `to_plain` gave.

    Returns
    -------
    type
        The class.

    Raises
    ------
    InvalidArgumentError
        A class that is no enumeration, dataclass or named tuple came without both functions, or the name is one of
        those that the codec itself has.
    AlreadyExistsError
        The name belongs to another class, or the class to another name.

    Examples
    --------
    >>> import timestrata
    >>> class Point:
    ...     def __init__(self, x, y):
    ...         self.x, self.y = x, y
    >>> Point = timestrata.register_type(Point, to_plain=lambda p: [p.x, p.y], of_plain=lambda xy: Point(*xy))
    >>> with timestrata.open() as store:
    ...     log = store.timelog("points")
    ...     log.append(1, {"at": Point(3, 4)})
    ...     log[1][0]["at"].y
    4
    """
    if not isinstance(cls, type):
        raise InvalidArgumentError(f"register_type() takes a class, not {cls!r}")
    name = ".".join(_place_of(cls)) if name is None else name
    of: Any = cls
    from timestrata._kinds import BUILT_IN

    if not name or name in BUILT_IN:
        raise InvalidArgumentError(f"{name!r} is a name of the codec's own: give another, such as 'shop.{name}'")
    if to_plain is None and of_plain is None:
        if issubclass(cls, enum.Enum):
            to_plain, of_plain = _member_name, of.__getitem__
        elif issubclass(cls, tuple) and hasattr(cls, "_make"):
            to_plain, of_plain = _items_of, of._make
        elif dataclasses.is_dataclass(cls):
            to_plain, of_plain = _fields_of, _maker_of(cls)
    if to_plain is None or of_plain is None:
        raise InvalidArgumentError(
            f"{cls.__qualname__} is no enumeration, dataclass or named tuple: give both to_plain and of_plain"
        )
    _registry.add(_Registered(cls, name, to_plain, of_plain))
    return cls


def _member_name(member: Any) -> str:
    # A combination of flags has no name of its own in all versions.
    return str(member.name)


def _items_of(value: Any) -> list[Any]:
    return list(value)


def _fields_of(value: Any) -> dict[str, Any]:
    return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}


def _maker_of(cls: Any) -> Callable[[Any], Any]:
    given = {field.name for field in dataclasses.fields(cls) if field.init}

    def make(content: dict[str, Any]) -> Any:
        made = cls(**{name: value for name, value in content.items() if name in given})
        for name, value in content.items():
            if name not in given:
                object.__setattr__(made, name, value)
        return made

    return make


def plain_of(value: Any) -> tuple[int, Any] | None:
    """A tag and its content for what the codec does not know by itself; None for what has neither.

    Called by the codec.
    """
    entry = _registry.by_class.get(type(value))
    if entry is not None:
        return TAG_OBJECT, [entry.name, entry.to_plain(value)]
    from timestrata._kinds import plain_of_built_in

    found = plain_of_built_in(value)
    if found is not None:
        return found
    if isinstance(value, UnknownValue):
        return TAG_OBJECT, [value.name, value.content, *value.more]
    name = ".".join(_place_of(type(value)))
    if isinstance(value, enum.Enum):
        return TAG_OBJECT, [name, _member_name(value)]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return TAG_OBJECT, [name, _fields_of(value)]
    return None


def is_registered(cls: type) -> bool:
    """Whether objects of a class that the codec would take as plain data are more than that."""
    return cls in _registry.by_class


def value_of(tag: int, content: Any) -> Any:
    """The object of a tag and its content. Called by the codec, which says where in the bytes it stood.

    Raises
    ------
    ValueError
        There is no object of this tag, or not of such content.
    """
    from timestrata._kinds import BUILT_IN, value_of_built_in

    if tag != TAG_OBJECT:
        return value_of_built_in(tag, None, [content])
    name, *rest = content
    if not isinstance(name, str) or not rest:
        raise ValueError("an object without a name or without content")
    if name in BUILT_IN:
        return value_of_built_in(tag, name, rest)
    entry = _registry.by_name.get(name)
    if entry is None:
        return UnknownValue(name, rest[0], tuple(rest[1:]))
    return entry.of_plain(rest[0])
