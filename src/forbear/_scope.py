"""
Time limits and cancellation that travel: what surrounds a call, without being handed to it.

Law: one context variable holds the innermost scope, each scope knows the next one outwards, and nested scopes
only ever shorten. A scope says how much time is left and whether it was cancelled; it must not know policies,
attempts or delays. No lock: `cancel` may run in a signal handler of the very thread that it interrupts.
"""

from __future__ import annotations

import contextvars

from . import _cancel_all, _clock, _loops
from ._duration import seconds
from .errors import Cancelled, ConfigError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import timedelta
    from types import TracebackType
    from typing import Self

    from ._clock import Clock
    from ._loops import Cut

__all__ = [
    "Limit",
    "Scope",
    "close_limit",
    "current",
    "open_limit",
    "remaining",
    "scope",
]

SYSTEM = _clock.SYSTEM

AMBIENT: contextvars.ContextVar[Node | None] = contextvars.ContextVar("forbear", default=None)


class Node:
    """
    One link of the chain of scopes: what those inside may ask of it.

    What most never set stands here once for all, so that making one costs little: a call with a time limit
    makes one each time.
    """

    __slots__ = ()

    if TYPE_CHECKING:
        # Those that keep time set these; who walks the chain asks for the deadline first.
        clock: Clock
        started: float

    parent: Node | None = None
    limit: int | None = None  # of attempts, set by tests
    deadline: float | None = None
    open: bool = False
    reason: str | None = None  # for which it was cancelled

    def is_cutting(self) -> bool:
        """Tell whether it cuts off what runs inside, and has a reason to by now."""
        return False

    def leave_trace(self, failure: BaseException | None, attempts: int) -> None:
        """Be told of the last failure inside, for the error of the cut."""


def unbind(token: contextvars.Token[Node | None]) -> None:
    """Give the context back its outer scope."""
    try:
        AMBIENT.reset(token)
    except ValueError:
        # Left in another context than entered (an async fixture, a loop that was closed); `open` says it all.
        pass


class Limit(Node):
    """The time limit of one sync call; begun by `open_limit` and ended by `close_limit`, which make no checks."""

    __slots__ = ("_token", "clock", "deadline", "open", "parent", "started")

    if TYPE_CHECKING:
        _token: contextvars.Token[Node | None]


def open_limit(timeout: float, now: Callable[[], float] = SYSTEM.now) -> Limit:
    """
    Begin a call under a time limit. A function and not a `with`: it is on the path of calls that succeed.

    Args:
        timeout: Seconds.
        now: The system's clock. Here, because freezegun replaces what it finds in module namespaces.
    """
    limit = Limit()
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
    limit.open = True
    limit._token = AMBIENT.set(limit)
    return limit


def close_limit(limit: Limit) -> None:
    """End it."""
    limit.open = False
    unbind(limit._token)


