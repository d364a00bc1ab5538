"""
`make test`: the suite on every promised Python that is installed here, against the wheel that users will get.

Law: what is tested is the built wheel; the source tree is on no path. The interpreters take turns, so that what one
prints stays in one piece; inside a turn the tests run side by side, one process a core.

    PY=3.12 ARGS="-k name" make test                     # one Python, some of the tests
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from environments import ROOT, build_wheel, chosen, find_pythons, install, make, python_of, versions

if TYPE_CHECKING:
    from pathlib import Path

PLACE = ROOT / ".venvs"
NO_TESTS = 5  # pytest's exit code when nothing was selected


def prepare(version: str, base: str, wheel: Path) -> str:
    """Make the environment of a version, put the wheel into it, and tell what there was to do."""
    start = time.monotonic()
    folder = PLACE / version
    made = make(folder, base, ["test"])
    installed = install(wheel, folder)
    done = "environment made" if made else "wheel installed" if installed else "as it was"
    took = time.monotonic() - start
    return f"   Python {version}: {done} ({took:.0f} s), {folder.relative_to(ROOT)}, from {base}"


def try_on(version: str, wheel: Path, arguments: list[str], *, measured: bool) -> bool:
    """Run the suite on a version; true if it passed. First what can run side by side, then what can't."""
    python = python_of(PLACE / version)
    environ = {
        name: value
        for name, value in os.environ.items()
        if name not in {"PYTHONPATH", "PYTHONHOME"}
    }
    environ["FORBEAR_WHEEL"] = str(wheel)

    def call(*command: str) -> int:
        return subprocess.run([python, "-m", *command], cwd=ROOT, env=environ).returncode  # noqa: PLW1510

    workers = str(min(os.cpu_count() or 1, 8))
    runner = ["coverage", "run", "-m", "pytest"] if measured else ["pytest"]
    codes = [
        call(*runner, "-q", "-n", workers, "-m", "not alone", *arguments),
        call("pytest", "-q", "-m", "alone", *arguments),
    ]
    if measured:
        call("coverage", "combine", "-q")
        call("coverage", "report")
    # A selection may leave one of the two without a test, but not both.
    return set(codes) <= {0, NO_TESTS} and codes != [NO_TESTS, NO_TESTS]


def main() -> None:
    """Build, prepare, test, and tell."""
    found = find_pythons()
    asked = chosen(found)
    arguments = shlex.split(os.environ.get("ARGS", ""))
    absent = [version for version in versions() if version not in found]
    print(f"-- testing on Python {', '.join(asked)}", end="")
    print(f" ({', '.join(absent)} not installed here)" if absent else "", flush=True)
    wheel = build_wheel()
    print(f"-- built {wheel.name}; preparing the environments ...", flush=True)
    with ThreadPoolExecutor(2) as pool:
        for line in pool.map(lambda version: prepare(version, found[version], wheel), asked):
            print(line, flush=True)
    # Coverage is measured once, with the whole suite: on the Python of .venv, or the first.
    default = "{}.{}".format(*sys.version_info)
    measured = None if arguments else default if default in asked else asked[0]
    verdicts = {}
    for version in asked:
        start = time.monotonic()
        print(f"\n-- Python {version}", flush=True)
        passed = try_on(version, wheel, arguments, measured=version == measured)
        verdicts[version] = passed
        print(
            f"-- Python {version}: {'passed' if passed else 'FAILED'} ({time.monotonic() - start:.0f} s)",
            flush=True,
        )
    print(
        "\n-- "
        + ", ".join(
            f"{version} {'passed' if passed else 'FAILED'}" for version, passed in verdicts.items()
        )
    )
    sys.exit(not all(verdicts.values()))


if __name__ == "__main__":
    main()
