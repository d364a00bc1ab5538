"""
Waiting and cutting off in tasks, on asyncio and on trio.

Law: the two libraries differ here and nowhere else. Each gives a waiter (one wait that can be rung from any
thread) and a cut (a block that can be cancelled from outside). This file must not know why: no policy, no
scope. Neither library is imported: whoever runs a task of one has imported it already.
"""

from __future__ import annotations

import _thread
import os
import sys

from ._clock import PIECE, SYSTEM, in_trio, is_faked, waiting

_modules = sys.modules

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable
    from typing import Any, Protocol, TypeAlias

    import trio

    from ._clock import AsyncWaiter, Clock, Timer

    Cut: TypeAlias = "AsyncioCut | TrioCut"

    class Armed(Protocol):
        """What a sweeper sweeps, one link of its stack."""

        below: Armed | None

        def arm(self) -> None: ...


__all__ = ["new_cut", "new_waiter"]


def library() -> str:
    """
    Name the library whose task is running: `"asyncio"` or `"trio"`.

    A current task of asyncio decides, because either library can be the other's host: where trio is a guest of
    asyncio there is none while trio's tasks run, and where asyncio is a guest of trio there is one only while
    its own do.
    """
    asyncio = _modules.get("asyncio")
    loop = None if asyncio is None else asyncio._get_running_loop()
    if loop is not None and asyncio is not None and asyncio.current_task(loop) is not None:
        return "asyncio"
    trio = _modules.get("trio")
    if trio is not None and in_trio(trio):
        return "trio"
    if loop is not None:
        return "asyncio"
    raise RuntimeError("forbear waits in tasks of asyncio or trio, and neither is running here")


def new_waiter(owner: object) -> AsyncWaiter:
    """Make a waiter for the task that is running."""
    return TrioWaiter(owner) if library() == "trio" else AsyncioWaiter(owner)


def new_cut() -> Cut:
    """Make a cut for the task that is running."""
    sweeper = sweeper_here()
    if sweeper is None:
        return TrioCut()
    return AsyncioCut(sweeper.task, sweeper.task.cancelling())


def later(loop: asyncio.AbstractEventLoop, seconds: float, fire: Callable[[], object]) -> Timer:
    """Call back in the loop's thread after so many seconds, also while the loop's clock is frozen."""
    if not is_faked():
        return loop.call_later(max(0.0, min(seconds, PIECE)), fire)
    return thread_timer(seconds, lambda: loop.call_soon_threadsafe(fire))


def thread_timer(seconds: float, fire: Callable[[], object]) -> Timer:
    """Call back from a thread of its own: for event loops whose clock somebody has frozen."""
    import threading  # noqa: PLC0415 (rare, and not free)

    def run() -> None:
        try:
            fire()
        except RuntimeError:
            pass  # the loop is gone, and with it whoever waited

    timer = threading.Timer(max(0.0, min(seconds, PIECE)), run)
    timer.daemon = True
    timer.start()
    return timer


class AsyncioWaiter:
    """One wait of an asyncio task."""

    __slots__ = ("_future", "_loop", "_rung", "owner")

    def __init__(self, owner: object = None) -> None:
        self.owner = owner
        self._loop: asyncio.AbstractEventLoop = sys.modules["asyncio"].get_running_loop()
        self._future: asyncio.Future[None] | None = None
        self._rung = False

    def ring(self) -> None:
        """End the wait; from any thread or a signal handler."""
        self._rung = True
        try:
            self._loop.call_soon_threadsafe(self._wake)
        except RuntimeError:
            waiting.discard(self)  # the loop was closed: nobody waits any more

    def _wake(self) -> None:
        if self._future is not None and not self._future.done():
            self._future.set_result(None)

    async def wait(self, seconds: float | None) -> bool:
        """Wait so many seconds, or without limit, and tell whether it was rung."""
        self._future = self._loop.create_future()
        if self._rung:
            return True
        timer = None if seconds is None else later(self._loop, seconds, self._wake)
        try:
            await self._future
        finally:
            if timer is not None:
                timer.cancel()
        return self._rung


