"""Systems that a user names by a folder: what their drivers tell becomes rows, and a folder of another kind is refused."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
# What dls's driver tells of 2,000 entries, flushed each 1,000.
TOLD = """
{"entries":2000,"write_seconds":0.2,"write_p50":9e-5,"write_p95":1.5e-4,"write_p99":4e-4,"read_seconds":0.004,
"read_entries":2000,"newest_p50":0.003,"newest_p95":0.0035,"newest_p99":0.004,"newest_entries":1012,"flushes":2,
"flush_seconds":0.04,"encode_seconds":0.006,"log_seconds":0.03,"log_bytes":2200000,"rise_bytes":5100000,"answers_equal":true}
"""


@pytest.fixture
def published(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    monkeypatch.syspath_prepend(str(ROOT))
    names = ("catalogue", "clones", "dls", "kausaldb", "live", "pulsora_live", "results")
    return SimpleNamespace(**{name: importlib.import_module(f"bench.python.published.{name}") for name in names})


def git(folder: Path, *words: str) -> str:
    command = ["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@b", *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture
def clone(published: SimpleNamespace, tmp_path: Path) -> tuple[Any, Path]:
    """A system, and a clone of it at the commit that is measured."""
    folder = tmp_path / "clone"
    folder.mkdir()
    (folder / "main.zig").write_text("one\n", encoding="utf-8")
    git(folder, "init", "-q")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "one")
    known = published.clones.Known("other", "OTHER", "a.b/other", git(folder, "rev-parse", "HEAD"), ("main.zig",))
    return known, folder


def test_what_a_driver_tells_becomes_rows_of_the_report(published: SimpleNamespace) -> None:
    dls = published.dls
    found = {row.id: row for row in dls.rows(dls.RUNS[0], json.loads(TOLD))}
    assert {row.side for row in found.values()} == {"peer"}
    assert found["V8 write synced"].value == pytest.approx(100)
    assert found["V8 write synced"].p99 == 4e-4
    assert found["V8 read"].value == pytest.approx(2)
    assert found["V8 ratio"].value == pytest.approx(50)
    assert found["V8 flush"].value == pytest.approx(20)
    assert found["V8 encode"].value == pytest.approx(3)
    assert found["V8 log"].value == pytest.approx(15)
    assert found["last 1000"].value == pytest.approx(3_000)
    assert (found["peak"].value, found["log growth"].value) == (5.1, 2.2)
    others = {row.id for run in dls.RUNS[1:] for row in dls.rows(run, json.loads(TOLD))}
    rows = {row.id for row in published.catalogue.report("dls").rows}
    assert set(found) | others <= rows
    assert others == {"V3 write", "V3 read", "V3 10k write", "V3 10k read", "V2 write", "V2 read"}


@pytest.mark.parametrize("wrong", [{"read_entries": 1_999}, {"answers_equal": False}])
def test_entries_that_did_not_come_back_are_no_figure(
    published: SimpleNamespace, wrong: dict[str, Any]
) -> None:
    with pytest.raises(ValueError, match=r"dls, V8 read: .* of 2000 entries were read back"):
        list(published.dls.rows(published.dls.RUNS[0], json.loads(TOLD) | wrong))


def walked(**found: float) -> dict[str, Any]:
    """What KausalDB's driver tells, with other counts of some rows."""
    names = ("put synced", "get hot", "get cold", "miss", "hop 1", "hop reverse", "hop filtered", "hop 3", "bfs", "dfs")
    counts = {"bfs": 1_111.0, "dfs": 3_906.0} | found
    spread = {"p50": 2e-6, "p95": 3e-6, "p99": 4e-6, "calls": 15}
    return {name: spread | {"found": counts.get(name, 3.0)} for name in names}


