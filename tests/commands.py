"""`forbear run` as tests call it: in a process of its own, in a folder by which all that it starts is found."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

FORBEAR = (sys.executable, "-m", "forbear", "run")
AT_ONCE = ("--attempts", "3", "--backoff", "0")
HAS_PROC = Path("/proc/self/stat").exists()

# For a process that is not to be measured, because it may not write, or is asked what it imports.
UNMEASURED = {name: text for name, text in os.environ.items() if not name.startswith("COVERAGE")}

COUNT = "echo >> runs; "  # a line for each attempt
WAIT = "while :; do sleep 0.01; done"


def run(folder: Path, *arguments: str, **options: Any) -> tuple[int, str, str]:
    """Return the exit code, the output and the errors of `forbear run`."""
    usual: dict[str, Any] = {"stdin": subprocess.DEVNULL, "timeout": 60}
    done = subprocess.run(
        [*FORBEAR, *arguments],
        cwd=folder,
        capture_output=True,
        check=False,
        text=True,
        **usual,
        **options,
    )
    return done.returncode, done.stdout, done.stderr


def sh(folder: Path, script: str, *arguments: str) -> tuple[int, int, str]:
    """Run a shell script, up to three times; return the exit code, the number of attempts, and the errors."""
    code, _, errors = run(folder, *AT_ONCE, *arguments, "--", "sh", "-c", COUNT + script)
    return code, attempts(folder), errors


def attempts(folder: Path) -> int:
    """Return how many attempts there were."""
    return len((folder / "runs").read_text())


def end_all(folder: Path) -> list[str]:
    """End the processes that work in a folder, and return their command lines; none without /proc."""
    found: list[str] = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "cwd").readlink().is_relative_to(folder):
                found.append((process / "cmdline").read_text())
                os.kill(int(process.name), signal.SIGKILL)
        except OSError:
            pass  # it has ended, or is not ours to look into
    return found


def state(pid: int) -> str:
    """Return the state of a process as the system shows it; nothing where it doesn't."""
    stat = Path(f"/proc/{pid}/stat")
    return stat.read_text().rpartition(")")[2].split()[0] if stat.exists() else ""


def is_alive(pid: int) -> bool:
    """Tell whether a process runs; who is dead and not yet buried doesn't."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return state(pid) not in {"Z", "X"} if HAS_PROC else True
