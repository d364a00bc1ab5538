"""
What waits add up to, at least and at most, within a limit and without.

Law: arithmetic on numbers, exact where the waits are; no policy, no backoff, no clock. A course of waits is a list
of spans, the last of which may go on for a count of times, or for ever.
"""

from __future__ import annotations

import itertools
import math

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    Span = tuple[float, float, float]  # seconds at least, typically, at most

__all__ = ["Course"]

GRAIN = 1e-9  # what adding up seconds may be off by, as in the decision itself


class Course:
    """
    Waits one after the other.

    Args:
        spans: The waits, each with its seconds at least, typically and at most.
        more: How often the last one comes again; infinite where there is no end.
        ends: After how many waits trying may also end, since of several backoffs the shortest may apply.
    """

    __slots__ = ("_ends", "_more", "_spans")

    def __init__(self, spans: Sequence[Span], more: float, ends: Sequence[int] = ()) -> None:
        self._spans = spans
        self._more = more if spans else 0
        self._ends = {*ends, *([] if self._more else [len(spans)])}

    def starts(self, limit: float | None) -> int | None:
        """Return how many attempts begin at most; None without end."""
        count, _ = self._within([low for low, _, _ in self._spans], limit)
        return None if math.isinf(count) else 1 + int(count)

    def most(self, limit: float | None) -> float | None:
        """Return the seconds of waiting at most; None without end."""
        highs = [high for _, _, high in self._spans]
        if limit is None:
            _, total = self._within(highs, None)
        else:
            # As many waits as fit when each is at its shortest, and these then as long as fits.
            count, _ = self._within([low for low, _, _ in self._spans], limit)
            total = min(limit, _sum(highs, count))
        return None if math.isinf(total) else total

    def typical(self, limit: float | None) -> float | None:
        """Return the seconds of waiting when each wait is a typical one; None without end."""
        total = self._within([middle for _, middle, _ in self._spans], limit)[1]
        return None if math.isinf(total) else total

    def rides_out(self, limit: float | None) -> tuple[float | None, float | None, float | None]:
        """Return how long an outage may last, at least, typically and at most; None: for ever."""
        if math.isinf(self._more) and not self._ends and (limit is None or self._spans[-1][2] <= 0):
            return limit, limit, limit
        return self.least(limit), self.typical(limit), self.most(limit)

    def least(self, limit: float | None) -> float | None:
        """Return the seconds of waiting at least: the earliest begin of a last attempt; None without end."""
        if limit is None:
            lows = [low for low, _, _ in self._spans]
            whole = _sum(lows, len(lows) + self._more)
            least = min((_sum(lows, end) for end in self._ends), default=whole)
            return None if math.isinf(least) else least
        return min(self._last_starts(limit), default=0.0)

    def _last_starts(self, limit: float) -> Iterator[float]:
        """Yield the earliest begin of a last attempt, for each count of waits after which it can be the last."""
        low = high = 0.0
        for count, (least, _, most) in enumerate(self._spans):
            if count in self._ends:
                yield low
            if limit - most < high - GRAIN:  # the next wait may not fit
                yield max(low, limit - most)
            low, high = low + least, high + most
            if low > limit + GRAIN:
                return
        if self._more:
            least, _, most = self._spans[-1]
            turns = 0 if most <= 0 else max(0, math.floor((limit - most - high) / most) + 1)
            if most > 0 and turns < self._more:
                yield max(low + turns * least, limit - most)
            low += self._more * least if least > 0 else 0.0
        if low <= limit + GRAIN and not math.isinf(self._more):
            yield low

    def _within(self, waits: list[float], limit: float | None) -> tuple[float, float]:
        """Return how many of the waits fit into the limit one after the other, and what these add up to."""
        if limit is None:
            count = len(waits) + self._more
            return count, _sum(waits, count)
        total = 0.0
        for count, wait in enumerate(waits):
            if total + wait > limit + GRAIN:
                return count, total
            total += wait
        if not self._more:
            return len(waits), total
        last = waits[-1]
        turns = self._more if last <= 0 else min(self._more, (limit + GRAIN - total) // last)
        return len(waits) + turns, total if last <= 0 else total + turns * last


def _sum(waits: list[float], count: float) -> float:
    """Return the sum of so many waits; beyond the list the last one comes again."""
    if count <= len(waits) or not waits:
        return sum(itertools.islice(waits, int(min(count, len(waits)))))
    return sum(waits) + ((count - len(waits)) * waits[-1] if waits[-1] > 0 else 0.0)
