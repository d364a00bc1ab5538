"""`forbear run` on a terminal: a command may read from it, and Ctrl-C and Ctrl-Z do what they do without forbear."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import sys
import termios
import time
from pathlib import Path
from typing import TYPE_CHECKING, Self

import pytest

from commands import COUNT, FORBEAR, WAIT, attempts

if TYPE_CHECKING:
    from types import TracebackType

CTRL_C, CTRL_D, CTRL_Z, CTRL_BACKSLASH = "\x03", "\x04", "\x1a", "\x1c"
TWICE = ("--attempts", "2", "--backoff", "0")


# It takes the terminal that is its input for the one of its session, and becomes the program.
LEAD = """if 1:
    import fcntl, os, sys, termios
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    os.execv(sys.argv[1], sys.argv[1:])
"""


class Screen:
    """A terminal of its own with a program that leads its session, typed at by a test."""

    def __init__(self, *command: str, folder: Path) -> None:
        self.written = ""
        self._terminal, end = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", LEAD, *command],
            cwd=folder,
            stdin=end,
            stdout=end,
            stderr=end,
            start_new_session=True,
        )
        os.close(end)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        os.close(self._terminal)  # who is left gets SIGHUP
        self.process.wait(timeout=60)

    def type(self, text: str) -> None:
        os.write(self._terminal, text.encode())

    def await_text(self, text: str) -> None:
        """Return when this stands on the terminal, and forget all before it."""
        while text not in self.written:
            more = self._read()
            assert more, f"{text!r} is not in {self.written!r}"
        self.written = self.written.partition(text)[2]

    def end(self) -> int:
        """Read to the end, and return the exit code."""
        while self._read():
            pass
        return self.process.wait(timeout=60)

    def _read(self) -> str:
        ready, _, _ = select.select([self._terminal], [], [], 60.0)
        assert ready, f"nothing comes after {self.written!r}"
        try:
            more = os.read(self._terminal, 65536).decode()
        except OSError:  # how Linux tells the end of a terminal
            more = ""
        self.written += more.replace("\r\n", "\n")
        return more

    def is_raw(self) -> bool:
        """Tell whether lines are not gathered before they are handed on."""
        return not termios.tcgetattr(self._terminal)[3] & termios.ICANON


def on_screen(folder: Path, *arguments: str, script: str) -> Screen:
    """Start `forbear run` in the foreground of a new terminal, with a shell's script as its command."""
    return Screen(*FORBEAR, *arguments, "--", "sh", "-c", COUNT + script, folder=folder)


# -- reading


def test_each_attempt_can_read_from_the_terminal(tmp_path: Path) -> None:
    """Although it is in a group of its own, it gets what is typed; and so does the next."""
    script = "echo ready; read line; echo got $line; exit 7"
    with on_screen(tmp_path, *TWICE, script=script) as screen:
        for _ in range(2):
            screen.await_text("ready")
            screen.type("hello\n")
            screen.await_text("got hello\n")
        assert 7 == screen.end()
    assert "forbear: gave up after 2 attempts: exit code 7\n" == screen.written


def test_a_command_may_change_the_terminal(tmp_path: Path) -> None:
    """As an editor does, without having read before."""
    python = (
        "import os, tty; tty.setcbreak(0); os.write(1, b'ready'); os.write(1, os.read(0, 1) * 3)"
    )
    with on_screen(tmp_path, script=f'exec {sys.executable} -I -S -c "{python}"') as screen:
        screen.await_text("ready")
        screen.type("x")
        screen.await_text("xxx")
        assert 0 == screen.end()


def test_a_terminal_that_is_left_raw_is_put_right(tmp_path: Path) -> None:
    """Who was cut off has had no time for it, and a raw terminal knows no Ctrl-C."""
    python = "import os, tty, signal; tty.setraw(0); os.write(1, b'ready'); signal.pause()"
    script = f'{sys.executable} -I -S -c "{python}"; {WAIT}'
    arguments = ("--attempts", "1", "--attempt-timeout", "1")
    with on_screen(tmp_path, *arguments, script=f"{script}") as screen:
        screen.await_text("ready")
        assert screen.is_raw()
        screen.await_text("cut off after 1 s")
        assert not screen.is_raw()
        assert 124 == screen.end()


