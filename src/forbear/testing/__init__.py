"""
Tests that don't wait: virtual time, and fewer attempts.

Law: a test switch is local to its context, unless it says `everywhere`, so tests that run side by side don't
meddle with each other. Nothing of forbear imports this; it stands on the same clock port as the real clock.
"""

from __future__ import annotations

from .._duration import count
from .._scope import Scope
from ._virtual import VirtualClock, virtual_time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from contextlib import AbstractContextManager

__all__ = ["VirtualClock", "attempts", "virtual_time"]


def attempts(limit: int) -> AbstractContextManager[object]:
    """
    Have policies inside make at most so many attempts, and not wait.

    For tests of what comes after giving up. What a policy says beyond that still holds: fewer attempts of its
    own, its time limit, its backoff's stop.

    >>> from forbear import retry
    >>> def fail():
    ...     print("called")
    ...     raise OSError
    >>> with attempts(2):
    ...     try:
    ...         retry(on=OSError, attempts=10).call(fail)
    ...     except OSError:
    ...         pass
    called
    called

    Args:
        limit: Attempts, at least 1.

    Raises:
        ConfigError: The limit is no such number.
    """
    made = Scope()
    made.limit = count("limit", limit)
    return made
