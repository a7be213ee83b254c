"""`timestrata.compat.timelog` beside the module that it stands in for: that module's own tests, and its names.

The tests come from its source distribution, which `tools/setup test` fetches by its hash. They are run as they are.
"""

import ast
import os
import subprocess
import sys
import tarfile
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from timestrata.compat import timelog

VERSION = "timelog_lib-1.4.0"
SDIST = Path(sys.prefix) / "timelog-lib" / f"{VERSION}.tar.gz"
# What it is itself built for begins with Python 3.12; these ask that version's `collections.abc.Buffer`.
OF_PYTHON_3_12 = [
    "test_hardening.py::TestBufferSurface::test_pagespan_is_sole_buffer_exporter",
    "test_hardening.py::TestBufferSurface::test_handles_never_exported_as_numeric",
    "test_hardening.py::TestPep688Buffer::test_pagespan_is_collections_abc_buffer",
]
TESTS = 303
# Of Python 3.14's interpreters, of builds without a lock, and of a source tree of its own.
SKIPPED = 20
# Its own helpers and marks, of which no program has a use.
INNER = {
    "__all__", "_SENTINEL", "_check_min_ts", "_coerce_and_guard", "_delete_point_checked", "_filtered_pairs",
}  # fmt: skip


@pytest.fixture(scope="module")
def peer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its sources."""
    if not SDIST.exists():
        pytest.skip(f"no {SDIST}: tools/setup test fetches it, where there is an index of packages")
    folder = tmp_path_factory.mktemp("peer")
    with tarfile.open(SDIST) as archive:
        archive.extractall(folder, filter="data")
    # Found before the names of ours, as a program finds the module that it imports.
    (folder / "shim" / "timelog").mkdir(parents=True)
    (folder / "shim" / "timelog" / "__init__.py").write_text(
        "from timestrata.compat.timelog import install_as_timelog\ninstall_as_timelog()\n"
    )
    # As they are run against an installed package: there is no source tree beside them.
    (folder / "tree" / "python").mkdir(parents=True)
    (folder / VERSION / "python" / "tests").rename(folder / "tree" / "python" / "tests")
    return folder


def test_the_peers_own_tests_pass_as_they_are(peer: Path) -> None:
    told = peer / "told.xml"
    tests = "tree/python/tests"
    left_out = OF_PYTHON_3_12 if sys.version_info < (3, 12) else []
    if left_out:
        print(f"left out, as this Python is older than 3.12: {', '.join(left_out)}")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "ignore", f"--junitxml={told}"]
    command += [f"--deselect={tests}/{name}" for name in left_out]
    paths = [str(peer / "shim"), os.environ.get("PYTHONPATH", "")]
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        "TIMELOG_STRESS_TESTS": "1",
        "TIMELOG_SHORT_STRESS": "1",
    }
    run = subprocess.run(
        [*command, tests], cwd=peer, env=environment, capture_output=True, text=True, timeout=600, check=False
    )
    assert run.returncode == 0, run.stdout[-4000:] + run.stderr[-2000:]
    [suite] = ElementTree.parse(told).getroot().iter("testsuite")
    assert int(suite.attrib["tests"]) == TESTS - len(left_out)
    assert int(suite.attrib["skipped"]) <= SKIPPED
    assert (suite.attrib["failures"], suite.attrib["errors"]) == ("0", "0")


def names_of(body: list[ast.stmt]) -> set[str]:
    """What a module or a class defines, and what a module has from others of its package."""
    names: set[str] = set()
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign):
            names.update(target.id for target in node.targets if isinstance(target, ast.Name))
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("timelog"):
            names.update(alias.asname or alias.name for alias in node.names)
        elif isinstance(node, ast.Try):
            names |= names_of(node.body)
    return names


def test_every_name_of_the_peers_modules_and_of_its_class_is_there(peer: Path) -> None:
    package = peer / VERSION / "python" / "timelog"
    top = ast.parse((package / "__init__.py").read_text(encoding="utf-8"))
    api = ast.parse((package / "_api.py").read_text(encoding="utf-8"))
    native = ast.parse((package / "_timelog.pyi").read_text(encoding="utf-8"))
    for ours, theirs in ((timelog, top), (timelog._api, api), (timelog._timelog, native)):
        wanted = names_of(theirs.body) - INNER
        assert len(wanted) > 3
        assert {name for name in wanted if not hasattr(ours, name)} == set()
        for node in theirs.body:
            if isinstance(node, ast.ClassDef):
                cls = getattr(ours, node.name)
                missing = {name for name in names_of(node.body) - INNER if not hasattr(cls, name)}
                assert missing == set(), node.name


def test_a_program_that_cant_be_changed_imports_ours() -> None:
    program = """
import timestrata.compat.timelog as ours
ours.install_as_timelog()
ours.install_as_timelog()
import timelog
from timelog._timelog import Timelog as Raw
from timelog._api import _coerce_ts
with timelog.Timelog() as log:
    log[1] = "a"
    assert isinstance(log, Raw) and log.to_dict() == {1: "a"} and _coerce_ts(2) == 2
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


def test_the_module_itself_is_not_replaced_where_it_is_imported_already() -> None:
    program = """
import sys, types
import timestrata.compat.timelog as ours
there = types.ModuleType("timelog")
there.Timelog = object
sys.modules["timelog"] = there
try:
    ours.install_as_timelog()
except ImportError:
    assert sys.modules["timelog"] is there and "timelog._api" not in sys.modules
else:
    raise SystemExit("it was replaced")
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


def test_a_log_of_the_compat_class_is_kept_by_a_store_too(tmp_path: Path) -> None:
    with timelog.Timelog(path=tmp_path / "store", name="door") as log:
        log.append(5, "opened")
        log.extend([7], ["closed"])
        with pytest.raises(TypeError, match="integers in the log's time_unit"):
            log.append("late", ts=__import__("datetime").datetime(2024, 1, 1))
        with pytest.raises(TypeError, match="prev_ts"):
            reversed(log)
    log.reopen()
    assert log.to_dict() == {5: "opened", 7: "closed"}
    log.close()
