"""`forbear run` and signals: they pass through, and nothing starts after one that asks for an end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from signal import (
    SIGCONT,
    SIGHUP,
    SIGINT,
    SIGQUIT,
    SIGTERM,
    SIGTSTP,
    SIGUSR1,
    SIGUSR2,
    SIGWINCH,
)
from typing import TYPE_CHECKING

import pytest

from commands import COUNT, FORBEAR, WAIT, attempts, end_all, state

if TYPE_CHECKING:
    from collections.abc import Iterator

NO_CORE = "ulimit -c 0; "  # QUIT leaves a core where that is allowed
ENDING = [SIGINT, SIGTERM, SIGHUP, SIGQUIT]

TRAPS = "".join(f"trap 'echo {name}; exit 5' {name}; " for name in ("INT", "TERM", "HUP", "QUIT"))
READY = "echo ready; "


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """Give commands a place; what is left of them there is a failure."""
    yield tmp_path
    assert [] == end_all(tmp_path)


def start(folder: Path, *arguments: str, script: str = "") -> subprocess.Popen[str]:
    """Start `forbear run`, with a shell's script as its command."""
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [*FORBEAR, *arguments, "--", "sh", "-c", NO_CORE + COUNT + script],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=pipe,
        stderr=pipe,
        text=True,
        # As a shell does. In a group whose parent is in no other one of the session, as that of a CI job may be, the
        # system lets nobody stop.
        process_group=0,
    )


def await_line(process: subprocess.Popen[str], text: str = "ready") -> None:
    assert process.stdout is not None
    assert f"{text}\n" == process.stdout.readline()


def end(folder: Path, process: subprocess.Popen[str]) -> tuple[int, int, str, list[str]]:
    """Return the exit code, the number of attempts, the output, and what forbear has told."""
    output, errors = process.communicate(timeout=60)
    # A shell may tell as well that somebody has ended its `sleep`.
    told = [line for line in errors.splitlines() if line.startswith("forbear: ")]
    return process.returncode, attempts(folder), output, told


# -- while the command runs


@pytest.mark.parametrize("number", ENDING)
def test_a_signal_that_asks_for_an_end_is_passed_on(folder: Path, number: signal.Signals) -> None:
    """The command may wind up in its own way, and its exit code counts; after a Ctrl-C it is 130 all the same."""
    process = start(folder, script=TRAPS + READY + WAIT)
    await_line(process)
    process.send_signal(number)
    code = 130 if number == SIGINT else 5
    told = [f"forbear: {number.name} after 1 attempt: nothing is tried again"]
    assert (code, 1, f"{number.name[3:]}\n", told) == end(folder, process)


@pytest.mark.parametrize("number", ENDING)
def test_a_signal_ends_a_command_that_does_nothing_about_it(
    folder: Path, number: signal.Signals
) -> None:
    """The exit code is 128 + n."""
    process = start(folder, "--attempts", "none", script=READY + "exec sleep 60")
    await_line(process)
    process.send_signal(number)
    assert (128 + number, 1) == end(folder, process)[:2]


@pytest.mark.parametrize("number", ENDING)
def test_a_command_that_succeeds_all_the_same_has_succeeded(
    folder: Path, number: signal.Signals
) -> None:
    """A signal that came too late is none."""
    script = f"trap 'exit 0' {number.name[3:]}; {READY}{WAIT}"
    process = start(folder, script=script)
    await_line(process)
    process.send_signal(number)
    assert (0, 1, "", []) == end(folder, process)


def test_a_signal_reaches_the_whole_group(folder: Path) -> None:
    """What the command has started is told as well."""
    script = (
        f"trap 'wait; exit 5' TERM; sh -c \"trap 'echo heard; exit' TERM; {READY}{WAIT}\" & wait"
    )
    process = start(folder, script=script)
    await_line(process)
    process.send_signal(SIGTERM)
    assert (5, 1, "heard\n") == end(folder, process)[:3]


def test_a_command_that_does_not_end_is_killed(folder: Path) -> None:
    """After --kill-after it has no choice; with it goes what it has started."""
    script = f"trap '' TERM; sh -c '{READY}{WAIT}' & wait; {WAIT}"
    process = start(folder, "--kill-after", "0.05", script=script)
    await_line(process)
    process.send_signal(SIGTERM)
    assert (137, 1) == end(folder, process)[:2]


def test_a_command_that_is_stopped_is_woken_for_its_end(folder: Path) -> None:
    """Who is stopped can't hear, so it is told to go on."""
    process = start(folder, script="echo $$; kill -STOP $$; exit 7")
    assert process.stdout is not None
    command = int(process.stdout.readline())
    while state(command) not in {"T", ""}:
        time.sleep(0.002)
    process.send_signal(SIGTERM)
    assert (143, 1) == end(folder, process)[:2]


@pytest.mark.parametrize("number", [SIGUSR1, SIGUSR2, SIGWINCH, SIGCONT])
def test_other_signals_are_for_the_command_alone(folder: Path, number: signal.Signals) -> None:
    """They pass, and the trying goes on."""
    script = f"trap 'echo heard; exit 5' {number.name[3:]}; {READY}{WAIT}"
    process = start(folder, "--attempts", "2", "--backoff", "0", script=script)
    await_line(process)
    process.send_signal(number)
    await_line(process, "heard")
    await_line(process)
    process.send_signal(number)
    await_line(process, "heard")
    assert (5, 2, "") == end(folder, process)[:3]


