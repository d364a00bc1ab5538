"""
One attempt of a command: started in a group of its own, watched to its end, nothing of it left.

Law: an attempt that fails raises CommandFailed, with the exit code that coreutils' `timeout` would
give; what follows from that is the policy's part, and no word of it stands here. While the command
runs, its output and input are its own.

What a failed attempt leaves in its group is ended before the next one begins, because two attempts
at a time are worse than none. What a successful one leaves is left alone: it has started it to stay.
"""

from __future__ import annotations

import errno
import os
import signal
from contextlib import suppress

from forbear._clock import SYSTEM
from forbear._explain import duration

from ._signals import ENDING, name_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._signals import Signals
    from ._terminal import Terminal

__all__ = ["BY_SIGNAL", "CANT_RUN", "NOT_FOUND", "TIMED_OUT", "CommandFailed", "Watch", "start"]

TIMED_OUT, CANT_RUN, NOT_FOUND, BY_SIGNAL = 124, 126, 127, 128

NEVER = float("inf")

# Python ignores these two for itself, and a command expects them as they are everywhere.
RESTORED = [signal.SIGPIPE, signal.SIGXFSZ]


class CommandFailed(Exception):
    """
    An attempt ended without success; its text says how.

    Args:
        text: How it ended.
        code: The exit code that stands for it.
        timed_out: Whether it was cut off.
        started: Whether there was a command at all.
    """

    asked = False  # whether a signal that asks for an end has reached it

    def __init__(
        self, text: str, code: int, *, timed_out: bool = False, started: bool = True
    ) -> None:
        super().__init__(text)
        self.code = code
        self.timed_out = timed_out
        self.started = started


def start(command: list[str]) -> int:
    """
    Start the command in a new process group, and return its process, which leads the group.

    Files that forbear has inherited are inherited further, as by `env` or `nice`: a shell hands
    over `<(...)` in this way.

    Raises:
        CommandFailed: It is not found (127), or is there and can't be run (126).
    """
    try:
        if not command[0]:
            raise FileNotFoundError(errno.ENOENT, "")  # as the system says; Python has a ValueError
        try:
            return _spawn(command)
        except OSError as error:
            # A script without a first line that says who reads it; the system's own search for
            # commands hands it to the shell.
            path = _which(command[0]) if error.errno == errno.ENOEXEC else None
            if path is None:
                raise
            return _spawn(["/bin/sh", path, *command[1:]])
    except OSError as error:
        if error.errno in {errno.EAGAIN, errno.ENOMEM}:
            raise  # it is not the command's fault
        code = NOT_FOUND if error.errno == errno.ENOENT else CANT_RUN
        text = f"can't run {command[0]!r:.200}: {os.strerror(error.errno or 0)}"
        raise CommandFailed(text, code, started=False) from None


def _spawn(command: list[str]) -> int:
    return os.posix_spawnp(command[0], command, os.environ, setpgroup=0, setsigdef=RESTORED)


def _which(name: str) -> str | None:
    from shutil import which  # noqa: PLC0415 (rare)

    return which(name)


