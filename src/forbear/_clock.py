"""
The port to time: what now is, how to wait, and how a wait is woken early.

Law: everything temporal goes through a Clock, and now and sleep belong together, so that time can be faked
as a whole or not at all. This file must not know why somebody waits: no policy, scope or backoff. A waiter
is one wait going on; it can be rung from any thread and from a signal handler, so nothing here takes a lock
that the interrupted thread might hold.
"""

from __future__ import annotations

import _thread
import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Protocol

    class Waiter(Protocol):
        """One wait on a thread; `ring` ends it early, `wait` tells whether it was rung."""

        owner: object

        def ring(self) -> None: ...
        def wait(self, seconds: float | None) -> bool: ...

    class AsyncWaiter(Protocol):
        """One wait in a task; `ring` may be called from any thread."""

        owner: object

        def ring(self) -> None: ...
        async def wait(self, seconds: float | None) -> bool: ...

    class Timer(Protocol):
        """Something armed that can be taken back; twice is fine."""

        def cancel(self) -> None: ...

    class Clock(Protocol):
        """What the system's clock and a virtual one have in common."""

        def now(self) -> float: ...
        def sleep(self, seconds: float, waiter: Waiter) -> None: ...
        async def asleep(self, seconds: float, waiter: AsyncWaiter) -> None: ...
        def timer(self, when: float, fire: Callable[[], object]) -> Timer | None: ...
        def reach(self, when: float) -> None: ...

        # Whether time passes by itself, so that an event loop's own timers mean something.
        real: bool


# The longest single sleep; a longer wait is cut into pieces. Windows counts a lock's timeout in 32 bits of
# milliseconds, some selectors less.
PIECE = 3600.0 * 24

# The same on the main thread. A signal that comes in the instant before the thread goes to sleep doesn't wake it, and
# its handler runs when it wakes up: so that a Ctrl-C or a shutdown is late by this much at most, and not by a wait.
PIECE_OF_MAIN = 1.0

_BUILTIN: type = type(len)


def _true_monotonic() -> Callable[[], float]:
    """Find the interpreter's own monotonic clock, even if it was faked before forbear was imported."""
    if type(time.monotonic) is _BUILTIN:
        return time.monotonic
    from importlib.machinery import BuiltinImporter  # noqa: PLC0415 (only when time is faked)
    from importlib.util import module_from_spec  # noqa: PLC0415

    spec = BuiltinImporter.find_spec("time")
    assert spec is not None  # noqa: S101 (time is compiled into every CPython)
    module = module_from_spec(spec)
    BuiltinImporter.exec_module(module)
    true: Callable[[], float] = module.monotonic
    return true


def is_faked() -> bool:
    """Tell whether somebody (freezegun, say) has replaced the clock that event loops read."""
    return type(time.monotonic) is not _BUILTIN


class ThreadWaiter:
    """One wait on this thread, made of a lock that is held until somebody rings."""

    __slots__ = ("_lock", "owner")

    def __init__(self, owner: object = None) -> None:
        self.owner = owner
        # Looked up at each wait, because gevent replaces it when it patches.
        self._lock = _thread.allocate_lock()
        self._lock.acquire()

    def ring(self) -> None:
        """End the wait; twice is fine."""
        try:
            self._lock.release()
        except RuntimeError:
            pass  # rung before

    def wait(self, seconds: float | None) -> bool:
        """Block for so many seconds, or without limit, but not longer than a piece, and tell whether it was rung."""
        piece = PIECE_OF_MAIN if on_main_thread() else PIECE
        return self._lock.acquire(timeout=piece if seconds is None else min(seconds, piece))


class SystemClock:
    """The real thing: a monotonic clock that no fake reaches, and waits in pieces."""

    __slots__ = ()
    real = True
    # A class attribute, because freezegun replaces what it finds in module namespaces.
    now = staticmethod(_true_monotonic())

    def sleep(self, seconds: float, waiter: Waiter) -> None:
        """Return after so many seconds, never before, or as soon as the waiter is rung."""
        end = self.now() + seconds
        while seconds > 0:
            if waiter.wait(min(seconds, PIECE)):
                return
            seconds = end - self.now()

    async def asleep(self, seconds: float, waiter: AsyncWaiter) -> None:
        """Return after so many seconds, never before, or as soon as the waiter is rung."""
        end = self.now() + seconds
        while seconds > 0:
            if await waiter.wait(min(seconds, PIECE)):
                return
            seconds = end - self.now()

    def timer(self, when: float, fire: Callable[[], object]) -> None:
        """Give none: the event loop's own timers keep this clock's time."""
        return

    def reach(self, when: float) -> None:
        """Do nothing: this clock gets there by itself."""


SYSTEM: Clock = SystemClock()

# A clock for every thread and context of the process, put here by tests.
everywhere: Clock | None = None

# Every wait that is going on in this process. Adding, discarding and copying a set are single steps of the
# interpreter, so no lock is needed, and none can be held by a thread that a signal handler interrupted.
waiting: set[Waiter | AsyncWaiter] = set()


def ring(concerns: Callable[[object], bool]) -> None:
    """Wake every wait whose owner it concerns; from any thread or a signal handler."""
    for waiter in list(waiting):
        if concerns(waiter.owner):
            waiter.ring()


if hasattr(os, "register_at_fork"):
    # The threads that were waiting do not exist in a child.
    os.register_at_fork(after_in_child=waiting.clear)


def on_main_thread() -> bool:
    """Tell whether this is the thread that signal handlers run in."""
    threading = sys.modules.get("threading")
    return threading is None or threading.get_ident() == threading.main_thread().ident


def on_event_loop() -> bool:
    """Tell whether this thread is just now running a task or callback of an event loop."""
    asyncio = sys.modules.get("asyncio")
    if asyncio is not None and asyncio._get_running_loop() is not None:
        return True
    trio = sys.modules.get("trio")
    return trio is not None and in_trio(trio)


def in_trio(trio: Any) -> bool:
    """Tell whether a trio task is running on this thread."""
    try:
        trio.lowlevel.current_task()
    except (RuntimeError, AttributeError):  # AttributeError: trio is only half imported
        return False
    return True
