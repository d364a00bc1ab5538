"""`forbear run`: exit codes, what is tried again, time limits, and that nothing of a failed attempt is left."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from forbear.cli import main
from forbear.cli._attempt import _is_dead

if TYPE_CHECKING:
    from collections.abc import Iterator

FORBEAR = (sys.executable, "-m", "forbear", "run")
AT_ONCE = ("--attempts", "3", "--backoff", "0")
HAS_PROC = Path("/proc/self/stat").exists()

COUNT = "echo >> runs; "  # a line for each attempt


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """Give commands a place, by which they are found; what is left of them is a failure."""
    yield tmp_path
    left: list[str] = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "cwd").readlink().is_relative_to(tmp_path):
                left.append((process / "cmdline").read_text())
                os.kill(int(process.name), signal.SIGKILL)
        except OSError:
            pass  # it has ended, or is not ours to look into
    assert [] == left


def run(folder: Path, *arguments: str | bytes, **options: Any) -> tuple[int, str, str]:
    """Return the exit code, the output and the errors of `forbear run`."""
    usual: dict[str, Any] = {"stdin": subprocess.DEVNULL} if "input" not in options else {}
    done = subprocess.run(
        [*FORBEAR, *arguments],
        cwd=folder,
        capture_output=True,
        check=False,
        timeout=60,
        **{**usual, **options},
    )
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def sh(folder: Path, script: str, *arguments: str) -> tuple[int, int, str]:
    """Run a shell script; return the exit code, the number of attempts, and the errors."""
    code, _, errors = run(folder, *AT_ONCE, *arguments, "--", "sh", "-c", COUNT + script)
    return code, len((folder / "runs").read_text()), errors


def is_alive(pid: int) -> bool:
    """Tell whether a process runs; who is dead and not yet buried doesn't."""
    try:
        os.kill(pid, 0)
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except ProcessLookupError:
        return False
    except FileNotFoundError:
        return not HAS_PROC


# -- exit codes, and what is tried again


@pytest.mark.parametrize(
    ("script", "code", "attempts"),
    [
        ("exit 0", 0, 1),
        ("exit 7", 7, 3),
        ("exit 255", 255, 3),
        ("exit 2", 2, 3),
        ("exit 126", 126, 1),
        ("exit 127", 127, 1),
        ("kill -KILL $$", 137, 3),
        ("kill -TERM $$", 143, 3),
        ("kill -PIPE $$", 141, 3),
        ("ulimit -c 0; kill -SEGV $$", 139, 3),
        ("exit $(wc -l < runs)", 3, 3),
        ("test $(wc -l < runs) = 3", 0, 3),
    ],
)
def test_the_exit_code_is_the_last_of_the_command(
    folder: Path, script: str, code: int, attempts: int
) -> None:
    """Or 128 + n if signal n ended it; 126 and 127 are not retried, because no second try finds a command."""
    assert (code, attempts) == sh(folder, script)[:2]


@pytest.mark.parametrize(
    ("on_exit", "script", "code", "attempts"),
    [
        ("75", "exit 75", 75, 3),
        ("75", "exit 3", 3, 1),
        ("1, 75", "exit 1", 1, 3),
        ("75", "kill -KILL $$", 137, 1),
        ("137", "kill -KILL $$", 137, 3),
        ("127", "exit 127", 127, 3),
        ("1", "exit $(wc -l < runs)", 2, 2),
    ],
)
def test_only_the_exit_codes_named_are_retried(
    folder: Path, on_exit: str, script: str, code: int, attempts: int
) -> None:
    """Who names 127 means it: a command on a mount that comes and goes."""
    assert (code, attempts) == sh(folder, script, "--on-exit", on_exit)[:2]


@pytest.mark.parametrize(
    ("command", "code", "why"),
    [
        ("no-such-command", 127, "No such file or directory"),
        ("./missing", 127, "No such file or directory"),
        ("", 127, "No such file or directory"),
        ("./plain", 126, "Permission denied"),
        ("./", 126, "Permission denied"),
        ("./plain/below", 126, "Not a directory"),
    ],
)
@pytest.mark.parametrize("quiet", [True, False])
def test_a_command_that_cannot_be_run(
    folder: Path, command: str, code: int, why: str, quiet: bool
) -> None:
    """It is 127 if it is not there, else 126; it is not tried again, and told also with --quiet."""
    (folder / "plain").touch(mode=0o644)
    arguments = ["--quiet"] if quiet else []
    message = f"forbear: can't run {command!r}: {why}; this is not tried again\n"
    assert (code, "", message) == run(folder, *AT_ONCE, *arguments, "--", command)


def test_a_script_without_a_first_line_is_run_by_the_shell(folder: Path) -> None:
    """As by `env`, `nice` and every shell."""
    (folder / "script").write_text('echo "$# $1"\n')
    (folder / "script").chmod(0o755)
    assert (0, "2 a b\n", "") == run(folder, "--", "./script", "a b", "c")
    path = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}
    assert (0, "0 \n", "") == run(folder, "--", "script", env=path)


