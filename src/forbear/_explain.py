"""
What a policy will do, worked out before production does it.

Law: arithmetic only. The waits are found by asking the very backoff that ships, with chance at its lowest, in
the middle and at its highest; nothing is waited for and nothing drawn. Hints are left out: only the server knows.
"""

from __future__ import annotations

import itertools
import math

from ._by_type import ByType
from ._sums import Course
from .backoff import spread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._rules import Rules

__all__ = ["Explanation", "Wait", "duration", "explain"]

ROWS = 12  # of the table, where the attempts have no end
LONGEST_TOLD = 86400 * 365e6  # a million years
MOST = 1000  # rows in all: who allows a million attempts doesn't read a million lines


class Wait:
    """
    The wait after one failure, in seconds: at least, typically, at most.

    Args:
        number: After which failure, from 1.
        low: Seconds with chance at its lowest.
        typical: Seconds with chance in the middle.
        high: Seconds with chance at its highest.
    """

    __slots__ = ("high", "low", "number", "typical")

    def __init__(self, number: int, low: float, typical: float, high: float) -> None:
        self.number = number
        self.low = low
        self.typical = typical
        self.high = high

    def __repr__(self) -> str:
        return f"Wait({self.number}, {self.low:.6g}, {self.typical:.6g}, {self.high:.6g})"


class Explanation:
    """
    What a policy does at worst; `str()` is for people, `to_dict()` for programs.

    Args:
        policy: The policy's repr.
        calls: Calls at most, or None: no limit.
        waits: The table of waits; its first rows where there is no end.
        complete: Whether the table has all waits.
        waiting: Seconds of waiting at least, typically and at most; None where there is no end.
        rides_out: Seconds of an outage after which a call still succeeds, the same three, None for any; an outage
            that starts with the call and in which attempts fail at once.
        limit: The policy's `total_timeout`.
    """

    __slots__ = ("calls", "complete", "limit", "policy", "rides_out", "waiting", "waits")

    def __init__(
        self,
        policy: str,
        calls: int | None,
        waits: tuple[Wait, ...],
        *,
        complete: bool,
        waiting: tuple[float | None, float | None, float | None],
        rides_out: tuple[float | None, float | None, float | None],
        limit: float | None,
    ) -> None:
        self.policy = policy
        self.calls = calls
        self.waits = waits
        self.complete = complete
        self.waiting = waiting
        self.rides_out = rides_out
        self.limit = limit

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data, for JSON."""
        names = ("low", "typical", "high")
        return {
            "policy": self.policy,
            "calls": self.calls,
            "total_timeout": self.limit,
            "waiting": dict(zip(names, self.waiting, strict=True)),
            "rides_out": dict(zip(names, self.rides_out, strict=True)),
            "complete": self.complete,
            "waits": [
                {"after_failure": w.number, "low": w.low, "typical": w.typical, "high": w.high}
                for w in self.waits
            ],
        }

    def __repr__(self) -> str:
        return f"<Explanation of {self.policy}: at most {self.calls} calls>"

    def __str__(self) -> str:
        lines = [
            self.policy,
            *(f"  {line}" if line else "" for line in (*self.summary(), "", *self.table())),
        ]
        return "\n".join(lines)

    def summary(self) -> list[str]:
        """Return the worst case in a few lines."""
        calls = (
            "no limit of calls"
            if self.calls is None
            else f"at most {self.calls:,} call{'s' * (self.calls != 1)}"
        )
        low, typical, high = self.waiting
        waiting = "waiting without end" if high is None else f"{duration(high)} of waiting"
        if typical is not None and high is not None and low != high:
            waiting += f" (typically {duration(typical)})"
        least, middle, most = self.rides_out
        if least is None or middle is None or most is None:
            rides = "rides out any outage"
        elif least == most:
            rides = f"rides out an outage of {duration(most)}"
        else:
            rides = f"rides out an outage of typically {duration(middle)}: {duration(least)} to {duration(most)}"
        lines = [f"{calls}, {waiting}", rides]
        if self.limit is not None:
            lines.append(f"no wait begins that would end after {duration(self.limit)}")
        return lines

    def table(self, width: int = 40) -> list[str]:
        """Return the table of waits with a bar for each: where it is drawn, the wait can end."""
        if not self.waits:
            return ["no waits"]
        top = max(wait.high for wait in self.waits) or 1.0
        head = f"{'after failure':>13}  {'waits':>9}  {'to':>9}  {'typically':>9}  {'in all':>9}"
        lines = [head]
        total = itertools.accumulate(wait.high for wait in self.waits)
        for wait, most in zip(self.waits, total, strict=True):
            cells = "  ".join(
                f"{duration(s):>9}" for s in (wait.low, wait.high, wait.typical, most)
            )
            lines.append(f"{wait.number:>13}  {cells}  {_bar(wait, top, width)}".rstrip())
        return lines if self.complete else [*lines, f"{'...':>13}  and so on"]


def explain(rules: Rules) -> Explanation:
    """Work out what a policy does at worst."""
    waits, course = _course(rules)
    limit = rules.total_timeout
    shown = waits if rules.attempts is not None or len(waits) < MOST else waits[:ROWS]
    return Explanation(
        repr(rules),
        course.starts(limit),
        shown,
        complete=len(shown) == len(waits) and (len(waits) < MOST or rules.attempts == MOST + 1),
        waiting=(course.least(limit), course.typical(limit), course.most(limit)),
        rides_out=course.rides_out(limit),
        limit=limit,
    )


def _course(rules: Rules) -> tuple[tuple[Wait, ...], Course]:
    """Ask the backoffs; of several, any may apply each time."""
    steps = MOST if rules.attempts is None else min(rules.attempts - 1, MOST)
    backoffs = (
        [b for _, b in rules.backoff.items()]
        if isinstance(rules.backoff, ByType)
        else [rules.backoff]
    )
    courses = [list(spread(backoff, steps)) for backoff in backoffs]
    spans = []
    for row in itertools.zip_longest(*courses):
        lows, middles, highs = zip(*(span for span in row if span is not None), strict=True)
        spans.append((min(lows), max(middles), max(highs)))
    # A backoff that is that long is taken to go on as it is by then.
    more = math.inf if rules.attempts is None else rules.attempts - 1 - steps
    ends = [len(course) for course in courses if len(course) < steps]
    waits = tuple(Wait(number, *span) for number, span in enumerate(spans, 1))
    return waits, Course(spans, more if len(spans) == MOST else 0, ends)


def _bar(wait: Wait, top: float, width: int) -> str:
    low, high = round(wait.low / top * width), round(wait.high / top * width)
    return " " * low + ("=" * (high - low) or "|")


def duration(seconds: float) -> str:
    """
    Return seconds in the unit that reads best.

    >>> [duration(s) for s in (0, 0.0125, 0.99999, 2.5, 90, 5400, 200000, 1e300)]
    ['0 s', '12.5 ms', '1 s', '2.5 s', '1.5 min', '1.5 h', '2.31 d', 'for ever']
    """
    if seconds <= 0.0:
        return "0 s"
    if seconds > LONGEST_TOLD:
        return "for ever"
    seconds = float(f"{seconds:.3g}")  # first, so that what is nearly a second is one
    for bound, unit, name in (
        (1.0, 1e-3, "ms"),
        (60.0, 1.0, "s"),
        (3600.0, 60.0, "min"),
        (86400.0, 3600.0, "h"),
    ):
        if seconds < bound:
            return f"{seconds / unit:.3g} {name}"
    days = seconds / 86400
    return f"{days:.3g} d" if days < 1000 else f"{days:,.0f} d"
