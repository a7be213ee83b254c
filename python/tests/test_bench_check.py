"""A check of benchmarks tells a regression from noise, and says so where it can't."""

from __future__ import annotations

import importlib
import json
import math
import random
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).resolve().parents[2]
SEED = 20_261_127


@pytest.fixture
def check(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    monkeypatch.syspath_prepend(str(ROOT))
    names = ("baseline", "judge", "measure", "measures", "rounds", "table")
    modules = {name: importlib.import_module(f"bench.python.check.{name}") for name in names}
    return SimpleNamespace(main=importlib.import_module("bench.python.check.__main__"), **modules)


def series(
    choose: random.Random, ratio: float, rounds: int, *, spread: float = 0.02
) -> list[list[float]]:
    """Rounds that differ from each other, turns that do too, and one in ten that something else was in the way of."""
    made = []
    for _ in range(rounds):
        middle = ratio * math.exp(choose.gauss(0, spread))
        turns = [middle * math.exp(choose.gauss(0, 2 * spread)) for _ in range(7)]
        made.append(
            [turn * choose.uniform(0.3, 0.8) if choose.random() < 0.1 else turn for turn in turns]
        )
    return made


def verdicts(check: SimpleNamespace, slower: float, threshold: float, rounds: int) -> list[str]:
    """What is said of twenty measures, each of which takes `slower` times as long as before."""
    choose, found = random.Random(SEED), []
    for _ in range(20):
        before = series(choose, 2.5, 10)
        now = series(choose, 2.5 / slower, rounds)
        found.append(check.judge.judge(before, now, threshold)[0].name)
    return found


def test_what_has_become_slower_by_more_than_its_class_allows_is_a_regression(
    check: SimpleNamespace,
) -> None:
    # Twelve in a hundred, where ten are allowed, is near the edge: many rounds are needed, and none says that it is fine.
    near = verdicts(check, 1.12, 0.10, 24)
    assert "FINE" not in near and "IMPROVEMENT" not in near
    assert set(verdicts(check, 1.25, 0.10, 10)) == {"REGRESSION"}
    # With little noise twelve are told at once.
    choose = random.Random(SEED)
    quiet = [series(choose, ratio, 10, spread=0.003) for ratio in (2.5, 2.5 / 1.12)]
    verdict, interval = check.judge.judge(*quiet, 0.10)
    assert verdict.name == "REGRESSION" and 1.10 < interval.low < 1.12 < interval.high


def test_noise_is_no_regression(check: SimpleNamespace) -> None:
    assert "REGRESSION" not in verdicts(check, 1.03, 0.10, 10)
    assert verdicts(check, 1.03, 0.10, 24).count("FINE") >= 18
    assert set(verdicts(check, 1.0, 0.10, 10)) == {"FINE"}


def test_what_has_become_faster_is_told_and_is_no_regression(check: SimpleNamespace) -> None:
    assert set(verdicts(check, 1 / 1.25, 0.10, 10)) == {"IMPROVEMENT"}


def test_too_few_rounds_decide_nothing(check: SimpleNamespace) -> None:
    assert set(verdicts(check, 1.0, 0.10, check.judge.ROUNDS_MIN - 1)) == {"NOT_DECIDED"}
    # What seems slower is measured again before it is told.
    assert set(verdicts(check, 1.5, 0.10, check.judge.ROUNDS_TO_TELL - 1)) == {"NOT_DECIDED"}
    before = series(random.Random(SEED), 2.5, check.judge.ROUNDS_MIN - 1)
    now = series(random.Random(SEED + 1), 1.0, 12)
    assert check.judge.judge(before, now, 0.10)[0].name == "NOT_DECIDED"


def test_an_interval_is_the_same_each_time_and_holds_the_median(check: SimpleNamespace) -> None:
    rounds = series(random.Random(SEED), 2.5, 5)
    first, second = (check.judge.ratio_interval(rounds) for _ in range(2))
    assert first == second and first.low <= first.middle == check.judge.ratio(rounds) <= first.high


def test_the_baseline_fits_the_measures(check: SimpleNamespace) -> None:
    kept = check.baseline.read()
    names = [measure.name for measure in check.measures.MEASURES]
    assert len(set(names)) == len(names)
    assert list(kept) == names, "make bench-check UPDATE=1"
    for line in kept.values():
        assert len(line.rounds) >= check.judge.ROUNDS_TO_TELL, line.name
        assert line.against and line.machine and line.commit and line.date


def test_each_measure_has_a_class_whose_threshold_is_known(check: SimpleNamespace) -> None:
    allowed = {measure.threshold for measure in check.measures.MEASURES}
    assert allowed == {0.05, 0.10, 0.15, 0.20}
    models = {measure.model for measure in check.measures.MEASURES}
    assert models == {"timelog", "table", "logs", "topic", "graph", "store"}


@pytest.fixture
def plain(check: SimpleNamespace) -> SimpleNamespace:
    """A measure of two sides that do the same work."""

    def pair(place: object) -> object:
        work = check.measure.Work(lambda: sum(range(20_000)))
        yield check.measure.Pair(work, work, "itself 1")

    return SimpleNamespace(
        measure=check.measure.measure("a plain one", check.measure.Class.PROCESSOR)(pair)
    )


def test_a_handicap_makes_ours_take_so_many_times_as_long(
    check: SimpleNamespace, plain: SimpleNamespace, tmp_path: Path
) -> None:
    place = check.measure.Place(tmp_path, tmp_path)
    even = check.measure.round_of(plain.measure, place, 5)
    slow = check.measure.round_of(plain.measure, place, 5, handicap=4.0)
    assert even.against == "itself 1" and len(even.turns) == 5
    # A busy machine may double either; four times is more than that.
    assert check.judge.ratio([slow.turns]) < 0.6 < check.judge.ratio([even.turns]) * 1.2


def test_sides_that_differ_give_no_figure(check: SimpleNamespace, tmp_path: Path) -> None:
    def pair(place: object) -> object:
        yield check.measure.Pair(
            check.measure.Work(lambda: 1), check.measure.Work(lambda: 2), "two"
        )

    measure = check.measure.measure("two", check.measure.Class.READ)(pair)
    with pytest.raises(Exception, match=r"ours gave 1, two 2"):
        check.measure.round_of(measure, check.measure.Place(tmp_path, tmp_path), 3)


def line(check: SimpleNamespace, rounds: list[list[float]], **more: str) -> object:
    said = {
        "name": "a",
        "against": "x 1",
        "date": "2026-01-01",
        "commit": "c",
        "machine": "here",
        **more,
    }
    return check.baseline.Line(rounds=rounds, **said)


def test_a_table_says_of_each_measure_what_it_was_is_and_may_be(check: SimpleNamespace) -> None:
    choose = random.Random(SEED)
    measure = check.measure.Measure("a", check.measure.Class.READ, lambda place: iter(()))
    taken = check.rounds.Taken(series(choose, 1.0, 10), "x 1")
    before = line(check, series(choose, 2.0, 10), machine="there")
    slower = check.rounds.found(measure, taken, before)
    other = check.rounds.found(measure, check.rounds.Taken(taken.rounds, "x 2"), before)
    new = check.rounds.found(measure, taken, None)
    text = "\n".join(check.table.lines([slower, other, new]))
    assert [one.verdict.value for one in (slower, other, new)] == [
        "REGRESSION",
        "not compared",
        "new",
    ]
    assert " 10%  " in text and "held against x 2" in text and "+1" in text
    notes = "\n".join(
        check.table.notes([slower, other, new], {"b": "gave up"}, {"z": before}, "here", ["a", "b"])
    )
    for said in ("of another machine (there; this is here)", "against x 1, and is now against x 2", "new: a: no baseline",
                 "has z, which is not measured any more", "FAILED b: gave up", "1 REGRESSION", "1 failed"):  # fmt: skip
        assert said in notes


def test_a_baseline_keeps_lines_of_other_measures_and_drops_those_of_none(
    check: SimpleNamespace, tmp_path: Path
) -> None:
    path = tmp_path / "baseline.json"
    one, two, gone = (line(check, [[1.0, 2.0]] * 3, name=name) for name in ("one", "two", "gone"))
    check.baseline.write(path, [two, gone, one], ["one", "two", "gone"])
    check.baseline.write(path, [line(check, [[4.0]], name="two")], ["one", "two"])
    kept = check.baseline.read(path)
    assert list(kept) == ["one", "two"] and kept["two"].rounds == [[4.0]]
    assert len(path.read_text().splitlines()) == 4, "a line each"


@pytest.mark.parametrize("text", ["{", "[1]", '[{"name": "a"}]', '{"a": 1}', None])
def test_a_file_that_is_no_baseline_is_refused_by_its_name(
    check: SimpleNamespace, tmp_path: Path, text: str | None
) -> None:
    path = tmp_path / "baseline.json"
    check.baseline.write(path, [line(check, [[1.0]])], ["a"])
    if text is None:
        text = path.read_text().replace("[[1.0]]", "[[0.0]]")
        assert json.loads(text)
    path.write_text(text)
    with pytest.raises(
        check.baseline.BaselineError, match=r"baseline\.json is not a baseline: .*UPDATE=1"
    ):
        check.baseline.read(path)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--handicap", "nothing=1.3"], "'nothing' is no measure"),
        (["--handicap", "graph hop=fast"], "'fast' is no number between 1 and 100"),
        (["--handicap", "graph hop=1.3", "--update"], "wrong on purpose"),
        (["--only", "nothing"], "no measure's name holds that"),
    ],
)
def test_arguments_that_mean_nothing_are_refused(
    check: SimpleNamespace, capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    with pytest.raises(SystemExit):
        check.main.arguments(words)
    assert said in capsys.readouterr().err


def test_a_baseline_is_not_made_where_a_sync_costs_nothing(
    check: SimpleNamespace,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    files = importlib.import_module("bench.python.common.files")
    mounts = tmp_path / "mounts"
    lines = ["/dev/a / ext4 rw 0 0", "none /fast tmpfs rw 0 0", "/dev/b /fast/disk xfs rw 0 0", "none /over ramfs rw 0 0", "/dev/c /over ext4 rw 0 0"]
    mounts.write_text("\n".join(lines), encoding="utf-8")
    where = ("/slow/x", "/fast", "/fast/x", "/fast/disk/x", "/faster", "/over/x")
    found = {path: files.is_in_memory(Path(path), mounts) for path in where}
    assert [path for path, is_memory in found.items() if is_memory] == ["/fast", "/fast/x"]
    assert not files.is_in_memory(Path("/fast"), tmp_path / "none")
    monkeypatch.setattr(check.main, "is_in_memory", lambda path: path == tmp_path)
    with pytest.raises(SystemExit):
        check.main.arguments(["--update", "--dir", str(tmp_path)])
    assert "which is memory" in capsys.readouterr().err
    # What only looks at ratios may be anywhere.
    assert check.main.arguments(["--dir", str(tmp_path)]).dir == tmp_path


def test_a_check_ends_with_1_for_a_regression_alone(
    check: SimpleNamespace, plain: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    choose = random.Random(SEED)
    # Series with so little noise need no more.
    monkeypatch.setattr(check.judge, "DRAWS", 200)

    def play(ratio: float, *words: str) -> int:
        def take_round(run: object, measures: list[object]) -> None:
            for measure in measures:
                taken = check.measure.Round("x 1", series(choose, ratio, 1, spread=0.003)[0])
                run.taken[measure.name].add(taken)

        monkeypatch.setattr(check.rounds.Run, "take_round", take_round)
        asked = [
            "check",
            "--baseline",
            str(tmp_path / "baseline.json"),
            "--dir",
            str(tmp_path),
            *words,
        ]
        monkeypatch.setattr("sys.argv", asked)
        return check.main.main()

    assert play(2.0) == 0, "without a baseline nothing is compared"
    assert play(2.0, "--update") == 0
    assert play(2.0) == 0
    assert play(1.0) == 1
    assert play(4.0) == 0
    # Not decided: no time to measure again.
    assert play(1.0, "--minutes", "0") == 0


def test_what_seems_to_have_changed_is_measured_again_first(
    check: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(check.judge, "DRAWS", 200)
    choose, again = random.Random(SEED), []
    slow, wide = (
        check.measure.Measure(name, check.measure.Class.PROCESSOR, lambda place: iter(()))
        for name in ("slow", "wide")
    )
    before = {name: line(check, series(choose, 2.0, 10), name=name) for name in ("slow", "wide")}

    def take_round(run: object, measures: list[object]) -> None:
        again.append([measure.name for measure in measures])
        for measure in measures:
            one = [1.0] * 7 if measure is slow else series(choose, 2.0, 1)[0]
            run.taken[measure.name].add(check.measure.Round("x 1", one))

    monkeypatch.setattr(check.rounds.Run, "take_round", take_round)
    run = check.rounds.Run([slow, wide], tmp_path, {})
    run.take(4)
    run.decide(before, math.inf)
    # Four more of what is twice as slow, which may then be told; only then the one that is not known well.
    assert again[4:8] == [["slow"]] * 4
    assert all(names == ["wide"] for names in again[8:])
    assert run.all_found(before)[0].verdict.name == "REGRESSION"
