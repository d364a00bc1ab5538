"""
The two warnings, each with the place in the user's code that it is about.

Law: it is for the interpreter's own rule to say how often a warning is shown: once a place.
"""

from __future__ import annotations

import sys
import warnings

from .errors import BlockingWaitWarning, NestedRetryWarning

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._run import Run

__all__ = ["warn_blocking", "warn_nested"]

_HOME = __file__[: -len("_warn.py")]


def warn_nested(run: Run) -> None:
    """Warn, once a call, that the attempts of two policies multiply."""
    if run.is_nested:
        warnings.warn(
            f"{run.name} retries an error that {run.inner()} inside it has already retried to the end, so "
            'their attempts multiply; say nested="stop" to end at the inner one, or nested="allow" if you mean it',
            NestedRetryWarning,
            stacklevel=_stack_level(),
        )


def warn_blocking(who: str) -> None:
    """Warn that a wait stops an event loop."""
    if _in_notebook():
        return  # there the loop belongs to the kernel, and a cell that waits is meant
    warnings.warn(
        f"{who} waits on a thread that runs an event loop, and everything in it stands still; "
        "make the function async, or call it through asyncio.to_thread",
        BlockingWaitWarning,
        stacklevel=_stack_level(),
    )


def _in_notebook() -> bool:
    shell = sys.modules.get("IPython")
    get = getattr(shell, "get_ipython", None)
    return get is not None and hasattr(get(), "kernel")


def _stack_level() -> int:
    """Return the level of the first frame outside forbear, as seen from whoever calls `warnings.warn`."""
    frame = sys._getframe(1)
    level = 1
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_HOME):
        frame = frame.f_back
        level += 1
    return level
