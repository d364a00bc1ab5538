"""
`make bench`: the benchmarks, on every promised Python that is installed here.

Law: as for the tests, what is measured is the built wheel. How to measure, and what must hold, stands in benchmarks/.

    PY=3.12 ARGS=--quick make bench
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys

from environments import ROOT, build_wheel, chosen, find_pythons, install, make, python_of


def main() -> None:
    """Prepare, measure, and fail if a bound is broken on any Python."""
    found = find_pythons()
    wheel = build_wheel()
    codes: list[int] = []
    for version in chosen(found):
        folder = ROOT / ".venvs" / f"bench-{version}"
        print(f"-- Python {version}, in {folder.relative_to(ROOT)} ...", flush=True)
        make(folder, found[version], [], listed=ROOT / "benchmarks" / "constraints.txt")
        install(wheel, folder)
        command = [python_of(folder), "benchmarks/run.py", *shlex.split(os.environ.get("ARGS", ""))]
        codes.append(subprocess.run(command, cwd=ROOT).returncode)  # noqa: PLW1510 (a code is an answer)
    sys.exit(max(codes))


if __name__ == "__main__":
    main()
