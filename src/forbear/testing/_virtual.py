"""
A clock for tests: waits take no time, are recorded, and are served in the order of their end.

Law: it fakes now and every wait as one, and only what forbear itself waits for; other people's sleeps stay real.
So a time limit fires when virtual time has passed it, and (with auto) also when that many real seconds have:
an attempt that hangs in a real sleep is still cut off.
"""

from __future__ import annotations

import heapq
import itertools
import sys
import threading
from typing import TYPE_CHECKING

from .. import _clock
from .._duration import seconds as as_seconds
from .._scope import Scope

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable
    from datetime import timedelta
    from types import TracebackType

    from .._clock import AsyncWaiter, Waiter

__all__ = ["VirtualClock", "virtual_time"]


class Entry:
    """Something due at a time: a wait that is rung, or a limit that fires."""

    __slots__ = ("cancelled", "fire", "is_wait", "number", "when")

    def __init__(
        self, when: float, number: int, fire: Callable[[], object], *, is_wait: bool
    ) -> None:
        self.when = when
        self.number = number
        self.fire = fire
        self.is_wait = is_wait
        self.cancelled = False

    def __lt__(self, other: Entry) -> bool:
        # At one moment waits end before limits fire: "equal still waits".
        return (self.when, not self.is_wait, self.number) < (
            other.when,
            not other.is_wait,
            other.number,
        )

    def cancel(self) -> None:
        """Take it back; twice is fine."""
        self.cancelled = True


