"""
What backoffs are made of and how they combine: the common base, the two simplest, and the algebra.

Law: a backoff is a value and a pure function of how many failures, the delay before, and chance. It
has no clock and no memory; whoever runs it remembers the count and the delay. This file must not
know policies; it accepts as a part any object with a `delay`.
"""

from __future__ import annotations

from ._duration import count, shown
from ._duration import seconds as as_seconds
from ._value import Value
from .errors import ConfigError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import timedelta
    from typing import Any

    from ._protocols import Backoff

    Seconds = float | timedelta

__all__ = ["Constant", "Max", "Stop", "Strategy", "Take", "Then", "as_backoff", "max_of", "spread"]


def chance() -> float:
    """Draw from the process's own generator, `random.random`."""
    # Looked up late: importing `random` brings `hashlib` with it and takes longer than all of
    # forbear.
    import random  # noqa: PLC0415

    return random.random()


class Strategy(Value):
    """A backoff of forbear's own: with `delay` it has `delays`, and combines with others."""

    __slots__ = ()

    def delay(self, failures: int, previous: float, random: Callable[[], float]) -> float | None:
        """
        Return the seconds to wait after the n-th failure, or None: stop trying.

        Args:
            failures: Failures so far, from 1.
            previous: Seconds of the delay before, 0 at first.
            random: Gives a number in [0, 1) at each call.
        """
        raise NotImplementedError

    @property
    def length(self) -> int | None:
        """How many delays come before it stops; None: it goes on without end."""
        return None

    def delays(self, random: Callable[[], float] = chance) -> Iterator[float]:
        """
        Yield the delays of one run, for people who keep their own loop.

        Each call begins anew, and two runs at a time don't disturb each other. It ends where the
        backoff stops; most don't, so bound the loop or use `take`.

        >>> from forbear import Exponential
        >>> list(Exponential(jitter="none").take(4).delays())
        [0.1, 0.2, 0.4, 0.8]

        Args:
            random: Gives a number in [0, 1) at each call; `random.random` if left out.
        """
        failures = 0
        previous = 0.0
        while True:
            failures += 1
            delay = self.delay(failures, previous, random)
            if delay is None:
                return
            yield delay
            previous = delay

    def take(self, n: int) -> Take:
        """
        Return this backoff, stopping after n delays.

        That is n retries, so n + 1 calls in all: where the limit belongs to a policy, its
        `attempts` is the plainer way to say it. `take(0)` stops at once.

        >>> Constant(0.5).take(2)
        Constant(seconds=0.5).take(2)
        >>> list(Constant(0.5).take(2).delays())
        [0.5, 0.5]
        """
        return Take(self, count("n", n, least=0, example="take(3)"))

    def then(self, other: Backoff | Seconds) -> Then:
        """
        Return a backoff that goes on with another where this one stops.

        The other counts its own failures from 1 and starts with no delay before, as if it stood
        alone.

        >>> from forbear import Delays
        >>> list(Constant(0.0).take(2).then(Delays(1, 10)).delays())
        [0.0, 0.0, 1.0, 10.0]
        >>> Constant(0.0).then(Constant(1.0))
        Traceback (most recent call last):
        ...
        forbear.errors.ConfigError: Constant(seconds=0.0) has no end, so nothing can come \
after it; for example Constant(seconds=0.0).take(3).then(...)

        Args:
            other: A backoff, or seconds for a constant one.
        """
        return Then(self, as_backoff("other", other))


class Constant(Strategy):
    """
    Wait the same time after every failure; `Constant(0)` tries again at once.

    It has no jitter, so clients that failed together stay together. For a constant with jitter
    flatten an exponential: `Exponential(1.0, factor=1.0, jitter=0.25)`.

    >>> Constant(0.5).delay(1, 0.0, chance), Constant(0.5).delay(10**6, 0.5, chance)
    (0.5, 0.5)

    Args:
        seconds: Seconds or a timedelta.
    """

    __slots__ = ("seconds",)
    __match_args__ = ("seconds",)
    seconds: float

    def __init__(self, seconds: Seconds) -> None:
        self._set(seconds=as_seconds("seconds", seconds, example="Constant(0.5)"))

    def delay(self, failures: int, previous: float, random: Callable[[], float]) -> float:
        """Return the seconds given, whatever the arguments."""
        return self.seconds


class Stop(Strategy):
    """
    Never wait and never try again: the first failure is the last.

    It has its uses where a backoff is chosen by the kind of failure, and as the end of a chain.

    >>> print(Stop().delay(1, 0.0, chance))
    None
    """

    __slots__ = ()

    def delay(self, failures: int, previous: float, random: Callable[[], float]) -> None:
        """Return None: stop."""
        return

    @property
    def length(self) -> int:
        """No delay at all."""
        return 0


class Take(Strategy):
    """The first n delays of another backoff; made by `take`."""

    __slots__ = ("backoff", "n")
    __match_args__ = ("backoff", "n")
    backoff: Backoff
    n: int

    def __init__(self, backoff: Backoff, n: int) -> None:
        self._set(backoff=backoff, n=n)

    def delay(self, failures: int, previous: float, random: Callable[[], float]) -> float | None:
        """Return the other's delay, or None once n were given."""
        return None if failures > self.n else self.backoff.delay(failures, previous, random)

    @property
    def length(self) -> int:
        """The n given, or less if the other stops earlier."""
        inner = _length(self.backoff)
        return self.n if inner is None else min(self.n, inner)

    def __repr__(self) -> str:
        return f"{self.backoff!r}.take({self.n})"