def test_what_the_command_leaves_in_order_is_not_touched(tmp_path: Path) -> None:
    """A command may be there to change the terminal for good: the next attempt finds it so."""
    script = "stty -a | grep -q -e -icanon && exit 0; stty -icanon; exit 7"
    with on_screen(tmp_path, *TWICE, script=script) as screen:
        assert 0 == screen.end()
    assert 2 == attempts(tmp_path)


# -- Ctrl-C


@pytest.mark.parametrize("reads", [True, False])
@pytest.mark.parametrize(("key", "code"), [(CTRL_C, 130), (CTRL_BACKSLASH, 131)])
def test_ctrl_c_ends_everything(tmp_path: Path, reads: bool, key: str, code: int) -> None:
    """Whether the terminal is lent to the command or not: nothing is started anew."""
    waiting = "cat" if reads else WAIT
    script = f"ulimit -c 0; echo ready; {waiting}"
    with on_screen(tmp_path, script=script) as screen:
        screen.await_text("ready")
        if reads:
            screen.type("hello\n")
            screen.await_text("hello\nhello\n")
        screen.type(key)
        assert code == screen.end()
    assert 1 == attempts(tmp_path)
    name = "SIGINT" if key == CTRL_C else "SIGQUIT"
    assert f"forbear: {name} after 1 attempt: nothing is tried again\n" in screen.written


@pytest.mark.parametrize("reads", [True, False])
def test_ctrl_c_ends_it_also_if_the_command_has_its_own_way(tmp_path: Path, reads: bool) -> None:
    """A failure after a Ctrl-C is not retried, whatever it looks like, and the exit code is 130."""
    waiting = "read line; read line" if reads else WAIT
    script = f"trap 'echo caught; exit 7' INT; echo ready; {waiting}"
    with on_screen(tmp_path, script=script) as screen:
        screen.await_text("ready")
        if reads:
            screen.type("hello\n")
            screen.await_text("hello\n")
            time.sleep(0.1)  # it may be anywhere between two calls of `read`
        screen.type(CTRL_C)
        screen.await_text("caught")
        assert 130 == screen.end()
    assert 1 == attempts(tmp_path)


def test_ctrl_c_ends_a_wait(tmp_path: Path) -> None:
    """Nothing is started anew."""
    with on_screen(tmp_path, "--backoff", "60", script="exit 7") as screen:
        screen.await_text("next in 1 min\n")
        screen.type(CTRL_C)
        assert 130 == screen.end()
    assert 1 == attempts(tmp_path)


def test_a_command_may_take_its_time_after_a_ctrl_c(tmp_path: Path) -> None:
    """There is a person, who may press it again: no --kill-after for the first one."""
    script = f"trap 'sleep 0.2; echo wound up; exit 0' INT; echo ready; {WAIT}"
    with on_screen(tmp_path, "--kill-after", "0", script=script) as screen:
        screen.await_text("ready")
        screen.type(CTRL_C)
        screen.await_text("wound up")
        assert 0 == screen.end()


def test_a_second_ctrl_c_makes_an_end(tmp_path: Path) -> None:
    """A command that doesn't listen to it is killed after --kill-after."""
    script = f"trap 'echo no' INT; echo ready; {WAIT}"
    with on_screen(tmp_path, "--kill-after", "0.1", script=script) as screen:
        screen.await_text("ready")
        screen.type(CTRL_C)
        screen.await_text("no\n")
        screen.type(CTRL_C)
        assert 130 == screen.end()
    assert 1 == attempts(tmp_path)


# -- Ctrl-Z, with a shell around it

# It starts a job in a group of its own, as shells do, and tells how it goes on: `fg` continues it in the foreground.
SHELL = """if 1:
    import os, signal, sys
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    background = sys.argv[1] == "&"
    job = os.fork()
    if not job:
        os.setpgid(0, 0)
        signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        if not background:
            os.tcsetpgrp(0, os.getpid())
        signal.signal(signal.SIGTTOU, signal.SIG_DFL)
        os.execv(sys.argv[2], sys.argv[2:])
    while True:
        _, status = os.waitpid(job, os.WUNTRACED)
        os.tcsetpgrp(0, os.getpgrp())
        if not os.WIFSTOPPED(status):
            print("exit code", os.waitstatus_to_exitcode(status), flush=True)
            break
        print("stopped by", signal.Signals(os.WSTOPSIG(status)).name, flush=True)
        input()
        os.tcsetpgrp(0, job)
        os.killpg(job, signal.SIGCONT)
"""


