"""`forbear run` and time limits; and that nothing of a failed attempt is left when the next begins."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from forbear.cli._attempt import _is_dead

from commands import AT_ONCE, FORBEAR, HAS_PROC, end_all, is_alive, sh

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """Give commands a place; what is left of them there is a failure."""
    yield tmp_path
    assert [] == end_all(tmp_path)


# -- time limits


def test_an_attempt_that_takes_too_long_is_cut_off_and_retried(folder: Path) -> None:
    """The exit code is 124, and it is retried whatever --on-exit says."""
    code, attempts, errors = sh(folder, "sleep 60", "--attempt-timeout", "0.2", "--on-exit", "75")
    assert (124, 3) == (code, attempts)
    assert errors.splitlines() == [
        "forbear: attempt 1 of 3: cut off after 200 ms; next at once",
        "forbear: attempt 2 of 3: cut off after 200 ms; next at once",
        "forbear: gave up after 3 attempts: cut off after 200 ms",
    ]


def test_the_code_of_a_command_that_was_cut_off_is_124_whatever_it_ends_with(folder: Path) -> None:
    """It is asked by TERM, and may wind up in good order."""
    script = 'trap "echo wound up >&2; exit 0" TERM; sleep 60 & wait'
    code, attempts, errors = sh(folder, script, "--attempt-timeout", "0.5", "--attempts", "1")
    assert (124, 1) == (code, attempts)
    assert errors.startswith("wound up\n")


@pytest.mark.parametrize("kill_after", ["0", "0.05"])
def test_a_command_that_does_not_listen_is_killed(folder: Path, kill_after: str) -> None:
    """After --kill-after it has no choice, and the exit code is 137, as with `timeout`."""
    script = 'trap "" TERM; while :; do sleep 0.01; done'
    arguments = ("--attempt-timeout", "0.4", "--kill-after", kill_after, "--attempts", "1")
    code, attempts, errors = sh(folder, script, *arguments)
    assert (137, 1) == (code, attempts)
    assert "cut off after 400 ms, and had to be killed\n" in errors


def test_a_command_that_is_stopped_is_cut_off_as_well(folder: Path) -> None:
    """Who is stopped can't hear, so it is told to go on."""
    arguments = ("--attempt-timeout", "0.2", "--attempts", "1")
    assert (124, 1) == sh(folder, "kill -STOP $$", *arguments)[:2]


def test_a_time_limit_ends_the_whole_group(folder: Path) -> None:
    """Also what the command has started, and what doesn't listen to TERM."""
    script = (
        "sleep 60 & echo $! >> pids; sh -c 'trap \"\" TERM; echo $$ >> pids; sleep 60; sleep 60' & "
        "while test $(wc -l < pids) -lt 2; do sleep 0.01; done; sleep 60"
    )
    arguments = ("--attempt-timeout", "0.5", "--kill-after", "0.05", "--attempts", "1")
    assert 124 == sh(folder, script, *arguments)[0]
    pids = (folder / "pids").read_text().split()
    assert 2 == len(pids)
    assert not any(is_alive(int(pid)) for pid in pids)


def test_the_total_time_limit_cuts_off_what_runs(folder: Path) -> None:
    """There is no time for another attempt, and that is said."""
    code, attempts, errors = sh(folder, "sleep 60", "--total-timeout", "0.2")
    assert (124, 1) == (code, attempts)
    last = r"forbear: gave up after 1 attempt: cut off after [\d.]+ ms; --total-timeout leaves no time for another\n"
    assert re.fullmatch(last, errors)


def test_no_wait_begins_that_the_total_time_limit_would_cut(folder: Path) -> None:
    """The exit code is then the command's own."""
    code, attempts, errors = sh(folder, "exit 7", "--total-timeout", "30", "--backoff", "60")
    assert (7, 1) == (code, attempts)
    assert "exit code 7; --total-timeout leaves no time for another\n" in errors


