"""The documents: their code does what they say, and the pages that are made are as they would be made now."""

from __future__ import annotations

import importlib
import logging
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
try:
    pages = importlib.import_module("tools.documents.pages")
    blocks = importlib.import_module("tools.documents.blocks")
    references = importlib.import_module("tools.documents.references")
    site = importlib.import_module("tools.documents.site")
finally:
    sys.path.remove(str(ROOT))

README = pages.Page("README.md", "Timestrata", "")
WITH_CODE = [README, *(page for page in pages.pages() if (ROOT / page.source).exists())]


def environment() -> dict[str, str]:
    """What blocks of shell run in: with our command, and as a stranger's machine otherwise."""
    path = f"{references.command().parent}{os.pathsep}{os.environ['PATH']}"
    kept = {name: os.environ[name] for name in ("HOME", "LANG", "TMPDIR") if name in os.environ}
    return {**kept, "PATH": path, "TZ": "UTC"}


@pytest.fixture(autouse=True)
def loggers() -> Iterator[None]:
    """What a page's code makes of loggers, which are the whole process's, is undone."""

    def handlers() -> Iterator[tuple[logging.Logger, logging.Handler]]:
        for logger in [logging.root, *map(logging.getLogger, list(logging.root.manager.loggerDict))]:
            for handler in logger.handlers:
                # pytest comes and goes with its own.
                if not type(handler).__module__.startswith("_pytest"):
                    yield logger, handler

    before = list(handlers())
    yield
    for logger, handler in list(handlers()):
        if (logger, handler) not in before:
            logger.removeHandler(handler)
            # Else pytest would see to such a logger by itself.
            logger.propagate = True


@pytest.mark.parametrize("page", WITH_CODE, ids=lambda page: page.source)
def test_the_code_of_a_page_does_what_it_says(
    page: pages.Page, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = page.text()
    assert not blocks.unknown(text)
    session = blocks.Session(tmp_path, environment())
    for block in blocks.blocks(text):
        if block.reason is None:
            session.run(page.source, block)
        else:
            with capsys.disabled():
                print(f"\n{page.source}:{block.line}: not run: {block.reason}", end="")


@pytest.mark.parametrize("name", references.PAGES)
def test_a_reference_is_as_it_would_be_made_now(name: str) -> None:
    text = (references.FOLDER / name).read_text(encoding="utf-8")
    if text != references.PAGES[name]():
        pytest.fail(f"docs/reference/{name} is of another time: make references")


def test_the_python_reference_has_every_public_name() -> None:
    import timestrata

    text = "".join(
        path.read_text(encoding="utf-8") for path in references.FOLDER.glob("python*.md")
    )
    headings = set(re.findall(r"^## `?(\w+)`?$", text, re.MULTILINE))
    errors = set(re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE))
    assert set(timestrata.__all__) <= headings | errors


def test_rust_on_a_page_is_run_by_the_crate_s_own_tests() -> None:
    included = (ROOT / "crates" / "timestrata" / "src" / "documents.rs").read_text(encoding="utf-8")
    for page in WITH_CODE:
        if any(block.language == "rust" for block in blocks.blocks(page.text())):
            assert f"/{page.source}" in included, page.source


def test_what_a_block_prints_is_held_against_its_page(tmp_path: Path) -> None:
    session = blocks.Session(tmp_path, environment())
    said, wrong = blocks.blocks(
        '```python\nprint("a", 1)\n```\n\n```output\na 1\n```\n\n```sh\necho b\n```\n```output\nc\n```\n'
    )
    session.run("page", said)
    with pytest.raises(blocks.DocumentError, match="page:9: printed\nb"):
        session.run("page", wrong)
    with pytest.raises(blocks.DocumentError, match="ended with 3"):
        session.run("page", next(iter(blocks.blocks("```sh\nexit 3\n```\n"))))


def test_a_server_of_a_page_runs_beside_its_other_lines(tmp_path: Path) -> None:
    session = blocks.Session(tmp_path, environment())
    served, refused = blocks.blocks(
        "```sh\ntimestrata serve ./s\ncurl -s localhost:8080/tables\n```\n```output\n...[]...\n```\n"
        "```sh\ntimestrata serve ./trades.csv --no-such-option\ntrue\n```\n"
    )
    session.run("page", served)
    with pytest.raises(blocks.DocumentError, match="page:8: the server does not listen"):
        session.run("page", refused)


def test_links_lead_to_where_the_site_has_a_page() -> None:
    places = {"docs/a/b.md": "a/b.md", "docs/c.md": "c.md", "SECURITY.md": "project/security.md"}
    text = "[c](../c.md#x) [s](../../SECURITY.md) [code](../../crates/x.rs) [w](https://w.w/x.md)"
    assert site.relinked(text, "docs/a/b.md", places) == (
        "[c](../c.md#x) [s](../project/security.md) code [w](https://w.w/x.md)"
    )


def test_a_site_takes_the_place_of_nothing_but_a_site(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(FileExistsError, match="something else"):
        site.build(tmp_path)
    assert (tmp_path / "mine.txt").exists()


def test_llms_txt_lists_every_page_with_a_summary() -> None:
    lines = site.llms(pages.pages()).splitlines()
    assert lines[0] == "# Timestrata" and lines[2].startswith("> Timestrata is ")
    listed = [line for line in lines if line.startswith("- ")]
    assert len(listed) == len(pages.pages())
    assert all(re.fullmatch(r"- \[[^\]]+\]\([^)]+\.md\): .{10,}", line) for line in listed), listed