class Scope(Node):
    """
    A time limit and a cancellation that everything inside the block keeps to.

    Made by `scope()`. A plain `with` bounds the waits inside; `async with` also cuts off what runs.
    """

    failure: BaseException | None = None  # the last one inside, for the error of the cut
    attempts = 0  # how many had failed by then
    own_clock: Clock | None = None  # that a test has put here
    _entered = False
    _token: contextvars.Token[Node | None] | None = None
    _cut: Cut | None = None

    def __init__(self, timeout: float | timedelta | None = None) -> None:
        self.timeout = seconds("timeout", timeout, none=True)

    def __repr__(self) -> str:
        state = "open" if self.open else "closed"
        because = "" if self.reason is None else f", cancelled={self.reason!r}"
        return f"<scope timeout={self.timeout}, {state}{because}>"

    # -- entering and leaving

    def start(self) -> None:
        """Fix the parent, the clock and the deadline; nothing is bound by it yet."""
        if self._entered:
            raise ConfigError(
                "a scope is entered once; make another one with forbear.scope(timeout=2.0)"
            )
        self.parent = current()
        if self.own_clock is None:
            self.clock = clock_of(self.parent)
        else:
            self.clock = self.own_clock
        if self.timeout is not None:
            self.started = self.clock.now()
            self.deadline = self.started + self.timeout
        self.open = self._entered = True

    def bind(self) -> None:
        """Become the innermost scope of this context, inside what is the innermost by now."""
        self.parent = current()
        self._token = AMBIENT.set(self)

    def unbind(self) -> None:
        """Give the context back its outer scope."""
        token, self._token = self._token, None
        if token is not None:
            unbind(token)

    def enter(self) -> None:
        """Start and bind."""
        self.start()
        self._token = AMBIENT.set(self)

    def leave(self) -> None:
        """Bind nobody any more, also not the tasks that outlive the block."""
        self.open = False
        self.failure = None
        self.unbind()

    @property
    def elapsed(self) -> float | None:
        """Seconds since it started, or None for a scope without a time limit."""
        return None if self.deadline is None else self.clock.now() - self.started

    def __enter__(self) -> Self:
        self.enter()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.leave()

    async def __aenter__(self) -> Self:
        self.enter_cut()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.leave_cut(error)

    def enter_cut(self) -> None:
        """Become the innermost scope, and cut the block off when its time is over or it is cancelled."""
        self.start()
        self.bind_cut()

    def bind_cut(self) -> None:
        """Bind, and have what runs from now on cut off."""
        cut = _loops.new_cut()
        self.bind()
        self._cut = cut
        cut.enter()
        self._fire_at_deadline(cut)

    def _fire_at_deadline(self, cut: Cut) -> None:
        if self.deadline is not None:
            cut.at(self.deadline, self.clock)
        if self.reason is not None:
            cut.fire()

    def leave_cut(self, error: BaseException | None) -> None:
        """Leave; the cancellation that this scope has caused becomes Cancelled or TimeoutError."""
        try:
            self.unbind_cut(error)
        finally:
            self.leave()

    def unbind_cut(self, error: BaseException | None) -> None:
        """Unbind; the cancellation that this scope has caused becomes Cancelled or TimeoutError."""
        cut, self._cut = self._cut, None
        self.unbind()
        if cut is None or not cut.leave(error):
            return
        if self.reason is not None:
            raise Cancelled(self.reason) from self.failure
        raise TimeoutError(f"the time limit of {self.timeout:g} s is over") from self.failure

    def is_cutting(self) -> bool:
        """Tell whether it cuts off what runs inside, and has a reason to by now."""
        if self._cut is None:
            return False
        over = self.deadline is not None and self.clock.now() >= self.deadline
        return over or self.reason is not None

    def leave_trace(self, failure: BaseException | None, attempts: int) -> None:
        """Be told of the last failure inside, for the error of the cut."""
        self.failure, self.attempts = failure, attempts

    # -- cancelling

    def cancel(self, reason: str = "cancelled") -> None:
        """
        Cancel everything inside: waits end at once, and no new one begins.

        It may be called from any thread and from a signal handler. Twice is fine; the first reason stays.

        Args:
            reason: What `Cancelled.reason` will say.
        """
        if self.reason is None:
            self.reason = str(reason)
        _clock.ring(self.surrounds)
        cut = self._cut
        if cut is not None:
            cut.fire()

    @property
    def cancelled(self) -> str | None:
        """The reason for which this scope, or one around it, was cancelled; else None."""
        node: Node | None = self
        while node is not None:
            if node.reason is not None and (node.open or node is self):
                return node.reason
            node = node.parent
        return None

    def check(self) -> None:
        """
        Raise Cancelled if this scope, or one around it, was cancelled.

        For long work of your own that wants to stop early.
        """
        reason = self.cancelled
        if reason is not None:
            raise Cancelled(reason)

    def surrounds(self, inner: object) -> bool:
        """Tell whether the other scope is this one or inside it."""
        node = inner if isinstance(inner, Node) else None
        while node is not None:
            if node is self:
                return True
            node = node.parent
        return False


def scope(timeout: float | timedelta | None = None) -> Scope:
    """
    Bound everything that runs inside the block; nested scopes only ever shorten.

    With a plain `with`, no wait begins that would end after the limit, and `cancel` wakes every wait; an
    attempt that runs can't be cut. With `async with`, what runs inside is also cut off: TimeoutError when the
    time is over, `Cancelled` when it is cancelled. A function always runs at least once. Tasks,
    `asyncio.to_thread` and `trio.to_thread` inherit the scope; plain threads and executors don't.

    >>> import forbear
    >>> with forbear.scope(timeout=2.0) as scope:
    ...     0.0 < forbear.remaining() <= 2.0
    True

    Args:
        timeout: Seconds for the whole block, or None: no limit of its own.

    Raises:
        ConfigError: The timeout is no number of seconds.
    """
    return Scope(timeout)


def current() -> Node | None:
    """Return the innermost scope that is still open."""
    node = AMBIENT.get()
    while node is not None and not node.open:
        node = node.parent
    return node


def clock_of(node: Node | None) -> Clock:
    """Return the clock that waits inside this scope keep to."""
    return _clock.everywhere or _clock.SYSTEM if node is None else node.clock


def time_left(node: Node | None) -> float | None:
    """Return the seconds until the first limit around, negative when it is over; None without a limit."""
    least: float | None = None
    while node is not None:
        if node.deadline is not None and node.open:
            left = node.deadline - node.clock.now()
            if least is None or left < least:
                least = left
        node = node.parent
    return least


def remaining() -> float | None:
    """
    Return the seconds left of the time limits around, at least 0, or None without a limit.

    Hand it to the client library you call: `client.get(url, timeout=forbear.remaining())`.

    >>> remaining() is None
    True
    """
    left = time_left(current())
    return None if left is None else max(0.0, left)


def cancelled(node: Node | None, began: int) -> str | None:
    """
    Return why what began back then inside this scope is cancelled, or None.

    Args:
        began: How many ends of trying (`EPOCH`) had been counted when it began.
    """
    while node is not None:
        if node.reason is not None and node.open:
            return node.reason
        node = node.parent
    return _cancel_all.why if began < _cancel_all.at else None
