"""
The terminal, lent to a command that wants to read from it.

Law: a command runs in a process group of its own, and only the terminal's foreground group may read
from it; a command of another group is stopped when it tries. So the terminal is lent when that
happens, and never before: as long as nobody reads, Ctrl-C and Ctrl-Z reach forbear and whatever
stands beside it in the pipeline (a pager, say, which needs the terminal itself). What is lent is
taken back when the attempt ends, in the state it was in.

While it is lent, Ctrl-C reaches the command and not forbear. A command may treat it in its own way
and end with any code, so forbear has a lookout in the command's group: a process that a Ctrl-C
kills, and whose death tells of it.
"""

from __future__ import annotations

import os
import signal
from contextlib import contextmanager, suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator
    from types import TracebackType
    from typing import Any, Self

__all__ = ["Terminal"]


class Terminal:
    """The controlling terminal, if there is one."""

    def __init__(self) -> None:
        self.lent = 0  # to which group
        self._file = -1
        self._state: list[Any] | None = None  # of the terminal when it was lent
        self._lookout = 0  # the process
        self._lookout_pipe = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _is_open(self) -> bool:
        if self._file < 0:
            with suppress(OSError):
                self._file = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
        return self._file >= 0

    def _foreground(self) -> int:
        """Return the group that may read from the terminal, or 0."""
        if self._is_open():
            with suppress(OSError):
                return os.tcgetpgrp(self._file)
        return 0

    def is_ours(self) -> bool:
        """Tell whether forbear's own group may read from the terminal."""
        return self._foreground() == os.getpgrp()

    def lend(self, group: int) -> bool:
        """Let the command's group read from the terminal, if it is ours to lend."""
        if not self.is_ours():
            return False
        self._state = self._read_state()
        self._give(group)
        self.lent = group
        if not self._lookout:
            with suppress(OSError):
                self._post_lookout(group)
        return True

    def take_back(self, *, mend: bool = False) -> None:
        """
        Make forbear's own group the one that may read.

        Args:
            mend: Whether to put the terminal into the state in which it was lent: who was killed
                has not done so, and a terminal that is left raw knows no Ctrl-C.
        """
        lent, self.lent = self.lent, 0
        if not lent:
            return
        now = self._foreground()
        # Somebody else may have taken it meanwhile: a shell that has put us into the background.
        if now == lent or not _is_alive(now):
            self._give(os.getpgrp())
            if mend and self._state is not None:
                import termios  # noqa: PLC0415 (rare)

                with _may_write(), suppress(termios.error):
                    termios.tcsetattr(self._file, termios.TCSADRAIN, self._state)

    def settle(self, *, mend: bool) -> int | None:
        """
        End the loan with the attempt, and return the signal by which the terminal asked for an end.

        Args:
            mend: As with `take_back`.
        """
        self.take_back(mend=mend)
        asked = self._relieve_lookout()
        return asked if asked in {signal.SIGINT, signal.SIGQUIT} else None

    def _read_state(self) -> list[Any] | None:
        import termios  # noqa: PLC0415 (rare)

        with suppress(termios.error):
            return termios.tcgetattr(self._file)
        return None

    def _give(self, group: int) -> None:
        with _may_write(), suppress(OSError):  # the group may have ended just now
            os.tcsetpgrp(self._file, group)

    # -- the lookout

    def _post_lookout(self, group: int) -> None:
        """Start a process in the group that does nothing until its input ends: with forbear at the latest."""
        reader, self._lookout_pipe = os.pipe()
        nowhere = (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)
        actions = [(os.POSIX_SPAWN_DUP2, reader, 0), nowhere, (os.POSIX_SPAWN_DUP2, 1, 2)]
        try:
            self._lookout = os.posix_spawnp(
                "cat", ["cat"], os.environ, file_actions=actions, setpgroup=group
            )
        finally:
            os.close(reader)

    def _relieve_lookout(self) -> int | None:
        """End the lookout, and return the signal that had killed it before."""
        if self._lookout_pipe >= 0:
            os.close(self._lookout_pipe)
            self._lookout_pipe = -1
        process, self._lookout = self._lookout, 0
        if not process:
            return None
        os.kill(process, signal.SIGCONT)  # it may have been stopped with the command
        _, status = os.waitpid(process, 0)
        return os.WTERMSIG(status) if os.WIFSIGNALED(status) else None


@contextmanager
def _may_write() -> Generator[None]:
    """Change the terminal also from the background, where a process would be stopped for it."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTTOU})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _is_alive(group: int) -> bool:
    if group <= 0:
        return False
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # alive, and somebody else's
    return True
