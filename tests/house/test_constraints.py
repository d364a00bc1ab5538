"""The house: constraints.txt names one version of everything that is installed, and nothing else."""

from __future__ import annotations

import ast
import re
import tomllib
from importlib import metadata
from typing import TYPE_CHECKING

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from pages import ROOT

if TYPE_CHECKING:
    from pathlib import Path

FILES = [ROOT / "constraints.txt", ROOT / "benchmarks" / "constraints.txt"]
PIN = re.compile(r"(?P<name>[a-z0-9][a-z0-9-]*)==(?P<version>[0-9][\w.]*)(?:  # .+)?")


def pins(file: Path) -> dict[str, str]:
    """Return the versions by name; every line that isn't empty or a comment is such a pin."""
    found: dict[str, str] = {}
    for line in file.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            pin = PIN.fullmatch(line)
            assert pin, f"{file.name}: {line!r} is no name==version"
            assert pin["name"] not in found, f"{file.name} pins {pin['name']} twice"
            found[pin["name"]] = pin["version"]
    return found


def asked() -> dict[str, list[Requirement]]:
    """Return what pyproject.toml asks for: each extra, and what builds the wheel."""
    told = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    lines = told["project"]["optional-dependencies"] | {"build": told["build-system"]["requires"]}
    return {extra: list(map(Requirement, asks)) for extra, asks in lines.items()}


def applies(requirement: Requirement, extras: set[str]) -> bool:
    """Tell whether a requirement holds on this Python, for somebody who asked for these extras."""
    if requirement.marker is None:
        return True
    return any(requirement.marker.evaluate({"extra": extra}) for extra in {"", *extras})


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_a_pin_is_a_name_and_a_version(file: Path) -> None:
    """No address, no hash, no range: a name and a version, so that every index will do."""
    assert pins(file)


def test_what_the_project_asks_for_is_pinned() -> None:
    """What an extra or the build names has a version here, so two environments of one commit are the same."""
    names = {canonicalize_name(need.name) for needs in asked().values() for need in needs}
    script = (ROOT / "tools" / "environments.py").read_text(encoding="utf-8")
    found = re.search(r"^BUILD_TOOLS = (\[.+\])$", script, re.MULTILINE)
    assert found
    assert set() == (names | set(ast.literal_eval(found[1]))) - pins(FILES[0]).keys()


def test_what_the_extras_bring_along_is_pinned_as_installed() -> None:
    """The whole closure of what is installed here is pinned, at the very version that is installed."""
    pinned = pins(FILES[0])
    todo = [(need, set[str]()) for needs in asked().values() for need in needs]
    seen: set[tuple[str, frozenset[str]]] = set()
    different = {}
    while todo:
        need, extras = todo.pop()
        name = canonicalize_name(need.name)
        key = (name, frozenset(need.extras))
        if key in seen or not applies(need, extras):
            continue
        seen.add(key)
        try:
            found = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue  # this environment is made of other extras
        if pinned.get(name) != found.version:
            different[name] = found.version
        todo += [(Requirement(line), need.extras) for line in found.requires or ()]
    assert ("pytest", frozenset()) in seen
    assert {} == different


def test_extras_name_and_constraints_pin() -> None:
    """An extra doesn't bound versions: which one is tried and tested is said in one place."""
    needs = [need for extra, needs in asked().items() if extra != "build" for need in needs]
    assert [] == [str(need) for need in needs if need.specifier]


def test_benchmarked_libraries_are_pinned_apart() -> None:
    """What forbear is only measured beside is in no environment of the tests."""
    assert set() == pins(FILES[0]).keys() & pins(FILES[1]).keys()