def test_a_command_that_appears_is_found(folder: Path) -> None:
    """The search for it is part of the attempt."""
    command = ["./late"]
    process = subprocess.Popen(
        [*FORBEAR, "--attempts", "none", "--backoff", "10ms", "--on-exit", "127", "--", *command],
        cwd=folder,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    assert "attempt 1: can't run './late'" in process.stderr.readline()
    (folder / "new").write_text("#!/bin/sh\nexit 9\n")
    (folder / "new").chmod(0o755)
    (folder / "new").rename(folder / "late")
    process.communicate(timeout=60)
    assert 9 == process.returncode


# -- what is told


def test_each_retry_and_the_end_have_a_line(folder: Path) -> None:
    """It says which attempt it was, how it ended, and what comes next."""
    arguments = ("--backoff", "delays:0,1ms", "--attempts", "4")
    assert sh(folder, "exit 7", *arguments)[2].splitlines() == [
        "forbear: attempt 1 of 4: exit code 7; next at once",
        "forbear: attempt 2 of 4: exit code 7; next in 1 ms",
        "forbear: gave up after 3 attempts: exit code 7; the backoff stops here",
    ]


@pytest.mark.parametrize(
    ("script", "arguments", "last"),
    [
        ("exit 7", (), "gave up after 3 attempts: exit code 7"),
        ("exit 7", ("--attempts", "1"), "gave up after 1 attempt: exit code 7"),
        ("kill -KILL $$", (), "gave up after 3 attempts: ended by SIGKILL"),
        ("exit 127", (), ""),
        ("exit 3", ("--on-exit", "1"), ""),
        ("exit $(wc -l < runs)", ("--on-exit", "1"), "exit code 2; this is not tried again"),
        ("exit 0", (), ""),
    ],
)
def test_the_last_line_says_why_there_is_no_other_attempt(
    folder: Path, script: str, arguments: tuple[str, ...], last: str
) -> None:
    """A command that was never to be retried is as if there were no forbear: not a word."""
    errors = sh(folder, script, *arguments)[2]
    assert (f"forbear: {last}" if last else "") == (errors.splitlines() or [""])[-1]


def test_quiet_leaves_out_all_lines(folder: Path) -> None:
    """What stands on standard error is the command's own."""
    assert "mine\n" * 3 == sh(folder, "echo mine >&2; exit 7", "--quiet")[2]


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


# -- arguments


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "a command is missing; for example forbear run --attempts 3 -- make fetch; see "),
        (("--attempts", "3", "--"), "a command is missing; for example"),
        (("--attempts", "0", "--", "touch", "ran"), "--attempts must be at least 1, not 0; for"),
        (("--total-timeout", "0", "touch", "ran"), "--total-timeout must .* not 0.0; for example"),
        (("--attempt-timeout", "x", "touch", "ran"), "--attempt-timeout must .* not 'x'; for ex"),
        (("--kill-after", "-1", "touch", "ran"), "--kill-after must .* not -1.0; for example"),
        (("--backoff", "often", "touch", "ran"), "a backoff must be .* not 'often'; for example"),
        (("--on-exit", "x", "touch", "ran"), "--on-exit must name exit codes .* not 'x'; for ex"),
        (("--on-exit", "0", "touch", "ran"), "--on-exit must .* 1 to 255, .* not '0'; for ex"),
        (("--on-exit", "256", "touch", "ran"), "--on-exit must .* not '256'; for example"),
        (("--on-exit", "1,,2", "touch", "ran"), "--on-exit must .* not '1,,2'; for example"),
        (("--on-exit", "", "touch", "ran"), "--on-exit must .* not ''; for example --on-exit 1,75"),
        (("--stdin", "tty", "touch", "ran"), "argument --stdin: invalid choice: 'tty'"),
        (("--att", "3", "touch", "ran"), "unrecognized arguments: --att; see forbear run --help"),
        (("--name", "x", "--", "touch", "ran"), "unrecognized arguments: --name; see"),
        (("--attempts",), "argument --attempts: expected one argument; see forbear run --help"),
    ],
)
def test_arguments_that_cannot_work_are_refused(
    folder: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    message: str,
) -> None:
    """In one line, with 125: 2 would pass for an exit code of the command, which has not run."""
    monkeypatch.chdir(folder)
    assert 125 == main(["run", *arguments])
    output, errors = capfd.readouterr()
    assert "" == output
    assert re.fullmatch(f"forbear: .*{message}.*\n", errors)
    assert not (folder / "ran").exists()


@pytest.mark.parametrize(
    ("arguments", "output"),
    [
        (("echo", "--attempts", "3"), "--attempts 3\n"),
        (("--attempts", "2", "sh", "-c", 'echo "$@"', "sh", "--help"), "--help\n"),
        (("--", "echo", "--", "a"), "-- a\n"),
        (("--attempts=2", "--", "printf", "%s.", "", "a b", "c\nd", "*"), ".a b.c\nd.*."),
    ],
)
def test_what_follows_the_command_is_its_own(
    folder: Path, arguments: tuple[str, ...], output: str
) -> None:
    """`--` may be left out where the command doesn't begin with a dash."""
    assert (0, output, "") == run(folder, *arguments)


def test_a_defect_is_a_traceback_and_no_exit_code_of_the_command() -> None:
    """1 would pass for one; and where no process is to be had, that is said in a line."""
    for error, said in [
        ("ZeroDivisionError('ours')", "ZeroDivisionError: ours\n"),
        ("BlockingIOError(11, 'none left')", "forbear: forbear run failed: [Errno 11] none left\n"),
    ]:
        code = (
            "import sys; from forbear.cli import main, _attempt\n"
            f"def spawn(command): raise {error}\n"
            "_attempt._spawn = spawn; sys.exit(main(['run', '--', 'true']))"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60
        )
        assert (125, "") == (done.returncode, done.stdout)
        assert done.stderr.endswith(said)