class TrioWaiter:
    """One wait of a trio task."""

    __slots__ = ("_event", "_rung", "_token", "_trio", "owner")

    def __init__(self, owner: object = None) -> None:
        self.owner = owner
        self._trio = sys.modules["trio"]
        self._token: trio.lowlevel.TrioToken = self._trio.lowlevel.current_trio_token()
        self._event: trio.Event = self._trio.Event()
        self._rung = False

    def ring(self) -> None:
        """End the wait; from any thread or a signal handler."""
        self._rung = True
        try:
            self._token.run_sync_soon(self._wake)
        except self._trio.RunFinishedError:
            waiting.discard(self)  # nobody waits any more

    def _wake(self) -> None:
        self._event.set()

    async def wait(self, seconds: float | None) -> bool:
        """Wait so many seconds, or without limit, and tell whether it was rung."""
        if self._rung:
            return True
        self._event = self._trio.Event()
        if seconds is None:
            await self._event.wait()
        elif is_faked():
            timer = thread_timer(seconds, lambda: self._token.run_sync_soon(self._wake))
            try:
                await self._event.wait()
            finally:
                timer.cancel()
        else:
            with self._trio.move_on_after(seconds):
                await self._event.wait()
        return self._rung


class Sweeper:
    """
    The limits of one event loop that are still to be armed.

    Arming a timer costs more than most calls that succeed at once, so a limit is armed on the loop's next turn. Calls
    that don't suspend have left by then, the last first: who leaves is on top, and the stack is as deep as they nest.
    """

    __slots__ = ("current", "loop", "scheduled", "task", "thread", "top")

    task: asyncio.Task[object]  # that ran when somebody last looked

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        module = _modules["asyncio"]
        self.loop: Any = loop
        self.thread = 0
        self.top: Armed | None = None
        # Up to 3.11 `current_task` is written in Python; the dict that it looks into is much faster.
        slow = sys.version_info < (3, 12)
        self.current: Any = module.tasks._current_tasks.get if slow else module.current_task
        self.scheduled = False

    def add(self, limit: Armed) -> None:
        """Have it armed on the loop's next turn; who leaves before and is on top makes way for who is below."""
        limit.below = self.top
        self.top = limit
        if not self.scheduled:
            self.schedule()

    def schedule(self) -> None:
        """Have the loop come by on its next turn."""
        self.scheduled = True
        self.loop.call_soon(self._sweep)

    def _sweep(self) -> None:
        self.scheduled = False
        limit, self.top = self.top, None
        while limit is not None:
            below, limit.below = limit.below, None
            limit.arm()
            limit = below


class _Local(_thread._local):
    sweeper: Sweeper | None = None  # of the loop that was last seen running on this thread


local = _Local()
# One for each loop that is not closed; the loops themselves, because the address of one is soon another's.
sweepers: dict[object, Sweeper] = {}


def _forget() -> None:
    local.sweeper = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)  # the loop has stayed behind in the parent


def sweeper_here() -> Sweeper | None:
    """Return the sweeper of the asyncio loop whose task is running, and that task in it; None on trio."""
    sweeper = local.sweeper
    # A loop may have moved to another thread since; asking which one runs here is slow (a system call up to 3.11).
    if sweeper is not None and sweeper.loop._thread_id == sweeper.thread:
        task = sweeper.current(sweeper.loop)
        if task is not None:
            sweeper.task = task
            return sweeper
    return _look_around()


def _look_around() -> Sweeper | None:
    if library() == "trio":
        return None
    loop = _modules["asyncio"].get_running_loop()
    sweeper = sweepers.get(loop)
    if sweeper is None:
        for known in list(sweepers.values()):
            if known.loop.is_closed():
                sweepers.pop(known.loop, None)
        sweeper = sweepers[loop] = Sweeper(loop)
    if hasattr(
        loop, "_thread_id"
    ):  # uvloop's has none that can be seen, and is looked for each time
        sweeper.thread = _thread.get_ident()
        local.sweeper = sweeper
    task = sweeper.current(loop)
    if task is None:
        raise RuntimeError("a time limit can cut off only what runs in a task")
    sweeper.task = task
    return sweeper


