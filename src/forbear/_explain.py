"""
What a policy will do, worked out before production does it.

Law: arithmetic only. The waits are found by asking the very backoff that ships, with chance at its lowest, in
the middle and at its highest; nothing is waited for and nothing drawn. Hints are left out: only the server knows.
"""

from __future__ import annotations

import itertools

from ._by_type import ByType
from .backoff import spread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._rules import Rules

__all__ = ["Explanation", "Wait", "duration", "explain"]

ROWS = 12  # of the table, where the attempts have no end
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
        waiting: Seconds of waiting at least, typically and at most; the last is None where there is no end.
        rides_out: Seconds of an outage after which a call still succeeds, the same three; an outage that starts
            with the call and in which attempts fail at once.
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
        waiting: tuple[float, float, float | None],
        rides_out: tuple[float, float, float | None],
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
        low, typical, high = self.waiting
        calls = (
            "no limit of calls"
            if self.calls is None
            else f"at most {self.calls} call{'s' * (self.calls != 1)}"
        )
        waiting = "waiting without end" if high is None else f"{duration(high)} of waiting"
        typically = "" if high is None or high == low else f" (typically {duration(typical)})"
        low, typical, high = self.rides_out
        if high is None:
            rides = "rides out any outage"
        elif low == high:
            rides = f"rides out an outage of {duration(high)}"
        else:
            rides = f"rides out an outage of typically {duration(typical)}: {duration(low)} to {duration(high)}"
        lines = [f"{calls}, {waiting}{typically}", rides]
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
    waits = _waits(rules)
    endless = rules.attempts is None and len(waits) > ROWS
    if endless:
        waits = waits[:ROWS]
    complete = not endless and (rules.attempts is None or rules.attempts <= MOST + 1)
    limit = rules.total_timeout
    lows, typicals, highs = (
        [getattr(wait, what) for wait in waits] for what in ("low", "typical", "high")
    )
    high: float | None = sum(highs) if limit is None else min(sum(highs), limit)
    calls = _starts(lows, limit) if complete else rules.attempts
    if not complete:
        high = limit  # the table is cut, so only the limit bounds it
        steady = limit is not None and sum(lows) > limit
        calls = _starts(lows, limit) if steady else rules.attempts
    typical = _last_start(typicals, limit)
    waiting = (min(_last_start(lows, limit), typical), typical, high)
    return Explanation(
        repr(rules),
        calls,
        waits,
        complete=complete,
        waiting=waiting,
        rides_out=waiting,
        limit=limit,
    )


def _waits(rules: Rules) -> tuple[Wait, ...]:
    steps = ROWS + 1 if rules.attempts is None else min(rules.attempts - 1, MOST)
    backoffs = (
        [b for _, b in rules.backoff.items()]
        if isinstance(rules.backoff, ByType)
        else [rules.backoff]
    )
    rows = itertools.zip_longest(*(spread(backoff, steps) for backoff in backoffs))
    waits = []
    for number, row in enumerate(rows, 1):
        spans = [span for span in row if span is not None]
        low, typical, high = (
            min(s[0] for s in spans),
            max(s[1] for s in spans),
            max(s[2] for s in spans),
        )
        waits.append(Wait(number, low, typical, high))
    return tuple(waits)


def _starts(waits: list[float], limit: float | None) -> int:
    """Return how many attempts begin at most: the first, and one after each wait that ends within the limit."""
    within = (limit is None or total <= limit for total in itertools.accumulate(waits))
    return 1 + sum(within)


def _last_start(waits: list[float], limit: float | None) -> float:
    """Return when the last attempt begins: after all waits that end within the limit."""
    total = 0.0
    for wait in waits:
        if limit is not None and total + wait > limit:
            break
        total += wait
    return total


def _bar(wait: Wait, top: float, width: int) -> str:
    low, high = round(wait.low / top * width), round(wait.high / top * width)
    return " " * low + ("=" * (high - low) or "|")


def duration(seconds: float) -> str:
    """
    Return seconds in the unit that reads best.

    >>> [duration(s) for s in (0, 0.0125, 2.5, 90, 5400, 200000)]
    ['0 s', '12.5 ms', '2.5 s', '1.5 min', '1.5 h', '2.31 d']
    """
    for bound, unit, name in (
        (1.0, 1e-3, "ms"),
        (60.0, 1.0, "s"),
        (3600.0, 60.0, "min"),
        (86400.0, 3600.0, "h"),
    ):
        if 0 < seconds < bound:
            return f"{seconds / unit:.3g} {name}"
    return f"{seconds / 86400:.3g} d" if seconds else "0 s"
