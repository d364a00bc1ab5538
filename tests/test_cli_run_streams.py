"""`forbear run` and what a command reads and writes: its output untouched, its input the same for each attempt."""

from __future__ import annotations

import hashlib
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from commands import FORBEAR, UNMEASURED

TWICE = (*FORBEAR, "--attempts", "2", "--backoff", "0")
AGAIN = "forbear: attempt 1 of 2: exit code 1; next at once\n"
GAVE_UP = "forbear: gave up after 2 attempts: exit code 1\n"
PIPE = (
    "forbear: standard input is a pipe: the next attempt gets what is left of it; "
    "--stdin spool keeps it for each\n"
)


def run(*command: str | bytes, **options: Any) -> tuple[int, bytes, str]:
    """Return the exit code, the output and the errors of a command."""
    done = subprocess.run(command, capture_output=True, check=False, timeout=60, **options)
    return done.returncode, done.stdout, done.stderr.decode()


def failing(script: str) -> tuple[str, ...]:
    return ("--", "sh", "-c", f"{script}; exit 1")


# -- output


def test_output_is_untouched_byte_for_byte(tmp_path: Path) -> None:
    """Also what is no text, has no line break at its end, and is there twice."""
    every = bytes(range(256)) + b"\r\n\x00\xff"
    (tmp_path / "every").write_bytes(every)
    code, output, errors = run(*TWICE, *failing("cat every"), cwd=tmp_path)
    assert (1, every * 2, AGAIN + GAVE_UP) == (code, output, errors)


def test_standard_error_is_untouched_too(tmp_path: Path) -> None:
    """Lines of forbear's own stand between the attempts."""
    errors = run(*TWICE, *failing("echo one >&2; printf two >&2"))[2]
    assert f"one\ntwo{AGAIN}one\ntwo{GAVE_UP}" == errors


def test_huge_output_passes(tmp_path: Path) -> None:
    """Nothing of it is held: the command writes where forbear would."""
    script = "import sys; block = bytes(range(256)) * 4096\nfor _ in range(32): sys.stdout.buffer.write(block)"
    code, output, errors = run(*FORBEAR, "--", sys.executable, "-c", script)
    assert (0, "", 32 << 20) == (code, errors, len(output))
    expected = hashlib.sha256(bytes(range(256)) * 4096 * 32).digest()
    assert expected == hashlib.sha256(output).digest()


def test_a_reader_that_leaves_ends_the_command_and_not_with_a_traceback() -> None:
    """SIGPIPE reaches the command, although Python ignores it for itself."""
    reader, writer = os.pipe()
    os.close(reader)
    process = subprocess.run(
        [*TWICE, "--", "cat", __file__],
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        timeout=60,
    )
    os.close(writer)
    assert 128 + signal.SIGPIPE == process.returncode
    assert "attempt 1 of 2: ended by SIGPIPE" in process.stderr


@pytest.mark.parametrize(
    ("closing", "code"), [("<&-", 1), (">&-", 2), ("2>&-", 4), ("<&- >&- 2>&-", 7)]
)
def test_closed_streams_are_closed_for_the_command(closing: str, code: int) -> None:
    """And forbear's own lines go nowhere if standard error is closed."""
    script = """if 1:
        import os, sys
        def is_closed(n):
            try: os.fstat(n)
            except OSError: return True
        sys.exit(sum(1 << n for n in range(3) if is_closed(n)))"""
    shell = ("sh", "-c", f'"$@" {closing}', "sh")
    done = run(*shell, *TWICE, "--", sys.executable, "-I", "-S", "-c", script)
    told = AGAIN + GAVE_UP if "2>" not in closing else ""
    assert (code, b"", told.replace("code 1", f"code {code}")) == done


# -- what is handed on


def test_arguments_and_environment_are_handed_on_byte_for_byte(tmp_path: Path) -> None:
    """Also what is no UTF-8; the working folder is the same, and so are files that are open."""
    odd = b"\xff\xfe caf\xc3\xa9\n"
    script = 'printf "%s" "$1" "$ODD"; pwd; cat /dev/fd/$2'
    reader, writer = os.pipe()
    os.write(writer, b"open")
    os.close(writer)
    code, output, errors = run(
        *(os.fsencode(part) for part in FORBEAR),
        *(b"--", b"sh", b"-c", script.encode(), b"sh", odd, str(reader).encode()),
        cwd=tmp_path,
        env={**os.environb, b"ODD": odd},
        pass_fds=[reader],
    )
    os.close(reader)
    assert (0, odd * 2 + os.fsencode(tmp_path) + b"\nopen", "") == (code, output, errors)


