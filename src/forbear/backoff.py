"""
How long to wait after the n-th failure: every strategy of forbear, as values.

Law: a strategy is a formula and its numbers. For every n up to a million and every chance in [0, 1)
a delay is finite, never negative, and known from the arguments alone; a delay of None says stop.
The cap comes before the jitter. This file must not know who waits, or why: how often to try belongs
to the policy.

What is common to all, and how they combine, is in `_algebra`; the jitter is in `_jitter`.
"""

from __future__ import annotations

from ._algebra import Constant, Stop, Strategy, as_backoff, chance, max_of, spread
from ._duration import number, shown
from ._duration import seconds as as_seconds
from ._jitter import FULL, MAX, NONE, check_jitter, jittered
from .errors import ConfigError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import timedelta
    from typing import Any, Literal

    from ._jitter import Jitter

    Seconds = float | timedelta

__all__ = [
    "Constant",
    "Decorrelated",
    "Delays",
    "Exponential",
    "Fibonacci",
    "Linear",
    "Polynomial",
    "Stop",
    "as_backoff",
    "chance",
    "max_of",
    "spread",
]

# The cap of a sequence that was given none. The everyday ones don't reach it in their first dozen
# steps, so they are what their name says; but none waits for years because nobody thought of a
# limit (kubernetes-sigs/cluster-api-provider-aws#1069).
DAY = 86400.0


class _Capped(Strategy):
    """What all that have a cap share."""

    __slots__ = ("_limit", "cap")
    cap: float | None
    _limit: float  # what delays are held at: the cap, or without one the largest float

    def _bound(self, cap: object) -> None:
        checked = as_seconds("cap", cap, none=True, example="cap=20.0")
        self._set(cap=checked, _limit=MAX if checked is None else checked)


class _Jittered(_Capped):
    """What all that have a jitter share."""

    __slots__ = ("_jitter", "_share", "jitter")
    jitter: Jitter
    _jitter: int
    _share: float

    def _spread(self, jitter: object) -> None:
        as_written, code, share = check_jitter(jitter)
        self._set(jitter=as_written, _jitter=code, _share=share)


class Exponential(_Jittered):
    """
    Wait `base * factor**(n - 1)` seconds after the n-th failure, capped, and then jittered.

    With the full jitter of the default a delay is anywhere from 0 to that value: of a herd that
    failed together the fewest return at one time. Ask for `"equal"` where a minimum is wanted, for
    `"none"` where nobody else retries. A base above the cap is capped at once. A factor below 1
    shrinks; 0 waits once and then never.

    Source: full and equal jitter as in M. Brooker, "Exponential Backoff And Jitter", AWS, 2015.

    >>> [Exponential(jitter="none").delay(n, 0.0, float) for n in range(1, 11)]
    [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 20.0, 20.0]

    Args:
        base: The first delay before jitter, in seconds.
        factor: How much longer each delay is than the one before.
        cap: The longest delay before jitter, in seconds; None: no limit.
        jitter: `"none"`, `"full"` for U(0, d), `"equal"` for d/2 + U(0, d/2), or a number 0 < r <=
            1 for d * U(1 - r, 1 + r), which may pass the cap by that share.
    """

    __slots__ = ("_end", "base", "factor")
    __match_args__ = ("base", "factor", "cap", "jitter")
    base: float
    factor: float
    _end: float

    def __init__(
        self,
        base: Seconds = 0.1,
        factor: float = 2.0,
        *,
        cap: Seconds | None = 20.0,
        jitter: Jitter = "full",
    ) -> None:
        self._set(
            base=as_seconds("base", base), factor=number("factor", factor, example="factor=2.0")
        )
        self._bound(cap)
        self._spread(jitter)
        # Where n is so large that the power overflows, it has long come to this.
        self._set(_end=self._limit if self.base > 0.0 and self.factor > 1.0 else 0.0)

    def delay(self, failures: int, previous: float, random: Callable[[], float]) -> float:
        """Return the delay of the formula; `previous` plays no part."""
        # On the path of every retry: the jitter is written out here, the rarest kind apart.
        try:
            delay = self.base * self.factor ** (failures - 1)
        except OverflowError:
            delay = self._end
        if delay > self._limit:  # noqa: PLR1730 (`min` is a call)
            delay = self._limit
        jitter = self._jitter
        if jitter == FULL:
            return delay * random()
        if jitter == NONE:
            return delay
        return jittered(delay, jitter, self._share, random)


