"""The command `forbear`: its help, and what it writes to: terminals that can more or less, pipes, full disks."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from importlib.metadata import entry_points, version
from pathlib import Path
from typing import Any

import pytest

from forbear.cli import _picture, main
from forbear.cli._spec import KINDS

from commands import UNMEASURED

FORBEAR = (sys.executable, "-m", "forbear")


# -- where it is printed to


def on_terminal(*arguments: str, columns: int = 80, **env: str) -> str:
    """Run a command on a terminal of its own, and return what it wrote there."""
    terminal, end = pty.openpty()
    fcntl.ioctl(end, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    usual = {"TERM": "xterm", "COLUMNS": "", "NO_COLOR": "", "PYTHONUTF8": "0", "LC_ALL": "C.UTF-8"}
    process = subprocess.Popen(
        [*FORBEAR, *arguments],
        stdin=end,
        stdout=end,
        stderr=end,
        env={**os.environ, **usual, **env},
    )
    os.close(end)
    written = b""
    try:
        while some := os.read(terminal, 65536):
            written += some
    except OSError:
        pass  # how Linux tells the end of a terminal
    finally:
        os.close(terminal)
    assert 0 == process.wait(timeout=30), written.decode()
    return written.decode().replace("\r\n", "\n")


def test_a_terminal_gets_blocks_and_colours_as_wide_as_it_is() -> None:
    """The longest bar ends in the last column."""
    written = on_terminal("explain", "--jitter", "equal", columns=60)
    assert "\x1b[36m" in written
    assert "█" in written
    assert "░" in written
    plain = re.sub(r"\x1b\[\d+m", "", written)
    assert 60 == max(map(len, plain.splitlines()))


@pytest.mark.parametrize(
    "env",
    [
        {"NO_COLOR": "1"},
        {"TERM": "dumb"},
        {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "NO_COLOR": "1"},
        {"PYTHONIOENCODING": "latin-1", "TERM": "dumb"},
    ],
)
def test_a_terminal_that_can_less_gets_less(env: dict[str, str]) -> None:
    """No colours where they are not wanted, no blocks where they can't be written."""
    written = on_terminal("explain", **env)
    assert "\x1b" not in written
    assert ("░" in written) == ("LC_ALL" not in env and "PYTHONIOENCODING" not in env)
    assert re.search("[░-]{20}", written)


