"""
Ticks: a loop that comes round again after a backoff's delay.

Law: the consumer waits, so nothing runs in the background and nothing is left when it stops asking. A ticker
knows no attempts and no errors; it keeps to the scope it is iterated in and to the clock of where it was made.
"""

from __future__ import annotations

from . import _clock, _loops, _scope
from ._duration import seconds
from ._hints import as_delay
from ._notes import EPOCH
from ._warn import warn_blocking
from .backoff import as_backoff, chance
from .errors import Cancelled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import timedelta
    from typing import Self

    from ._clock import AsyncWaiter, Waiter
    from ._protocols import Backoff

__all__ = ["Tick", "Ticker"]

GRAIN = 1e-9


class Tick:
    """
    One turn of a ticker's loop.

    Args:
        number: Which one, from 1.
        at: Seconds of the clock when it came; a difference of two is what they are good for.
    """

    __slots__ = ("at", "number")

    def __init__(self, number: int, at: float) -> None:
        self.number = number
        self.at = at

    def __repr__(self) -> str:
        return f"Tick({self.number}, at={self.at:.6g})"


class Ticker:
    """
    Come round again after each delay of a backoff: `for tick in Ticker(backoff)`, or `async for`.

    The first tick comes at once. A delay runs while the body works: a body that takes longer finds the next
    tick waiting, and ticks don't pile up. The loop ends when the backoff stops, when `stop()` is called, or when
    the time limit around is over; in a cancelled scope it raises Cancelled.

    >>> from forbear import Constant
    >>> [tick.number for tick in Ticker(Constant(0).take(2))]
    [1, 2, 3]

    Args:
        backoff: The delays; a number of seconds is a constant one.
        reset_after: Seconds; a body that lasted longer starts the backoff anew. For loops that reconnect: a
            connection that held for a minute was a success. None: never.

    Raises:
        ConfigError: An argument can't work.
    """

    __slots__ = (
        "_backoff",
        "_began",
        "_clock",
        "_failures",
        "_number",
        "_previous",
        "_reset_after",
        "_stopped",
        "_tick_at",
        "_waiter",
    )

    def __init__(
        self, backoff: Backoff | float | timedelta, *, reset_after: float | timedelta | None = None
    ) -> None:
        self._backoff = as_backoff("backoff", backoff)
        self._reset_after = seconds("reset_after", reset_after, none=True)
        self._clock = _scope.clock_of(_scope.current())
        self._began = EPOCH.count
        self._number = 0
        self._failures = 0
        self._previous = 0.0
        self._tick_at = 0.0
        self._stopped = False
        self._waiter: Waiter | AsyncWaiter | None = None

    def __repr__(self) -> str:
        return f"<ticker of {self._backoff!r}, {'stopped' if self._stopped else f'tick {self._number}'}>"

    def stop(self) -> None:
        """End the loop at once; from any thread or a signal handler, twice is fine."""
        self._stopped = True
        waiter = self._waiter
        if waiter is not None:
            waiter.ring()

    def __iter__(self) -> Self:
        return self

    def __aiter__(self) -> Self:
        return self

    def __next__(self) -> Tick:
        delay = self._delay()
        if delay is None:
            raise StopIteration
        if delay > 0.0:
            self._pause(delay)
            if self._stopped:
                raise StopIteration
        return self._tick()

    async def __anext__(self) -> Tick:
        delay = self._delay()
        if delay is None:
            raise StopAsyncIteration
        if delay > 0.0:
            await self._apause(delay)
            if self._stopped:
                raise StopAsyncIteration
        return self._tick()

    def _delay(self) -> float | None:
        """Return the seconds until the next tick, or None when the loop ends."""
        self._check()
        if self._stopped:
            return None
        if self._number == 0:
            return 0.0
        now = self._clock.now()
        worked = now - self._tick_at
        if self._reset_after is not None and worked > self._reset_after:
            self._failures, self._previous = 0, 0.0
        self._failures += 1
        said = self._backoff.delay(self._failures, self._previous, chance)
        if said is None:
            self._stopped = True
            return None
        self._previous = delay = as_delay(said)
        rest = max(0.0, delay - worked)
        left = _scope.time_left(_scope.current())
        if left is not None and rest - left > GRAIN:
            self._stopped = True
            return None
        return rest

    def _check(self) -> None:
        reason = _scope.cancelled(_scope.current(), self._began)
        if reason is not None:
            self._stopped = True
            raise Cancelled(reason)

    def _tick(self) -> Tick:
        self._number += 1
        self._tick_at = self._clock.now()
        return Tick(self._number, self._tick_at)

    def _pause(self, delay: float) -> None:
        if self._clock is _clock.SYSTEM and _clock.on_event_loop():
            warn_blocking("a ticker")
        waiter = self._waiter = _clock.ThreadWaiter(_scope.current())
        _clock.waiting.add(waiter)
        try:
            if not self._stopped:
                self._check()
                self._clock.sleep(delay, waiter)
        finally:
            self._waiter = None
            _clock.waiting.discard(waiter)
        self._check()

    async def _apause(self, delay: float) -> None:
        waiter = self._waiter = _loops.new_waiter(_scope.current())
        _clock.waiting.add(waiter)
        try:
            if not self._stopped:
                self._check()
                await self._clock.asleep(delay, waiter)
        finally:
            self._waiter = None
            _clock.waiting.discard(waiter)
        self._check()
