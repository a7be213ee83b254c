"""Records of Python's ``logging`` as entries of a log.

What others put into a record may be anything. Whatever it is comes out as plain data that a log takes;
only what a record's own formatting raises is passed on.
"""

from __future__ import annotations

import logging
import numbers
import sys
from collections.abc import Mapping
from datetime import datetime
from typing import Any, TypeAlias

from timestrata._timestrata import cbor_encode

__all__ = ["Entry", "entry_of", "record_of", "shortened", "unformatted_entry_of"]

#: What `Logs.write_many` takes.
Entry: TypeAlias = dict[str, Any]

#: How deep values of ``extra`` are taken as what they are; what is deeper is text.
_DEPTH_MAX = 16
#: What every record has, and formatters add. All else was given as ``extra``.
_OWN = frozenset(logging.makeLogRecord({}).__dict__) | {"asctime", "message", "taskName", "is_engine_event"}
#: Levels whose names say no more than the level of the entry does.
_LEVELS = frozenset(["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL", "NOTSET"])
#: Formats exceptions where a handler has no formatter.
_FORMATTER = logging.Formatter()


def entry_of(record: logging.LogRecord, formatter: logging.Formatter | None) -> Entry:
    """Give the entry of a record. ``formatter`` makes the text of its exception, if there is one.

    Raises
    ------
    Exception
        Whatever the record's arguments raise when they are formatted.
    """
    event = _event_of_structlog(record)
    if event is not None:
        message, bound = event
        entry = _entry(record, message, formatter)
        entry["fields"] |= {_text(str(name)): _plain(value) for name, value in bound.items()}
        return entry
    return _entry(record, record.getMessage(), formatter)


def _event_of_structlog(record: logging.LogRecord) -> tuple[object, dict[str, Any]] | None:
    """Give the event of a record that structlog made, and what was bound to it.

    It gives its dict to formatters of its own (``ProcessorFormatter.wrap_for_formatter``) as the record's message.
    """
    if not isinstance(record.msg, dict) or "event" not in record.msg:
        return None
    # What begins with an underscore is structlog's own, and the level is the record's.
    said = {"event", "level"}
    bound = {name: value for name, value in record.msg.items() if name not in said and not str(name).startswith("_")}
    return record.msg["event"], bound


def unformatted_entry_of(record: logging.LogRecord, error: Exception) -> Entry:
    """Give the entry of a record that can't be formatted, with the error and the arguments as fields."""
    entry = _entry(record, record.msg, None)
    entry["fields"]["format_error"] = _shown(error)
    entry["fields"]["arguments"] = _plain(record.args)
    return entry


def record_of(entry: Entry) -> logging.LogRecord:
    """Give a record to report an entry by."""
    fields = entry["fields"]
    said = {"name": fields.get("logger"), "lineno": fields.get("line"), "funcName": fields.get("function")}
    return logging.makeLogRecord({**said, "msg": entry["message"], "args": None})


