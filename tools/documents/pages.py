"""Which documents there are, and what stands in them.

A page is a Markdown file that `mkdocs.yml` names. Paths in its `nav` go from `docs/`, as links in the
pages do, so that both can be followed in the repository as well; pages that lie elsewhere have a place
of their own on the site.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = "docs"
CONFIG = "mkdocs.yml"

# A line of `nav`: its depth, its title, and its page, unless it only opens a section.
NAV_LINE = re.compile(r"^(?P<depth> *)- (?P<title>[^:\n]+):(?: +(?P<page>\S+\.md))?$", re.MULTILINE)
# A link in Markdown, not within code; `[text](target)`, with what stands behind a `#`.
LINK = re.compile(r"(?<!`)\[(?P<text>[^\]]*)\]\((?P<target>[^)\s]+)\)")


@dataclass(frozen=True)
class Page:
    """One page: where it lies in the repository, and where on the site."""

    source: str
    title: str
    section: str

    @property
    def place(self) -> str:
        """Its path below the site's pages."""
        if self.source.startswith(f"{DOCS}/"):
            return self.source.removeprefix(f"{DOCS}/")
        folder, name = posixpath.split(self.source)
        return f"project/{folder or Path(name).stem.lower()}.md"

    def text(self) -> str:
        return (ROOT / self.source).read_text(encoding="utf-8")

    def summary(self) -> str:
        """The first sentence behind the heading."""
        for part in re.split(r"\n\s*\n", self.text()):
            flat = " ".join(part.split())
            if flat and not flat.startswith(("#", "<!--", "|", "```", "-", "!")):
                plain = re.sub(r"[`*]", "", LINK.sub(lambda link: link["text"], flat))
                return re.split(r"(?<=[.!?])\s", plain.removeprefix("The job: "))[0]
        return ""


def nav(config: str) -> Iterator[tuple[re.Match[str], str]]:
    """The lines of `nav` that name a page, each with the title of its section."""
    section = ""
    for line in NAV_LINE.finditer(config.partition("\nnav:\n")[2].partition("\n\n")[0] + "\n"):
        if line["page"] is None:
            section = line["title"]
            continue
        yield line, section if len(line["depth"]) > 2 else ""


def pages() -> list[Page]:
    """All pages, in the order of `nav`."""
    config = (ROOT / CONFIG).read_text(encoding="utf-8")
    return [
        Page(posixpath.normpath(f"{DOCS}/{line['page']}"), line["title"], section)
        for line, section in nav(config)
    ]