class Linear(_Jittered):
    """
    Wait `start + step * (n - 1)` seconds after the n-th failure, capped.

    It has no jitter unless asked for, because who takes it wants the plain ramp; clients that
    failed together then stay together.

    >>> [Linear(1.0, 0.5).delay(n, 0.0, float) for n in range(1, 6)]
    [1.0, 1.5, 2.0, 2.5, 3.0]

    Args:
        start: The first delay, in seconds.
        step: How many seconds longer each delay is than the one before.
        cap: The longest delay before jitter, in seconds, a day if left out; None: no limit.
        jitter: As in `Exponential`.
    """

    __slots__ = ("start", "step")
    __match_args__ = ("start", "step", "cap", "jitter")
    start: float
    step: float

    def __init__(
        self,
        start: Seconds,
        step: Seconds,
        *,
        cap: Seconds | None = DAY,
        jitter: Jitter = "none",
    ) -> None:
        self._set(start=as_seconds("start", start), step=as_seconds("step", step))
        self._bound(cap)
        self._spread(jitter)

    def delay(self, failures: int, previous: float, random: Callable[[], float]) -> float:
        """Return the delay of the formula; `previous` plays no part."""
        delay = min(self.start + self.step * (failures - 1), self._limit)
        return jittered(delay, self._jitter, self._share, random)


class Fibonacci(_Jittered):
    """
    Wait the n-th Fibonacci number times `base` seconds after the n-th failure, capped, and then
    jittered.

    It grows by the golden ratio, 1.618, in the long run, but with a slow start: a middle way
    between linear and doubling. The first two delays are equal.

    >>> [Fibonacci(1.0, jitter="none").delay(n, 0.0, float) for n in range(1, 11)]
    [1.0, 1.0, 2.0, 3.0, 5.0, 8.0, 13.0, 21.0, 34.0, 55.0]

    Args:
        base: The first two delays before jitter, in seconds.
        cap: The longest delay before jitter, in seconds, a day if left out; None: no limit.
        jitter: As in `Exponential`.
    """

    __slots__ = ("base",)
    __match_args__ = ("base", "cap", "jitter")
    base: float

    def __init__(
        self, base: Seconds, *, cap: Seconds | None = DAY, jitter: Jitter = "full"
    ) -> None:
        self._set(base=as_seconds("base", base))
        self._bound(cap)
        self._spread(jitter)

    def delay(self, failures: int, previous: float, random: Callable[[], float]) -> float:
        """Return the delay of the formula; `previous` plays no part."""
        # The 1477th Fibonacci number is no float any more.
        delay = self.base * (float(_fibonacci(failures)) if failures < 1477 else MAX)
        return jittered(min(delay, self._limit), self._jitter, self._share, random)


class Polynomial(_Jittered):
    """
    Wait `base * n**power` seconds after the n-th failure, capped, and then jittered.

    The curve of job queues, where work may wait for hours: it starts quickly and flattens, while
    doubling does the opposite. A power of 4 is the usual one there, 2 or 3 for calls.

    >>> [Polynomial(1.0, 2, jitter="none").delay(n, 0.0, float) for n in range(1, 8)]
    [1.0, 4.0, 9.0, 16.0, 25.0, 36.0, 49.0]

    Args:
        base: The first delay before jitter, in seconds.
        power: How steeply it grows; 1 is linear, 0 constant.
        cap: The longest delay before jitter, in seconds, a day if left out; None: no limit.
        jitter: As in `Exponential`.
    """

    __slots__ = ("base", "power")
    __match_args__ = ("base", "power", "cap", "jitter")
    base: float
    power: float

    def __init__(
        self,
        base: Seconds,
        power: float,
        *,
        cap: Seconds | None = DAY,
        jitter: Jitter = "full",
    ) -> None:
        self._set(base=as_seconds("base", base), power=number("power", power, example="power=2.0"))
        self._bound(cap)
        self._spread(jitter)

    def delay(self, failures: int, previous: float, random: Callable[[], float]) -> float:
        """Return the delay of the formula; `previous` plays no part."""
        try:
            delay = self.base * float(failures) ** self.power
        except OverflowError:
            delay = self.base * MAX
        return jittered(min(delay, self._limit), self._jitter, self._share, random)


