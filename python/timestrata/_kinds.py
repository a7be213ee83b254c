"""Objects of Python's own library, of numpy and of pandas as items of CBOR, and back: see `timestrata.kinds`.

What is read was written by anybody: each function takes what it can make an object of, and raises for all else. None
of them looks up a name that it was given. Lists of a content may come as tuples, where it stands in a key.
"""

from __future__ import annotations

import ipaddress
from array import array
from collections import deque
from collections.abc import Callable
from datetime import date, datetime, time, timedelta, timezone
from decimal import MAX_PREC, Context, Decimal
from fractions import Fraction
from pathlib import Path, PurePath, PurePosixPath, PureWindowsPath
from typing import Any
from uuid import UUID

from timestrata._kinds_numpy import READ_NUMPY, WRITE_NUMPY, numbers_of, shaped, typed_array

__all__ = ["BUILT_IN", "plain_of_built_in", "value_of_built_in"]

TAG_OBJECT = 27
TAG_DECIMAL = 4
TAG_RATIONAL = 30
TAG_UUID = 37
TAG_ARRAY = 40
TAG_IPV4 = 52
TAG_IPV6 = 54
TAG_TIME = 1001
TAG_DURATION = 1002
TAG_DATE = 1004
TAG_COMPLEX = 43_000
# Keys of times and durations, as RFC 9581 has them.
SECONDS, MICROSECONDS, NANOSECONDS, ZONE = 1, -6, -9, -10

#: Digits of a decimal number, more of which would take minutes to read.
DIGITS_MAX = 100_000
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)

Plain = tuple[int, Any]


def plain_of_built_in(value: Any) -> Plain | None:
    """A tag and its content; None where this file knows no word for the object."""
    for cls in type(value).__mro__:
        write = _WRITE.get(f"{cls.__module__}.{cls.__qualname__}")
        if write is not None:
            return write(value)
    return None


def value_of_built_in(tag: int, name: str | None, content: list[Any]) -> Any:
    """The object of a tag, or of a name behind the tag of objects, and of its content."""
    if name is not None:
        return _READ_NAMED[name](*content)
    read = _READ_TAGGED.get(tag)
    if read is not None:
        return read(content[0])
    if 64 <= tag <= 87:
        return typed_array(tag, content[0])
    raise ValueError(f"tag {tag} has no Python object")


# Times.


def _zone_name(zone: Any) -> str | None:
    """What a zone is called, by zoneinfo or pytz; of a fixed offset, that."""
    name = getattr(zone, "key", None) or getattr(zone, "zone", None)
    if isinstance(name, str):
        return name
    if isinstance(zone, timezone):
        text = str(zone)
        return text if text == "UTC" else text.removeprefix("UTC")
    return None


def _zone_of(name: str) -> Any:
    if name == "UTC":
        return timezone.utc
    if name[:1] in ("+", "-"):
        return datetime.fromisoformat(f"2000-01-01T00:00:00{name}").tzinfo
    from zoneinfo import ZoneInfo

    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        # Not known here: the instant is the same.
        return timezone.utc


def _of_date(value: date) -> Plain:
    return TAG_DATE, value.isoformat()


def _of_datetime(value: datetime) -> Plain:
    offset = value.utcoffset()
    if offset is None:
        if value.tzinfo is not None:
            raise TypeError(f"the datetime {value} has a zone without an offset: convert it first")
        return TAG_OBJECT, ["datetime", value.isoformat()]
    since = value - EPOCH
    zone = _zone_name(value.tzinfo)
    return _extended(since, MICROSECONDS, since.microseconds, zone)


def _extended(since: timedelta, key: int, fraction: int, zone: str | None) -> Plain:
    content: dict[int, Any] = {SECONDS: since.days * 86_400 + since.seconds}
    if fraction or key == NANOSECONDS:
        content[key] = fraction
    if zone is not None:
        content[ZONE] = zone
    return TAG_TIME, content


def _time_of_extended(content: dict[int, Any]) -> Any:
    zone = content.get(ZONE, "UTC")
    if not set(content) <= {SECONDS, MICROSECONDS, NANOSECONDS, ZONE} or not isinstance(zone, str):
        raise ValueError("a time in a form that is not known here")
    if NANOSECONDS in content:
        return _timestamp_of(content[SECONDS], content[NANOSECONDS], zone)
    since = timedelta(seconds=_whole(content[SECONDS]), microseconds=_whole(content.get(MICROSECONDS, 0)))
    return (EPOCH + since).astimezone(_zone_of(zone))