def test_latencies_of_calls_become_rates_and_times_by_the_unit_of_the_row(published: SimpleNamespace) -> None:
    found = {row.id: row for row in published.kausaldb.rows(walked())}
    assert {row.side for row in found.values()} == {"peer"}
    assert found["hop 1"].value == found["edges"].value == pytest.approx(500_000)
    assert found["bfs"].value == found["hit cache"].value == pytest.approx(2)
    assert (found["put synced"].p50, found["put synced"].p99, found["put synced"].runs) == (2e-6, 4e-6, 15)
    assert "3.0 nodes on average" in found["hop 3"].note
    # Ours of these rows are not synced, theirs are.
    assert not {"delete", "link", "unlink", "put written"} & set(found)
    assert set(found) <= {row.id for row in published.catalogue.report("kausaldb").rows}


def test_walks_that_did_not_come_to_all_nodes_are_no_figure(published: SimpleNamespace) -> None:
    with pytest.raises(ValueError, match="KausalDB, bfs: 1110 nodes of 1111"):
        list(published.kausaldb.rows(walked(bfs=1_110)))
    with pytest.raises(ValueError, match="KausalDB, hop reverse: no edges were found"):
        list(published.kausaldb.rows(walked(**{"hop reverse": 0})))


def test_a_figure_is_the_mean_of_the_rounds_of_its_side(published: SimpleNamespace) -> None:
    one = published.results.Result(report="dls", id="V8 read", side="peer", label="dls", value=2.0, runs=9, p50=1.0)
    rounds = [one, replace(one, side="ours", value=1.0), replace(one, value=4.0, p50=None)]
    found = {row.side: row for row in published.live.means(rounds)}
    assert (found["peer"].value, found["peer"].runs) == (3.0, 18)
    assert found["ours"].value == 1.0


def test_a_folder_is_measured_with_only_at_the_commit_that_is_known(clone: tuple[Any, Path]) -> None:
    known, folder = clone
    assert known.named({}) is None
    assert known.named({"OTHER": str(folder)}) == folder


def test_a_folder_that_is_not_there_or_another_thing_is_refused(
    published: SimpleNamespace, clone: tuple[Any, Path], tmp_path: Path
) -> None:
    known, folder = clone
    refused = published.clones.UnusableError
    with pytest.raises(refused, match=r"OTHER=.*none: no such folder; clone a\.b/other there"):
        known.named({"OTHER": str(tmp_path / "none")})
    with pytest.raises(refused, match=r"not a clone of a\.b/other: it has no main\.zig"):
        known.named({"OTHER": str(tmp_path)})
    within = folder / "within"
    within.mkdir()
    (within / "main.zig").touch()
    with pytest.raises(refused, match="a folder of another repository"):
        known.named({"OTHER": str(within)})


def test_another_commit_and_changed_files_are_refused(
    published: SimpleNamespace, clone: tuple[Any, Path]
) -> None:
    known, folder = clone
    (folder / "main.zig").write_text("two\n", encoding="utf-8")
    with pytest.raises(published.clones.UnusableError, match=r"files differ from commit .*main\.zig"):
        known.named({"OTHER": str(folder)})
    git(folder, "commit", "-qam", "two")
    with pytest.raises(published.clones.UnusableError, match=rf"and {known.commit[:7]} is measured; git -C .* checkout"):
        known.named({"OTHER": str(folder)})


def test_a_compiler_of_another_version_or_none_is_refused(
    published: SimpleNamespace, tmp_path: Path
) -> None:
    clones = published.clones
    old = tmp_path / "zig"
    old.write_text(f"#!{sys.executable}\nprint('0.9.0')\n", encoding="utf-8")
    old.chmod(0o755)
    with pytest.raises(clones.UnusableError, match=r"zig is 0\.9\.0; Zig 0\.15\.1 is needed"):
        clones.zig(("0.15.1",), {"ZIG": str(old)})
    assert clones.zig(("0.9.0",), {"ZIG": str(old)}) == [str(old)]
    with pytest.raises(clones.UnusableError, match="No such file or directory; Zig"):
        clones.zig(("0.15.1",), {"ZIG": str(tmp_path / "none")})


