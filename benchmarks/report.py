"""
What is printed: one table of bounds, one of libraries, and the same as JSON.

Law: ratios first, because they hold on a busy machine where nanoseconds do not. Nothing is measured or decided
here.
"""

from __future__ import annotations

import importlib.metadata
import platform
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from bounds import typical

if TYPE_CHECKING:
    from bounds import Figures, Outcome

__all__ = ["as_json", "bounds_table", "heading", "libraries_table"]

COLUMNS = ("sync ok", "async ok", "retry", "block", "import", "B/function")

LEGEND = """\
sync ok, async ok, block: a call that succeeds / a bare call (or a bare await). retry: one more failing attempt
without a wait / one more turn of a loop by hand. import: / tenacity's. B/function: what decorating one adds.
`-`: the library has no such form."""


def heading(runs: dict[str, list[Figures]]) -> str:
    """Return one line: what was measured, on what."""
    everything = [figures for processes in runs.values() for figures in processes]
    bare, await_ = typical(everything, "bare"), typical(everything, "abare")
    python = f"{platform.python_implementation()} {platform.python_version()}"
    return f"{python}: a bare call takes {_shown(bare)} ns here, a bare await {_shown(await_)} ns"


def bounds_table(outcomes: list[Outcome], beside: list[Outcome]) -> str:
    """Return the table that says which bounds hold, and what is only shown."""
    wide = max(len(outcome.bound.what) for outcome in [*outcomes, *beside]) + 2
    lines = [f"{'forbear':{wide}s}{'x bare':>10s}{'ratio':>10s}{'bound':>10s}"]
    lines += [_line(outcome, wide) for outcome in outcomes]
    lines += ["", "beside, without a bound", *(_line(outcome, wide) for outcome in beside)]
    return "\n".join(lines)


def _line(outcome: Outcome, wide: int) -> str:
    bound = outcome.bound
    cells = (
        _shown(outcome.bare),
        _shown(outcome.ratio),
        "-" if bound.most is None else f"{bound.most:g}",
    )
    row = f"{bound.what:{wide}s}{''.join(f'{cell:>10s}' for cell in cells)}"
    return f"{row}  {outcome.word}".rstrip()


def libraries_table(runs: dict[str, list[Figures]], imported: Figures) -> str:
    """Return the table of all that was measured, the cheapest call first."""
    measured = [name for name, processes in runs.items() if processes]
    measured.sort(key=lambda name: typical(runs[name], "sync", "bare") or 0.0)
    rows = [("", "version", list(COLUMNS)), ("bare call", "", ["1", "1"])]
    rows += [(name, _version(name), _cells(name, runs[name], imported)) for name in measured]
    lines = [
        f"{name:14s}{version:9s}{''.join(f'{cell:>12s}' for cell in cells)}"
        for name, version, cells in rows
    ]
    return "\n".join([*lines, "", LEGEND])


def _cells(name: str, processes: list[Figures], imported: Figures) -> list[str]:
    figures = [
        typical(processes, "sync", "bare"),
        typical(processes, "async", "abare"),
        typical(processes, "retry", "retry_hand"),
        typical(processes, "block", "block_bare"),
        typical([imported], name, "tenacity"),
        typical(processes, "bytes"),
    ]
    return [_shown(figure) for figure in figures]


def _shown(figure: float | None) -> str:
    if figure is None:
        return "-"
    if figure == int(figure):
        return f"{figure:.0f}"
    digits = 3 if figure < 1.0 else 2 if figure < 10.0 else 1 if figure < 100.0 else 0
    return f"{figure:.{digits}f}"


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return ""  # a yardstick, or forbear from a source tree


def as_json(
    runs: dict[str, list[Figures]], imported: Figures, outcomes: list[Outcome]
) -> dict[str, Any]:
    """Return all of it for programs: nanoseconds and bytes as measured, and what came out."""
    return {
        "python": platform.python_version(),
        "implementation": platform.python_implementation(),
        "versions": {name: _version(name) for name in runs},
        "outcomes": [asdict(outcome) | {"word": outcome.word} for outcome in outcomes],
        "figures": runs,
        "import_ns": imported,
    }
