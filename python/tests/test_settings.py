"""Settings of a store have one name each, in every face."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import timestrata


def shown(*flags: str) -> dict[str, dict[str, str]]:
    """What `timestrata config show` prints."""
    command = [sys.executable, "-m", "timestrata", "config", "show", *flags]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return tomllib.loads(done.stdout)


def test_no_setting_of_a_store_is_missing_in_serve_and_in_python() -> None:
    settings = shown()["store"]
    # What `serve` has, Python takes, with the same text; and the engine's test says that `serve` has all.
    for name, value in settings.items():
        timestrata.open(**{name: value}).close()  # type: ignore[arg-type]
    with pytest.raises(TypeError) as refused:
        timestrata.open(nothing=1)  # type: ignore[call-arg]
    told = re.split(r", ", str(refused.value).partition("the settings are ")[2])
    assert told == list(settings)
    assert timestrata.open.__doc__ is not None
    for name in settings:
        assert name in timestrata.open.__doc__, name


def test_the_same_word_is_none_in_serve_and_in_python() -> None:
    flags = ("--set", "store.scrub_bytes_per_second=none")
    assert shown(*flags)["store"]["scrub_bytes_per_second"] == "none"
    timestrata.open(scrub_bytes_per_second="none", compaction_bytes_per_second="none").close()
    timestrata.open(scrub_bytes_per_second=0).close()


def test_a_server_opens_its_store_with_what_it_is_told(tmp_path: Path) -> None:
    config = tmp_path / "timestrata.toml"
    config.write_text('[store]\nmemtable_bytes_max = "1GiB"\n')
    serve = ["serve", str(tmp_path / "s"), "--config", str(config)]
    command = [sys.executable, "-m", "timestrata", *serve]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "memory_bytes_max must be at least memtable_bytes_max" in done.stderr
    assert not (tmp_path / "s").exists()