def in_shell(folder: Path, *arguments: str, script: str, background: bool = False) -> Screen:
    """Start `forbear run` as a job of a shell."""
    command = (*FORBEAR, *arguments, "--", "sh", "-c", COUNT + script)
    mark = "&" if background else ""
    return Screen(sys.executable, "-I", "-S", "-c", SHELL, mark, *command, folder=folder)


@pytest.mark.parametrize("reads", [True, False])
def test_ctrl_z_stops_the_job_and_it_goes_on_in_the_foreground(tmp_path: Path, reads: bool) -> None:
    """Whether the terminal is lent to the command or not; what is typed afterwards is the command's again."""
    waiting = "" if reads else "while test ! -e go; do sleep 0.01; done; "
    script = f"echo ready; {waiting}read line; echo got $line; exit 7"
    with in_shell(tmp_path, "--attempts", "1", script=script) as screen:
        screen.await_text("ready")
        if reads:
            time.sleep(0.2)  # until it reads; before that it would be the other case
        screen.type(CTRL_Z)
        screen.await_text("stopped by SIGTSTP\n")
        screen.type("fg\n")
        (tmp_path / "go").touch()
        screen.type("hello\n")
        screen.await_text("got hello\n")
        screen.await_text("exit code 7\n")
        assert 0 == screen.end()
    assert 1 == attempts(tmp_path)


def test_ctrl_z_stops_a_wait(tmp_path: Path) -> None:
    """The next attempt comes when the job is continued."""
    script = "test $(wc -l < runs) = 2"
    with in_shell(tmp_path, "--backoff", "0.2", script=script) as screen:
        screen.await_text("next in 200 ms\n")
        screen.type(CTRL_Z)
        screen.await_text("stopped by SIGTSTP\n")
        time.sleep(0.3)
        assert 1 == attempts(tmp_path)
        screen.type("fg\n")
        screen.await_text("exit code 0\n")
        assert 0 == screen.end()
    assert 2 == attempts(tmp_path)


def test_a_job_in_the_background_that_wants_to_read_is_stopped(tmp_path: Path) -> None:
    """The terminal is not ours to lend until the shell brings us to the foreground."""
    script = "read line; echo got $line"
    with in_shell(tmp_path, script=script, background=True) as screen:
        screen.await_text("stopped by SIGTTIN\n")
        screen.type("fg\n")
        screen.type("hello\n")
        screen.await_text("got hello\n")
        screen.await_text("exit code 0\n")
        assert 0 == screen.end()


# The job's parent has ended, so no shell can ever bring it to the foreground.
ORPHAN = """if 1:
    import os, sys, time
    parent = os.fork()
    if not parent:
        parent = os.getpid()
        if os.fork():
            os._exit(0)
        os.setpgid(0, 0)
        while os.getppid() == parent:
            time.sleep(0.002)
        os.execvp("sh", ["sh", "-c", '"$@"; echo "exit code $?"; touch done', "sh", *sys.argv[1:]])
    os.wait()
    while not os.path.exists("done"):
        time.sleep(0.002)
"""


def test_a_job_that_can_never_read_does_not_wait_for_ever(tmp_path: Path) -> None:
    """The command is hung up; without forbear it could not read either."""
    command = (*FORBEAR, "--attempts", "1", "--", "cat")
    with Screen(sys.executable, "-I", "-S", "-c", ORPHAN, *command, folder=tmp_path) as screen:
        screen.await_text("exit code 129\n")
        assert 0 == screen.end()


def test_a_terminal_that_is_closed_ends_everything(tmp_path: Path) -> None:
    """The command is told by SIGHUP, and nothing is started anew."""
    script = f"trap 'echo >> hung-up; exit 7' HUP; echo ready; {WAIT}"
    with on_screen(tmp_path, script=script) as screen:
        screen.await_text("ready")
    assert 7 == screen.process.returncode
    assert (tmp_path / "hung-up").exists()
    assert 1 == attempts(tmp_path)


def test_output_passes_through_the_terminal_once(tmp_path: Path) -> None:
    """The command writes to it itself, from the background, and sees that it is one."""
    script = "test -t 0 && test -t 1 && test -t 2 && echo terminal"
    with on_screen(tmp_path, script=script) as screen:
        assert 0 == screen.end()
    assert ["terminal"] == re.findall(r"\w+", screen.written)
    assert not re.search("stopped", screen.written)
