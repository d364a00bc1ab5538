"""The house: what importing forbear brings along, and who may import what."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

import forbear

from pages import ROOT, python

HOME = Path(forbear.__file__).parent
NEIGHBOURS = ("cli", "testing", "__main__.py")
BELOW = [
    file for file in sorted(HOME.rglob("*.py")) if file.relative_to(HOME).parts[0] not in NEIGHBOURS
]

# What no `import forbear` may bring along: each takes longer than all of forbear.
HEAVY = {"asyncio", "dataclasses", "inspect", "logging", "random", "threading", "typing"}


def modules(program: str) -> set[str]:
    """Return the modules that a program has loaded beyond those of a bare interpreter."""
    both = f"import sys; before = set(sys.modules)\n{program}\nprint(*set(sys.modules) - before)"
    done = python("-W", "error", "-c", both)
    assert (0, "") == (done.returncode, done.stderr)
    return set(done.stdout.split())


def test_importing_forbear_brings_little_along() -> None:
    """A program pays for forbear's own modules and a few small ones: no asyncio, no typing, no third party."""
    loaded = modules("import forbear")
    assert "forbear._policy" in loaded
    assert set() == loaded & HEAVY
    assert set() == {name.partition(".")[0] for name in loaded} - {
        "forbear",
        *sys.stdlib_module_names,
    }


def test_importing_forbear_loads_no_neighbour() -> None:
    """Commands, tests' tools, presets and protocols are loaded when somebody asks for them."""
    neighbours = {"forbear.cli", "forbear.testing", "forbear.presets", "forbear._protocols"}
    assert set() == modules("import forbear") & neighbours
    loaded = modules("import forbear; forbear.testing, forbear.presets, forbear.Backoff")
    assert neighbours - {"forbear.cli"} <= loaded


def test_a_call_that_fails_brings_little_along() -> None:
    """A retry on a thread loads what draws chance and warns, but no asyncio and no logging."""
    loaded = modules(
        "import forbear\n"
        "try: forbear.retry(on=OSError, attempts=2, backoff=0.001).call(open, '/nowhere')\n"
        "except OSError: pass"
    )
    assert set() == loaded & {"asyncio", "logging", "typing", "dataclasses", "inspect"}


@pytest.mark.parametrize("file", BELOW, ids=lambda file: str(file.relative_to(HOME)))
def test_below_the_neighbours_there_is_no_third_party(file: Path) -> None:
    """A file of the library imports the standard library and its own package; others are only asked for by name."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    for_types = {
        id(inside)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inside in ast.walk(node)
    }
    imported = {
        name.partition(".")[0]
        for node in ast.walk(tree)
        if id(node) not in for_types
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom) and not node.level
            else []
        )
    }
    assert set() == imported - set(sys.stdlib_module_names)


def test_the_package_has_no_requirement() -> None:
    """Installing forbear installs forbear."""
    import tomllib  # noqa: PLC0415

    told = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert [] == told["project"]["dependencies"]
