"""
The end of every wait of a process, for shutdown handlers.

Law: one process, one answer: when it was, and why. It ends the waits of calls that had begun by then; what begins
later is free. It may run in a signal handler of the very thread that it interrupts: the one lock that it takes, to
count, is reentrant.
"""

from __future__ import annotations

from . import _clock, _frames
from ._notes import next_epoch

__all__ = ["at", "began_before", "cancel_all", "why"]

# How many ends of trying (`EPOCH`) had been counted when it was last called, and its reason.
at = -1
why = ""
# The same in numbers of frames: a decorated sync function notes no beginning, but its frame was there.
_frame = 0


def began_before() -> bool:
    """Tell whether the call that asks, a decorated sync function, was running when all waits were cancelled."""
    return 0 < _frames.own() < _frame


def cancel_all(reason: str = "cancelled") -> None:
    """
    End every wait of this process, in every thread and task, with Cancelled; for shutdown handlers.

    Calls and tickers that had begun by now don't wait any more; what begins later is free. It may be called
    from a signal handler.

    Args:
        reason: What `Cancelled.reason` will say.
    """
    global at, why, _frame  # noqa: PLW0603 (one process, one answer)
    why = str(reason)
    _frame = _frames.everywhere()
    at = next_epoch()
    _clock.ring(lambda owner: True)  # noqa: ARG005
