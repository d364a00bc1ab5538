"""Programs that run in a Python of their own, where what they patch leaks into no other test; and signals."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import forbear

# A program finds the modules beside this one.
HERE = Path(__file__).parent


# Coverage writes at the end of a process, and not always can: to a worker that is terminated, say. What is run here is
# measured in other tests.
UNMEASURED = {name: text for name, text in os.environ.items() if not name.startswith("COVERAGE")}


def run_python(
    program: str, *options: str, timeout: float = 60.0
) -> subprocess.CompletedProcess[str]:
    """Run a program with this Python, every warning an error, and return what it wrote."""
    command = [sys.executable, "-W", "error", *options, "-c", textwrap.dedent(program)]
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
        cwd=HERE,
        env=UNMEASURED,
    )


def output_of(program: str, *options: str) -> list[str]:
    """Run a program that must end well and say nothing on standard error; return the lines it wrote."""
    ended = run_python(program, *options)
    assert (0, "") == (ended.returncode, ended.stderr), ended.stderr
    return ended.stdout.splitlines()


@contextlib.contextmanager
def signalled(number: int) -> Iterator[None]:
    """
    Send this process a signal when somebody waits in the block, and again until the block is left.

    A signal that comes in the instant before a thread goes to sleep wakes nobody: its handler runs when the thread
    wakes up. Python has no remedy for that, nor has `time.sleep`.
    """
    ended = threading.Event()

    def send() -> None:
        while not forbear._clock.waiting and not ended.is_set():
            time.sleep(0.001)
        pause = 0.005
        while not ended.wait(pause):
            os.kill(os.getpid(), number)
            pause = 0.5

    thread = threading.Thread(target=send)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