def test_a_clone_whose_packages_were_not_fetched_is_not_built(
    published: SimpleNamespace, tmp_path: Path
) -> None:
    (tmp_path / "build.zig.zon").write_text('.{ .a = .{ .url = "x", .hash = "a-1.0-x" } }', encoding="utf-8")
    zig = tmp_path / "zig"
    zig.write_text(f"#!{sys.executable}\nprint('.global_cache_dir = \"cache\",')\n", encoding="utf-8")
    zig.chmod(0o755)
    clones = published.clones
    with pytest.raises(clones.UnusableError, match=r"not built: a is not in .*a-1\.0-x; run `zig build`"):
        clones.zig_package([str(zig)], tmp_path, "a")
    with pytest.raises(clones.UnusableError, match="no hash of b"):
        clones.zig_package([str(zig)], tmp_path, "b")
    package = tmp_path / "cache" / "p" / "a-1.0-x"
    package.mkdir(parents=True)
    assert clones.zig_package([str(zig)], tmp_path, "a") == package


def test_calls_of_pulsora_become_rates_by_the_amount_of_a_call(published: SimpleNamespace) -> None:
    spread = {"p50": 0.002, "p95": 0.003, "p99": 0.004, "calls": 15}
    names = ("parse 100", "whole 1000", "batch 100", "range10 10000", "page 1000", "mixed", "tables", "block 1000", "pack integer")
    told = {name: spread for name in names} | {"ratio boolean": {"value": 40.0}, "peak": {"value": 130.0}}
    found = {row.id: row for row in published.pulsora_live.rows(told, typed=2_000)}
    values = {id: pytest.approx(row.value) for id, row in found.items()}
    # A batch of 100 is one of 10,000 rows, a page is one, and a block is told in milliseconds.
    assert values == {
        "parse 100": 50_000, "whole 1000": 500_000, "batch 100": 5_000_000, "range10 10000": 5_000_000, "page 1000": 500,
        "mixed": 5_500, "tables": 5_000_000, "block 1000": 2, "pack integer": 1_000_000, "ratio boolean": 40, "peak": 130,
    }  # fmt: skip
    assert {row.side for row in found.values()} == {"peer"}
    assert (found["page 1000"].p50, found["page 1000"].p99, found["page 1000"].runs) == (0.002, 0.004, 15)
    assert set(found) <= {row.id for row in published.catalogue.report("pulsora").rows}


def test_a_driver_in_rust_is_built_against_the_folder_that_was_named(
    published: SimpleNamespace, tmp_path: Path
) -> None:
    other, driver, into = tmp_path / "other", tmp_path / "driver.rs", tmp_path / "built"
    (other / "src").mkdir(parents=True)
    manifest = ["[package]", 'name = "other"', 'version = "1.2.3"', 'edition = "2021"', "", "[profile.release]", "debug = 0"]
    (other / "Cargo.toml").write_text("\n".join(manifest), encoding="utf-8")
    (other / "src" / "lib.rs").write_text("pub fn answer() -> u32 { 42 }", encoding="utf-8")
    driver.write_text('fn main() { println!("{}", other::answer()); }', encoding="utf-8")
    made = published.clones.build_cargo(driver, "other", other, [], into)
    assert subprocess.run([made], capture_output=True, text=True, check=True).stdout == "42\n"
    assert "debug = 0" in (into / "other" / "Cargo.toml").read_text(encoding="utf-8")
    # Nothing is written where it is named.
    assert sorted(path.name for path in other.iterdir()) == ["Cargo.toml", "src"]
    driver.write_text("fn main() { other::no_answer(); }", encoding="utf-8")
    with pytest.raises(published.clones.UnusableError, match=r"driver\.rs: does not build: error"):
        published.clones.build_cargo(driver, "other", other, [], into)
