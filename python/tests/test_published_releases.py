"""What releases measured of published rows is kept as it was, and drawn at the right places."""

from __future__ import annotations

import importlib
import json
import xml.etree.ElementTree as xml
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
REPORT = """
title = "Other"
version = "1"
model = "table"
peer = "other"
about = "About it."
durability = "Equal."

[[section]]
title = "One"
rows = [
  { id = "in", what = "rows in", unit = "rows/s", published = 100.0 },
  { id = "out", what = "rows out", unit = "rows/s", published = 100.0 },
  { id = "wait", what = "a wait", unit = "us", published = 8.0 },
  { id = "size", what = "a size", unit = "MB" },
]
"""
# The last one is of no published figure, so nothing is drawn of it.
FIGURES = {
    "0.9.0": {"in": 100.0, "out": 400.0, "wait": 8.0, "size": 1.0},
    "0.10.0": {"in": 200.0, "out": 400.0, "wait": 1.0, "size": 9.0},
}
CHANGELOG = "# Changelog\n\n## 0.10.0 (unreleased)\n\n- More.\n\n## 0.9.0\n\n- All.\n"


@pytest.fixture
def on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> SimpleNamespace:
    """A report, a changelog, and a folder in which nothing is kept."""
    monkeypatch.syspath_prepend(str(ROOT))
    names = ("catalogue", "kept", "page", "pictures", "releases", "results")
    modules = {name: importlib.import_module(f"bench.python.published.{name}") for name in names}
    (tmp_path / "other.toml").write_text(REPORT, encoding="utf-8")
    (tmp_path / "CHANGELOG.md").write_text(CHANGELOG, encoding="utf-8")
    report = modules["catalogue"].read(tmp_path / "other.toml")
    stamps = importlib.import_module("bench.python.report.stamps")
    folder = tmp_path / "kept"
    return SimpleNamespace(
        report=report, folder=folder, tmp_path=tmp_path, stamps=stamps, **modules
    )


def keep(
    on: SimpleNamespace, release: str, figures: dict[str, float], *, is_whole: bool = True
) -> Path:
    """Measures these, and keeps them."""
    path = on.tmp_path / "report.json"
    path.unlink(missing_ok=True)
    rows = [
        on.results.Result(report="other", id=id, side=side, label=side, value=value, runs=3)
        for id, ours in figures.items()
        for side, value in (("ours", ours), ("peer", 50.0))
    ]
    on.results.merge(path, rows)
    on.stamps.stamp(path, on.report, on.results.read(path) if is_whole else [])
    lines, stamps = on.results.read(path), on.stamps.read(path)
    changelog = on.tmp_path / "CHANGELOG.md"
    return on.kept.keep(release, [on.report], lines, stamps, on.folder, changelog)


def both(on: SimpleNamespace) -> list[Any]:
    for release, figures in FIGURES.items():
        keep(on, release, figures)
    # What else is in that folder is of others.
    (on.folder / "latest.json").write_text("{}", encoding="utf-8")
    return on.kept.read([on.report], on.folder)


def test_a_release_is_kept_as_lines_of_what_was_measured(on: SimpleNamespace) -> None:
    path = keep(on, "0.9.0", FIGURES["0.9.0"])
    lines = json.loads(path.read_text(encoding="utf-8"))
    assert path.name == "0.9.0.json" and len(lines) == 8
    assert len(path.read_text(encoding="utf-8").splitlines()) == 10, "a line each"
    first = lines[0]
    assert list(first) == ["report", "id", "side", "value", "unit", "stamp"]
    assert [first[key] for key in list(first)[:5]] == ["other", "in", "ours", 100.0, "rows/s"]
    assert on.stamps.machine() in first["stamp"]


def test_releases_come_in_the_order_of_their_versions(on: SimpleNamespace) -> None:
    assert [kept.release for kept in both(on)] == ["0.9.0", "0.10.0"]


def test_points_are_medians_and_quartiles_of_ours_over_what_was_published(
    on: SimpleNamespace,
) -> None:
    points = on.releases.points(on.report, both(on))
    # Ratios of 1, 4 and 1, then of 2, 4 and 8: of a time less is better.
    assert [(each.low, each.middle, each.high) for each in points] == [
        (1.0, 1.0, 2.5),
        (3.0, 4.0, 6.0),
    ]


def test_a_row_that_not_all_releases_have_moves_no_median(on: SimpleNamespace) -> None:
    keep(on, "0.9.0", {"in": 100.0, "wait": 8.0})
    keep(on, "0.10.0", FIGURES["0.10.0"])
    kept = on.kept.read([on.report], on.folder)
    assert on.releases.ratios(on.report, kept) == {"in": [1.0, 2.0], "wait": [1.0, 8.0]}


