"""
The standard input of a command that is tried more than once.

Law: each attempt gets the same input where that can be had. A file is rewound to where it stood
when forbear began. A pipe can't be: it is handed on as it is, and what an attempt has read is gone;
only if asked for (`--stdin spool`) it is read to its end first, into a temporary file, because that
would wait for ever for a pipe that never ends.
"""

from __future__ import annotations

import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from forbear import Scope

    from ._signals import Signals

__all__ = ["Input"]

STDIN = 0


class Input:
    """The standard input as forbear has found it."""

    def __init__(self) -> None:
        self._start: int | None = None
        self.is_pipe = False
        try:
            mode = os.fstat(STDIN).st_mode
            if stat.S_ISREG(mode) or stat.S_ISBLK(mode):
                self._start = os.lseek(STDIN, 0, os.SEEK_CUR)
            self.is_pipe = stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)
        except OSError:
            pass  # it is closed

    def rewind(self) -> None:
        """Go back to where it began, if it can."""
        if self._start is not None:
            os.lseek(STDIN, self._start, os.SEEK_SET)

    def spool(self, scope: Scope, signals: Signals) -> None:
        """
        Read a pipe to its end and put a file with all of it in its place.

        Raises:
            Cancelled: A signal has asked for an end.
        """
        if not self.is_pipe:
            return
        from tempfile import TemporaryFile  # noqa: PLC0415 (where it is asked for)

        with TemporaryFile() as file:
            while True:
                scope.check()
                if not signals.pause(None, STDIN):
                    continue
                block = os.read(STDIN, 1 << 16)
                if not block:
                    break
                file.write(block)
            file.flush()
            os.dup2(file.fileno(), STDIN)  # which the command will inherit
        self._start, self.is_pipe = 0, False
