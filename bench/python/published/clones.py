"""Clones of other systems that a user names, and what is built against them: nothing of theirs is in this project."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

ZIG_NAME = "ZIG"
# Those that the drivers are written for.
ZIG_VERSIONS = ("0.15.1", "0.15.2")


class UnusableError(ValueError):
    """A folder, or a compiler, that can't be measured with: says which, where, and what to do."""


@dataclass(frozen=True)
class Known:
    """A system that can be measured: the variable that names its folder, and the commit that ours was written against."""

    title: str
    variable: str
    repository: str
    commit: str
    # Files without which a folder isn't this system.
    files: tuple[str, ...]

    @property
    def label(self) -> str:
        return f"{self.title} {self.commit[:7]}"

    def named(self, environment: Mapping[str, str] = os.environ) -> Path | None:
        """The folder that the user has named, if any.

        Raises:
            UnusableError: it is not there, is something else, or has another commit.
        """
        name = environment.get(self.variable, "")
        if not name:
            return None
        told = f"{self.variable}={name}"
        folder = Path(name).expanduser().absolute()
        if not folder.is_dir():
            raise UnusableError(f"{told}: no such folder; clone {self.repository} there")
        lost = [file for file in self.files if not (folder / file).is_file()]
        if lost:
            raise UnusableError(
                f"{told}: not a clone of {self.repository}: it has no {', '.join(lost)}"
            )
        found = _git(folder, told, "rev-parse", "--show-toplevel", "HEAD").split()
        if Path(found[0]).resolve() != folder.resolve():
            raise UnusableError(
                f"{told}: a folder of another repository ({found[0]}), so its commit can't be told; clone {self.repository}"
            )
        if found[1] != self.commit:
            raise UnusableError(
                f"{told}: at commit {found[1][:7]}, and {self.commit[:7]} is measured; "
                f"git -C {shlex.quote(name)} checkout {self.commit[:7]}"
            )
        changed = _git(folder, told, "status", "--porcelain", "--untracked-files=no").strip()
        if changed:
            raise UnusableError(
                f"{told}: files differ from commit {self.commit[:7]}: {changed.splitlines()[0].strip()}; "
                f"git -C {shlex.quote(name)} stash"
            )
        return folder


def _git(folder: Path, told: str, *words: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(folder), *words], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise UnusableError(
            f"{told}: not a clone, so its commit can't be told: {done.stderr.strip()}"
        )
    return done.stdout


def zig(
    wanted: tuple[str, ...] = ZIG_VERSIONS, environment: Mapping[str, str] = os.environ
) -> list[str]:
    """The words that call Zig: those of ZIG, else what is on the path, else the package of Python.

    Raises:
        UnusableError: there is none, or it has another version.
    """
    told = environment.get(ZIG_NAME, "")
    onpath = shutil.which("zig", path=environment.get("PATH"))
    words = shlex.split(told) or ([onpath] if onpath else [sys.executable, "-m", "ziglang"])
    help = f"Zig {' or '.join(wanted)} is needed: pip install ziglang=={wanted[0]} and {ZIG_NAME}='python3 -m ziglang', or {ZIG_NAME}=/path/to/zig"
    try:
        done = subprocess.run([*words, "version"], capture_output=True, text=True, check=False)
    except OSError as error:
        raise UnusableError(f"{shlex.join(words)}: {error.strerror}; {help}") from error
    if done.returncode:
        raise UnusableError(f"{shlex.join(words)} does not run; {help}")
    if done.stdout.strip() not in wanted:
        raise UnusableError(f"{shlex.join(words)} is {done.stdout.strip()}; {help}")
    return words


def zig_package(words: list[str], folder: Path, name: str) -> Path:
    """Where Zig keeps a package on which the one of a folder depends.

    Raises:
        UnusableError: the folder doesn't depend on it, or it was not fetched.
    """
    manifest = folder / "build.zig.zon"
    found = re.search(
        rf'\.{name}\s*=\s*\.\{{.*?\.hash\s*=\s*"([^"]+)"', manifest.read_text(), re.DOTALL
    )
    if found is None:
        raise UnusableError(f"{manifest}: no hash of {name}")
    told = subprocess.run([*words, "env"], capture_output=True, text=True, check=True, cwd=folder)
    cache = re.search(r'"?\.?global_cache_dir"?\s*[=:]\s*"([^"]+)"', told.stdout)
    if cache is None:
        raise UnusableError(f"{shlex.join(words)} env: tells no global_cache_dir")
    package = (folder / cache[1]).resolve() / "p" / found[1]
    if not package.is_dir():
        raise UnusableError(
            f"{folder}: not built: {name} is not in {package}; run `zig build` in {folder}"
        )
    return package


def build_zig(words: list[str], driver: Path, modules: list[str], into: Path) -> Path:
    """Builds a driver of ours; `modules` are arguments that say where Zig finds what it imports.

    Raises:
        UnusableError: it doesn't build.
    """
    into.mkdir(parents=True, exist_ok=True)
    made = into / driver.parent.name
    command = [*words, "build-exe", "-OReleaseFast", "--cache-dir", str(into / "zig-cache"), f"-femit-bin={made}"]  # fmt: skip
    done = subprocess.run([*command, *modules], capture_output=True, text=True, check=False)
    if done.returncode:
        first = next((line for line in done.stderr.splitlines() if "error" in line), done.stderr)
        raise UnusableError(f"{driver}: does not build: {first.strip()}")
    return made


def build_cargo(driver: Path, name: str, folder: Path, wanted: list[str], into: Path) -> Path:
    """Builds a driver of ours in Rust against the crate in a folder, by the profile that the crate has for releases.

    `wanted` are lines of dependencies that the driver has besides it.

    Raises:
        UnusableError: it doesn't build.
    """
    package = into / name
    package.mkdir(parents=True, exist_ok=True)
    with (folder / "Cargo.toml").open("rb") as file:
        profile = tomllib.load(file).get("profile", {}).get("release", {})
    lines = [
        "[package]", f'name = "{name}-driver"', 'version = "0.0.0"', 'edition = "2024"', "",
        "[[bin]]", f'name = "{name}-driver"', f"path = {json.dumps(str(driver))}", "",
        "[dependencies]", f"{name} = {{ path = {json.dumps(str(folder))} }}", *wanted, "",
        "[profile.release]", *(f"{key} = {json.dumps(value)}" for key, value in profile.items()), "",
        "[workspace]", "",
    ]  # fmt: skip
    (package / "Cargo.toml").write_text("\n".join(lines), encoding="utf-8")
    command = ["cargo", "build", "--release", "--manifest-path", str(package / "Cargo.toml"), "--target-dir", str(package / "target")]  # fmt: skip
    # It builds the libraries that it was written for, not those of the system.
    own = {key: value for key, value in os.environ.items() if not key.startswith("ROCKSDB_")}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=own)
    if done.returncode:
        first = next(
            (line for line in done.stderr.splitlines() if line.startswith("error")), done.stderr
        )
        raise UnusableError(f"{driver}: does not build: {first.strip()}")
    return package / "target" / "release" / f"{name}-driver"