class Watch:
    """
    One command that runs, watched until nothing of it is left.

    Args:
        group: The command's process, and its group.
        limit: Seconds that it may run; None: no limit.
        kill_after: Seconds between the signal that asks it to end and the one that makes it.
    """

    def __init__(
        self,
        group: int,
        signals: Signals,
        terminal: Terminal,
        *,
        limit: float | None,
        kill_after: float,
    ) -> None:
        self._group = group
        self._signals = signals
        self._terminal = terminal
        self._kill_after = kill_after
        self._limit = limit
        self._deadline = NEVER if limit is None else SYSTEM.now() + limit
        self._kill_at = NEVER
        self._timed_out = False
        self._was_killed = False
        self._interrupts = 0
        self._asked = False
        signals.group = group

    def to_end(self) -> None:
        """
        Return when the command has ended well.

        Raises:
            CommandFailed: It has ended in any other way, and nothing of it is left.
        """
        signals, status = self._signals, -1
        try:
            status = self._ended()
        finally:
            if status == -1:  # a defect of ours must not leave the command behind
                signals.send(signal.SIGKILL)
                os.waitpid(self._group, 0)
            is_bad = self._timed_out or os.WIFSIGNALED(status)
            asked = self._terminal.settle(mend=is_bad)
            if asked is not None:
                self._asked = True
                signals.end(asked)
            if status != 0 or self._timed_out:
                self._clear()
            signals.group = 0
        if status != 0 or self._timed_out:
            failure = self._failure(status)
            failure.asked = self._asked
            raise failure

    def _failure(self, status: int) -> CommandFailed:
        number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else None
        if self._timed_out:
            # As with `timeout`: 137 tells that asking was not enough.
            code = BY_SIGNAL + number if number == signal.SIGKILL else TIMED_OUT
            killed = ", and had to be killed" if number == signal.SIGKILL else ""
            after = duration(self._limit or 0.0)
            return CommandFailed(f"cut off after {after}{killed}", code, timed_out=True)
        if number is not None:
            return CommandFailed(f"ended by {name_of(number)}", BY_SIGNAL + number)
        code = os.waitstatus_to_exitcode(status)
        return CommandFailed(f"exit code {code}", code)

    # -- while it runs

    def _ended(self) -> int:
        """Return the command's wait status when it has ended."""
        while True:
            found, status = os.waitpid(self._group, os.WNOHANG | os.WUNTRACED)
            if found and not os.WIFSTOPPED(status):
                return status
            if found:
                self._stopped(os.WSTOPSIG(status))
            for number in self._signals.take():
                self._pass_on(number)
            now = SYSTEM.now()
            if now >= self._deadline and not self._timed_out:
                self._timed_out = True
                self._ask_to_end(now)
            if now >= self._kill_at and not self._was_killed:
                self._was_killed = True
                self._signals.send(signal.SIGKILL)
            self._signals.pause(self._until_next(now))

    def _until_next(self, now: float) -> float | None:
        """Return the seconds until there is something to do, or None."""
        when = NEVER if self._was_killed else self._kill_at
        if not self._timed_out:
            when = min(when, self._deadline)
        return None if when == NEVER else max(0.0, when - now)

    def _ask_to_end(self, now: float) -> None:
        self._kill_at = min(self._kill_at, now + self._kill_after)
        # Who is stopped can't hear; so it is told to go on, as `timeout` does.
        self._signals.send(signal.SIGTERM, signal.SIGCONT)

    def _pass_on(self, number: int) -> None:
        """Pass a signal on; if it asks for an end, that is made sure of."""
        self._signals.send(number)
        if number not in ENDING:
            return
        self._asked = True
        self._signals.send(signal.SIGCONT)
        if number == signal.SIGINT:
            self._interrupts += 1
            # A person may press it again; until then a command may take its time to wind up.
            if self._interrupts == 1 and self._terminal.is_ours():
                return
        self._kill_at = min(self._kill_at, SYSTEM.now() + self._kill_after)

    def _stopped(self, number: int) -> None:
        """Deal with a command that was stopped: lend it the terminal, or stop with it as one job."""
        wants_terminal = number in {signal.SIGTTIN, signal.SIGTTOU}
        was_lent = self._terminal.lent != 0
        if wants_terminal and self._terminal.lend(self._group):
            self._signals.send(signal.SIGCONT)
            return
        if number == signal.SIGSTOP or not (wants_terminal or was_lent or self._terminal.is_ours()):
            return  # somebody did it on purpose, and will continue it
        self._terminal.take_back()
        if not self._signals.stop_group(number) and wants_terminal:
            # Nobody can ever bring us to the foreground; this is what the system does then.
            self._signals.send(signal.SIGHUP)
        if wants_terminal or was_lent:
            self._terminal.lend(self._group)
        self._signals.send(signal.SIGCONT)

    # -- afterwards

    def _clear(self) -> None:
        """End what is left in the group: it is asked, and after the grace made to."""
        signals = self._signals
        if not signals.send(signal.SIGTERM, signal.SIGCONT):
            return
        kill_at = min(self._kill_at, SYSTEM.now() + self._kill_after)
        pause, killed = 0.001, self._was_killed
        while self._is_left():
            now = SYSTEM.now()
            if now >= kill_at:
                if killed and now >= kill_at + 1.0:
                    return  # it hangs in the system, or waits for a parent that doesn't care
                signals.send(signal.SIGKILL)
                killed = True
            signals.pause(pause)
            pause = min(0.05, pause * 2.0)

    def _is_left(self) -> bool:
        try:
            # Where we are the process that orphans fall to (in a container), they are ours to bury.
            while os.waitpid(-self._group, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            pass
        if not self._signals.send(0):
            return False
        if _is_dead(self._group):
            # One that was born while we looked was not seen, and the dead don't mind.
            self._signals.send(signal.SIGKILL)
            return False
        return True


def _is_dead(group: int) -> bool:
    """
    Tell whether all of a group are dead, and only wait to be buried by whom orphans fall to.

    That may take its time: in a container it is often a program that was not made for it. Where the
    system doesn't show processes as files, the answer is no.
    """
    from pathlib import Path  # noqa: PLC0415 (rare)

    found = False
    try:
        processes = [path for path in Path("/proc").iterdir() if path.name.isdecimal()]
    except OSError:
        return False
    for process in processes:
        with suppress(OSError, IndexError):  # it has gone meanwhile
            # Behind the name, which may have brackets and blanks: state, parent, group, ...
            fields = (process / "stat").read_bytes().rpartition(b")")[2].split()
            if int(fields[2]) == group:
                # A dead first thread is no dead process: the number of threads tells.
                if fields[0] not in {b"Z", b"X"} or int(fields[17]) > 1:
                    return False
                found = True
    return found