class AsyncioCut:
    """
    A block of an asyncio task that can be cancelled from outside.

    `enter` and `leave` bracket the block. `leave` is told what came out of it and says whether that is this
    cut's own cancellation and nobody else's: then the caller puts an error of its own in the place of it.
    """

    __slots__ = ("_cancelling", "_clock", "_fired", "_left", "_loop", "_task", "_timers", "_when")

    _when: float
    _clock: Clock

    def __init__(self, task: asyncio.Task[object], cancelling: int) -> None:
        self._loop = task.get_loop()
        # As asyncio.timeout: cancellations that were asked for before the block are not this cut's.
        self._task, self._cancelling = task, cancelling
        self._fired = self._left = False
        self._timers: list[Timer] = []

    def enter(self) -> None:
        """Begin the block."""

    def at(self, when: float, clock: Clock) -> None:
        """Cut the block off when the clock shows *when*."""
        self._when = when
        self._clock = clock
        virtual = clock.timer(when, self._expire_soon)
        if virtual is not None:
            self._timers.append(virtual)
        if clock.real:
            self._timers.append(later(self._loop, when - clock.now(), self._expire))

    def _expire_soon(self) -> None:
        try:
            self._loop.call_soon_threadsafe(self._expire)
        except RuntimeError:
            pass  # the loop is closed, the block with it

    def _expire(self) -> None:
        if self._left or self._fired:
            return
        left = self._when - self._clock.now()
        if left > 0 and self._clock is SYSTEM:
            self._timers.append(
                later(self._loop, left, self._expire)
            )  # woken early: a piece of a long limit
            return
        self._clock.reach(self._when)
        self._cancel()

    def fire(self) -> None:
        """
        Cut the block off; from any thread or a signal handler, twice is fine.

        It takes effect a turn of the loop later: waits that were rung just before end first, by themselves, and
        tell why, as they do on trio.
        """
        try:
            self._loop.call_soon_threadsafe(self._loop.call_soon, self._cancel)
        except RuntimeError:
            pass  # the loop is closed, the block with it

    def _cancel(self) -> None:
        if not (self._left or self._fired):
            self._fired = True
            self._task.cancel()

    def leave(self, error: BaseException | None) -> bool:
        """End the block, and tell whether the error is this cut's own cancellation."""
        self._left = True
        for timer in self._timers:
            timer.cancel()
        if not self._fired:
            return False
        alone = self._task.uncancel() <= self._cancelling
        return alone and isinstance(error, _modules["asyncio"].CancelledError)


class TrioCut:
    """A block of a trio task that can be cancelled from outside; as AsyncioCut."""

    __slots__ = ("_clock", "_fired", "_scope", "_timer", "_token", "_trio", "_when")

    def __init__(self) -> None:
        self._trio = sys.modules["trio"]
        self._scope: trio.CancelScope = self._trio.CancelScope()
        self._token: trio.lowlevel.TrioToken = self._trio.lowlevel.current_trio_token()
        self._timer: Timer | None = None
        self._clock: Clock = SYSTEM
        self._when: float | None = None
        self._fired = False

    def enter(self) -> None:
        """Begin the block."""
        self._scope.__enter__()

    def at(self, when: float, clock: Clock) -> None:
        """Cut the block off when the clock shows *when*."""
        self._when = when
        self._clock = clock
        self._timer = clock.timer(when, self._expire_soon)
        left = when - clock.now()
        if is_faked():
            self._timer = thread_timer(left, self._expire_soon)
        elif clock.real:
            self._scope.deadline = self._trio.current_time() + left

    def fire(self) -> None:
        """Cut the block off; from any thread or a signal handler, twice is fine."""
        self._fired = True
        self._expire_soon()

    def _expire_soon(self) -> None:
        try:
            self._token.run_sync_soon(self._scope.cancel)
        except self._trio.RunFinishedError:
            pass  # the block has ended with everything else

    def leave(self, error: BaseException | None) -> bool:
        """End the block, and tell whether the error is this cut's own cancellation."""
        if self._timer is not None:
            self._timer.cancel()
        if error is None:
            self._scope.__exit__(None, None, None)
            return False
        swallowed = bool(self._scope.__exit__(type(error), error, error.__traceback__))
        if swallowed and self._when is not None and not self._fired:
            self._clock.reach(self._when)
        return swallowed
