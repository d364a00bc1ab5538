"""
What forbear raises and warns, in one tree.

Law: the words of refusal live here and nothing else. This file must not know backoffs, clocks, policies or
stores; everything above may raise these. Every error pickles, because errors travel between processes, and
every refusal says why and until when.

    ForbearError
    ├── Refused(name, retry_after)  ── AlreadyRunning · HeldOff
    ├── Cancelled(reason) · LeaseLost(name, token) · StoreError(name)
    └── ConfigError   (also a ValueError)
    NestedRetryWarning · BlockingWaitWarning   (UserWarnings)
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "AlreadyRunning",
    "BlockingWaitWarning",
    "Cancelled",
    "ConfigError",
    "ForbearError",
    "HeldOff",
    "LeaseLost",
    "NestedRetryWarning",
    "Refused",
    "StoreError",
]

Name = str | tuple[str, ...]


class ForbearError(Exception):
    """The root of everything that forbear raises on its own account."""

    def __reduce__(self) -> tuple[Any, ...]:
        # Exception's own reduce calls the type with `args`, and these types take other arguments than the
        # text they show; so the instance is made bare and given its attributes back, notes included.
        return (_revive, (type(self), self.args, self.__dict__))


def _revive(cls: type[ForbearError], args: tuple[object, ...], state: dict[str, object]) -> object:
    error = cls.__new__(cls)
    error.args = args
    error.__dict__.update(state)
    return error


class ConfigError(ForbearError, ValueError):
    """
    An argument cannot work; the message names it, its value, and one that works.

    It is raised where the mistake stands (at construction or decoration) and is never retried.
    """


class Cancelled(ForbearError):
    """
    A scope was cancelled, or all waits of the process were.

    The last failure before the cancellation, if there was one, is the `__cause__`. It is never retried,
    whatever a policy's `on` says.

    Args:
        reason: The word given to `scope.cancel` or `cancel_all`.
    """

    reason: str

    def __init__(self, reason: str = "cancelled") -> None:
        super().__init__(reason)
        self.reason = reason


class Refused(ForbearError):
    """
    An operation may not start now; nothing was changed by asking.

    `retry(on=Refused)` is the way to wait for a name: by `retry_after` where that is known, else by the
    policy's own backoff.

    Args:
        name: Which operation.
        retry_after: Seconds until asking again can succeed, or None: nobody knows.
    """

    name: Name
    retry_after: float | None

    def __init__(self, name: Name, retry_after: float | None = None) -> None:
        super().__init__(self._text(name, retry_after))
        self.name = name
        self.retry_after = retry_after

    @staticmethod
    def _text(name: Name, retry_after: float | None) -> str:
        until = "" if retry_after is None else f" for another {retry_after:.3g} s"
        return f"operation {name!r} may not start{until}"


class AlreadyRunning(Refused):
    """The name is running; its `retry_after` is None where nobody knows when it ends."""

    @staticmethod
    def _text(name: Name, retry_after: float | None) -> str:
        until = "" if retry_after is None else f"; its lease ends in {retry_after:.3g} s"
        return f"operation {name!r} is already running{until}"


class HeldOff(Refused):
    """
    The name failed less than its hold ago.

    Args:
        name: Which operation.
        retry_after: Seconds of the hold that are left: who waits that long gets in.
        failures: How often it has failed in a row.
        hold: Seconds that it is held in all, counted from the end of the failed run.
        last_error: `Type: message` of its last failure.
    """

    failures: int
    hold: float | None
    last_error: str | None

    def __init__(
        self,
        name: Name,
        retry_after: float | None = None,
        failures: int = 1,
        hold: float | None = None,
        last_error: str | None = None,
    ) -> None:
        super().__init__(name, retry_after)
        until = (
            "until it is forgotten" if retry_after is None else f"for another {retry_after:.3g} s"
        )
        times = "once" if failures == 1 else f"{failures} times in a row"
        because = f" (last error: {last_error})" if last_error else ""
        self.args = (f"operation {name!r} failed {times} and is held {until}{because}",)
        self.failures = failures
        self.hold = hold
        self.last_error = last_error


class LeaseLost(ForbearError):
    """
    The lease under which the work ran belongs to nobody or to another; never retried.

    Args:
        name: Which operation.
        token: The fencing token that was held.
    """

    name: Name
    token: int | None

    def __init__(self, name: Name, token: int | None = None) -> None:
        super().__init__(f"the lease of operation {name!r} was lost (token {token})")
        self.name = name
        self.token = token


class StoreError(ForbearError):
    """
    The store could not be asked; the engine's own error is the `__cause__`.

    Args:
        name: Which operation, or None where the question was about all of them.
    """

    name: Name | None

    def __init__(self, name: Name | None = None, message: str = "the store did not answer") -> None:
        super().__init__(message if name is None else f"operation {name!r}: {message}")
        self.name = name


# Never caught by a policy, whatever its `on` says. What stands outside Exception (KeyboardInterrupt,
# CancelledError and their like) is not even looked at.
NEVER = (Cancelled, LeaseLost, ConfigError)


class NestedRetryWarning(UserWarning):
    """An outer policy retries an error that an inner policy has already retried to the end."""


class BlockingWaitWarning(UserWarning):
    """A synchronous wait begins on a thread that runs an event loop: everything in it stands still."""