def test_names_that_are_no_text_are_told_all_the_same(tmp_path: Path) -> None:
    """In a locale of ASCII as well."""
    env = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    code, output, errors = run(*FORBEAR, "--", b"./\xff\xc3\xa9", env=env)
    assert (127, b"") == (code, output)
    assert errors.startswith("forbear: can't run './")
    assert errors.isascii()


# -- input


@pytest.mark.parametrize("start", [0, 4])
def test_a_file_is_rewound_to_where_it_began(tmp_path: Path, start: int) -> None:
    """Who has read its head before gets its rest each time."""
    (tmp_path / "file").write_bytes(b"one\ntwo\n")
    for options in ([], ["--stdin", "spool"]):
        with (tmp_path / "file").open("rb") as file:
            os.lseek(file.fileno(), start, os.SEEK_SET)
            code, output, errors = run(*TWICE, *options, *failing("cat"), stdin=file)
        assert (1, b"one\ntwo\n"[start:] * 2, AGAIN + GAVE_UP) == (code, output, errors)


def test_what_is_left_of_a_pipe_is_handed_on() -> None:
    """What an attempt has read is gone, and that is said, once."""
    code, output, errors = run(*TWICE, *failing("head -c 4"), input=b"one\n")
    assert (1, b"one\n", AGAIN + PIPE + GAVE_UP) == (code, output, errors)
    three = (*FORBEAR, "--attempts", "3", "--backoff", "0")
    assert 1 == run(*three, *failing("cat"), input=b"one\n")[2].count(PIPE)


def test_a_pipe_is_not_read_unless_asked_for() -> None:
    """A command gets what comes when it comes: forbear does not wait for its end."""
    process = subprocess.Popen(
        [*FORBEAR, "--", "sh", "-c", "read line; echo $line"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(b"hello\n")
    process.stdin.flush()
    assert b"hello\n" == process.stdout.readline()
    process.communicate(timeout=60)
    assert 0 == process.returncode


def test_a_spooled_pipe_is_given_whole_to_each_attempt(tmp_path: Path) -> None:
    """However much it is; no file of it is left."""
    data = os.urandom(3 << 20)
    code, output, errors = run(
        *(*TWICE, "--stdin", "spool"),
        *failing("cat"),
        input=data,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    assert (1, AGAIN + GAVE_UP) == (code, errors)
    assert data * 2 == output
    assert [] == list(tmp_path.iterdir())


def test_a_socket_can_be_spooled_as_well() -> None:
    """It is what some servers hand to a command as its input."""
    ours, its = socket.socketpair()
    with ours, its:
        ours.sendall(b"one\n")
        ours.shutdown(socket.SHUT_WR)
        assert b"one\none\n" == run(*TWICE, "--stdin", "spool", *failing("cat"), stdin=its)[1]


def test_a_spool_that_finds_no_room_is_told_in_a_line() -> None:
    """The exit code is 125, and the command is not run on half of its input."""
    code, output, errors = run(
        *("sh", "-c", 'ulimit -f 1; exec "$@"', "sh"),
        *(*FORBEAR, "--stdin", "spool", "--", "echo", "ran"),
        input=b"x" * (1 << 20),
        env=UNMEASURED,
    )
    assert (125, b"", "forbear: forbear run failed: [Errno 27] File too large\n") == (
        code,
        output,
        errors,
    )


@pytest.mark.parametrize("options", [(), ("--stdin", "spool")])
def test_an_empty_input_is_empty_each_time(options: tuple[str, ...]) -> None:
    """/dev/null is no pipe, and there is nothing to say."""
    code, output, errors = run(*TWICE, *options, *failing("wc -c"), stdin=subprocess.DEVNULL)
    assert (1, b"00", AGAIN + GAVE_UP) == (code, b"".join(output.split()), errors)