class VirtualClock:
    """
    A clock that moves only when somebody waits, or by `advance`.

    `waits` has the seconds of each wait, in the order they began; a delay of zero is no wait.
    """

    def __init__(self, start: float = 0.0, *, auto: bool = True) -> None:
        self.waits: list[float] = []
        self.real = auto
        self._auto = auto
        self._now = start
        self._due: list[Entry] = []
        self._numbers = itertools.count()
        self._lock = threading.RLock()
        self._watched: set[object] = (
            set()
        )  # loops that are; themselves, since the number of one that has gone is used again

    def __repr__(self) -> str:
        return f"<virtual clock at {self._now:g} s, {len(self.waits)} waits>"

    def now(self) -> float:
        """Return the seconds this clock shows."""
        return self._now

    def advance(self, seconds: float | timedelta) -> None:
        """
        Move the clock, and end the waits and fire the limits that it passes, in their order.

        What was waiting goes on in its own thread or task, so a test of tasks has to let them run.

        Args:
            seconds: How far, at least 0.
        """
        self._reach(self._now + as_seconds("seconds", seconds))

    def reach(self, when: float) -> None:
        """Move the clock to a moment, unless it is past it."""
        self._reach(when)

    def _reach(self, when: float) -> None:
        while (entry := self._pop(when)) is not None:
            self._now = max(self._now, entry.when)
            entry.fire()
        self._now = max(self._now, when)

    def _pop(self, until: float) -> Entry | None:
        """Take the first entry that is due by then."""
        with self._lock:
            while self._due and (self._due[0].cancelled or self._due[0].when <= until):
                entry = heapq.heappop(self._due)
                if not entry.cancelled:
                    return entry
        return None

    def _push(self, when: float, fire: Callable[[], object], *, is_wait: bool) -> Entry:
        with self._lock:
            entry = Entry(when, next(self._numbers), fire, is_wait=is_wait)
            heapq.heappush(self._due, entry)
        return entry

    def timer(self, when: float, fire: Callable[[], object]) -> Entry:
        """Have something called when the clock has come to a moment."""
        return self._push(when, fire, is_wait=False)

    # -- waits

    def sleep(self, seconds: float, waiter: Waiter) -> None:
        """Record a wait of a thread; with auto the clock jumps to its end, else `advance` ends it."""
        end = self._now + seconds
        if self._auto:
            self.waits.append(seconds)
            self._reach(end)
            return
        entry = self._push(end, waiter.ring, is_wait=True)
        self.waits.append(seconds)  # now, because whoever sees it there may advance past it
        try:
            while self._now < end and not waiter.wait(None):
                pass
        finally:
            entry.cancel()

    async def asleep(self, seconds: float, waiter: AsyncWaiter) -> None:
        """Record a wait of a task; with auto it ends when nothing else can run and its turn has come."""
        end = self._now + seconds
        entry = self._push(end, waiter.ring, is_wait=True)
        self.waits.append(seconds)
        if self._auto:
            self._watch()
        try:
            while self._now < end and not await waiter.wait(None):
                pass
        finally:
            entry.cancel()

    def _step(self) -> bool:
        """Move on to the next wait's end, or to a limit before it; false when nobody waits."""
        with self._lock:
            if not any(entry.is_wait and not entry.cancelled for entry in self._due):
                return False
            entry = self._pop(float("inf"))
        if entry is not None:
            self._now = max(self._now, entry.when)
            entry.fire()
        return True

    # -- noticing that nothing else can run

    def _watch(self) -> None:
        trio = sys.modules.get("trio")
        if trio is not None and _clock.in_trio(trio):
            token = trio.lowlevel.current_trio_token()
            if token not in self._watched:
                self._watched.add(token)
                trio.lowlevel.spawn_system_task(self._watch_trio, token)
            return
        loop = sys.modules["asyncio"].get_running_loop()
        if loop not in self._watched:
            self._watched.add(loop)
            loop.call_soon(self._watch_asyncio, loop, 0)

    async def _watch_trio(self, token: object) -> None:
        import trio.testing  # noqa: PLC0415 (only where trio runs)

        try:
            await trio.testing.wait_all_tasks_blocked()
            while self._step():
                await trio.testing.wait_all_tasks_blocked()
        finally:
            self._watched.discard(token)

    def _watch_asyncio(self, loop: asyncio.AbstractEventLoop, quiet: int) -> None:
        # Called by the loop. A turn polls the selector before it runs what is ready, so two turns in a row with
        # nothing else ready mean that nothing can run; a loop that doesn't show what is ready gets more turns.
        ready = getattr(loop, "_ready", None)
        enough = 2 if ready is not None else 20
        quiet = 0 if ready else quiet + 1
        if quiet >= enough:
            quiet = 0
            if not self._step():
                self._watched.discard(loop)
                return
        loop.call_soon(self._watch_asyncio, loop, quiet)


class virtual_time:  # noqa: N801 (used as a function is)
    """
    Make every wait that forbear begins in this context take no time.

    In a thread the clock jumps to the end of each wait at once. On asyncio and trio waits are served in the
    order of their end, whenever nothing else can run. Sleeps that are not forbear's stay real.

    >>> from forbear import Exponential, retry
    >>> with virtual_time() as clock:
    ...     try:
    ...         retry(on=ZeroDivisionError, backoff=Exponential(1, jitter="none")).call(divmod, 1, 0)
    ...     except ZeroDivisionError:
    ...         print(clock.waits, clock.now())
    [1.0, 2.0, 4.0, 8.0] 15.0

    Args:
        start: Seconds that the clock shows first.
        auto: False: waits block until `clock.advance(seconds)` has passed them.
        everywhere: True: in every thread and context of the process, not only in this one.
    """

    def __init__(self, start: float = 0.0, *, auto: bool = True, everywhere: bool = False) -> None:
        self._clock = VirtualClock(as_seconds("start", start), auto=auto)
        self._everywhere = everywhere
        self._scope = Scope()
        self._scope.own_clock = self._clock
        self._before: _clock.Clock | None = None

    def __enter__(self) -> VirtualClock:
        self._scope.enter()
        if self._everywhere:
            self._before, _clock.everywhere = _clock.everywhere, self._clock
        return self._clock

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._everywhere:
            _clock.everywhere = self._before
        self._scope.leave()
