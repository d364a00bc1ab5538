"""
What hooks, listeners and the log are told: one frozen event, and who hears it.

Law: telling is not deciding. Nothing here changes what a call does; on the success path nothing here runs at
all. `logging` is never imported: who wants the lines has imported and configured it. The arguments of a call
are not in an event and not in a log line.
"""

from __future__ import annotations

import sys

from .errors import ConfigError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import logging
    from collections.abc import Callable
    from typing import Any, Literal

__all__ = ["Event", "on_event"]

_FIELDS = ("kind", "policy", "attempt", "delay", "elapsed", "error", "result", "reason")


class Event:
    """
    What happened in a call: a retry that is about to wait, a giving up, or a success.

    What doesn't apply is None: only a retry has a `delay`, only a giving up a `reason`.

    Args:
        kind: `"retry"`, `"giveup"` or `"success"`.
        policy: The policy's name, else the function's.
        attempt: Number of the attempt that just ended, from 1.
        delay: Seconds of the wait that begins now.
        elapsed: Seconds since the start of the call where it has a time limit of its own, else since the end of
            its first failed attempt.
        error: What the attempt raised; on a giving up, what comes out, but the last failure where that is Cancelled.
        result: What the attempt returned, if it returned.
        reason: Why trying ends; the word that `forbear.reason` gives.
    """

    __slots__ = _FIELDS
    __match_args__ = (
        "kind",
        "policy",
        "attempt",
        "delay",
        "elapsed",
        "error",
        "result",
        "reason",
    )

    kind: Literal["retry", "giveup", "success"]
    policy: str
    attempt: int
    delay: float | None
    elapsed: float | None
    error: BaseException | None
    result: Any
    reason: str | None

    def __init__(
        self,
        kind: Literal["retry", "giveup", "success"],
        policy: str,
        attempt: int,
        *,
        delay: float | None = None,
        elapsed: float | None = None,
        error: BaseException | None = None,
        result: Any = None,
        reason: str | None = None,
    ) -> None:
        give = object.__setattr__
        give(self, "kind", kind)
        give(self, "policy", policy)
        give(self, "attempt", attempt)
        give(self, "delay", delay)
        give(self, "elapsed", elapsed)
        give(self, "error", error)
        give(self, "result", result)
        give(self, "reason", reason)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"an event is frozen; {name} can't be set")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"an event is frozen; {name} can't be deleted")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Event):
            return NotImplemented
        return all(getattr(self, field) == getattr(other, field) for field in _FIELDS)

    __hash__ = None  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]  # results are seldom hashable

    def __repr__(self) -> str:
        shown = [f"{self.kind!r}, {self.policy!r}, {self.attempt}"]
        shown += [f"{f}={getattr(self, f)!r}" for f in _FIELDS[3:] if getattr(self, f) is not None]
        return f"Event({', '.join(shown)})"

    def __reduce__(self) -> tuple[Any, ...]:
        return (_rebuild, tuple(getattr(self, field) for field in _FIELDS))


def _rebuild(kind: Any, policy: str, attempt: int, *rest: Any) -> Event:
    return Event(kind, policy, attempt, **dict(zip(_FIELDS[3:], rest, strict=True)))


# -- listeners of the whole process

# A tuple, replaced as a whole: whoever is telling goes on with the one it has.
listeners: tuple[Callable[[Event], object], ...] = ()


def on_event(listener: Callable[[Event], object]) -> Callable[[], None]:
    """
    Have a function told of every retry, giving up and success after failures, in the whole process.

    A call that succeeds at once tells nobody, because success costs nothing; a policy with `on_success` tells
    every success. What a listener raises is logged and goes no further: a broken exporter must not break the
    calls it counts.

    >>> remove = on_event(print)
    >>> remove()

    Args:
        listener: A plain function of one `Event`; it is called in the thread or task of the call.

    Returns:
        A function that takes the listener away again; twice is fine.
    """
    given: object = listener  # as it may come from who has no type checker
    if not callable(given) or isinstance(given, type):
        raise ConfigError(
            f"listener must be a function of one event, not {listener!r:.80}; for example print"
        )
    if getattr(getattr(listener, "__code__", None), "co_flags", 0) & 0x80:
        raise ConfigError(
            "listener must be a plain function, not an async one: a sync call can't await it"
        )

    def entry(event: Event) -> object:  # its own object, so that one function may listen twice
        return listener(event)

    _change((*listeners, entry))

    def remove() -> None:
        _change(tuple(other for other in listeners if other is not entry))

    return remove


def _change(to: tuple[Callable[[Event], object], ...]) -> None:
    global listeners  # noqa: PLW0603 (one process, one list)
    listeners = to


def tell(event: Event) -> None:
    """Tell the listeners; what they raise is logged and swallowed."""
    for listener in listeners:
        try:
            listener(event)
        except Exception:  # noqa: BLE001 (see on_event)
            ear = logger(ERROR)
            if ear is not None:
                ear.exception("a listener failed at %s", event.kind)


# -- the log

INFO, WARNING, ERROR = 20, 30, 40  # logging's own numbers
# The logger and its parent, once `logging` has been imported by somebody.
log: logging.Logger | None = None
root: logging.Logger | None = None


def logger(level: int) -> logging.Logger | None:
    """Return the logger if somebody would hear this level, else None; cheap when nobody would."""
    global log, root  # noqa: PLW0603 (getLogger takes a lock)
    ear = log
    if ear is None:
        module = sys.modules.get("logging")
        if module is None or not hasattr(module, "getLogger"):
            return None  # nobody can have given it a handler
        root = module.getLogger()
        ear = log = module.getLogger("forbear")
    node: logging.Logger | None = ear
    while node is not None:
        if node.handlers:
            return ear if ear.isEnabledFor(level) else None
        node = node.parent if node.propagate else None
    return None


def log_retry(ear: logging.Logger, event: Event, text: str, attempts: int | None) -> None:
    """Write one line about a retry."""
    number = f"{event.attempt}" if attempts is None else f"{event.attempt} of {attempts}"
    ear.warning(
        "%s: attempt %s failed, next in %.3g s: %s", event.policy, number, event.delay, text
    )


def log_giveup(ear: logging.Logger, event: Event, why: str, text: str) -> None:
    """Write one line about a giving up."""
    times = "1 attempt" if event.attempt == 1 else f"{event.attempt} attempts"
    level = INFO if event.reason == "cancelled" else ERROR  # a cancellation is no failure
    ear.log(
        level,
        "%s: gave up after %s in %.3g s (%s): %s",
        event.policy,
        times,
        event.elapsed,
        why,
        text,
    )
