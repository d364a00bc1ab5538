"""
The borders of forbear as types, for annotations.

Law: only what a user may build a counterpart of, with few verbs each. This is the one file that
imports `typing`, so nothing imports it when a program starts; `forbear.Backoff` does when it is
asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Backoff"]


@runtime_checkable
class Backoff(Protocol):
    """
    Anything that says how long to wait after the n-th failure.

    Write it as a pure function: it is shared by calls, threads and tasks, so what it remembered of
    one it would tell another. One that stops by itself may have a `length` too, the number of
    delays it gives before that; only then can another follow it in `then`.

    >>> class Office:
    ...     def delay(self, failures, previous, random):
    ...         return 60.0 + 5.0 * random()
    >>> isinstance(Office(), Backoff)
    True
    """

    def delay(self, failures: int, previous: float, random: Callable[[], float], /) -> float | None:
        """
        Return the seconds to wait, or None to stop trying.

        Args:
            failures: Failures so far, this one included; the first question comes with 1.
            previous: Seconds of the delay before, 0 at first.
            random: Gives a number in [0, 1) at each call. Take chance from nowhere else: tests
                replay it.
        """
        ...