def run(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    pipe = subprocess.PIPE
    usual: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": pipe, "stderr": pipe}
    return subprocess.run(
        [*FORBEAR, *arguments], **{**usual, **options}, text=True, check=False, timeout=60
    )


def test_a_pipe_gets_plain_ascii() -> None:
    """It is the same from everywhere: no width of a terminal, no colours, no blocks."""
    env = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    done = run("explain", "--jitter", "equal", env=env)
    assert (0, "") == (done.returncode, done.stderr)
    assert done.stdout.isascii()
    assert "\x1b" not in done.stdout
    assert 80 == max(map(len, done.stdout.splitlines()))


@pytest.mark.parametrize(
    "arguments", [("explain", "1", "--attempts", "1000", "--json"), ("--help",), ("run", "--help")]
)
@pytest.mark.parametrize("buffered", ["", "1"])
def test_a_reader_that_leaves_is_no_traceback(arguments: tuple[str, ...], buffered: str) -> None:
    """When `| head` closes the pipe, it ends with 141, as other programs do, and says nothing."""
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = run(*arguments, stdout=writer, env={**os.environ, "PYTHONUNBUFFERED": buffered})
    finally:
        os.close(writer)
    assert (141, "") == (done.returncode, done.stderr)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full, a disk that is full")
@pytest.mark.parametrize("arguments", [("explain",), ("explain", "--help"), ("run", "--help")])
@pytest.mark.parametrize("buffered", ["", "1"])
def test_a_full_disk_is_told_in_one_line(arguments: tuple[str, ...], buffered: str) -> None:
    """An explanation that nobody has got is no success."""
    with Path("/dev/full").open("w") as full:
        done = run(*arguments, stdout=full, env={**os.environ, "PYTHONUNBUFFERED": buffered})
    assert "forbear: can't write: No space left on device\n" == done.stderr
    assert (125 if arguments[0] == "run" else 1) == done.returncode


def test_a_standard_output_that_is_closed_is_no_traceback() -> None:
    """Who closes it wants none; a message goes nowhere if standard error is closed as well."""
    shell = ["sh", "-c", '"$@" >&-', "sh", *FORBEAR]
    for arguments in (["explain"], ["--help"], ["--version"]):
        done = subprocess.run([*shell, *arguments], capture_output=True, check=False, timeout=60)
        assert (0, b"") == (done.returncode, done.stderr)
    shell[2] = '"$@" >&- 2>&-'
    for arguments in (["explain", "bogus"], []):
        done = subprocess.run([*shell, *arguments], capture_output=True, check=False, timeout=60)
        assert (2, b"", b"") == (done.returncode, done.stdout, done.stderr)


# -- what it says of itself


def test_help_texts_name_each_command_and_each_option(capsys: pytest.CaptureFixture[str]) -> None:
    """They fit on a line of 100 columns, and promise nothing that is not there."""
    for arguments, named in [
        (["--help"], ["explain", "run", "demo", "--version"]),
        (
            ["explain", "--help"],
            ["--attempts", "--attempt-timeout", "--json", *KINDS, "kubernetes"],
        ),
        (["run", "--help"], ["--on-exit", "--kill-after", "--stdin", "124", "125", "126", "127"]),
        (["demo", "--help"], ["--seconds", "--kills", "--plain"]),
    ]:
        try:
            assert 0 == main(arguments)
        finally:
            output = capsys.readouterr().out
        for name in named:
            assert name in output
        assert 100 >= max(map(len, output.splitlines()))
        assert not re.search(r"simulate|\bops\b|--name|--store|operation per name|budget", output)


def test_every_parameter_of_a_backoff_is_an_option(capsys: pytest.CaptureFixture[str]) -> None:
    """The first wait is `--base`, whatever the constructor calls it."""
    main(["explain", "--help"])
    output = capsys.readouterr().out
    names = {name for takes in KINDS.values() for name in takes.replace("|", "").split()}
    for name in names - {"seconds", "start"}:
        assert f"--{name} " in output


def test_the_version_is_the_installed_one(capsys: pytest.CaptureFixture[str]) -> None:
    """It is asked for with either option."""
    for option in ("--version", "-V"):
        assert 0 == main([option])
        assert f"forbear {version('forbear')}\n" == capsys.readouterr().out


def test_help_is_a_word_as_well(capsys: pytest.CaptureFixture[str]) -> None:
    """`forbear help`, `-h` and `--help` say the same; without a word it stands on standard error."""
    texts = []
    for word in ("help", "-h", "--help"):
        assert 0 == main([word])
        texts.append(capsys.readouterr().out)
    assert 2 == main([])
    output, errors = capsys.readouterr()
    assert "" == output
    assert {errors} == set(texts)


def test_a_word_that_is_no_command_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """The message names those that are."""
    assert 2 == main(["simulate"])
    message = (
        "the command must be explain, run or demo, not 'simulate'; for example forbear explain"
    )
    assert f"forbear: {message}\n" == capsys.readouterr().err


def test_the_module_and_the_script_are_the_same() -> None:
    """`python -m forbear` and `forbear` both end with what `main` returns."""
    (script,) = entry_points(group="console_scripts", name="forbear")
    assert main is script.load()
    assert 2 == run("no-such-command").returncode
    assert (0, f"forbear {version('forbear')}\n") == (run("-V").returncode, run("-V").stdout)


def test_explain_imports_no_event_loop_and_no_server() -> None:
    """It pays for nothing that it doesn't use."""
    code = (
        "import sys; from forbear.cli import main; main(['explain']);"
        "print({'asyncio', 'subprocess', 'redis', 'rich', 'json', 'trio'} & sys.modules.keys())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=UNMEASURED
    )
    assert done.stdout.endswith("\nset()\n")


def test_a_defect_is_a_traceback_in_explain(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only wrong arguments are told in a line; what is our fault is to be seen."""
    monkeypatch.setattr(_picture, "lines", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        main(["explain"])


def test_ctrl_c_ends_it_without_a_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    """The exit code is the one of shells."""

    def press(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(_picture, "lines", press)
    assert 130 == main(["explain"])
