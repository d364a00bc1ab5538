"""`forbear run`: exit codes, what is tried again, what is told, and arguments."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from forbear.cli import main

from commands import AT_ONCE, FORBEAR, end_all, run, sh

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """Give commands a place; what is left of them there is a failure."""
    yield tmp_path
    assert [] == end_all(tmp_path)


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