def test_the_picture_has_its_points_at_the_right_places(on: SimpleNamespace) -> None:
    kept = both(on)
    [(name, svg)] = on.releases.drawn([on.report], kept)
    assert name == "releases"
    elements = list(xml.fromstring(svg).iter())
    circles = [each for each in elements if each.tag.endswith("circle")]
    places = [(float(each.attrib["cx"]), float(each.attrib["cy"])) for each in circles]
    # From 1 to 10 on a logarithmic scale, 1 at the lower end of the only panel.
    top, height = on.pictures.TOP, on.releases.PANEL
    assert [x for x, _ in places] == [on.releases.across(0, 2), on.releases.across(1, 2)]
    assert places[0][1] == pytest.approx(top + height, abs=0.06)
    assert places[1][1] == pytest.approx(top + height * (1 - 0.60206), abs=0.06)
    [band] = [each for each in elements if each.tag.endswith("polygon")]
    heights = [float(point.partition(",")[2]) for point in band.attrib["points"].split()]
    shares = [(top + height - y) / height for y in heights]
    # The upper quartiles forwards, then the lower ones backwards: 2.5, 6, 3, 1.
    assert shares == pytest.approx([0.39794, 0.77815, 0.47712, 0.0], abs=0.001)


def test_the_page_names_the_rows_that_changed_most(on: SimpleNamespace) -> None:
    text = "\n".join(on.releases.text([on.report], both(on)))
    assert "![Ours over what was published, release by release](releases.svg)" in text
    rows = [line for line in text.splitlines() if line.startswith("| Other")]
    assert rows == ["| Other | wait | 1.00 | 8.00 | 8.00 |", "| Other | in | 1.00 | 2.00 | 2.00 |"]
    assert on.stamps.machine() in text
    assert text in on.page.text([on.report], [], {}, text.splitlines())


def test_a_page_of_fewer_than_two_releases_says_so(on: SimpleNamespace) -> None:
    assert "No release's figures are kept yet" in "\n".join(on.releases.text([on.report], []))
    keep(on, "0.9.0", FIGURES["0.9.0"])
    kept = on.kept.read([on.report], on.folder)
    assert "one release are kept, 0.9.0" in "\n".join(on.releases.text([on.report], kept))
    assert list(on.releases.drawn([on.report], kept)) == []


@pytest.mark.parametrize(
    ("release", "said"),
    [
        ("next", "'next' is not the version of a release"),
        ("../0.9.0", "is not the version of a release"),
        ("0.8.0", "0.8.0 is not in CHANGELOG.md, which has 0.10.0, 0.9.0"),
    ],
)
def test_a_name_that_is_no_release_is_refused(on: SimpleNamespace, release: str, said: str) -> None:
    with pytest.raises(on.kept.KeptError, match=said):
        keep(on, release, FIGURES["0.9.0"])
    assert not on.folder.exists()


def test_what_a_release_measured_is_not_written_over(on: SimpleNamespace) -> None:
    path = keep(on, "0.9.0", FIGURES["0.9.0"])
    before = path.read_bytes()
    with pytest.raises(on.kept.KeptError, match="kept already; remove the file"):
        keep(on, "0.9.0", FIGURES["0.10.0"])
    assert path.read_bytes() == before


def test_rows_that_were_not_measured_together_are_not_kept(on: SimpleNamespace) -> None:
    with pytest.raises(on.kept.KeptError, match="the rows of other were not all measured together"):
        keep(on, "0.9.0", FIGURES["0.9.0"], is_whole=False)
    with pytest.raises(on.kept.KeptError, match="nothing is measured yet"):
        keep(on, "0.9.0", {})


def test_rows_that_no_report_has_are_refused(on: SimpleNamespace) -> None:
    with pytest.raises(on.kept.KeptError, match="'strange' of other, which is no row of a report"):
        keep(on, "0.9.0", {"strange": 1.0})
    path = keep(on, "0.9.0", FIGURES["0.9.0"])
    whole = path.read_text(encoding="utf-8")
    for old, new, said in (
        ('"in"', '"strange"', r"0\.9\.0\.json has 'strange' of other, which is no row"),
        (
            '"unit": "us"',
            '"unit": "ms"',
            r"0\.9\.0\.json has 'wait' of other in ms, and bench/published in us",
        ),
        (
            '"side": "ours"',
            '"side": "theirs"',
            r"0\.9\.0\.json, line 1: it must have report, id, side",
        ),
        ("100.0", '"many"', r"0\.9\.0\.json, line 1: 'many' is no figure"),
        ("[\n", "{", r"0\.9\.0\.json is not JSON"),
    ):
        path.write_text(whole.replace(old, new), encoding="utf-8")
        with pytest.raises(on.kept.KeptError, match=said):
            on.kept.read([on.report], on.folder)