class Decorrelated(_Capped):
    """
    Wait a random time between `base` and three times the delay before, but at most `cap` seconds.

    It grows by chance and not by count, so `failures` plays no part. Measured under contention it
    is no better than full jitter: a quarter more calls for a few per cent less time. It is drawn
    anew inside the cap; the usual form clips what it has drawn, and then a third of its delays are
    exactly the cap.

    Source: M. Brooker, "Exponential Backoff And Jitter", AWS, 2015, with the cap as a bound of the
        draw.

    >>> half = lambda: 0.5
    >>> from itertools import islice
    >>> list(islice(Decorrelated(1.0, 20.0).delays(random=half), 6))
    [2.0, 3.5, 5.75, 9.125, 10.5, 10.5]

    Args:
        base: The shortest delay, in seconds.
        cap: The longest delay, in seconds; None: no limit. A base above it is capped.
    """

    __slots__ = ("base",)
    __match_args__ = ("base", "cap")
    base: float

    def __init__(self, base: Seconds, cap: Seconds | None) -> None:
        self._set(base=as_seconds("base", base))
        self._bound(cap)

    def delay(self, failures: int, previous: float, random: Callable[[], float]) -> float:
        """Return a delay drawn between the base and three times the delay before."""
        low = self.base
        high = min(self._limit, 3.0 * max(low, previous))
        # The cap is a promise, also where the base is above it or rounding carries the sum too far.
        return min(high, low + (high - low) * random())


class Delays(Strategy):
    """
    Wait the seconds given, one after the other, and then stop, or repeat the last.

    The values are taken as they are, without jitter.

    >>> list(Delays(0.1, 1, 10).delays())
    [0.1, 1.0, 10.0]
    >>> Delays(0.1, 1, then="repeat").delay(1000, 1.0, float)
    1.0

    Args:
        seconds: The delays in seconds (or timedeltas), at least one.
        then: `"stop"` after the last, or `"repeat"` it without end.
    """

    __slots__ = ("ending", "seconds")
    __match_args__ = ("seconds", "ending")
    seconds: tuple[float, ...]
    ending: str  # not `then`, which is the verb that combines two backoffs

    def __init__(self, *seconds: Seconds, then: Literal["stop", "repeat"] = "stop") -> None:
        if not seconds:
            raise ConfigError(
                "Delays must be given at least one number of seconds, not none; "
                "for example Delays(0.1, 1, 10)"
            )
        checked = tuple(
            as_seconds(f"seconds[{i}]", value, example="Delays(0.1, 1, 10)")
            for i, value in enumerate(seconds)
        )
        self._set(seconds=checked, ending=_ending(then))

    def delay(self, failures: int, previous: float, random: Callable[[], float]) -> float | None:
        """Return the n-th of the delays given."""
        if failures <= len(self.seconds):
            return self.seconds[failures - 1]
        return self.seconds[-1] if self.ending == "repeat" else None

    @property
    def length(self) -> int | None:
        """How many delays were given, or None if the last is repeated."""
        return None if self.ending == "repeat" else len(self.seconds)

    def _arguments(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        return self.seconds, {"then": self.ending}


def _ending(then: object) -> str:
    if isinstance(then, str) and then in {"stop", "repeat"}:
        return str(then)
    raise ConfigError(
        f'then must be "stop" or "repeat", not {shown(then)}; for example then="repeat"'
    )


def _fibonacci(n: int) -> int:
    """
    Return the n-th Fibonacci number by doubling n: eleven steps and not a thousand, and exact.

    >>> [_fibonacci(n) for n in range(1, 9)], _fibonacci(100)
    ([1, 1, 2, 3, 5, 8, 13, 21], 354224848179261915075)
    """
    a, b = 0, 1  # F(k) and F(k + 1), for k = the leading bits of n so far
    for bit in f"{n:b}":
        a, b = a * (2 * b - a), a * a + b * b
        if bit == "1":
            a, b = b, a + b
    return a
