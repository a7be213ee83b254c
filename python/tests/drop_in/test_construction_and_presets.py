"""A log is made by keywords; one that makes no sense is refused by name."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

Make = Callable[..., Any]

SIZES = [
    "memtable_max_bytes",
    "target_page_bytes",
    "sealed_max_runs",
    "ooo_budget_bytes",
    "max_delta_segments",
    "compaction_target_bytes",
    "adaptive_target_records",
]
SMALL = [
    "sealed_wait_ms",
    "drain_batch_limit",
    "maintenance_wakeup_ms",
    "max_compaction_inputs",
    "max_compaction_windows",
    "adaptive_hysteresis_pct",
    "adaptive_warmup_flushes",
    "adaptive_stale_flushes",
    "adaptive_failure_backoff_threshold",
    "adaptive_failure_backoff_pct",
]
SPANS = ["window_size", "adaptive_min_window", "adaptive_max_window", "adaptive_window_quantum"]


def test_the_module_offers_the_names_that_programs_import(peer_module: ModuleType) -> None:
    names = {
        "Timelog",
        "TimelogError",
        "TimelogBusyError",
        "TimelogIter",
        "PageSpan",
        "PageSpanIter",
        "PageSpanObjectsView",
        "Record",
        "RecordIter",
        "RecordBatch",
        "__version__",
    }
    assert names <= set(peer_module.__all__)
    for name in names:
        assert hasattr(peer_module, name)
    assert isinstance(peer_module.__version__, str)
    assert peer_module.Record == tuple[int, object]
    assert peer_module.RecordBatch == list[tuple[int, object]]
    assert peer_module.RecordIter.__args__ == (tuple[int, object],)


def test_errors_form_a_tree(peer_module: ModuleType) -> None:
    assert issubclass(peer_module.TimelogError, Exception)
    assert issubclass(peer_module.TimelogBusyError, peer_module.TimelogError)
    assert not issubclass(peer_module.TimelogError, ValueError)


@pytest.mark.ours("has no other errors to fit in with")
def test_errors_are_errors_of_timestrata(peer_module: ModuleType) -> None:
    import timestrata

    assert issubclass(peer_module.TimelogError, timestrata.TimestrataError)
    # "Nothing was written" is what BusyError says, and not so here.
    assert not issubclass(peer_module.TimelogBusyError, timestrata.BusyError)
    assert timestrata.Timelog is peer_module.Timelog


def test_types_of_what_a_log_gives_are_the_exported_ones(
    log: Any, peer_module: ModuleType
) -> None:
    log.append(1, "a")
    log.flush()
    spans = log.views()
    assert type(log.all()) is peer_module.TimelogIter
    assert type(spans) is peer_module.PageSpanIter
    span = next(spans)
    assert type(span) is peer_module.PageSpan
    assert type(span.objects()) is peer_module.PageSpanObjectsView


@pytest.mark.parametrize(
    "name", ["TimelogIter", "PageSpan", "PageSpanIter", "PageSpanObjectsView"]
)
def test_what_a_log_gives_cannot_be_made_without_one(peer_module: ModuleType, name: str) -> None:
    with pytest.raises(TypeError):
        getattr(peer_module, name)()


def test_defaults_are_background_milliseconds_and_raise(peer_module: ModuleType) -> None:
    with peer_module.Timelog() as log:
        assert not log.closed
        assert log.time_unit == "ms"
        assert log.maintenance_mode == "background"
        assert log.busy_policy == "raise"
        assert log.min_ts_floor is None
        assert (log.retired_queue_len, log.alloc_failures) == (0, 0)
        assert (log.busy_events, log.extend_skipped) == (0, 0)


def test_arguments_are_keywords(peer_module: ModuleType) -> None:
    with pytest.raises(TypeError):
        peer_module.Timelog(5)
    with pytest.raises(TypeError):
        peer_module.Timelog("ms")


def test_an_unknown_keyword_is_named(make: Make) -> None:
    with pytest.raises(TypeError, match="colour"):
        make(colour=1)


@pytest.mark.parametrize("option", ["time_unit", "maintenance", "busy_policy"])
@pytest.mark.parametrize("value", [None, 5])
def test_text_options_take_text(make: Make, option: str, value: object) -> None:
    with pytest.raises(TypeError):
        make(**{option: value})


@pytest.mark.parametrize(
    ("option", "values"),
    [
        ("time_unit", ["s", "ms", "us", "ns"]),
        ("maintenance", ["background", "disabled"]),
        ("busy_policy", ["raise", "silent", "flush"]),
    ],
)
def test_text_options_are_one_of_a_few(make: Make, option: str, values: list[str]) -> None:
    for value in values:
        log = make(**{option: value})
        attribute = "maintenance_mode" if option == "maintenance" else option
        assert getattr(log, attribute) == value
        log.close()
    for wrong in ("", "m", values[0].upper(), values[0] + " "):
        with pytest.raises(ValueError):
            make(**{option: wrong})


def test_a_refused_option_names_what_was_given(make: Make) -> None:
    for option in ("time_unit", "maintenance", "busy_policy"):
        with pytest.raises(ValueError, match="weekly"):
            make(**{option: "weekly"})


def test_the_floor_is_a_timestamp(make: Make) -> None:
    assert make(min_ts=5).min_ts_floor == 5
    assert make(min_ts=-(2**63)).min_ts_floor == -(2**63)
    assert make(min_ts=None).min_ts_floor is None
    with pytest.raises(TypeError, match=r"timestamp must be int \(bool not allowed\)"):
        make(min_ts=True)
    with pytest.raises(TypeError):
        make(min_ts=1.5)
    with pytest.raises(TypeError):
        make(min_ts="5")
    with pytest.raises(OverflowError, match="outside int64 range"):
        make(min_ts=2**63)


def test_a_floor_counts_as_a_delete_of_what_is_before_it(make: Make) -> None:
    log = make(min_ts=5)
    assert log.stats()["storage"]["tombstone_count"] == 1
    assert len(log) == 0
    assert log.min_ts() is None


def test_mostly_ordered_default_is_a_bool(make: Make) -> None:
    for value in (True, False):
        log = make(mostly_ordered_default=value)
        assert log.stats()["config"]["mostly_ordered_default"] is value
        log.extend([(3, "c"), (1, "a"), (2, "b")])  # only a hint
        assert list(log) == [(1, "a"), (2, "b"), (3, "c")]
    for wrong in (1, 0, None, "yes"):
        with pytest.raises(TypeError, match="mostly_ordered_default must be bool"):
            make(mostly_ordered_default=wrong)


@pytest.mark.parametrize("option", SIZES)
def test_sizes_are_not_negative_and_zero_means_the_default(make: Make, option: str) -> None:
    make(**{option: 0})
    make(**{option: 4096})
    with pytest.raises(ValueError, match=f"{option} must be >= 0"):
        make(**{option: -1})
    with pytest.raises(OverflowError):
        make(**{option: 2**64})


@pytest.mark.parametrize("option", SMALL)
def test_small_numbers_have_32_bits(make: Make, option: str) -> None:
    make(**{option: 0})
    make(**{option: 7})
    for wrong in (-1, 2**32):
        with pytest.raises(ValueError, match=f"{option} must be 0-4294967295"):
            make(**{option: wrong})


@pytest.mark.parametrize("option", SPANS)
def test_spans_of_time_have_63_bits(make: Make, option: str) -> None:
    make(**{option: 2**63 - 1})
    with pytest.raises(ValueError, match=option):
        make(**{option: -1})
    with pytest.raises(OverflowError):
        make(**{option: 2**63})


def test_the_origin_of_windows_may_be_negative(make: Make) -> None:
    make(window_origin=-5)
    with pytest.raises(OverflowError):
        make(window_origin=2**63)


@pytest.mark.parametrize("option", [*SIZES, *SMALL, *SPANS, "window_origin"])
@pytest.mark.parametrize("value", [1.0, "1", None, [1]])
def test_numbers_are_numbers(make: Make, option: str, value: object) -> None:
    with pytest.raises(TypeError):
        make(**{option: value})


def test_a_page_holds_sixteen_rows_at_least(make: Make) -> None:
    make(target_page_bytes=256)
    for wrong in (1, 255):
        with pytest.raises(ValueError):
            make(target_page_bytes=wrong)


@pytest.mark.parametrize("option", ["delete_debt_threshold", "adaptive_alpha"])
def test_fractions_are_finite_and_within_one(make: Make, option: str) -> None:
    for right in (0, 0.0, 0.5, 1, 1.0):
        make(**{option: right})
    for wrong in (float("nan"), float("inf"), float("-inf")):
        with pytest.raises(ValueError, match=f"{option} must be finite"):
            make(**{option: wrong})
    for wrong in (-0.1, 1.5):
        with pytest.raises(ValueError, match=rf"{option} must be in \[0.0, 1.0\]"):
            make(**{option: wrong})
    with pytest.raises(TypeError):
        make(**{option: "half"})


COMPACTION = {
    "target_bytes": "compaction_target_bytes",
    "max_inputs": "max_compaction_inputs",
    "max_windows": "max_compaction_windows",
}
ADAPTIVE = {
    "target_records": 1000,
    "min_window": 10,
    "max_window": 100,
    "hysteresis_pct": 10,
    "window_quantum": 5,
    "alpha": 0.5,
    "warmup_flushes": 1,
    "stale_flushes": 2,
    "failure_backoff_threshold": 3,
    "failure_backoff_pct": 20,
}


def test_compaction_and_adaptive_take_dicts(make: Make) -> None:
    make(compaction=None, adaptive=None)
    make(compaction={}, adaptive={})
    make(compaction={"target_bytes": 1 << 20, "max_inputs": 4, "max_windows": 0})
    make(adaptive=ADAPTIVE)
    no_dicts: list[object] = [5, [], "x"]
    for group in ("compaction", "adaptive"):
        for wrong in no_dicts:
            with pytest.raises(TypeError, match=f"{group} must be a dict"):
                make(**{group: wrong})
        with pytest.raises(TypeError, match=f"{group} keys must be str"):
            make(**{group: {1: 1}})
        with pytest.raises(ValueError, match=f"Unknown key 'x' in {group} dict"):
            make(**{group: {"x": 1}})


def test_what_is_in_a_dict_is_checked_as_its_flat_alias_is(make: Make) -> None:
    for key, wrong in (("target_records", -1), ("alpha", float("nan")), ("alpha", 2.0)):
        with pytest.raises(ValueError, match=f"adaptive_{key} must be "):
            make(adaptive={key: wrong})
    with pytest.raises(ValueError, match="compaction_target_bytes must be >= 0"):
        make(compaction={"target_bytes": -1})
    for key in ("max_inputs", "max_windows"):
        with pytest.raises(ValueError, match=f"{COMPACTION[key]} must be 0-4294967295"):
            make(compaction={key: 2**32})
    with pytest.raises(TypeError):
        make(compaction={"max_inputs": 1.0})
    with pytest.raises(TypeError):
        make(adaptive={"alpha": "half"})


def test_flat_aliases_are_accepted(make: Make) -> None:
    make(**{f"adaptive_{key}": value for key, value in ADAPTIVE.items()})
    make(compaction_target_bytes=5, max_compaction_inputs=4, max_compaction_windows=3)
    make(compaction={"max_inputs": 1}, max_compaction_windows=1)


def test_an_alias_and_its_key_exclude_each_other(make: Make) -> None:
    for key, value in ADAPTIVE.items():
        with pytest.raises(
            ValueError, match=rf"Cannot specify both adaptive_{key} and adaptive=\{{'{key}': "
        ):
            make(**{f"adaptive_{key}": value}, adaptive={key: value})
    for key, alias in COMPACTION.items():
        with pytest.raises(
            ValueError, match=rf"Cannot specify both {alias} and compaction=\{{'{key}': "
        ):
            make(**{alias: 1}, compaction={key: 1})


def test_adaptive_windows_must_make_sense_once_they_are_on(make: Make) -> None:
    with pytest.raises(ValueError):
        make(adaptive={"target_records": 10, "min_window": 100, "max_window": 10})
    make(adaptive={"min_window": 100, "max_window": 10})  # off without target_records
    make(adaptive={"target_records": 10, "hysteresis_pct": 100})
    with pytest.raises(ValueError):
        make(adaptive={"target_records": 10, "hysteresis_pct": 101})


def test_every_option_together_makes_a_log_that_works(make: Make) -> None:
    log = make(
        time_unit="us",
        maintenance="background",
        busy_policy="flush",
        min_ts=-100,
        mostly_ordered_default=False,
        memtable_max_bytes=1 << 16,
        target_page_bytes=1 << 12,
        sealed_max_runs=2,
        ooo_budget_bytes=1 << 12,
        sealed_wait_ms=10,
        drain_batch_limit=100,
        maintenance_wakeup_ms=10,
        max_delta_segments=4,
        window_size=1000,
        window_origin=-7,
        delete_debt_threshold=0.5,
        compaction={"target_bytes": 1 << 16, "max_inputs": 8, "max_windows": 2},
        adaptive=ADAPTIVE,
    )
    log.extend(range(-100, 10_000), range(10_100))
    log.delete(0, 5_000)
    log.flush()
    assert [time for time, _ in log] == [*range(-100, 0), *range(5_000, 10_000)]
    log.close()


def test_an_open_log_cannot_be_initialised_again(log: Any) -> None:
    log.append(1, "a")
    with pytest.raises(TypeError, match="Timelog already initialized"):
        log.__init__()
    assert list(log) == [(1, "a")]


@pytest.mark.parametrize(
    ("preset", "maintenance", "policy"),
    [
        ("for_streaming", "background", "flush"),
        ("for_bulk_ingest", "disabled", "flush"),
        ("for_low_latency", "background", "raise"),
    ],
)
def test_presets_set_what_they_say(
    peer_module: ModuleType, preset: str, maintenance: str, policy: str
) -> None:
    make = getattr(peer_module.Timelog, preset)
    with make() as log:
        assert (log.maintenance_mode, log.busy_policy, log.time_unit) == (maintenance, policy, "ms")
        log.append(1, "a")
        assert list(log) == [(1, "a")]
    with make(busy_policy="silent", time_unit="ns", min_ts=3, sealed_wait_ms=5) as log:
        assert (log.busy_policy, log.time_unit, log.min_ts_floor) == ("silent", "ns", 3)
    with make(maintenance="disabled", memtable_max_bytes=1 << 12) as log:
        assert log.maintenance_mode == "disabled"
    with pytest.raises(TypeError, match="colour"):
        make(colour=1)
    with pytest.raises(TypeError):
        make(5)

    class Mine(peer_module.Timelog):  # type: ignore[name-defined, misc]
        pass

    with getattr(Mine, preset)() as log:
        assert type(log) is Mine


def test_the_preset_for_bulk_takes_a_million_bytes_without_a_seal(
    peer_module: ModuleType,
) -> None:
    with peer_module.Timelog.for_bulk_ingest() as log:
        log.extend(range(100_000), range(100_000))
        assert log.stats()["operational"]["seals_total"] == 0
        assert log.stats()["memtable"]["active_records"] == 100_000


def test_the_preset_for_low_latency_has_a_small_memtable(peer_module: ModuleType) -> None:
    options = {"maintenance": "disabled", "busy_policy": "silent"}
    with peer_module.Timelog.for_low_latency(**options) as log:
        log.extend(range(20_000), range(20_000))  # 256 KiB are some 10,900 rows
        assert log.stats()["operational"]["seals_total"] >= 1