def test_none_is_no_limit(folder: Path) -> None:
    """Attempts without a number are counted without one."""
    script = "test $(wc -l < runs) = 7"
    limits = ("--attempts", "none", "--total-timeout", "none", "--attempt-timeout", "none")
    code, attempts, errors = sh(folder, script, *limits)
    assert (0, 7) == (code, attempts)
    assert "forbear: attempt 6: exit code 1; next at once\n" in errors


# -- what is left


def test_what_a_failed_attempt_leaves_is_ended_before_the_next(folder: Path) -> None:
    """Two attempts at a time would be worse than none."""
    script = (
        "for pid in $(cat pids 2> /dev/null); do kill -0 $pid && ! grep -q ') Z' /proc/$pid/stat && touch both; "
        "done; sleep 60 & echo $! >> pids; exit 7"
    )
    assert (7, 3) == sh(folder, script)[:2]
    assert not (folder / "both").exists()
    pids = (folder / "pids").read_text().split()
    assert 3 == len(pids)
    assert not any(is_alive(int(pid)) for pid in pids)


def test_a_defect_of_ours_does_not_leave_the_command_behind(folder: Path) -> None:
    """It is killed, and the exit code is 125."""
    code = """if 1:
        import sys
        from forbear.cli import main, _attempt
        _attempt.Watch._until_next = lambda *_: 1 / 0
        sys.exit(main(["run", "--", "sleep", "60"]))"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, check=False, timeout=60
    )
    assert 125 == done.returncode
    assert done.stderr.endswith(b"ZeroDivisionError: division by zero\n")


def test_what_a_successful_attempt_leaves_is_left_alone(folder: Path) -> None:
    """It has started it to stay."""
    assert 0 == sh(folder, "sleep 60 > /dev/null 2>&1 & echo $! > pid")[0]
    pid = int((folder / "pid").read_text())
    assert is_alive(pid)
    os.kill(pid, signal.SIGKILL)
    while is_alive(pid):
        time.sleep(0.005)


@pytest.mark.skipif(not HAS_PROC, reason="needs /proc to tell the dead from the living")
def test_a_group_of_the_dead_is_not_waited_for() -> None:
    """In a container the process that orphans fall to may never bury them."""
    process = subprocess.Popen(["sleep", "60"], process_group=0)
    assert not _is_dead(process.pid)
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # dead, and not buried
    assert _is_dead(process.pid)
    process.wait()
    assert not _is_dead(process.pid)


@pytest.mark.skipif(not HAS_PROC, reason="needs /proc to tell the dead from the living")
def test_a_process_whose_first_thread_has_ended_is_alive() -> None:
    """The system shows it as dead, but other threads go on."""
    code = """if 1:
        import ctypes, os, platform, threading, time
        threading.Thread(target=time.sleep, args=(60,)).start()
        number_of_exit = 60 if platform.machine() == "x86_64" else 93
        ctypes.CDLL(None).syscall(number_of_exit, 0)"""
    process = subprocess.Popen([sys.executable, "-I", "-S", "-c", code], process_group=0)
    stat = Path(f"/proc/{process.pid}/stat")
    while ") Z " not in stat.read_text():
        time.sleep(0.002)
    assert not _is_dead(process.pid)
    process.kill()
    process.wait()


@pytest.mark.skipif(not HAS_PROC, reason="needs /proc to tell the dead from the living")
def test_a_dead_one_that_nobody_buries_does_not_hold_up_the_next_attempt(folder: Path) -> None:
    """Not even for --kill-after, which would be an hour here."""
    adopts = """if 1:
        import ctypes, subprocess, sys
        ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # orphans fall to this process, as to the first one of a container
        sys.exit(subprocess.call(sys.argv[1:]))"""
    command = [*FORBEAR, *AT_ONCE, "--kill-after", "1h", "--", "sh", "-c", "sleep 60 & exit 7"]
    adopted = [sys.executable, "-I", "-S", "-c", adopts, *command]
    done = subprocess.run(adopted, cwd=folder, capture_output=True, check=False, timeout=60)
    assert 7 == done.returncode
