"""The house: what is in the wheel that users get."""

from __future__ import annotations

import os
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

from pages import ROOT, python


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """The wheel that is being tested; built here if nobody says which."""
    told = os.environ.get("FORBEAR_WHEEL")
    if told is None:
        folder = tmp_path_factory.mktemp("wheel")
        done = python("-m", "hatchling", "build", "-t", "wheel", "-d", str(folder))
        assert 0 == done.returncode, done.stderr
        (path,) = folder.glob("*.whl")
    else:
        path = Path(told)
    return zipfile.ZipFile(path)


def test_all_of_the_package_is_in_it(wheel: zipfile.ZipFile) -> None:
    """Every file of the package, the mark for type checkers too, is in the wheel, and none besides."""
    there = {
        file.relative_to(ROOT / "src").as_posix()
        for file in (ROOT / "src" / "forbear").rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }
    assert "forbear/py.typed" in there
    assert there == {name for name in wheel.namelist() if name.startswith("forbear/")}


def test_nothing_else_is_in_it(wheel: zipfile.ZipFile) -> None:
    """No tests, no documentation, no other top-level name: the package and what describes it."""
    others = {
        name.rpartition("/")[2] for name in wheel.namelist() if not name.startswith("forbear/")
    }
    assert {"METADATA", "WHEEL", "RECORD", "entry_points.txt", "LICENSE"} == others
    assert all(
        name.startswith(("forbear/", "forbear-0.1.0.dist-info/")) for name in wheel.namelist()
    )
    assert 200_000 > sum(info.compress_size for info in wheel.infolist())


def test_what_it_says_of_itself(wheel: zipfile.ZipFile) -> None:
    """It needs Python 3.11 and nothing else; it brings the command and the pytest plugin."""
    told = Parser().parsestr(wheel.read("forbear-0.1.0.dist-info/METADATA").decode())
    assert "forbear" == told["Name"]
    assert ">=3.11" == told["Requires-Python"]
    assert "Apache-2.0" == told["License-Expression"]
    assert [] == [need for need in told.get_all("Requires-Dist", []) if "extra ==" not in need]
    assert {"demo", "test", "check", "docs"} == set(told.get_all("Provides-Extra", []))
    entries = wheel.read("forbear-0.1.0.dist-info/entry_points.txt").decode()
    assert "forbear = forbear.cli:main" in entries
    assert "forbear = forbear.testing.plugin" in entries


def test_it_is_pure_python(wheel: zipfile.ZipFile) -> None:
    """One wheel serves every platform."""
    assert "Root-Is-Purelib: true" in wheel.read("forbear-0.1.0.dist-info/WHEEL").decode()
    assert wheel.filename is not None
    assert wheel.filename.endswith("-py3-none-any.whl")
