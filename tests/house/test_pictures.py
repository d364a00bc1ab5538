"""The house: pictures and numbers of the documentation are those that the shipped backoffs give."""

from __future__ import annotations

import runpy
from typing import TYPE_CHECKING, Any

import pytest

from pages import ROOT

if TYPE_CHECKING:
    from collections import Counter

DRAWN: dict[
    str, tuple[Counter[int], list[float]]
] = {}  # each herd takes a second, and two tests look at it


@pytest.fixture(scope="module")
def herd() -> dict[str, Any]:
    """The script that draws the herd."""
    return runpy.run_path(str(ROOT / "docs" / "pictures" / "herd.py"))


def run(herd: dict[str, Any], name: str) -> tuple[Counter[int], list[float]]:
    if name not in DRAWN:
        DRAWN[name] = herd["herd"]((herd["HERDS"] | herd["HINTS"])[name], name)
    return DRAWN[name]


def page(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_the_picture_is_what_the_script_draws(herd: dict[str, Any]) -> None:
    """The picture and its small copy in the README are drawn by the script, and by nobody's hand."""
    drawn = {name: run(herd, name)[0] for name in herd["HERDS"]}
    assert page("docs/_static/herd.svg") == herd["svg"](drawn)
    readme = page("README.md")
    for name, calls in drawn.items():
        assert f"{name:>12}  {herd['sparkline'](calls).rstrip()}" in readme


def test_numbers_of_the_pages_are_those_of_the_model(herd: dict[str, Any]) -> None:
    """What the pages say of jitter and of hints comes out of the model that they describe."""
    rows = {
        "no jitter": ("docs/explanation/cap-before-jitter.md", "| no jitter | {a} | {p} | {s} s |"),
        "full jitter": (
            "docs/explanation/cap-before-jitter.md",
            "| full jitter | {a} | {p} | {s} s |",
        ),
        "Retry-After: 5, hint_jitter=0.0": (
            "docs/explanation/hints.md",
            "| exactly 5 s | {a} | {p} |",
        ),
        "Retry-After: 5, hint_jitter=0.1": (
            "docs/explanation/hints.md",
            "| 5 s, and up to 10 % more | {a} | {p} |",
        ),
        "Retry-After: 5, hint_jitter=0.5": (
            "docs/explanation/hints.md",
            "| 5 s, and up to 50 % more | {a} | {p} |",
        ),
    }
    for name, (where, row) in rows.items():
        calls, served = run(herd, name)
        told = row.format(
            a=f"{sum(calls.values()) / herd['CLIENTS']:.1f}",
            p=f"{herd['peak'](calls, herd['OUTAGE'], 1e9):,}",
            s=f"{max(served) - herd['OUTAGE']:,.0f}",
        )
        assert told in page(where), told