def test_many_signals_do_no_harm(folder: Path) -> None:
    """Each wakes it, none is a failure, and the last word is the command's."""
    process = start(folder, script=f"trap : USR1; trap 'exit 6' TERM; {READY}{WAIT}")
    await_line(process)
    for _ in range(300):
        process.send_signal(SIGUSR1)
    for _ in range(20):
        process.send_signal(SIGTERM)
    assert (6, 1, "") == end(folder, process)[:3]


# -- while none runs


@pytest.mark.parametrize("number", ENDING)
def test_a_signal_ends_a_wait_and_nothing_is_started(folder: Path, number: signal.Signals) -> None:
    """The exit code is 128 + n, because no command had the chance to answer."""
    process = start(folder, "--backoff", "60", script="exit 7")
    assert process.stderr is not None
    assert "forbear: attempt 1 of 5: exit code 7; next in 1 min\n" == process.stderr.readline()
    process.send_signal(number)
    told = [f"forbear: {number.name} after 1 attempt: nothing is tried again"]
    assert (128 + number, 1, "", told) == end(folder, process)


def test_other_signals_do_not_end_a_wait(folder: Path) -> None:
    """They are for a command, and there is none; the next one does not get them late."""
    process = start(folder, "--backoff", "0.3", script="test $(wc -l < runs) = 2")
    assert process.stderr is not None
    assert "next in 300 ms" in process.stderr.readline()
    for _ in range(10):
        process.send_signal(SIGUSR1)
    assert (0, 2, "", []) == end(folder, process)


@pytest.mark.parametrize("number", ENDING)
def test_a_signal_ends_the_reading_of_a_pipe(folder: Path, number: signal.Signals) -> None:
    """No command has been started, and none is."""
    process = subprocess.Popen(
        [*FORBEAR, "--stdin", "spool", "--", "touch", "ran"],
        cwd=folder,
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdin is not None
    process.stdin.write(b"x" * (1 << 20))  # more than a pipe holds: it has begun to read
    process.stdin.flush()
    process.send_signal(number)
    assert process.stderr is not None
    told = f"forbear: {number.name} after 0 attempts: nothing is tried again\n"
    assert told.encode() == process.stderr.read()
    assert 128 + number == process.wait(timeout=60)
    process.stdin.close()
    process.stderr.close()
    assert not (folder / "ran").exists()


def test_a_signal_while_the_rest_of_an_attempt_is_ended(folder: Path) -> None:
    """That goes on to its end, and nothing starts anew."""
    script = f"sh -c 'trap \"echo asked\" TERM; {READY}{WAIT}' & sleep 0.2; exit 7"
    process = start(folder, "--kill-after", "0.3", script=script)
    await_line(process)
    await_line(process, "asked")
    process.send_signal(SIGTERM)
    assert (143, 1) == end(folder, process)[:2]


# -- signals that are ignored, and those that stop


@pytest.mark.parametrize("number", [SIGHUP, SIGINT])
def test_a_signal_that_was_ignored_stays_ignored(folder: Path, number: signal.Signals) -> None:
    """Here and in the command: `nohup` means it, and so does a shell that starts us in the background."""
    command = [*FORBEAR, "--attempts", "2", "--backoff", "0", "--", "sh", "-c"]
    script = f"{COUNT}{READY}while test ! -e go; do sleep 0.01; done; rm go; exit 7"
    process = subprocess.Popen(
        ["sh", "-c", f'trap "" {number.name[3:]}; exec "$@"', "sh", *command, script],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    for _ in range(2):
        await_line(process)
        process.send_signal(number)
        (folder / "go").touch()
    assert (7, 2, "") == end(folder, process)[:3]


def test_ctrl_z_stops_the_command_and_fg_continues_both(folder: Path) -> None:
    """As a shell's job: the group of the command stops with forbear, and is continued with it, once."""
    python = """if 1:
        import os, signal, time
        seen = []
        def go_on(*_): os.write(1, b"continued\\n"); seen.append(1)
        signal.signal(signal.SIGCONT, go_on)
        os.write(1, b"%d\\n" % os.getpid())
        while not seen: time.sleep(0.01)
        time.sleep(0.1)
        os._exit(4)"""
    script = f"exec {sys.executable} -I -S -c '{python}'"  # a shell may be between two commands
    process = start(folder, "--attempts", "1", script=script)
    assert process.stdout is not None
    command = int(process.stdout.readline())
    process.send_signal(SIGTSTP)
    assert SIGTSTP == stopped_by(process.pid)
    while state(command) not in {"T", ""}:
        time.sleep(0.002)
    process.send_signal(SIGCONT)
    await_line(process, "continued")
    assert (4, 1, "") == end(folder, process)[:3]


def test_ctrl_z_stops_a_wait(folder: Path) -> None:
    """It goes on where it was: the next attempt comes when it is continued."""
    process = start(folder, "--backoff", "0.2", script="test $(wc -l < runs) = 2")
    assert process.stderr is not None
    assert "next in 200 ms" in process.stderr.readline()
    process.send_signal(SIGTSTP)
    assert SIGTSTP == stopped_by(process.pid)
    assert 1 == attempts(folder)
    process.send_signal(SIGCONT)
    assert (0, 2, "", []) == end(folder, process)


def test_a_command_that_somebody_stops_is_waited_for(folder: Path) -> None:
    """SIGSTOP is no end: who has sent it will continue it."""
    script = "(sleep 0.1; kill -CONT $$) & kill -STOP $$; exit 9"
    assert (9, 1) == end(folder, start(folder, "--attempts", "1", script=script))[:2]


def stopped_by(pid: int) -> int:
    """Return the signal that has stopped a child of ours."""
    _, status = os.waitpid(pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status)
    return os.WSTOPSIG(status)
