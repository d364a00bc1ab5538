"""
What must hold: each ratio with its bound, and some that are only shown.

Law: a bound is a ratio of two figures from one process, or a number of bytes. Nothing is measured here. Figures
come from several processes, because the same program, loaded at another address, runs a few percent faster or
slower: the median of their ratios counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

__all__ = ["BESIDE", "BOUNDS", "Bound", "Figures", "Outcome", "judge", "typical"]

Figures = dict[str, float]


@dataclass(frozen=True, slots=True)
class Bound:
    """
    One ratio that is asked for.

    Args:
        what: What is measured, for the reader.
        figure: The name of the figure.
        yardstick: The figure it is divided by; `""` for a figure that stands for itself.
        most: The bound, or None for a ratio that is only shown.
        bare: The figure of a bare call, to show the same as a multiple of it.
    """

    what: str
    figure: str
    yardstick: str
    most: float | None = None
    bare: str = ""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came out: the ratio, the multiple of a bare call, and whether the bound holds."""

    bound: Bound
    ratio: float | None
    bare: float | None

    @property
    def word(self) -> str:
        """`OK`, `OVER`, `not measured`, or nothing for a ratio without a bound."""
        if self.ratio is None:
            return "not measured"
        if self.bound.most is None:
            return ""
        return "OK" if self.ratio <= self.bound.most else "OVER"


BOUNDS = (
    Bound("a call that succeeds / a pass-through wrapper", "sync", "pass", 1.15, "bare"),
    Bound("  the same, async", "async", "apass", 1.15, "abare"),
    Bound("with on_result / the same extra call", "judge", "judge_pass", 1.15, "bare"),
    Bound("  the same, async", "ajudge", "ajudge_pass", 1.15, "abare"),
    Bound("with total_timeout / clock and context variable", "limit", "limit_pass", 3.0, "bare"),
    Bound("  the same, async", "alimit", "alimit_pass", 3.0, "abare"),
    Bound("one more failing attempt / a loop by hand", "retry", "retry_hand", 2.5, "bare"),
    Bound("a block that succeeds / the fastest peer's", "blocks", "blocks_peer", 0.15),
    Bound("import / tenacity's", "import", "import_tenacity", 0.8),
    Bound("import: asyncio and third-party packages", "brought_along", "", 0),
    Bound("bytes that decorating a function adds", "bytes", "", 1250),
    Bound("  the same, async", "abytes", "", 1250),
)

BESIDE = (
    Bound(
        "one more failing attempt with a delay, its wait left out / by hand",
        "waits",
        "waits_hand",
        bare="bare",
    ),
    Bound("a call that fails once / by hand", "recover", "recover_hand", bare="bare"),
    Bound(
        "a call that gives up after three attempts / by hand", "giveup", "giveup_hand", bare="bare"
    ),
    Bound(
        "total_timeout, a call that suspends once / asyncio.timeout",
        "suspends",
        "suspends_standard",
        bare="abare",
    ),
)


def judge(bound: Bound, processes: list[Figures]) -> Outcome:
    """Return what came out for a bound, in the processes that have measured it."""
    bare = typical(processes, bound.figure, bound.bare) if bound.bare else None
    return Outcome(bound, typical(processes, bound.figure, bound.yardstick), bare)


def typical(processes: list[Figures], figure: str, yardstick: str = "") -> float | None:
    """Return the median of a figure, or of its ratio to a yardstick, or None if no process has it."""
    values = [
        figures[figure] / (figures[yardstick] if yardstick else 1.0)
        for figures in processes
        if figure in figures and (not yardstick or yardstick in figures)
    ]
    return median(values) if values else None