class Then(Strategy):
    """One backoff to its end and then another; made by `then`."""

    __slots__ = ("_ends", "first", "second")
    __match_args__ = ("first", "second")
    first: Backoff
    second: Backoff
    _ends: int

    def __init__(self, first: Backoff, second: Backoff) -> None:
        ends = _length(first)
        if ends is None:
            raise ConfigError(
                f"{shown(first)} has no end, so nothing can come after it; "
                f"for example {shown(first)}.take(3).then(...)"
            )
        self._set(first=first, second=second, _ends=ends)

    def delay(self, failures: int, previous: float, random: Callable[[], float]) -> float | None:
        """Return the first one's delay while it lasts, else the second one's by its own count."""
        own = failures - self._ends
        if own <= 0:
            return self.first.delay(failures, previous, random)
        # The last delay of the first is none of the second's: a decorrelated one would start from
        # it.
        return self.second.delay(own, previous if own > 1 else 0.0, random)

    @property
    def length(self) -> int | None:
        """Both lengths together."""
        rest = _length(self.second)
        return None if rest is None else self._ends + rest

    def __repr__(self) -> str:
        return f"{self.first!r}.then({self.second!r})"


class Max(Strategy):
    """The longest delay of several backoffs; made by `max_of`."""

    __slots__ = ("backoffs",)
    __match_args__ = ("backoffs",)
    backoffs: tuple[Backoff, ...]

    def __init__(self, backoffs: tuple[Backoff, ...]) -> None:
        self._set(backoffs=backoffs)

    def delay(self, failures: int, previous: float, random: Callable[[], float]) -> float | None:
        """Return the longest delay, or None as soon as one of them stops."""
        longest = 0.0
        for backoff in self.backoffs:
            delay = backoff.delay(failures, previous, random)
            if delay is None:
                return None
            longest = max(longest, delay)
        return longest

    @property
    def length(self) -> int | None:
        """The length of the shortest one."""
        return min((n for n in map(_length, self.backoffs) if n is not None), default=None)

    def __repr__(self) -> str:
        return f"max_of({', '.join(map(repr, self.backoffs))})"


def max_of(*backoffs: Backoff | Seconds) -> Max:
    """
    Return a backoff that waits as long as the longest of several, and stops when the first of them
    stops.

    Each draws its own chance. All are told the same delay before: the one that was really waited.

    >>> from forbear import Exponential
    >>> list(max_of(Exponential(0.1, jitter="none"), Constant(0.3)).take(4).delays())
    [0.3, 0.3, 0.4, 0.8]

    Args:
        backoffs: Backoffs, or seconds for constant ones.
    """
    if not backoffs:
        raise ConfigError(
            "max_of must be given at least one backoff, not none; "
            "for example max_of(Exponential(), 1.0)"
        )
    return Max(tuple(as_backoff(f"backoffs[{i}]", backoff) for i, backoff in enumerate(backoffs)))


def as_backoff(name: str, value: object) -> Backoff:
    """
    Return a backoff as it is, and a duration as a constant one.

    >>> as_backoff("backoff", 2)
    Constant(seconds=2.0)
    >>> as_backoff("backoff", Stop)
    Traceback (most recent call last):
    ...
    forbear.errors.ConfigError: backoff must be a backoff or a number of seconds, at least \
0, not the class Stop; for example backoff=Stop()

    Args:
        name: The parameter, for the message.
        value: A backoff (any object with a `delay` method), seconds, or a timedelta.
    """
    found: Any = value
    works = "Exponential()"
    if isinstance(value, type):
        # The parentheses were forgotten; a class has a `delay` that can be called, but not as it
        # will be.
        works = f"{value.__name__}()" if _has_delay(value) else works
    elif _has_delay(value):
        return found  # type: ignore[no-any-return]  # that is all the protocol asks for
    else:
        try:
            return Constant(found)
        except ConfigError:  # said better below: a backoff would do as well
            pass
    raise ConfigError(
        f"{name} must be a backoff or a number of seconds, at least 0, not {shown(value)}; "
        f"for example {name}={works}"
    )


def spread(backoff: Backoff, steps: int) -> list[tuple[float, float, float]]:
    """
    Return the first delays with chance at its lowest, in the middle, and at its highest.

    Each column is a run of its own, with its own delay before. The rows end where any of them
    stops.

    >>> from forbear import Exponential
    >>> spread(Exponential(1.0, jitter=0.5), 3)
    [(0.5, 1.0, 1.5), (1.0, 2.0, 3.0), (2.0, 4.0, 6.0)]

    Args:
        steps: Rows at most.
    """
    rows: list[tuple[float, float, float]] = []
    previous = (0.0, 0.0, 0.0)
    for failures in range(1, steps + 1):
        low = backoff.delay(failures, previous[0], _lowest)
        typical = backoff.delay(failures, previous[1], _middle)
        high = backoff.delay(failures, previous[2], _highest)
        if low is None or typical is None or high is None:
            break
        previous = (low, typical, high)
        rows.append(previous)
    return rows


def _lowest() -> float:
    return 0.0


def _middle() -> float:
    return 0.5


def _highest() -> float:
    return 1.0 - 2.0**-53  # the largest that `random.random` gives


def _length(backoff: Backoff) -> int | None:
    """Return how many delays a backoff says it has; a user's own that doesn't say has no end."""
    length = getattr(backoff, "length", None)
    return length if isinstance(length, int) and not isinstance(length, bool) else None


def _has_delay(value: object) -> bool:
    try:
        return callable(getattr(value, "delay", None))
    except Exception:  # noqa: BLE001 (a property of somebody's own may raise anything)
        return False