def shortened(entry: Entry, bytes_max: int) -> Entry:
    """Give an entry whose message and fields have no more bytes than that, and that says so."""
    fields: dict[str, Any] = {"shortened": True}
    left = bytes_max - _bytes(fields)
    for name, value in entry["fields"].items():
        # Of two that are long the second has room too. A length takes nine bytes at most.
        room = min(left, bytes_max // 2) - _bytes(name) - 9
        if room > 0:
            fields[name] = value if _bytes(value) <= room else _cut(str(value), room)
            left -= _bytes({name: fields[name]})
    return {**entry, "message": _cut(entry["message"], bytes_max), "fields": fields}


def _bytes(value: object) -> int:
    return len(cbor_encode(value))


def _entry(record: logging.LogRecord, message: object, formatter: logging.Formatter | None) -> Entry:
    fields: dict[str, Any] = {
        "logger": record.name,
        "level_name": None if record.levelname in _LEVELS else record.levelname,
        "module": record.module,
        "function": record.funcName,
        "line": record.lineno,
        "process": record.process,
        "thread": record.threadName,
        "task": getattr(record, "taskName", None),
        "exception": _exception(record, formatter or _FORMATTER),
        "stack_info": record.stack_info,
    }
    said = {name: _plain(value) for name, value in fields.items() if value is not None}
    for name, value in _extra(record).items():
        said[_text(str(name))] = _plain(value)
    if _is_of_loguru(record) and fields["exception"] is not None and isinstance(message, str):
        # It has the traceback in the message too.
        message = message.partition("\nTraceback (most recent call last):")[0]
    return {
        "message": _shown(message),
        "level": _level(record.levelno),
        "source_time": _nanoseconds(record.created),
        "fields": said,
    }


def _extra(record: logging.LogRecord) -> dict[str, Any]:
    """Give what was given as ``extra``."""
    extra = {name: value for name, value in record.__dict__.copy().items() if name not in _OWN}
    if _is_of_loguru(record):
        extra |= {str(name): value for name, value in extra.pop("extra").items()}
    # structlog's ``render_to_log_kwargs`` says the level once more.
    if isinstance(extra.get("level"), str) and extra["level"].upper() == record.levelname:
        del extra["level"]
    # What begins so is structlog's own.
    return {name: value for name, value in extra.items() if name not in ("_logger", "_name", "_from_structlog")}


def _is_of_loguru(record: logging.LogRecord) -> bool:
    """Whether loguru made a record: it puts all that was bound into one ``extra``."""
    return "loguru" in sys.modules and isinstance(record.__dict__.get("extra"), dict)


def _exception(record: logging.LogRecord, formatter: logging.Formatter) -> str | None:
    if record.exc_info and record.exc_info[0] is not None:
        return formatter.formatException(record.exc_info)
    # Of a record that was prepared for another process.
    return record.exc_text


def _level(number: object) -> int:
    # Below NOTSET there is nothing that a level could be made of.
    return max(number, logging.NOTSET) if isinstance(number, int) else logging.NOTSET


def _nanoseconds(seconds: float) -> int | None:
    """Give a record's time. It was a float of seconds, which is exact to a microsecond at most."""
    try:
        nanoseconds = round(seconds * 1_000_000) * 1_000
    except (TypeError, ValueError, OverflowError):
        return None
    return nanoseconds if -(2**63) <= nanoseconds < 2**63 else None


def _plain(value: object, depth: int = 0) -> Any:
    """Give a value as a log takes it, without ever raising: the value, or what can be said of it."""
    try:
        return _converted(value, depth)
    except Exception:
        return _shown(value)


def _converted(value: Any, depth: int) -> Any:
    match value:
        case None | bool() | int() | float():
            return value
        case str():
            return _text(value)
        case bytes() | bytearray() | memoryview():
            return bytes(value)
        case datetime() if type(value) is datetime and value.utcoffset() is not None:
            return value
        case datetime():
            # Without a zone it names no instant, but still says something; others' kinds are finer.
            return value.isoformat()
        case Mapping() if depth < _DEPTH_MAX:
            return {_shown(name): _plain(part, depth + 1) for name, part in value.items()}
        case list() | tuple() | set() | frozenset() if depth < _DEPTH_MAX:
            return [_plain(part, depth + 1) for part in value]
        case numbers.Integral():
            return int(value)
        case numbers.Real():
            return float(value)
        case _:
            return _shown(value)


def _shown(value: object) -> str:
    try:
        return _text(value if isinstance(value, str) else str(value))
    except Exception as error:
        return f"<{type(value).__name__} that can't be shown: {type(error).__name__}>"


def _text(text: str) -> str:
    """Give a text as UTF-8 can have it: file names may hold what it can't."""
    if text.isascii():
        return text
    return text.encode("utf-8", "backslashreplace").decode()


def _cut(text: str, bytes_max: int) -> str:
    return text.encode()[:bytes_max].decode(errors="ignore")
