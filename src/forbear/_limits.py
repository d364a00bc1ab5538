"""
What cuts an async attempt or a whole async call off.

Law: an attempt cut off by its own limit fails with TimeoutError, a call cut off by its limit ends with one;
somebody else's cancellation passes through both untouched. Nothing here is used by sync calls: an attempt on a
thread can't be cut.
"""

from __future__ import annotations

import sys

from . import _clock, _drive, _events, _loops, _notes
from ._notes import name_of
from ._scope import AMBIENT, SYSTEM, Node, Scope, clock_of, current, unbind

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio
    import contextvars
    from collections.abc import Callable
    from types import TracebackType
    from typing import Self

    from ._loops import Armed, Cut, Sweeper
    from ._rules import Rules

__all__ = ["AttemptCut", "CallCut", "acut_off", "open_cut", "sign_cut_off"]

exception = sys.exception
local = _loops.local
sweeper_here = _loops.sweeper_here


class AttemptCut:
    """
    One attempt under `attempt_timeout`; afterwards it can tell whether a TimeoutError is its own.

    As with a whole call, what can cut it off is made on asyncio when the loop comes round.
    """

    __slots__ = (
        "_cancelling",
        "_clock",
        "_cut",
        "_error",
        "_open",
        "_seconds",
        "_sweeper",
        "_task",
        "_when",
        "below",
    )

    below: Armed | None

    def __init__(self, rules: Rules) -> None:
        self._seconds: float = rules.attempt_timeout or 0.0
        self._error: BaseException | None = None
        self._cut: Cut | None = None
        self._open = True

    def __enter__(self) -> Self:
        clock = self._clock = clock_of(current())
        self._when = clock.now() + self._seconds
        sweeper = self._sweeper = sweeper_here()
        if sweeper is None:
            self._cut = _loops.TrioCut()
            self._cut.enter()
            self._cut.at(self._when, clock)
        else:
            task = self._task = sweeper.task
            self._cancelling = task.cancelling()
            sweeper.add(self)
        return self

    def arm(self) -> None:
        """Make the cut, now that the attempt has not ended at once."""
        if self._open:
            self._cut = _loops.AsyncioCut(self._task, self._cancelling)
            self._cut.at(self._when, self._clock)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._open = False
        cut = self._cut
        if cut is None:
            sweeper = self._sweeper
            if sweeper is not None and sweeper.top is self:
                sweeper.top = self.below
        elif cut.leave(error):
            self._error = TimeoutError(
                f"the attempt took longer than attempt_timeout={self._seconds:g} s"
            )
            raise self._error from None

    def made(self, error: BaseException) -> bool:
        """Tell whether the error is the one this cut has raised, and let go of it."""
        mine, self._error = self._error is error, None
        return mine


