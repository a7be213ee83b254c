"""Builds the site.

Its pages are laid out in a folder of their own first: those of `docs/`, and the documents beside them
that `mkdocs.yml` names, with their links put right. Behind the generator, each page's Markdown is laid
beside it, with an `llms.txt` that lists them.
"""

from __future__ import annotations

import posixpath
import re
import shutil
import subprocess
import sys
from itertools import groupby
from pathlib import Path

from tools.documents.pages import CONFIG, DOCS, LINK, NAV_LINE, ROOT, Page, pages

README = "README.md"
# A file that says of a folder that all in it was made here, and may go.
MARK = ".made-by-documents"
# A fenced block, within which nothing is a link.
FENCED = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)


def build(folder: Path) -> Path:
    """Builds it, and gives the folder that it is in. What is wrong with a link is an error."""
    all_pages = pages()
    if folder.exists() and any(folder.iterdir()):
        if not (folder / MARK).exists():
            raise FileExistsError(f"{folder}: holds something else than a site that was built here")
        shutil.rmtree(folder)
    lay_out(folder, all_pages)
    generator = Path(sys.executable).with_name("zensical")
    subprocess.run([generator, "build", "--strict", "--config-file", folder / CONFIG], check=True)
    made = folder / "site"
    for page in all_pages:
        target = made / page.place
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(folder / DOCS / page.place, target)
    (made / "llms.txt").write_text(llms(all_pages), encoding="utf-8")
    return made


def lay_out(folder: Path, all_pages: list[Page]) -> None:
    """Lays the pages out as the site has them."""
    places = {page.source: page.place for page in all_pages}
    places[README] = "index.md"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / MARK).touch()
    for page in all_pages:
        target = folder / DOCS / page.place
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(relinked(page.text(), page.source, places), encoding="utf-8")
    for other in (ROOT / DOCS).rglob("*"):
        if other.is_file() and other.suffix != ".md":
            target = folder / other.relative_to(ROOT)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(other, target)
    config = (ROOT / CONFIG).read_text(encoding="utf-8")
    (folder / CONFIG).write_text(
        NAV_LINE.sub(lambda line: placed(line, places), config), encoding="utf-8"
    )


def placed(line: re.Match[str], places: dict[str, str]) -> str:
    """A line of `nav` with the page where the site has it."""
    if line["page"] is None:
        return line[0]
    return line[0].replace(line["page"], places[posixpath.normpath(f"{DOCS}/{line['page']}")])


def relinked(text: str, source: str, places: dict[str, str]) -> str:
    """A page's text with links to where the site has the others. What isn't on the site is no link there."""

    def relink(link: re.Match[str]) -> str:
        target, hash_sign, anchor = link["target"].partition("#")
        if not target or "://" in target or target.startswith("mailto:"):
            return link[0]
        meant = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
        if meant not in places:
            return link[0] if meant.startswith(f"{DOCS}/") else link["text"]
        way = posixpath.relpath(places[meant], posixpath.dirname(places[source]) or ".")
        return f"[{link['text']}]({way}{hash_sign}{anchor})"

    parts = FENCED.split(text)
    return "".join(part if part.startswith("```") else LINK.sub(relink, part) for part in parts)


def llms(all_pages: list[Page]) -> str:
    """What stands in `llms.txt`: title, summary, and a link to each page's Markdown."""
    start = all_pages[0]
    out = [f"# Timestrata\n\n> {start.summary()}\n"]
    for section, members in groupby(all_pages, key=lambda page: page.section or "Timestrata"):
        out.append(f"## {section}\n")
        out += [f"- [{page.title}]({page.place}): {page.summary()}" for page in members]
        out.append("")
    return "\n".join(out)
