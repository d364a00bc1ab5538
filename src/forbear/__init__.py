"""
forbear: retries, backoff and time limits, small, right under cancellation, and fast.

Law: names only. Nothing third-party, no asyncio, no typing is imported here, because importing forbear must
cost a program next to nothing.
"""

from __future__ import annotations

from ._block import Attempt
from ._cancel_all import cancel_all
from ._events import Event, on_event
from ._explain import Explanation
from ._hints import Permanent, RetryAfter, parse_retry_after
from ._notes import reason
from ._policy import Policy, retry
from ._scope import Scope, remaining, scope
from ._ticker import Tick, Ticker
from ._wrap import policy_of
from .backoff import (
    Constant,
    Decorrelated,
    Delays,
    Exponential,
    Fibonacci,
    Linear,
    Polynomial,
    Stop,
    max_of,
)
from .errors import (
    AlreadyRunning,
    BlockingWaitWarning,
    Cancelled,
    ConfigError,
    ForbearError,
    HeldOff,
    LeaseLost,
    NestedRetryWarning,
    Refused,
    StoreError,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._protocols import Backoff

__all__ = [
    "AlreadyRunning",
    "Attempt",
    "Backoff",
    "BlockingWaitWarning",
    "Cancelled",
    "ConfigError",
    "Constant",
    "Decorrelated",
    "Delays",
    "Event",
    "Explanation",
    "Exponential",
    "Fibonacci",
    "ForbearError",
    "HeldOff",
    "LeaseLost",
    "Linear",
    "NestedRetryWarning",
    "Permanent",
    "Policy",
    "Polynomial",
    "Refused",
    "RetryAfter",
    "Scope",
    "Stop",
    "StoreError",
    "Tick",
    "Ticker",
    "cancel_all",
    "max_of",
    "on_event",
    "parse_retry_after",
    "policy_of",
    "reason",
    "remaining",
    "retry",
    "scope",
]


TYPE_CHECKING = False
if TYPE_CHECKING:
    from . import presets as presets
    from . import testing as testing
    from ._protocols import Backoff

    __version__: str
else:
    # For type checkers there is no such function, or every misspelt name would be one that it finds.
    def __getattr__(name: str) -> object:
        if name == "Backoff":  # a Protocol, and `typing` is not free
            from ._protocols import Backoff  # noqa: PLC0415

            return Backoff
        if name == "__version__":
            from importlib.metadata import version  # noqa: PLC0415

            return version("forbear")
        if name in {"presets", "testing"}:
            from importlib import import_module  # noqa: PLC0415

            return import_module(f".{name}", __name__)
        raise AttributeError(f"module 'forbear' has no attribute {name!r}")
