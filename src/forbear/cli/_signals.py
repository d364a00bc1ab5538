"""
Signals of a process that runs a command in a group of its own: noted, passed on, never lost.

Law: a handler notes the signal, cancels the scope if it asks for an end, and wakes whoever pauses;
what follows from it is done in the straight line of the program, where no half-done step can be
interrupted. The one exception is to stop and go on (Ctrl-Z), which must also work while the library
waits. Signals that were ignored when forbear began stay ignored, here and in the command: who
started us with `nohup` means it.
"""

from __future__ import annotations

import os
import select
import signal
from contextlib import contextmanager, suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator
    from types import FrameType, TracebackType
    from typing import Any, Self

    from forbear import Scope

__all__ = ["ENDING", "Signals", "name_of"]

# They ask for an end: nothing starts after one of them.
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)

# They are for the command alone. A change of the window's size reaches only the terminal's
# foreground group, which is forbear's own until the command reads from the terminal.
PASSING = (signal.SIGUSR1, signal.SIGUSR2, signal.SIGWINCH, signal.SIGCONT)

LONGEST = 86400.0  # seconds of one pause: systems differ in what they can count


class Signals:
    """
    The signals that arrive in a block, and the command's group that they are for.

    Args:
        scope: Is cancelled by the first signal that asks for an end.
    """

    def __init__(self, scope: Scope) -> None:
        self.group = 0  # of the command that runs; 0: none does
        self.arrived: list[int] = []  # and not yet passed on
        self.first: int | None = None  # that asked for an end
        self._scope = scope
        self._continued = False
        self._is_stopping = False
        self._is_starting = False
        self._stops_later = False
        self._before: dict[int, Any] = {}
        self._wakeup = -1

    def __enter__(self) -> Self:
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._reader, False)
        os.set_blocking(self._writer, False)
        self._wakeup = signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)
        self._handle(signal.SIGCHLD, _wake)
        for number in (*ENDING, *PASSING):
            self._handle(number, self._note)
        self._handle(signal.SIGTSTP, self._stop)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._wakeup)
        os.close(self._reader)
        os.close(self._writer)

    def _handle(self, number: int, handler: Any) -> None:
        if number == signal.SIGCHLD or signal.getsignal(number) is not signal.SIG_IGN:
            self._before[number] = signal.signal(number, handler)

    # -- arriving

    def _note(self, number: int, _: FrameType | None) -> None:
        if number in ENDING:
            self.end(number)
        if number == signal.SIGCONT and self._is_stopping:
            self._continued = True  # who has stopped the command continues it, once
            return
        self.arrived.append(number)

    def end(self, number: int) -> None:
        """Have nothing start any more, because of this signal."""
        if self.first is None:
            self.first = number
        self._scope.cancel(name_of(number))

    @contextmanager
    def no_stop(self) -> Generator[None]:
        """Put a stop off to the end of the block, in which a command is started: it is to stop too."""
        self._stops_later, self._is_starting = False, True
        try:
            yield
        finally:
            self._is_starting = False
            if self._stops_later:
                self._stop()

    def _stop(self, *_: object) -> None:
        """Stop together with the command, and go on together."""
        if self._is_starting:
            self._stops_later = True
            return
        self.send(signal.SIGTSTP)
        self._stopped(signal.SIGTSTP, os.getpid())
        self.send(signal.SIGCONT)

    def stop_group(self, number: int) -> bool:
        """
        Stop the whole group that forbear is in, as the terminal would, until it is continued.

        The command was stopped alone, because it is in a group of its own; but to the shell it is
        one job with everything around it. False: it could not be stopped (no shell is there to
        continue it, so the system doesn't let it stop).
        """
        return self._stopped(number, -os.getpgrp())

    def _stopped(self, number: int, whom: int) -> bool:
        self._continued, self._is_stopping = False, True
        handler = signal.signal(number, signal.SIG_DFL)
        os.kill(whom, number)  # returns when we were continued
        signal.signal(number, handler)  # the handler of SIGCONT has its turn in here
        self._is_stopping = False
        return self._continued

    # -- passing on

    def send(self, *numbers: int) -> bool:
        """Send signals to the command's group; false: nobody is there who could be told."""
        if not self.group:
            return False
        try:
            for number in numbers:
                os.killpg(self.group, number)
        except (ProcessLookupError, PermissionError):
            return False
        return True

    def take(self) -> list[int]:
        """Return the signals that have arrived since the last time."""
        arrived, self.arrived = self.arrived, []
        return arrived

    def pause(self, seconds: float | None, *files: int) -> list[int]:
        """
        Return when a signal arrives, after so many seconds, or when one of the files can be read.

        Returns:
            The files that can be read.
        """
        at_most = None if seconds is None else min(seconds, LONGEST)
        ready = select.select([self._reader, *files], [], [], at_most)[0]
        with suppress(BlockingIOError):
            while len(os.read(self._reader, 512)) == 512:
                pass
        return [file for file in ready if file != self._reader]


def _wake(*_: object) -> None:
    """Do nothing: a signal with a handler wakes whoever pauses."""


def name_of(number: int) -> str:
    """
    Return a signal's name.

    >>> name_of(15), name_of(200)
    ('SIGTERM', 'signal 200')
    """
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
