"""
What cuts an async attempt or a whole async call off, bracketed by a plain `with`.

Law: an attempt cut off by its own limit fails with TimeoutError, a call cut off by its limit ends with one;
somebody else's cancellation passes through both untouched. Nothing here is used by sync calls: an attempt on a
thread can't be cut.
"""

from __future__ import annotations

from . import _drive, _events, _loops, _notes
from ._run import name_of
from ._scope import Scope, clock_of, current

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from ._rules import Rules

__all__ = ["AttemptCut", "CallCut", "acut_off"]


class AttemptCut:
    """One attempt under `attempt_timeout`; afterwards it can tell whether a TimeoutError is its own."""

    __slots__ = ("_cut", "_error", "_seconds")

    def __init__(self, rules: Rules) -> None:
        assert rules.attempt_timeout is not None  # noqa: S101 (else there is nothing to cut)
        self._seconds = rules.attempt_timeout
        self._error: BaseException | None = None

    def __enter__(self) -> Self:
        self._cut = _loops.new_cut()
        self._cut.enter()
        clock = clock_of(current())
        self._cut.at(clock.now() + self._seconds, clock)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._cut.leave(error):
            self._error = TimeoutError(f"the attempt took longer than attempt_timeout={self._seconds:g} s")
            raise self._error from None

    def made(self, error: BaseException) -> bool:
        """Tell whether the error is the one this cut has raised, and let go of it."""
        mine, self._error = self._error is error, None
        return mine


class CallCut(Scope):
    """A whole async call under `total_timeout`: a scope that cuts off, in a plain `with`."""

    __slots__ = ("error",)

    error: BaseException | None

    def __enter__(self) -> Self:
        self.error = None
        self.enter_cut()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            self.leave_cut(error)
        except TimeoutError as over:
            self.error = over
            raise

    def over(self, error: BaseException) -> bool:
        """Tell whether the error is the one that this limit has raised, and let go of it."""
        mine, self.error = self.error is error, None
        return mine


async def acut_off(rules: Rules, fn: object, error: TimeoutError, limit: CallCut) -> None:
    """Sign the error of a call that its time limit has cut off, and tell of it."""
    event = sign_cut_off(rules, fn, error, limit)
    if rules.on_giveup is not None:
        await _drive.acall_hook(rules.on_giveup, event)


def sign_cut_off(rules: Rules, fn: object, error: TimeoutError, limit: CallCut) -> _events.Event:
    """Sign the error, tell the listeners and the log, and return the event for the hook."""
    name = name_of(rules, fn)
    because = f"timeout: cut off by total_timeout={rules.total_timeout:g} s"
    number = limit.attempts + 1
    event = _events.Event("giveup", name, number, elapsed=limit.elapsed, error=error, reason="timeout")
    _notes.mark(error, "timeout", name, f"forbear: {name} was ended in attempt {number} ({because})")
    log = _events.logger(_events.ERROR)
    if log is not None:
        _events.log_giveup(log, event, because, _notes.described(error, rules.describe))
    _events.tell(event)
    return event
