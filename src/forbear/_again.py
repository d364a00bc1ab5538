"""
The short way through a retry at once, for failures that need no closer look.

Law: what is decided here is what `Run.judge` would decide, in fewer steps; whatever is not sure to be so is left
to it. Where nothing is waited for, its cost is the cost of a retry.
"""

from __future__ import annotations

import sys

from . import _events
from ._hints import Permanent, RetryAfter
from ._notes import EPOCH

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._run import Run

__all__ = ["again", "is_plain"]

exception = sys.exception


def again(run: Run | None) -> Run | None:
    """
    Decide in one step about a failure like the one before, in a call that retries at once; None: judge it.

    The error that is just being handled is of a type that was found plain; it has no cause and no hint, is
    not the last, nobody has ended trying anywhere since, and nobody listens. Then signals, marks,
    cancellations, limits and hooks have nothing to say, and the delay is none.
    """
    if run is None:
        return None
    error: Any = exception()
    kind: Any = type(error)
    if kind is not run._known or EPOCH.count != run._seen or error.__cause__ is not None:
        return None
    number = run.number + 1
    if number == run.attempts or getattr(error, "retry_after", None) is not None:
        return None
    log, root = _events.log, _events.root
    if log is None or root is None or log.handlers or root.handlers or _events.listeners:
        return None
    run.number = number
    run.error = error
    run._last[number % 3] = error.args
    return run


def is_plain(error: BaseException) -> bool:
    """Tell whether errors of this type are told by their arguments, by nothing else, and run no code when looked at."""
    kind = type(error)
    return (
        kind.__str__ is BaseException.__str__
        and kind.args is BaseException.args
        and kind.__getattribute__ is BaseException.__getattribute__
        and not hasattr(kind, "__getattr__")
        and not hasattr(kind, "retry_after")
        and error.__cause__ is None
        and not isinstance(error, BaseExceptionGroup)
        and not isinstance(error, RetryAfter | Permanent)
    )
