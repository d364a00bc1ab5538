"""Programs that run in a Python of their own, where what they patch or import leaks into no other test."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

# A program finds the modules beside this one.
HERE = Path(__file__).parent


def run_python(
    program: str, *options: str, timeout: float = 60.0
) -> subprocess.CompletedProcess[str]:
    """Run a program with this Python, every warning an error, and return what it wrote."""
    command = [sys.executable, "-W", "error", *options, "-c", textwrap.dedent(program)]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=timeout, check=False, cwd=HERE
    )


def output_of(program: str, *options: str) -> list[str]:
    """Run a program that must end well and say nothing on standard error; return the lines it wrote."""
    ended = run_python(program, *options)
    assert (0, "") == (ended.returncode, ended.stderr), ended.stderr
    return ended.stdout.splitlines()
