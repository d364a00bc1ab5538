"""
Which calls are running: a number for each frame that calls a user's function, given when somebody first asks.

Law: a call that succeeds pays nothing here; frames are looked for on the stacks only when trying ends. The number
stands on the frame itself and goes with it. Its address would not do: the next frame soon has the same one. This
file must not know what the numbers are for.
"""

from __future__ import annotations

import itertools
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType
    from typing import Any

__all__ = ["callers", "everywhere", "here", "own"]

# The files whose frames call the user's function; the drivers add theirs.
callers: set[str] = set()

_next_number = itertools.count(1).__next__


class _Number:
    """
    What a frame is known by, in the one place of a frame that takes an object: its trace function.

    It is called only where somebody traces the thread (a debugger), and hands on to what was there before.
    """

    __slots__ = ("tracer", "value")

    def __init__(self, tracer: Any) -> None:
        self.value = _next_number()
        self.tracer = tracer

    def __call__(self, frame: FrameType, event: str, argument: object) -> _Number:
        if self.tracer is not None:
            self.tracer = self.tracer(frame, event, argument)
        return self


def _number(frame: FrameType) -> int:
    known: Any = frame.f_trace
    if type(known) is not _Number:
        frame.f_trace = known = _Number(known)
    value: int = known.value
    return value


def _ours(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        if frame.f_code.co_filename in callers:
            yield frame
        frame = frame.f_back


def own() -> int:
    """Return the number of the innermost frame that calls a user's function; 0 if nobody has asked for one yet."""
    frame = next(_ours(sys._getframe(1)), None)
    known: Any = None if frame is None else frame.f_trace
    return known.value if type(known) is _Number else 0


def here() -> tuple[int, ...]:
    """Return the numbers of the frames of this thread that call a user's function, from the innermost outwards."""
    return tuple(map(_number, _ours(sys._getframe(1))))


def everywhere() -> int:
    """Give a number to all such frames in all threads, and return the highest: what begins later has a higher one."""
    top: FrameType | None = None
    for top in [*sys._current_frames().values(), *_suspended()]:
        for frame in _ours(top):
            _number(frame)
    del top  # it may be this very frame, and then it would hold itself
    return _next_number()


def _suspended() -> Iterator[FrameType | None]:
    """Yield the innermost frames of greenlets, which are on no thread's stack while another one runs."""
    module = sys.modules.get("greenlet")
    kind = getattr(module, "greenlet", None)
    if kind is not None:
        import gc  # noqa: PLC0415 (rare)

        for thing in gc.get_objects():
            if isinstance(thing, kind):
                yield thing.gr_frame
