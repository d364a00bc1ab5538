"""The house: the examples of every docstring run, and every public name has a docstring."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil

import pytest

import forbear
import forbear.presets
import forbear.testing

MODULES = sorted(
    found.name
    for found in pkgutil.walk_packages(forbear.__path__, "forbear.")
    if found.name != "forbear.__main__"
)


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_docstrings_run(name: str) -> None:
    """What a docstring shows is what happens."""
    failed, _ = doctest.testmod(importlib.import_module(name), raise_on_error=False)
    assert 0 == failed


def public() -> dict[str, object]:
    """Return all that users may name."""
    named = {f"forbear.{name}": getattr(forbear, name) for name in forbear.__all__}
    named |= {
        f"forbear.testing.{name}": getattr(forbear.testing, name)
        for name in forbear.testing.__all__
    }
    for where, thing in list(named.items()):
        if inspect.isclass(thing):
            for base in thing.__mro__:
                if base.__module__.startswith("forbear"):
                    named |= {
                        f"{where}.{name}": member
                        for name, member in vars(base).items()
                        if not name.startswith("_")
                        and (inspect.isfunction(member) or isinstance(member, property))
                    }
    return named


@pytest.mark.parametrize("name", sorted(public()))
def test_public_names_are_documented(name: str) -> None:
    """A public class, function, method and property says in a sentence what it is."""
    told = inspect.getdoc(public()[name]) or ""
    assert told.partition("\n\n")[0].endswith((".", "…", ":"))


# What an example would say no more clearly than the name.
WITHOUT_EXAMPLE = {
    "AlreadyRunning",
    "Attempt",
    "BlockingWaitWarning",
    "Cancelled",
    "ConfigError",
    "Event",
    "Explanation",
    "ForbearError",
    "HeldOff",
    "LeaseLost",
    "NestedRetryWarning",
    "Refused",
    "Scope",
    "StoreError",
    "Tick",
    "cancel_all",
}


def test_public_names_have_an_example() -> None:
    """What a user calls has an example in its docstring; errors and what is only handed out may go without."""
    silent = {
        name
        for name in forbear.__all__
        if ">>> " not in (inspect.getdoc(getattr(forbear, name)) or "")
    }
    assert set() == silent - WITHOUT_EXAMPLE