class CallCut(Node):
    """
    A whole async call under `total_timeout`: a scope that also cuts off. Made by `open_cut`.

    On asyncio what can cut it off is made on the loop's next turn, and most calls that succeed without waiting
    for anything have left by then.
    """

    __slots__ = (
        "_cancelling",
        "_cut",
        "_sweeper",
        "_task",
        "_token",
        "_trace",
        "below",
        "clock",
        "deadline",  # pyright: ignore[reportIncompatibleVariableOverride]  # it always has one
        "open",
        "parent",
        "started",
    )

    deadline: float
    _sweeper: Sweeper
    _task: asyncio.Task[object]
    _cancelling: int
    _token: contextvars.Token[Node | None]
    below: Armed | None
    _cut: Cut | None
    _trace: (
        tuple[BaseException | None, int] | None
    )  # the last failure inside, and how many there had been

    def arm(self) -> None:
        """Make the cut, now that the call has not ended at once."""
        if self.open:
            self._cut = _loops.AsyncioCut(self._task, self._cancelling)
            self._cut.at(self.deadline, self.clock)

    def close(self) -> None:
        """Leave after success, or a second time."""
        if not self.open:
            return
        self.open = False
        unbind(self._token)
        if self._cut is not None:
            self._cut.leave(None)
            return
        sweeper = self._sweeper
        if sweeper.top is self:
            sweeper.top = self.below

    def is_over(self) -> bool:
        """Leave with the error that is just being handled, and tell whether this limit has caused it."""
        cut = self._cut
        if cut is None:
            self.close()
            return False
        self.open = False
        unbind(self._token)
        return cut.leave(exception())

    def error(self) -> TimeoutError:
        """Make the error that comes out of a call whose time is over."""
        limit = self.deadline - self.started
        error = TimeoutError(f"the call took longer than total_timeout={limit:.6g} s")
        if self._trace is not None:
            error.__cause__ = self._trace[0]
            self._trace = (None, self._trace[1])
        return error

    @property
    def attempts(self) -> int:
        """How many attempts had failed when the time was over."""
        return 0 if self._trace is None else self._trace[1]

    @property
    def elapsed(self) -> float:
        """Seconds since the call began."""
        return self.clock.now() - self.started

    def is_cutting(self) -> bool:
        """Tell whether the time is over by now."""
        return self._cut is not None and self.clock.now() >= self.deadline

    def leave_trace(self, failure: BaseException | None, attempts: int) -> None:
        """Be told of the last failure inside, for the error of the cut."""
        self._trace = (failure, attempts)


def open_cut(timeout: float, now: Callable[[], float] = SYSTEM.now) -> CallCut:
    """
    Begin an async call under a time limit. All in one place, because most calls under it are short.

    Args:
        timeout: Seconds.
        now: The system's clock. Here, because freezegun replaces what it finds in module namespaces.
    """
    limit = CallCut()
    sweeper = local.sweeper
    task = None
    if sweeper is not None and sweeper.loop._thread_id == sweeper.thread:
        task = sweeper.current(sweeper.loop)
    if task is None:
        sweeper = sweeper_here()
        task = None if sweeper is None else sweeper.task
    parent = AMBIENT.get()
    if parent is None and _clock.everywhere is None:
        limit.parent = None
        limit.clock = SYSTEM
        limit.started = started = now()
    else:
        limit.parent = parent = current()
        limit.clock = clock = clock_of(parent)
        limit.started = started = clock.now()
    limit.deadline = started + timeout
    limit._cut = limit._trace = None
    if sweeper is None or task is None:
        limit._cut = cut = _loops.TrioCut()
        cut.enter()
        cut.at(limit.deadline, limit.clock)
    else:
        limit._sweeper = sweeper
        limit._task = task
        limit._cancelling = task.cancelling()
        limit.below = sweeper.top
        sweeper.top = limit
        if not sweeper.scheduled:
            sweeper.schedule()
    limit.open = True
    limit._token = AMBIENT.set(limit)
    return limit


async def acut_off(rules: Rules, fn: object, limit: CallCut) -> TimeoutError:
    """Return the error of a call that its time limit has cut off, signed, after the hook was told of it."""
    error = limit.error()
    event = sign_cut_off(rules, fn, error, limit)
    if rules.on_giveup is not None:
        await _drive.acall_hook(rules.on_giveup, event)
    return error


def sign_cut_off(
    rules: Rules, fn: object, error: TimeoutError, limit: CallCut | Scope
) -> _events.Event:
    """Sign the error, tell the listeners and the log, and return the event for the hook."""
    name = name_of(rules.name, fn)
    because = f"timeout: cut off by total_timeout={rules.total_timeout:g} s"
    number = limit.attempts + 1
    event = _events.Event(
        "giveup", name, number, elapsed=limit.elapsed, error=error, reason="timeout"
    )
    note = f"forbear: {name} was ended in attempt {number} ({because})"
    _notes.mark(error, "timeout", name, note, own=not isinstance(fn, str))
    log = _events.logger(_events.ERROR)
    if log is not None:
        _events.log_giveup(log, event, because, _notes.described(error, rules.describe))
    _events.tell(event)
    return event
