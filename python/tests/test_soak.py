"""A soak works on all five models, finds what is planted, and judges what it has measured as its page says."""

from __future__ import annotations

import importlib
import math
import random
import xml.etree.ElementTree as xml
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
MODELS = {"timelog", "table", "logs", "topic", "graph"}
MIB = 1 << 20


@pytest.fixture
def soak(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    monkeypatch.syspath_prepend(str(ROOT))
    names = (
        "figures", "floor", "histogram", "lines", "page", "pictures", "recorder", "results", "run", "settings", "trend",
        "verdict", "loads.timelog", "loads.topic",
    )  # fmt: skip
    modules = {name: importlib.import_module(f"bench.python.soak.{name}") for name in names}
    return SimpleNamespace(**{name.replace(".", "_"): module for name, module in modules.items()})


def short(soak: SimpleNamespace, folder: Path, rounds: int = 120) -> Any:
    """A run of so many steps a load, as fast as they come."""
    settings = soak.settings.Settings(seed=7, seconds=0.2, rounds=rounds, retention=60.0)
    return soak.run.Soak(settings, folder / "soak").run()


def test_a_short_soak_works_on_all_models_and_makes_its_page(
    soak: SimpleNamespace, tmp_path: Path
) -> None:
    outcome = short(soak, tmp_path)
    assert outcome.failures == []
    done = {model: 0 for model in MODELS | {"sql", "store"}}
    for kind in outcome.recorder.all():
        done[kind.model] += kind.whole.count
    assert all(done[model] >= 100 for model in MODELS), done
    assert done["sql"] and done["store"], done
    # Each record that was sent came to one of the two members of the group.
    assert sum(outcome.sent.values()) > 0
    for line in outcome.lines:
        assert line["rss"] >= line["anonymous"] > 0 and line["bytes"] > 0 and line["wal_bytes"] > 0
        # Where the allocator tells: of the memory without a file some is in use.
        assert line["anonymous"] > line.get("in_use", 1) > 0
        assert line["threads"] > 5 and line["open_files"] > 3 and line["files"] > 3
    assert len(outcome.lines) >= 2 and set(outcome.lines[-1]["floors"]) == {
        "disk",
        "scheduler",
        "processor",
        "host",
    }
    path = tmp_path / "results.json"
    written = soak.results.write(path, outcome)
    found = soak.results.read(path)
    assert (found.samples, len(found.kinds)) == (written.samples, len(written.kinds))
    criteria = {each.name: each for each in soak.verdict.verdict(found)}
    assert criteria["no wrong answer, no error"].passed is True
    # Growth is not told from so little.
    assert criteria["anonymous memory: no growth"].passed is None
    text = soak.page.text(found)
    assert "graph walk" in text and "SEED=7" in text
    drawn = dict(soak.pictures.drawn(found))
    assert list(drawn) == [name for name, _ in soak.pictures.titles()]
    for name, svg in drawn.items():
        assert f"({name}.svg)" in text
        assert xml.fromstring(svg).tag.endswith("svg")


def test_the_same_seed_draws_the_same_steps(soak: SimpleNamespace, tmp_path: Path) -> None:
    first, second = (short(soak, tmp_path / name, 60) for name in ("first", "second"))

    def drawn(outcome: Any) -> dict[str, int]:
        kinds = outcome.recorder.all()
        # What consumers find, and how old tables are, depends on the clock.
        return {kind.name: kind.whole.count for kind in kinds if kind.model in ("timelog", "graph")}

    assert drawn(first) == drawn(second)


def test_a_wrong_answer_ends_the_run_and_is_told_with_its_seed(
    soak: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load = soak.loads_timelog.TimelogLoad

    def delete_nothing(self: Any) -> None:
        """The store would have lost what was to be deleted; here the load has, and the store not."""
        self._forget([self.now // soak.loads_timelog.BUCKET_MS])

    monkeypatch.setattr(load, "delete", delete_nothing)
    outcome = short(soak, tmp_path)
    assert outcome.failures and "timelog" in outcome.failures[0] and "seed 7" in outcome.failures[0]
    found = soak.results.write(tmp_path / "results.json", outcome)
    assert soak.verdict.failed(soak.verdict.verdict(found))
    assert "**FAILED**" in soak.page.text(found)


def test_an_error_ends_the_run(
    soak: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(self: Any) -> None:
        raise OSError("planted")

    monkeypatch.setattr(soak.loads_topic.TopicLoad, "get", broken)
    assert any("OSError: planted" in failure for failure in short(soak, tmp_path).failures)


# Series of an hour, a value each 15 seconds, by the time since its steady part began.
SERIES: dict[str, tuple[Callable[[float, random.Random], float], bool]] = {
    "flat": (lambda t, rng: 200 * MIB, False),
    "flat and noisy": (lambda t, rng: (200 + rng.gauss(0, 8)) * MIB, False),
    "a leak": (lambda t, rng: (200 + t / 60 + rng.gauss(0, 4)) * MIB, True),
    "a slow leak without noise": (lambda t, rng: (200 + t / 400 + rng.gauss(0, 0.3)) * MIB, True),
    "a leak with outliers": (
        lambda t, rng: (200 + t / 60 + (300 if rng.random() < 0.1 else 0)) * MIB,
        True,
    ),
    "peaks": (lambda t, rng: (200 + (300 if rng.random() < 0.1 else 0)) * MIB, False),
    "a saw": (lambda t, rng: (200 + t % 400 / 10) * MIB, False),
    "a saw that climbs": (lambda t, rng: (200 + t / 30 + t % 400 / 10) * MIB, True),
    "falling": (lambda t, rng: (300 - t / 60) * MIB, False),
    "a kilobyte a minute": (lambda t, rng: 200 * MIB + t / 60 * 1024, False),
}


@pytest.mark.parametrize("name", SERIES)
def test_growth_is_told_from_wavering(soak: SimpleNamespace, name: str) -> None:
    of, grows = SERIES[name]
    times = [15.0 * at for at in range(240)]
    for seed in range(20):
        rng = random.Random(seed)
        trend = soak.trend.trend(times, [of(t, rng) for t in times])
        assert trend.grows(MIB) is grows, (seed, trend)


def test_a_slope_is_that_of_the_series(soak: SimpleNamespace) -> None:
    trend = soak.trend.trend(
        [float(at) for at in range(100)], [5.0 + 3.0 * at for at in range(100)]
    )
    assert trend.slope == pytest.approx(3.0) and trend.growth == pytest.approx(297.0)
    assert trend.low == pytest.approx(3.0) == pytest.approx(trend.high) and trend.noise < 1e-9
    with pytest.raises(ValueError, match="3"):
        soak.trend.trend([1.0], [1.0])


def synthetic(soak: SimpleNamespace, **keys: Callable[[float], float]) -> Any:
    """Results of an hour in which all is level but what is given."""
    level = {key: 100.0 * MIB for _, key, *_ in soak.verdict.STEADY} | {
        "bytes": 100.0 * MIB,
        "tree_bytes": 0.0,
    }
    samples = []
    for at in range(240):
        t = 15.0 * (at + 1)
        line: dict[str, Any] = {"t": t, "is_steady": t > 450, **level}
        samples.append(line | {key: of(t) for key, of in keys.items()})
    run = {"failures": [], "steps": {"timelog": [1000, 0], "sql": [100, 0]}, "records": 10_000}
    return soak.results.Results(run, [kind(0)], [], samples)


def kind(neither: int, disk: int = 0) -> dict[str, Any]:
    slow = {"disk": disk, "scheduler": 0, "processor": 0, "host": 0, "neither": neither}
    return {"name": "topic send", "steady": [1000, 10.0, 20.0, 30.0], "slow": slow}


def failures(soak: SimpleNamespace, results: Any) -> list[str]:
    criteria = soak.verdict.verdict(results)
    assert all(each.passed is not None for each in criteria), criteria
    return [each.name for each in criteria if not each.passed]


def test_each_criterion_fails_by_itself(soak: SimpleNamespace) -> None:
    assert failures(soak, synthetic(soak)) == []
    leaking = synthetic(soak, anonymous=lambda t: (100 + t / 60) * MIB)
    assert failures(soak, leaking) == ["anonymous memory: no growth"]
    warming = synthetic(soak, anonymous=lambda t: min(t, 450.0) * MIB)
    assert failures(soak, warming) == []
    handles = synthetic(soak, open_files=lambda t: 10 + t // 300)
    assert failures(soak, handles) == ["open files: no growth"]
    # Hashes of topics may grow, by as much as was sent.
    hashing = {"tree_bytes": lambda t: t * 100, "bytes": lambda t: 100 * MIB + t * 100}
    assert failures(soak, synthetic(soak, **hashing)) == []
    bloated = synthetic(soak, tree_bytes=lambda t: t * 1000, bytes=lambda t: 100 * MIB + t * 1000)
    assert failures(soak, bloated) == ["hashes of topics"]
    late = synthetic(soak)
    late.run["steps"]["sql"] = [80, 20]
    assert failures(soak, late) == ["the load keeps its pace"]
    late.run["failures"].append("table, step 5: ...")
    assert failures(soak, late)[0] == "no wrong answer, no error"
    stalled = synthetic(soak)
    stalled.kinds.append(kind(0, disk=9))
    assert failures(soak, stalled) == []
    stalled.kinds.append(kind(1))
    assert failures(soak, stalled) == ["no stall of the store's own"]


def test_a_run_without_a_steady_part_is_not_judged_by_slopes(soak: SimpleNamespace) -> None:
    results = synthetic(soak, anonymous=lambda t: t * MIB)
    for line in results.samples:
        line["is_steady"] = line["t"] > 3400
    by_name = {each.name: each.passed for each in soak.verdict.verdict(results)}
    assert (
        by_name["anonymous memory: no growth"] is None
        and by_name["no wrong answer, no error"] is True
    )


MS = 1_000_000


def test_a_stall_counts_under_the_floor_that_stalled_with_it(soak: SimpleNamespace) -> None:
    disk, scheduler = soak.floor.Floor(), soak.floor.Floor()
    disk.name, scheduler.name = "disk", "scheduler"
    begin = 1_000_000 * MS
    of = soak.recorder.Kind("topic", "send")
    for at in range(100):
        of.add(begin + at, begin + at + MS // 10, True)
    of.take(begin, [disk, scheduler])
    # Of 200 ms each: the disk stalls with the first, the scheduler with the second, and neither with the last.
    for at in (1_000, 2_000, 3_000):
        of.add(begin + at * MS, begin + (at + 200) * MS, True)
    disk.add(begin + 1_020 * MS, begin + 1_190 * MS)
    scheduler.add(begin + 2_010 * MS, begin + 2_060 * MS)
    scheduler.add(begin + 2_080 * MS, begin + 2_150 * MS)
    disk.add(begin + 3_150 * MS, begin + 3_230 * MS)
    for floor in (disk, scheduler):
        floor.add(begin + 4_000 * MS, begin + 4_000 * MS + 1)
    of.take(begin, [disk, scheduler])
    line, slow = soak.results.kind_lines(of, of.settled, {"disk": MS, "scheduler": MS // 10})
    assert line["slow"] == {"disk": 1, "scheduler": 1, "processor": 0, "host": 0, "neither": 1}
    # Fifty medians of the disk, which are more than the kind's own.
    assert line["limit_ms"] == 50.0 and line["over_own"] == 3
    assert {each["why"]: each["at"] for each in slow} == {
        "disk": 1.0,
        "scheduler": 2.0,
        "neither": 3.0,
    }
    # What takes as long within the warm-up doesn't count, nor what is short beside a sync.
    other = soak.recorder.Kind("topic", "get")
    other.add(begin, begin + 500 * MS, False)
    for at in range(60):
        other.add(begin + at, begin + at + MS // 100, True)
    other.add(begin + 1_000 * MS, begin + 1_030 * MS, True)
    other.take(begin, [disk, scheduler])
    line, slow = soak.results.kind_lines(other, other.settled, {"disk": MS, "scheduler": MS // 10})
    assert (slow, line["over_own"]) == ([], 1)


def test_what_is_slow_waits_until_the_floors_have_seen_its_end(soak: SimpleNamespace) -> None:
    disk = soak.floor.Floor()
    disk.name, begin = "disk", disk.seen_to
    of = soak.recorder.Kind("topic", "send")
    of.add(begin, begin + 300 * MS, True)
    of.take(begin, [disk])
    assert of.settled == [] and len(of.pending) == 1
    disk.add(begin + 10 * MS, begin + 400 * MS)
    of.take(begin, [disk])
    assert of.pending == [] and of.settled[0].floors == (("disk", 290 * MS),)


def test_what_was_slow_is_kept_in_a_file_and_read_back(
    soak: SimpleNamespace, tmp_path: Path
) -> None:
    disk = soak.floor.Floor()
    disk.name, begin = "disk", disk.seen_to
    recorder = soak.recorder.Recorder(begin, soak.lines.Lines(tmp_path / "slow"))
    of = recorder.kind("topic", "send")
    of.add(begin + MS, begin + 301 * MS, True)
    disk.add(begin + 10 * MS, begin + 400 * MS)
    recorder.take([disk], lambda start, end: ("flush rooms",))
    assert of.settled == []
    [slow] = recorder.slow()["topic send"]
    found = (slow.ns, slow.at, slow.floors, slow.together, list(slow.events))
    assert found == (300 * MS, MS, (("disk", 291 * MS),), 291 * MS, ["flush rooms"])


def test_stalls_are_found_by_time_and_forgotten(soak: SimpleNamespace) -> None:
    spans = soak.floor.Spans()
    for at in range(1_000):
        spans.add(10 * at, 10 * at + 5)
    assert spans.within(3, 22) == [(3, 5), (10, 15), (20, 22)]
    spans.forget(9_000)
    assert spans.within(0, 9_001) == [(9_000, 9_001)]
    assert spans.within(9_987, 20_000) == [(9_990, 9_995)]


def test_what_floors_wait_at_once_counts_once(soak: SimpleNamespace) -> None:
    assert soak.floor.covered([(0, 10), (5, 8), (20, 30), (5, 12)]) == 22
    why = soak.results.why
    # Each waited for less than half of it, both together for more.
    assert why(100, {"disk": 40, "scheduler": 30}, 60) == "disk"
    assert why(100, {"disk": 40, "scheduler": 30}, 45) == "neither"


def test_what_a_host_took_is_read_by_processor(soak: SimpleNamespace, tmp_path: Path) -> None:
    counts = tmp_path / "stat"
    counts.write_text("cpu  9 9 9 9 9 9 9 12 0 0\ncpu0 5 0 1 2 3 0 4 7 0 0\ncpu1 5 0 1 2 3 0 4 5 0 0\nintr 8\n")
    assert dict(soak.floor._stolen(counts.read_text())) == {"cpu0": 7, "cpu1": 5}
    floor = soak.floor.HostFloor()
    soak.floor.PROCESSORS, before = counts, soak.floor.PROCESSORS
    try:
        begin = floor.seen_to
        floor.probe()
        assert soak.floor.covered(floor.waited(begin, floor.seen_to)) == 0
        counts.write_text("cpu0 5 0 1 2 3 0 4 8 0 0\ncpu1 5 0 1 2 3 0 4 8 0 0\n")
        floor.probe()
    finally:
        soak.floor.PROCESSORS = before
    assert soak.floor.covered(floor.waited(begin, floor.seen_to)) == 3 * soak.floor.TICK_NS
    # Older kernels have fewer counts.
    assert dict(soak.floor._stolen("cpu0 5 0 1 2\n")) == {}


def test_buckets_are_exact_to_six_percent(soak: SimpleNamespace) -> None:
    rng = random.Random(3)
    values = [int(math.exp(rng.uniform(0, 23))) for _ in range(20_000)]
    for value in values:
        middle = soak.histogram.middle_of(soak.histogram.bucket_of(value))
        assert abs(middle - value) <= max(value * 0.0625, 1), value
    whole = soak.histogram.Histogram()
    for value in values:
        whole.add(value)
    ordered = sorted(values)
    for share in (0.5, 0.99):
        exact = ordered[math.ceil(share * len(values)) - 1]
        assert whole.percentile(share) == pytest.approx(exact, rel=0.07)
    assert whole.longest == ordered[-1] == whole.percentile(1.0)
    assert soak.histogram.Histogram().form() == [0, 0.0, 0.0, 0.0]


def test_page_and_pictures_are_those_of_the_results(soak: SimpleNamespace) -> None:
    folder, results = ROOT / "docs" / "report", soak.results.read()
    assert (folder / "soak.md").read_text(encoding="utf-8") == soak.page.text(results)
    drawn = {} if results is None else dict(soak.pictures.drawn(results))
    assert {path.stem for path in folder.glob("soak-*.svg")} == set(drawn)
    for name, svg in drawn.items():
        assert (folder / f"{name}.svg").read_text(encoding="utf-8") == svg, name