def _of_time(value: time) -> Plain:
    zone = None
    if value.tzinfo is not None and value.utcoffset() is None:
        zone = _zone_name(value.tzinfo)
        if zone is None:
            raise TypeError(f"the time {value!r} has a zone without a name: convert it first")
    return TAG_OBJECT, ["time", value.isoformat(), *([zone] if zone else [])]


def _time_of(text: str, zone: str | None = None) -> time:
    read = time.fromisoformat(text)
    return read if zone is None else read.replace(tzinfo=_zone_of(zone))


def _of_timedelta(value: timedelta) -> Plain:
    content = {SECONDS: value.days * 86_400 + value.seconds}
    if value.microseconds:
        content[MICROSECONDS] = value.microseconds
    return TAG_DURATION, content


def _duration_of(content: dict[int, Any]) -> Any:
    if not set(content) <= {SECONDS, MICROSECONDS, NANOSECONDS}:
        raise ValueError("a duration in a form that is not known here")
    seconds, fraction = _whole(content[SECONDS]), _whole(content.get(NANOSECONDS, 0))
    if NANOSECONDS not in content:
        return timedelta(seconds=seconds, microseconds=_whole(content.get(MICROSECONDS, 0)))
    pandas = _pandas_if(fraction % 1000 != 0, "a duration")
    if pandas is None:
        return timedelta(seconds=seconds, microseconds=fraction // 1000)
    return pandas.Timedelta(seconds * 1_000_000_000 + fraction, unit="ns")


# Of pandas, which has nanoseconds.


def _pandas_if(is_needed: bool, what: str) -> Any:
    try:
        import pandas  # type: ignore[import-untyped, unused-ignore]
    except ImportError:
        if is_needed:
            raise ValueError(f"{what} with nanoseconds, which needs pandas to be read: install it") from None
        return None
    return pandas


def _of_timestamp(value: Any) -> Plain:
    if value.tzinfo is None:
        return TAG_OBJECT, ["pandas.Timestamp", value.isoformat(), str(getattr(value, "unit", "ns"))]
    since = value.to_pydatetime(warn=False) - EPOCH
    fraction = since.microseconds * 1000 + value.nanosecond
    zone = _zone_name(value.tzinfo)
    if zone is None:
        zone = value.isoformat()[-6:]
    return _extended(since, NANOSECONDS, fraction, zone)


def _timestamp_of(seconds: Any, fraction: Any, zone: str) -> Any:
    seconds, fraction = _whole(seconds), _whole(fraction)
    pandas = _pandas_if(fraction % 1000 != 0, "a time")
    if pandas is None:
        since = timedelta(seconds=seconds, microseconds=fraction // 1000)
        return (EPOCH + since).astimezone(_zone_of(zone))
    try:
        read = pandas.Timestamp(seconds * 1_000_000_000 + fraction, unit="ns", tz="UTC")
    except (OverflowError, ValueError):
        if fraction % 1000 != 0:
            raise
        # Too far for 64 bits of nanoseconds.
        since = timedelta(seconds=seconds, microseconds=fraction // 1000)
        read = pandas.Timestamp(EPOCH + since)
    return read.tz_convert(_zone_of(zone))


def _naive_timestamp_of(text: str, unit: str) -> Any:
    if unit not in ("s", "ms", "us", "ns"):
        raise ValueError("a time of a unit that is not known here")
    # Python reads up to nine digits, and leaves out what it has no room for.
    is_finer = len(text.partition(".")[2]) > 6 and text[-3:] != "000"
    pandas = _pandas_if(is_finer, "a time")
    if pandas is None:
        return datetime.fromisoformat(text)
    return pandas.Timestamp(text).as_unit(unit)


def _of_pandas_timedelta(value: Any) -> Plain:
    fraction = value.microseconds * 1000 + value.nanoseconds
    return TAG_DURATION, {SECONDS: value.days * 86_400 + value.seconds, NANOSECONDS: fraction}


def _of_nothing(name: str) -> Callable[[Any], Plain]:
    return lambda _: (TAG_OBJECT, [f"pandas.{name}", None])


def _nothing_of(name: str) -> Callable[[Any], Any]:
    def read(_: Any) -> Any:
        pandas = _pandas_if(False, "")
        return None if pandas is None else getattr(pandas, name)

    return read


# Numbers.


def _whole(value: Any) -> int:
    if type(value) is not int:
        raise ValueError("what should be a whole number is none")
    return value


def _of_decimal(value: Decimal) -> Plain:
    sign, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int) or (sign and not any(digits)):
        # Not finite, or less than nothing: the tag of decimals has no word for it.
        return TAG_OBJECT, ["decimal", str(value)]
    if len(digits) > DIGITS_MAX:
        raise TypeError(f"a decimal number of more than {DIGITS_MAX} digits can't be stored")
    # By its own arithmetic, as texts of so many digits are refused by int().
    whole = int(value.scaleb(-exponent, Context(prec=MAX_PREC))) if exponent else int(value)
    return TAG_DECIMAL, [exponent, whole]


def _decimal_of(content: Any) -> Decimal:
    exponent, whole = content
    if _whole(whole).bit_length() > DIGITS_MAX * 4:
        raise ValueError("a decimal number of too many digits")
    sign, digits, _ = Decimal(whole).as_tuple()
    return Decimal((sign, digits, _whole(exponent)))


def _decimal_named(text: str) -> Decimal:
    if len(text) > DIGITS_MAX:
        raise ValueError("a decimal number of too many digits")
    return Decimal(text)


def _of_complex(value: complex) -> Plain:
    return TAG_COMPLEX, [value.real, value.imag]


def _complex_of(content: Any) -> complex:
    real, imaginary = content
    return complex(float(real), float(imaginary))


def _of_fraction(value: Fraction) -> Plain:
    return TAG_RATIONAL, [value.numerator, value.denominator]


def _fraction_of(content: Any) -> Fraction:
    numerator, denominator = content
    return Fraction(_whole(numerator), _whole(denominator))


# Names of things.


def _of_uuid(value: UUID) -> Plain:
    return TAG_UUID, value.bytes


def _of_path(value: PurePath) -> Plain:
    if isinstance(value, Path):
        name = "path"
    else:
        name = "path.windows" if isinstance(value, PureWindowsPath) else "path.posix"
    text = str(value)
    try:
        text.encode()
    except UnicodeEncodeError:
        # A name that is no text, as POSIX has them.
        return TAG_OBJECT, [name, text.encode(errors="surrogateescape")]
    return TAG_OBJECT, [name, text]


def _path_as(cls: type[PurePath]) -> Callable[[Any], PurePath]:
    def read(text: Any) -> PurePath:
        return cls(text.decode(errors="surrogateescape") if isinstance(text, bytes) else text)

    return read


def _of_address(value: Any) -> Plain:
    content = value.packed
    scope = getattr(value, "scope_id", None)
    return (TAG_IPV4 if value.version == 4 else TAG_IPV6), [content, None, scope] if scope else content


def _of_interface(value: Any) -> Plain:
    scope = getattr(value, "scope_id", None)
    content = [value.packed, value.network.prefixlen, *([scope] if scope else [])]
    return (TAG_IPV4 if value.version == 4 else TAG_IPV6), content


def _of_network(value: Any) -> Plain:
    # Without the bytes of zero at its end, as RFC 9164 has it.
    content = [value.prefixlen, value.network_address.packed.rstrip(b"\0")]
    return (TAG_IPV4 if value.version == 4 else TAG_IPV6), content


def _ip_of(version: int) -> Callable[[Any], Any]:
    address: Any = ipaddress.IPv4Address if version == 4 else ipaddress.IPv6Address
    interface: Any = ipaddress.IPv4Interface if version == 4 else ipaddress.IPv6Interface
    network: Any = ipaddress.IPv4Network if version == 4 else ipaddress.IPv6Network
    width = 4 if version == 4 else 16

    def read(content: Any) -> Any:
        if isinstance(content, bytes):
            return address(content)
        first, second, *scope = content
        if isinstance(first, int):
            return network((bytes(second).ljust(width, b"\0"), first))
        text = "%".join([str(address(first)), *scope])
        return address(text) if second is None else interface(f"{text}/{_whole(second)}")

    return read


# What holds others.


def _of_deque(value: deque[Any]) -> Plain:
    return TAG_OBJECT, ["deque", list(value), value.maxlen]


def _deque_of(items: Any, length_max: int | None) -> deque[Any]:
    return deque(items, None if length_max is None else _whole(length_max))


def _of_range(value: range) -> Plain:
    return TAG_OBJECT, ["range", [value.start, value.stop, value.step]]


def _of_array(value: array[Any]) -> Plain:
    if value.typecode in ("u", "w"):
        return TAG_OBJECT, ["array", value.tounicode(), value.typecode]
    return TAG_OBJECT, ["array", _Typed(value), value.typecode]


class _Typed:
    """Numbers side by side, whose tag the writer asks for."""

    def __init__(self, numbers: array[Any]) -> None:
        self.numbers = numbers


def _of_typed(value: _Typed) -> Plain:
    return numbers_of(value.numbers)


def _array_of(numbers: Any, typecode: str) -> array[Any]:
    if isinstance(numbers, str):
        return array(typecode, numbers)
    made: array[Any] = array(typecode)
    if made.itemsize == numbers.itemsize:
        made.frombytes(numbers.tobytes())
    else:
        # As wide as it was on the machine that wrote it.
        made.extend(numbers.tolist())
    return made


_WRITE: dict[str, Callable[[Any], Plain]] = {
    "datetime.date": _of_date,
    "datetime.datetime": _of_datetime,
    "datetime.time": _of_time,
    "datetime.timedelta": _of_timedelta,
    "decimal.Decimal": _of_decimal,
    "fractions.Fraction": _of_fraction,
    "builtins.complex": _of_complex,
    "uuid.UUID": _of_uuid,
    "ipaddress.IPv4Interface": _of_interface,
    "ipaddress.IPv6Interface": _of_interface,
    "ipaddress.IPv4Address": _of_address,
    "ipaddress.IPv6Address": _of_address,
    "ipaddress.IPv4Network": _of_network,
    "ipaddress.IPv6Network": _of_network,
    "collections.deque": _of_deque,
    "builtins.range": _of_range,
    "array.array": _of_array,
    f"{__name__}._Typed": _of_typed,
    **{f"{cls.__module__}.{cls.__qualname__}": _of_path for cls in (PurePath, PurePosixPath, PureWindowsPath)},
    # The native bases have had these names for long, the classes themselves have had others.
    "pandas._libs.tslibs.timestamps._Timestamp": _of_timestamp,
    "pandas._libs.tslibs.timedeltas._Timedelta": _of_pandas_timedelta,
    "pandas._libs.tslibs.nattype._NaT": _of_nothing("NaT"),
    "pandas._libs.missing.C_NAType": _of_nothing("NA"),
    **WRITE_NUMPY,
}
_READ_NAMED: dict[str, Callable[..., Any]] = {
    "tuple": tuple,
    "frozenset": frozenset,
    "datetime": datetime.fromisoformat,
    "time": _time_of,
    "decimal": _decimal_named,
    "path": _path_as(Path),
    "path.posix": _path_as(PurePosixPath),
    "path.windows": _path_as(PureWindowsPath),
    "deque": _deque_of,
    "range": lambda ends: range(*map(_whole, ends)),
    "array": _array_of,
    "pandas.Timestamp": _naive_timestamp_of,
    "pandas.NaT": _nothing_of("NaT"),
    "pandas.NA": _nothing_of("NA"),
    **READ_NUMPY,
}
_READ_TAGGED: dict[int, Callable[[Any], Any]] = {
    TAG_DECIMAL: _decimal_of,
    TAG_RATIONAL: _fraction_of,
    TAG_UUID: lambda content: UUID(bytes=content),
    TAG_IPV4: _ip_of(4),
    TAG_IPV6: _ip_of(6),
    TAG_TIME: _time_of_extended,
    TAG_DURATION: _duration_of,
    TAG_DATE: date.fromisoformat,
    TAG_COMPLEX: _complex_of,
    TAG_ARRAY: lambda content: shaped(*content),
}
#: Names that no type of a program can have.
BUILT_IN = frozenset(_READ_NAMED)
